import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules.loopguard import (
    Allow,
    Block,
    Call,
    Proposed,
    Suggest,
    Verdict,
    Warn,
    foresee,
    judge,
)


def run(*calls: Call) -> tuple[list[Verdict], list[Call]]:
    """Each call judged in turn, and the window after them."""
    window: list[Call] = []
    verdicts: list[Verdict] = []
    for at, call in enumerate(calls, 1):
        numbered = call._replace(seq=at)
        verdicts.append(judge(window, numbered))
        window.append(numbered)
    return verdicts, window


def ok(args: str = "a", result: str = "r", **more: object) -> Call:
    return Call(0, "ann", "bash", args, result=result, raw=f"raw {result}")._replace(**more)  # type: ignore[arg-type]


def failed(args: str = "a", error: str = "e", **more: object) -> Call:
    return Call(0, "ann", "bash", args, error=error)._replace(**more)  # type: ignore[arg-type]


def patterns(verdicts: list[Verdict]) -> list[str]:
    return [getattr(verdict, "pattern", "") for verdict in verdicts]


def blocked(window: list[Call], args: str = "a", **more: object) -> bool:
    proposed = Proposed("ann", "bash", args)._replace(**more)  # type: ignore[arg-type]
    return isinstance(foresee(window, proposed), Block)


# --- exact duplicate ----------------------------------------------------------------------------


def test_a_second_call_with_the_same_result_is_answered_with_the_ref_of_the_first() -> None:
    verdicts, _ = run(ok(ref="r1"), ok())

    assert isinstance(verdicts[1], Suggest)
    assert (verdicts[1].ref, verdicts[1].seqs) == ("r1", (1,))
    assert "r1" in verdicts[1].suggest_alternative


def test_the_same_call_and_result_three_times_warns_and_five_times_blocks() -> None:
    verdicts, _ = run(*[ok()] * 5)

    assert [type(v) for v in verdicts] == [Allow, Suggest, Warn, Warn, Block]
    assert isinstance(verdicts[4], Block)
    assert "override" in verdicts[4].required_action


def test_a_proposed_duplicate_is_a_suggestion_however_often_and_never_denied() -> None:
    for times in range(1, 12):
        _, window = run(*[ok(ref="r1")] * times)

        verdict = foresee(window, Proposed("ann", "bash", "a"))

        assert isinstance(verdict, Suggest | Warn)
        assert not blocked(window)


def test_ten_polls_with_different_results_are_allowed() -> None:
    verdicts, window = run(*[ok(result=f"{n} %") for n in range(40)])

    assert set(map(type, verdicts)) == {Allow}
    assert foresee(window, Proposed("ann", "bash", "a")) == Allow()


def test_a_result_that_differs_in_a_clock_only_is_suggested_but_not_warned_of() -> None:
    verdicts, _ = run(*[ok(raw=f"raw {n}") for n in range(10)])

    assert [type(v) for v in verdicts] == [Allow, *[Suggest] * 9]


def test_reading_a_file_again_that_changed_on_disk_is_allowed() -> None:
    verdicts, window = run(ok(result="one"), ok(result="two"), ok(result="three"))

    assert set(map(type, verdicts)) == {Allow}
    assert foresee(window, Proposed("ann", "bash", "a")) == Allow()


def test_after_an_edit_the_same_result_is_no_duplicate() -> None:
    verdicts, window = run(ok(), ok(progress=1))

    assert verdicts[1] == Allow()
    assert foresee(window, Proposed("ann", "bash", "a", progress=2)) == Allow()


def test_a_call_without_a_result_is_no_duplicate() -> None:
    verdicts, window = run(*[ok(result=None, raw=None)] * 6)  # type: ignore[arg-type]

    assert set(map(type, verdicts)) == {Allow}
    assert foresee(window, Proposed("ann", "bash", "a")) == Allow()


# --- repeated failure ---------------------------------------------------------------------------


def test_after_three_observed_failures_the_fourth_is_denied() -> None:
    verdicts, window = run(failed(), failed(), failed(ref="r7"))

    assert [type(v) for v in verdicts] == [Allow, Allow, Block]
    assert not blocked(window[:2])
    verdict = foresee(window, Proposed("ann", "bash", "a"))
    assert isinstance(verdict, Block)
    assert (verdict.pattern, verdict.seqs, verdict.ref) == ("repeated_failure", (1, 2, 3), "r7")
    assert "arguments" in verdict.required_action
    assert "override" in verdict.required_action


