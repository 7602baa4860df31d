"""The state of a task as a fold: total, deterministic, and the same after a round trip."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core import task_state
from handoff_memory.core.task_state import EVENT_KINDS, Event, Flag, TaskState, apply

words = st.text(max_size=6)
names = st.sampled_from(["a", "b", "ü", "tests_passed"])
counts = st.integers(0, 10**9)
refs = st.sampled_from(["r1", "r2", "r10"])
facts = st.dictionaries(names, counts, max_size=3)
calls = st.fixed_dictionaries(
    {
        "tool": names,
        "args": names,
        "result": words,
        "raw": words,
        "error": st.none() | names,
        "tokens": counts,
        "edit": st.booleans(),
        "new_ref": st.booleans(),
        "file": st.none() | st.fixed_dictionaries({"path": names, "sha256": words}),
        "flags": st.dictionaries(names, st.booleans(), max_size=2),
        "flag_source": st.sampled_from(["claimed", "observed"]),
        "cost": facts,
    },
    optional={
        "ref": refs,
        "sha256": words,
        "size": counts,
        "shown": st.sampled_from(["whole", "stub"]),
        "context": words,
        "saved": counts,
        "edited": st.lists(words, max_size=3),
    },
)
DATA: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "called": calls,
    "sealed": st.fixed_dictionaries({"seal": names, "hashes": st.just({"items": {}})}),
    "lesson": st.fixed_dictionaries({"text": names}, optional={"failure": names}),
    "flag": st.fixed_dictionaries({"name": names, "value": st.booleans(), "source": names}),
    "stepped": st.fixed_dictionaries({"step": counts}),
    "overridden": st.fixed_dictionaries({"tool": names, "args": names, "reason": words}),
    "dropped": st.fixed_dictionaries({"ref": refs, "tokens": counts}),
    "pruned": st.fixed_dictionaries({"mode": words, "refs": st.dictionaries(refs, counts)}),
    "compacted": st.fixed_dictionaries({"mode": words, "undo": refs, "gaps": st.just([])}),
    "restored": st.just({"mode": "trim"}),
    "head": st.fixed_dictionaries({"sha256": words, "tokens": counts}),
    "contract": st.fixed_dictionaries({"sha256": words, "tools": st.just([{"name": "x"}])}),
    "booked": st.fixed_dictionaries({"tokens": facts}),
    "budget": facts,
    "pressure": facts,
    "checkpointed": st.just({"seal": "s"}),
    "delegated": st.fixed_dictionaries({"packet": names, "state": words}),
    "approved": st.fixed_dictionaries({"rule": names, "until": counts}),
    "finished": st.just({}),
    "resumed": st.just({"by": "s_1"}),
    "prompted": st.fixed_dictionaries({"files": st.lists(words, max_size=3)}),
    "gap": st.just({"why": "busy"}),
    "emptied": st.fixed_dictionaries({"context": words}),
    "a kind of a newer program": st.dictionaries(words, counts),
}
events = st.sampled_from(sorted(DATA)).flatmap(
    lambda kind: st.builds(Event, counts, counts, names, st.just(kind), DATA[kind])
)


def folded(happened: list[Event], state: TaskState | None = None) -> TaskState:
    found = state or TaskState()
    for event in happened:
        found = apply(found, event)
    return found


def called(seq: int = 1, **more: Any) -> Event:
    return Event(seq, seq, "scout", "called", {"tool": "t", "args": "a", **more})


def test_every_kind_of_event_is_tried_here() -> None:
    assert set(EVENT_KINDS) < set(DATA)


@given(st.lists(events, max_size=40))
def test_a_state_comes_back_from_its_bytes(happened: list[Event]) -> None:
    state = folded(happened)
    data = task_state.to_bytes(state)

    assert task_state.to_bytes(task_state.from_bytes(data)) == data
    assert task_state.from_bytes(data) == task_state.from_bytes(task_state.to_bytes(state))


@given(st.lists(events, max_size=40), st.data())
def test_a_fold_can_be_broken_off_kept_and_gone_on_with_anywhere(
    happened: list[Event], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(happened)))

    kept = task_state.from_bytes(task_state.to_bytes(folded(happened[:at])))

    assert task_state.to_bytes(folded(happened[at:], kept)) == task_state.to_bytes(folded(happened))


def test_a_kind_of_a_newer_program_changes_nothing() -> None:
    state = folded([called()])

    assert apply(state, Event(2, 2, "scout", "dreamt", {"of": "sheep"})) == state


def test_an_edit_clears_what_was_passed_before_it_and_is_progress() -> None:
    passed = folded([called(flags={"tests_passed": True, "built": True}, flag_source="observed")])
    edited = apply(passed, called(2, edit=True))

    assert passed.flags["tests_passed"] == Flag(True, "observed", 1)
    assert set(edited.flags) == {"built"}
    assert (edited.edits, edited.last_edit_at) == (1, 2)
    assert edited.progress == passed.progress + 1


def test_what_a_person_says_is_progress_for_they_may_have_changed_the_world() -> None:
    asked = folded([called(), Event(2, 2, "scout", "prompted", {"files": []})])

    assert (asked.progress, asked.edits, asked.named) == (1, 0, ())


def test_a_flag_that_is_set_again_to_the_same_is_no_progress() -> None:
    flag = {"name": "built", "value": True, "source": "claimed"}
    once = folded([Event(1, 1, "a", "flag", flag)])
    twice = apply(once, Event(2, 2, "a", "flag", flag))

    assert (once.progress, twice.progress) == (1, 1)
    assert twice.flags["built"].at == 2


def test_what_is_remembered_is_bounded_and_the_oldest_goes_first() -> None:
    happened = [called(n, tool=f"t{n}", ref=f"r{n}", file={"path": f"p{n}"}) for n in range(1, 301)]
    state = folded(happened)

    assert len(state.window) == task_state.WINDOW
    assert state.window[0]["seq"] == 300 - task_state.WINDOW + 1
    assert len(state.files) == len(state.results) == task_state.KEPT
    assert "p44" not in state.files
    assert "p45" in state.files
    assert state.calls == 300


def test_what_was_touched_again_stays_also_after_a_round_trip() -> None:
    first = [called(n, file={"path": f"p{n}"}) for n in range(1, 257)]
    state = folded([*first, called(300, file={"path": "p1"})])
    state = task_state.from_bytes(task_state.to_bytes(state))

    state = apply(state, called(301, file={"path": "new"}))

    assert "p1" in state.files
    assert "p2" not in state.files


def test_failures_are_counted_by_their_signature_and_keep_their_lesson() -> None:
    state = folded([called(n, error="E1") for n in range(3)])
    state = apply(state, Event(9, 9, "a", "lesson", {"text": "use UTF-8", "failure": "E1"}))
    state = apply(state, called(10, error="E1"))

    assert (state.failures["E1"].attempts, state.failures["E1"].lesson) == (4, "use UTF-8")
    assert state.lessons == ("use UTF-8",)
    assert state.tools["t"] == {"calls": 4, "failures": 4}
    assert state.results == {}


@pytest.mark.parametrize("kind", ["finished", "resumed"])
def test_a_task_that_is_taken_up_again_is_not_finished(kind: str) -> None:
    state = folded([Event(1, 1, "a", "finished", {}), Event(2, 2, "a", kind, {})])

    assert state.finished is (kind == "finished")


def test_a_result_that_never_entered_is_saved_and_proven_at_once() -> None:
    state = folded(
        [
            called(ref="r1", shown="stub", context="s_1", tokens=900, saved=800),
            called(2, ref="r1", shown="whole", context="s_1", tokens=900),
            called(3, ref="r1", shown="stub", context="s_1", tokens=900, saved=880),
        ]
    )

    assert state.moved == state.dropped == {"r1": 1680}
    assert [call["shown"] for call in state.window] == ["stub", "whole", "stub"]


def test_files_that_were_edited_or_named_are_remembered_the_latest_last() -> None:
    state = folded(
        [
            called(edit=True, edited=["a.py", "b.py"]),
            Event(2, 2, "scout", "prompted", {"files": ["c.py", "a.py"]}),
            called(3, edit=True, edited=["a.py"]),
            Event(4, 4, "scout", "gap", {"why": "busy"}),
        ]
    )

    assert (state.edited, state.named, state.gaps) == (("b.py", "a.py"), ("c.py", "a.py"), 1)


def test_a_state_of_an_earlier_program_is_read() -> None:
    kept = orjson.loads(task_state.to_bytes(folded([called()])))
    for newer in ("edited", "named", "gaps", "emptied"):
        del kept[newer]

    assert task_state.from_bytes(orjson.dumps(kept)) == task_state.from_bytes(
        task_state.to_bytes(folded([called()]))
    )
