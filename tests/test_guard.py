"""The governor around one call: judged before, observed after, a stub where that pays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors import Agent, Clock
from handoff_memory.app import Local, Makers, open_local
from handoff_memory.core.author import Author
from handoff_memory.guard import Call, Guard, Outcome
from handoff_memory.rules import tokens
from handoff_memory.services import guarding, observing, planning, recalling, tasks, waiting
from handoff_memory.services.planning import PlanRequest
from handoff_memory.settings import Settings

LOG = "\n".join(
    f"2026-11-30T10:{n // 60:02}:{n % 60:02} INFO step {n} took {n * 7 % 93} ms" for n in range(900)
)
RULES = """
[[invariant]]
id = "tests-before-commit"
when = { tool = "git.commit" }
require = { state = "tests_passed", fresh_after = "edit" }
message = "Cannot commit while tests are failing"
"""


class Session:
    """A client's session, as its hooks tell of it."""

    def __init__(self, local: Local, agent: str, session: str) -> None:
        self.local, self.who = local, Author(agent, session)
        self.guard = Guard(local, self.who)

    def bash(self, command: str, output: str = "", status: int = 0, **more: Any) -> Any:
        call = Call("Bash", {"command": command, "description": "because"}, **more)
        return self.guard.after(call, Outcome(output.encode(), exit_status=status))

    def may_bash(self, command: str) -> Any:
        return self.guard.before(Call("Bash", {"command": command, "description": "now"}))

    def read(self, path: str, content: str, **more: Any) -> Any:
        call = Call("Read", {"file_path": path})
        return self.guard.after(call, Outcome(content.encode(), **more))

    def plan(self, **more: Any) -> Any:
        def planned(tx: Any) -> Any:
            return planning.plan(tx, self.who, self.guard._governing, PlanRequest(**more))

        return self.local.write(planned)

    def bytes_of(self, ref: str) -> bytes:
        return self.local.read(lambda tx: recalling.payload(tx, ref))[1]

    def state(self) -> Any:
        task = self.local.read(lambda tx: guarding.current(tx, self.who, None))
        return None if task is None else task.state


@pytest.fixture
def session(local: Local) -> Callable[..., Session]:
    def begin(agent: str = "claude", name: str = "host-1") -> Session:
        return Session(local, agent, name)

    return begin


@pytest.fixture
def ruled(settings: Settings) -> None:
    (settings.folder / ".osiris").mkdir()
    (settings.folder / ".osiris" / "invariants.toml").write_text(RULES)


# --- before ------------------------------------------------------------------------------------


def test_a_commit_before_the_tests_is_refused_with_its_reason(
    ruled: None, session: Callable[..., Session]
) -> None:
    one = session()

    refused = one.may_bash("git add . && git commit -m x")
    one.bash("pytest -q", "3 passed")
    allowed = one.may_bash("git commit -m x")
    one.guard.after(Call("Edit", {"file_path": "a.py"}), Outcome(b"ok"))
    stale = one.may_bash("git commit -m x")

    assert refused.decision == "block"
    assert "tests-before-commit" in refused.reason
    assert "Cannot commit while tests are failing" in refused.reason
    assert allowed.decision == "allow"
    assert stale.decision == "block"


def test_rules_hold_where_there_is_no_database_yet_and_asking_makes_none(
    ruled: None, session: Callable[..., Session], settings: Settings
) -> None:
    assert session().may_bash("git commit -m x").decision == "block"
    assert session().may_bash("ls").decision == "allow"
    assert not settings.database.exists()


def test_a_run_behind_a_pipe_proves_no_success(
    ruled: None, session: Callable[..., Session]
) -> None:
    one = session()

    one.bash("pytest | tail -1", "3 passed")

    assert one.may_bash("git commit -m x").decision == "block"


def test_the_same_failing_command_is_refused_after_its_third_failure(
    session: Callable[..., Session],
) -> None:
    one = session()
    decisions = []
    for _ in range(4):
        decisions.append(one.may_bash("make deploy").decision)
        one.bash("make deploy", "no route to host", status=2)

    assert decisions == ["allow", "allow", "allow", "block"]
    verdict = one.may_bash("make deploy")
    assert "failed" in verdict.reason
    assert "override" in verdict.reason
    assert one.may_bash("make build").decision == "allow"
    assert session(name="host-2").may_bash("make deploy").decision == "allow"


def test_tests_that_fail_are_refused_after_their_third_failure_and_run_again_after_an_edit(
    session: Callable[..., Session],
) -> None:
    one = session()
    decisions, notes = [], []
    for _ in range(4):
        decisions.append(one.may_bash("pytest -q").decision)
        notes.append(one.bash("pytest -q", "FAILED tests/test_a.py::test_a", status=1).note)
    one.guard.after(Call("Edit", {"file_path": "a.py"}), Outcome(b"ok"))

    assert decisions == ["allow", "allow", "allow", "block"]
    assert [note is None for note in notes] == [True, True, False, False]
    assert one.may_bash("pytest -q").decision == "allow"