def test_other_arguments_are_a_way_out_of_a_block() -> None:
    _, window = run(*[failed()] * 3)

    assert not blocked(window, "b")


def test_two_agents_that_fail_at_the_same_are_one_loop() -> None:
    verdicts, window = run(failed(), failed(agent="bob"), failed())

    assert isinstance(verdicts[2], Block)
    assert "2 agents" in verdicts[2].reason
    assert blocked(window, agent="cid")


def test_six_other_calls_between_reset_no_failure() -> None:
    others = [ok(f"other {n}", f"result {n}") for n in range(6)]

    verdicts, window = run(failed(), failed(), *others, failed(), *others)

    assert isinstance(verdicts[8], Block)
    assert blocked(window)


def test_six_other_calls_between_reset_no_warning_of_a_duplicate() -> None:
    others = [ok(f"other {n}", f"result {n}") for n in range(6)]

    verdicts, _ = run(ok(), ok(), ok(), *others, ok())

    assert isinstance(verdicts[2], Warn)
    assert isinstance(verdicts[-1], Warn)


def test_tests_that_fail_again_after_each_edit_are_never_blocked() -> None:
    verdicts, window = run(*[failed(progress=n) for n in range(40)])

    assert set(map(type, verdicts)) == {Allow}
    assert not blocked(window, progress=40)


def test_an_edit_allows_what_was_blocked() -> None:
    _, window = run(*[failed()] * 3)

    assert not blocked(window, progress=1)


def test_undoing_the_edit_brings_the_failures_back() -> None:
    _, window = run(*[failed(progress="x")] * 2, failed(progress="y"), failed(progress="x"))

    assert blocked(window, progress="x")


def test_a_success_between_ends_a_run_of_failures() -> None:
    verdicts, window = run(failed(), failed(), ok(), failed(), failed())

    assert not any(isinstance(v, Block) for v in verdicts)
    assert not blocked(window)


def test_other_errors_of_the_same_call_are_counted_apart() -> None:
    verdicts, window = run(failed(), failed(error="f"), failed(), failed(error="f"))

    assert not any(isinstance(v, Block) for v in verdicts)
    assert not blocked(window)


def test_an_override_lets_the_call_be_tried_again_and_counts_anew() -> None:
    override = Call(0, "ann", "bash", "a", kind="override")

    _, window = run(*[failed()] * 3, override)

    assert not blocked(window)
    _, window = run(*[failed()] * 3, override, *[failed()] * 3)
    assert blocked(window)
    assert not blocked(run(*[failed()] * 3)[1][:2])


# --- other arguments, same error ----------------------------------------------------------------


def test_other_arguments_with_the_same_error_warn_from_the_third_on() -> None:
    verdicts, window = run(failed("a"), failed("b"), failed("c"), failed("d"))

    assert [type(v) for v in verdicts] == [Allow, Allow, Warn, Warn]
    assert patterns(verdicts)[2] == "loop"
    assert not blocked(window, "e")


def test_other_tools_and_agents_with_the_same_error_warn_too() -> None:
    verdicts, _ = run(failed("a"), failed("b", agent="bob"), failed("c", tool="run"))

    assert patterns(verdicts)[2] == "loop"


def test_other_arguments_after_an_edit_are_no_loop() -> None:
    verdicts, _ = run(failed("a"), failed("b", progress=1), failed("c", progress=2))

    assert set(map(type, verdicts)) == {Allow}


# --- oscillation --------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", ["ab", "abc", "abcd", "aab"])
def test_the_same_calls_in_turn_are_an_oscillation(turn: str) -> None:
    verdicts, window = run(*[failed(key, f"error of {key}") for key in turn * 2])

    assert isinstance(verdicts[-1], Warn | Block)
    assert "oscillation" in patterns(verdicts) or turn == "aab"
    assert isinstance(judge(window[:-1], window[-1]), Warn | Block)


def test_one_turn_is_no_oscillation() -> None:
    verdicts, _ = run(*[ok(key, f"result of {key}") for key in "abca"])

    assert "oscillation" not in patterns(verdicts)


def test_edits_that_undo_each_other_are_an_oscillation() -> None:
    turn = [ok("to x", "done", progress="x"), ok("to y", "done", progress="y")]

    verdicts, _ = run(*turn * 2)

    assert patterns(verdicts)[3] == "oscillation"


def test_editing_and_testing_in_turn_is_no_oscillation() -> None:
    steps = [
        call
        for n in range(8)
        for call in (ok("edit", "done", kind="edit", progress=n), failed("test", progress=n))
    ]

    verdicts, window = run(*steps)

    assert set(map(type, verdicts)) == {Allow}
    assert not blocked(window, "test", progress=9)


def test_two_agents_that_take_turns_are_no_oscillation() -> None:
    verdicts, _ = run(*[ok("a"), ok("b", "s", agent="bob")] * 2)

    assert "oscillation" not in patterns(verdicts)


# --- runaway ------------------------------------------------------------------------------------


def idle(count: int) -> list[Call]:
    return [ok(f"try {n}", "no matches", raw="no matches") for n in range(count)]


def test_twelve_calls_without_progress_warn_and_twenty_four_block() -> None:
    verdicts, window = run(*idle(24))

    assert set(map(type, verdicts[:11])) == {Allow}
    assert set(map(type, verdicts[11:23])) == {Warn}
    assert isinstance(verdicts[23], Block)
    assert (patterns(verdicts)[11], patterns(verdicts)[23]) == ("runaway", "runaway")
    assert blocked(window, "anything")


def test_an_edit_a_step_and_an_override_are_ways_out_of_a_runaway() -> None:
    _, window = run(*idle(24))

    assert not blocked(window, "anything", kind="edit")
    assert not blocked(window, "anything", kind="plan")
    assert not blocked(window, "anything", progress=1)
    override = Call(25, "ann", "bash", "anything", kind="override")
    assert not blocked([*window, override], "anything")


def test_another_agent_is_not_held_for_a_runaway() -> None:
    _, window = run(*idle(24))

    assert not blocked(window, "anything", agent="bob")


@pytest.mark.parametrize(
    "step",
    [ok("read", "a new result"), ok("edit", "no matches", progress=1), ok("edit", kind="edit")],
)
def test_progress_starts_the_count_anew(step: Call) -> None:
    verdicts, _ = run(*idle(11), step, *[c._replace(progress=step.progress) for c in idle(11)])

    assert "runaway" not in patterns(verdicts)


def test_a_new_failure_is_no_progress() -> None:
    verdicts, _ = run(*[failed(f"a{n}", f"e{n}") for n in range(12)])

    assert patterns(verdicts)[11] == "runaway"


def test_twenty_calls_that_each_find_something_are_allowed() -> None:
    verdicts, _ = run(*[ok(f"a{n}", f"r{n}") for n in range(30)])

    assert set(map(type, verdicts)) == {Allow}


# --- in general ---------------------------------------------------------------------------------

CALLS = st.builds(
    Call,
    st.just(0),
    st.sampled_from(["ann", "bob"]),
    st.sampled_from(["bash", "read"]),
    st.sampled_from("ab"),
    st.sampled_from([None, "r", "s"]),
    st.sampled_from([None, "x", "y"]),
    st.sampled_from([None, None, "e", "f"]),
    st.integers(0, 2),
    st.sampled_from([None, "r1"]),
    st.sampled_from(["call", "call", "call", "edit", "plan", "override"]),
)


@given(st.lists(CALLS, max_size=40))
def test_any_window_has_a_verdict_and_every_refusal_a_way_out(calls: list[Call]) -> None:
    verdicts, window = run(*calls)
    for agent in ("ann", "bob"):
        verdicts.append(foresee(window, Proposed(agent, "bash", "a")))

    for verdict in verdicts:
        if isinstance(verdict, Block):
            assert "override" in verdict.required_action
        if isinstance(verdict, Warn):
            assert verdict.way_out
        if isinstance(verdict, Suggest):
            assert verdict.seqs


def test_what_came_later_in_the_journal_does_not_count() -> None:
    _, window = run(*[failed()] * 3)

    assert judge(window, window[0]._replace(seq=1)) == Allow()