def test_an_edit_that_failed_changed_nothing_and_loops_like_any_call(
    session: Callable[..., Session],
) -> None:
    one = session()
    call = Call("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})
    decisions = []
    for _ in range(4):
        decisions.append(one.guard.before(call).decision)
        one.guard.after(call, Outcome(error="String to replace not found in file."))

    assert decisions == ["allow", "allow", "allow", "block"]
    assert (one.state().edits, one.state().edited) == (0, ())


def test_what_a_person_says_lets_a_loop_be_tried_again(session: Callable[..., Session]) -> None:
    one = session()
    for _ in range(24):
        one.bash("kubectl get pods", "Pending")
    for _ in range(3):
        one.bash("make deploy", "no route to host", status=2)
    tried = ("make deploy", "kubectl get pods")
    stuck = [one.may_bash(command).decision for command in tried]

    one.guard.prompted("The network is back, try again")

    assert stuck == ["block", "block"]
    assert [one.may_bash(command).decision for command in tried] == ["allow", "allow"]


def test_in_a_runaway_only_what_was_tried_is_refused(session: Callable[..., Session]) -> None:
    one = session()
    for _ in range(24):
        one.bash("kubectl get pods", "Pending")

    assert one.may_bash("kubectl get pods").decision == "block"
    assert one.may_bash("kubectl describe pods").decision == "allow"


def test_an_edit_by_another_hand_lets_a_failing_command_be_tried_again(
    checkout: Path, settings: Settings
) -> None:
    inside = settings._replace(folder=checkout, database=checkout / "memory.db")
    with open_local(inside) as local:
        one = Session(local, "claude", "host-1")
        for _ in range(3):
            one.bash("make deploy", "no route to host", status=2)
        refused = one.may_bash("make deploy")
        (checkout / "a.txt").write_text("mended in an editor")
        allowed = one.may_bash("make deploy")
        one.bash("make deploy", "no route to host", status=2)
        again = one.may_bash("make deploy")

    assert (refused.decision, allowed.decision, again.decision) == ("block", "allow", "block")


def test_an_override_that_the_agent_asks_for_lets_the_loop_pass_once_more(
    session: Callable[..., Session],
) -> None:
    one = session()
    for _ in range(3):
        one.bash("make deploy", "no route to host", status=2)
    limits = one.local.settings.limits
    seen = observing.see(
        limits, "Bash", {"command": "make deploy"}, root=str(one.local.settings.folder)
    )
    action = one.guard._action(Call("Bash", {"command": "make deploy"}), seen)
    one.local.write(
        lambda tx: observing.precheck(
            tx,
            one.who,
            one.guard._governing,
            one.guard._rules.read(),
            action,
            seen,
            override="the network is back",
        )
    )

    assert one.may_bash("make deploy").decision == "allow"


# --- after -------------------------------------------------------------------------------------


def test_a_big_output_becomes_a_stub_and_every_byte_comes_back(
    session: Callable[..., Session],
) -> None:
    one = session()

    kept = one.bash("cat app.log", LOG)

    assert kept.stub is not None
    assert kept.ref is not None
    assert "handoff-memory" in kept.stub
    assert kept.ref in kept.stub
    assert "repeat the call" in kept.stub
    assert tokens.estimate(kept.stub) < kept.tokens / 10
    assert one.bytes_of(kept.ref) == LOG.encode()


def test_who_asks_again_for_a_stubbed_result_gets_it_whole_and_then_a_line(
    session: Callable[..., Session],
) -> None:
    one = session()

    forms = [one.bash("cat app.log", LOG).stub for _ in range(4)]

    assert forms[0] is not None
    assert forms[1] is None
    assert forms[3] is None
    assert forms[2] is not None
    assert "unchanged since" in forms[2]
    assert tokens.estimate(forms[2]) <= 30


def test_who_asks_again_for_an_output_that_never_is_the_same_gets_it_whole(
    session: Callable[..., Session],
) -> None:
    one = session()
    dated = [one.bash("make report", f"{LOG}\nended at 10:00:0{n}").stub for n in range(2)]
    other = [one.bash("ps aux", f"{LOG}\nworker {chr(97 + n)}").stub for n in range(3)]

    assert [stub is None for stub in dated] == [False, True]
    assert [stub is None for stub in other] == [False, False, True]


def test_the_same_bytes_by_another_way_are_known(session: Callable[..., Session]) -> None:
    one = session()
    small = LOG[:600]

    first = one.read("a.log", small)
    second = one.bash("cat a.log", small)

    assert first.stub is None
    assert second.stub is not None
    assert first.ref in second.stub


def test_small_outputs_parts_and_what_cannot_be_replaced_stay_whole(
    session: Callable[..., Session],
) -> None:
    one = session()

    assert one.bash("ls", "a.py\nb.py").stub is None
    assert one.read("a.log", LOG, partial=True).stub is None
    assert one.read("b.log", LOG, replaceable=False).stub is None
    binary = one.guard.after(Call("fetch", {}), Outcome(bytes(range(256)) * 60))
    assert binary.stub is None
    assert binary.ref is not None


def test_a_file_that_is_at_work_stays_whole(session: Callable[..., Session]) -> None:
    one = session()
    code = "\n".join(f"def step_{n}(x):\n    return x * {n}" for n in range(150))

    one.guard.prompted("Please fix src/app/parser.py, it drops the last token")
    named = one.read("/work/src/app/parser.py", code)
    one.guard.after(Call("Edit", {"file_path": "/work/util.py"}), Outcome(b"done"))
    edited = one.read("/work/util.py", code + "\n# util")
    other = one.read("/work/other.py", code + "\n# other")

    assert named.stub is None
    assert edited.stub is None
    assert other.stub is not None
    assert "step_0" in other.stub


def test_what_changed_a_little_comes_as_its_change(session: Callable[..., Session]) -> None:
    one = session()
    one.bash("cat app.log", LOG)
    changed = LOG.replace("INFO step 450 ", "ERROR step 450 ")

    kept = one.bash("cat app.log", changed)

    assert kept.stub is not None
    assert "change since r1" in kept.stub
    assert "+2026-11-30T10:07:30 ERROR step 450" in kept.stub
    assert one.bytes_of(kept.ref) == changed.encode()


def test_a_subagent_or_another_session_is_told_in_full_what_it_never_saw(
    session: Callable[..., Session],
) -> None:
    one, two = session(), session("codex", "host-2")
    small = LOG[:600]
    one.read("a.log", small)

    inner = one.guard.after(
        Call("Read", {"file_path": "a.log"}, context="sub-1"), Outcome(small.encode())
    )

    assert inner.stub is None
    assert two.read("a.log", small).stub is None
    assert one.read("a.log", small).stub is not None


def test_an_emptied_context_is_told_again(session: Callable[..., Session]) -> None:
    one = session()
    small = LOG[:600]
    one.read("a.log", small)

    one.guard.opening("compact")

    assert one.read("a.log", small).stub is None


def test_a_call_that_is_told_of_twice_counts_once(session: Callable[..., Session]) -> None:
    one = session()

    first = one.bash("cat app.log", LOG, id="toolu_1")
    second = one.bash("cat app.log", LOG, id="toolu_1")

    assert first == second
    assert one.state().calls == 1


def test_the_ledger_counts_what_never_entered_as_proven(session: Callable[..., Session]) -> None:
    one = session()
    kept = one.bash("cat app.log", LOG)

    task = one.local.read(lambda tx: tasks.get(tx, one.who, None))
    drawn = planning.statement(task)

    assert drawn.proven == kept.tokens
    assert drawn.claimed == 0
    assert drawn.overhead == tokens.estimate(kept.stub)


def test_a_secret_in_an_output_is_kept_nowhere(
    session: Callable[..., Session], settings: Settings
) -> None:
    one = session()
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"

    kept = one.bash("env", f"TOKEN={secret}\n" + LOG)

    assert kept.stub is not None
    assert secret not in kept.stub
    assert secret.encode() not in b"".join(
        path.read_bytes() for path in settings.database.parent.glob("memory.db*")
    )


def test_a_loop_is_noted_beside_the_result(session: Callable[..., Session]) -> None:
    one = session()
    notes = [one.bash("make", "same error", status=1).note for _ in range(3)]

    assert notes[:2] == [None, None]
    assert notes[2] is not None
    assert "3 times" in notes[2]


# --- the ends of a session -----------------------------------------------------------------------


def test_a_new_session_of_nothing_is_told_nothing(session: Callable[..., Session]) -> None:
    assert session().guard.opening() is None


def test_a_session_is_told_of_rules_that_cannot_be_read(
    ruled: None, session: Callable[..., Session], settings: Settings
) -> None:
    (settings.folder / ".osiris" / "invariants.toml").write_text("[[invariant]\n")

    told = session().guard.opening()

    assert told is not None
    assert "rules: .osiris/invariants.toml:1:" in told
    assert not settings.database.exists()


def test_a_session_that_goes_on_is_told_its_manifest_and_what_was_kept(
    session: Callable[..., Session],
) -> None:
    one = session()
    one.guard.prompted("Find out why the import is slow")
    one.bash("cat app.log", LOG)

    told = one.guard.opening("resume")

    assert told is not None
    assert "OSIRIS/1 task=auto-" in told
    assert "SEAL=sha256:" in told
    assert "objective: Find out why the import is slow" in told
    assert "kept result: r1 Bash" in told
    assert told == one.guard.opening("resume")
    assert session(name="host-2").guard.opening() is None


def test_an_unfinished_task_of_an_earlier_session_is_told_and_gone_on_with(
    session: Callable[..., Session], clock: Clock
) -> None:
    one = session()
    one.plan(objective="Ship it", plan=("build", "test"), decisions=("use tar",))
    clock.forward(3600)
    two = session(name="host-2")

    told = two.guard.opening()
    two.bash("cat app.log", LOG)

    assert told is not None
    assert "step: build [active]" in told
    assert "decision: use tar" in told
    assert one.state().calls == two.state().calls == 1


def test_the_opening_is_bounded(session: Callable[..., Session], agent: Any) -> None:
    one = session()
    words = "so many words about so many things " * 12
    one.plan(
        objective=words,
        plan=tuple(f"{n} {words}" for n in range(30)),
        decisions=tuple(f"{n} {words}" for n in range(30)),
        constraints=tuple(f"{n} {words}" for n in range(30)),
    )

    told = one.guard.opening("resume")

    assert told is not None
    assert tokens.estimate(told) <= 1_500
    assert "more lines" in told


def test_packets_that_wait_are_told_at_the_start_and_with_each_prompt(
    session: Callable[..., Session], agent: Callable[..., Agent]
) -> None:
    one = session()
    assert one.guard.prompted("hello") is None
    agent("scout").create("Take over the import")

    told = one.guard.opening()
    line = one.guard.prompted("go on")

    assert told is not None
    assert "from scout (normal): Take over the import" in told
    assert (
        line
        == "handoff-memory: 1 handoff packet waits for claude; handoff_pickup claims the next one."
    )


def test_an_unfinished_task_leaves_one_packet_that_the_next_agent_gets(
    session: Callable[..., Session], agent: Callable[..., Agent]
) -> None:
    one = session()
    one.plan(objective="Ship it", plan=("build", "test"))
    one.bash("make", "built")
    first = one.guard.ending(final=True)
    again = one.guard.ending(final=True)
    one.bash("make test", "x failed", status=1)
    second = one.guard.ending(final=True)

    found = agent("codex").pickup()

    assert first
    assert second
    assert first != second
    assert again is None
    assert found["packet"]["packet_id"] == second
    assert found["packet"]["summary"] == "Unfinished: Ship it"
    assert found["packet"]["next"] == ["build", "test"]
    assert "Bash failed 1 times" in found["packet"]["open"]
    assert {"objective", "plan"} <= {record["key"] for record in found["records"]}


def test_a_session_that_goes_on_takes_its_packet_back(
    session: Callable[..., Session], agent: Callable[..., Agent]
) -> None:
    one = session()
    one.plan(objective="Ship it", plan=("build",))
    one.bash("make", "built")
    one.guard.ending(final=False)
    waits = one.local.read(lambda tx: waiting.count(tx, Author("codex", "s_9")))

    one.guard.prompted("and now the docs")

    assert waits == 1
    assert one.local.read(lambda tx: waiting.count(tx, Author("codex", "s_9"))) == 0


def test_a_session_that_only_looked_or_is_done_leaves_nothing(
    session: Callable[..., Session],
) -> None:
    one, two = session(), session("codex", "host-2")
    one.guard.prompted("what is this?")
    one.read("a.py", "print()")
    two.plan(objective="Ship it", plan=("build",))
    two.plan(step=1)

    assert one.guard.ending(final=True) is None
    assert two.guard.ending(final=True) is None


def test_a_compaction_is_marked_once(session: Callable[..., Session]) -> None:
    one = session()
    one.guard.compacting()
    assert one.state() is None
    one.bash("ls", "a")

    for _ in range(3):
        one.guard.compacting()

    assert one.state().checkpoints == 1


def test_a_gap_is_journaled(session: Callable[..., Session]) -> None:
    one = session()
    one.guard.gap("the database was busy")

    assert one.state().gaps == 1


def test_a_named_task_is_used(settings: Settings, makers: Makers) -> None:
    with open_local(settings._replace(), makers) as local:
        planner = Session(local, "claude", "host-1")
        task = planner.plan(objective="Ship it")["task"]
        other = Guard(local, Author("codex", "host-2"), task_id=task)
        other.after(Call("Bash", {"command": "ls"}), Outcome(b"a"))

        assert planner.state().calls == 1
