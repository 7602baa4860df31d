"""The loop guard: a call that repeats itself without the world having changed.

A call is seen by its signatures (core.signature) and by the state of the world at its time. Five
patterns, of which the most severe found is the verdict:

- exact duplicate: tool, arguments and result again, nothing edited between. The second is
  answered with the ref of the first. V41's figures stand behind it: of a call that ran, `judge`
  warns at the third that is the same to the byte and blocks at the fifth. `foresee` never denies a
  call for being a duplicate, since a suggestion is no refusal (governor §6 over V41).
- repeated failure: the same call, the same error, three times: block, and the fourth is denied.
- loop pattern: other arguments, three times the same error: warn.
- oscillation: A B A B, or a longer period up to four, at the same states of the world: warn.
- runaway: 12 calls without progress warn, 24 block.

What passes: a job whose output changes has new results; after an edit the state of the world is
another, and counting starts anew, also for tests that fail again, as it does when a person spoke,
who may have changed what no tool shows. Nothing counts calls in a row, so other calls in between
reset nothing. Failures and duplicates count over all agents of the window, oscillation and runaway
for one agent.

A result that differs in a clock only is the same result, so it is suggested, but never warned of as
a duplicate: its bytes did change.

Source: governor §6; V41 of notes/memory.md.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

Pattern = Literal["duplicate", "repeated_failure", "loop", "oscillation", "runaway"]
Kind = Literal["call", "edit", "plan", "override"]

FAILURES_BLOCK: Final = 3
DUPLICATES_WARN: Final = 3
DUPLICATES_BLOCK: Final = 5
PERIODS: Final = (2, 3, 4)
ROUNDS: Final = 2
RUNAWAY_WARN: Final = 12
RUNAWAY_BLOCK: Final = 24


class Call(NamedTuple):
    """One observed call.

    Attributes:
        seq: Its place in the task's journal.
        agent: Who called.
        tool: The tool's name.
        args: The signature of its arguments.
        result: The signature of its result; None where it gave none.
        raw: The hash of the result's bytes.
        error: The signature of its error; None where it succeeded.
        progress: The state of the world after it: any value that is another one after an edit, a
            change of the tests' state, a step of the plan or a word of the person. A new result
            does not belong in it; that is found here, and must not reset what failed.
        ref: Where its result is kept.
        kind: `edit` and `plan` change the world by themselves; `override` is no call but a logged
            permission to try `tool` with `args` again: what came before it does not count.
    """

    seq: int
    agent: str
    tool: str
    args: str
    result: str | None = None
    raw: str | None = None
    error: str | None = None
    progress: str | int = 0
    ref: str | None = None
    kind: Kind = "call"


class Proposed(NamedTuple):
    """A call before it is made."""

    agent: str
    tool: str
    args: str
    progress: str | int = 0
    kind: Kind = "call"


class Allow(NamedTuple):
    """Nothing repeats itself."""


class Suggest(NamedTuple):
    """The answer is known already; the call is not denied.

    Attributes:
        ref: The earlier result, where it was kept.
        seqs: The earlier calls.
    """

    pattern: Pattern
    reason: str
    suggest_alternative: str
    ref: str | None
    seqs: tuple[int, ...]


class Warn(NamedTuple):
    """It looks like a loop; the call is not denied."""

    pattern: Pattern
    reason: str
    way_out: str
    seqs: tuple[int, ...]
    ref: str | None = None


class Block(NamedTuple):
    """It is a loop. As the verdict on a proposed call: denied."""

    pattern: Pattern
    reason: str
    required_action: str
    seqs: tuple[int, ...]
    ref: str | None = None


Verdict: TypeAlias = Allow | Suggest | Warn | Block
_SEVERITY: Final[tuple[type[Verdict], ...]] = (Allow, Suggest, Warn, Block)
_OVERRIDE: Final = "or ask for an override, which is logged"


def judge(window: Sequence[Call], call: Call) -> Verdict:
    """The verdict on a call that was just observed.

    Args:
        window: The task's earlier calls, of all agents, oldest first.
        call: The call, which is not in the window.
    """
    calls = [*(earlier for earlier in window if earlier.seq < call.seq), call]
    same = _same(calls, call.tool, call.args, call.progress)
    mine = [earlier for earlier in calls if earlier.agent == call.agent]
    return _most_severe(
        (
            _failures(same, call.error),
            _loop(calls, call),
            _duplicates(same, call),
            _oscillation(mine),
            _runaway(_without_progress(mine)),
        )
    )


def foresee(window: Sequence[Call], proposed: Proposed) -> Verdict:
    """The verdict on a call before it is made; only a block denies it.

    Args:
        window: The task's calls so far, of all agents, oldest first.
        proposed: The call.
    """
    same = _same(window, proposed.tool, proposed.args, proposed.progress)
    mine = [call for call in window if call.agent == proposed.agent]
    last = same[-1].error if same else None
    runaway: Verdict = Allow()
    if proposed.kind == "call":  # an edit or a step of the plan is the way out
        idle = _without_progress(mine)
        is_moved = mine and mine[-1].progress != proposed.progress
        runaway = Allow() if is_moved else _runaway(idle)
    return _most_severe((_failures(same, last), _known(same), runaway))


# --- the five patterns --------------------------------------------------------------------------


def _failures(same: Sequence[Call], error: str | None) -> Verdict:
    """The same call with the same error, since it last succeeded."""
    if error is None:
        return Allow()
    succeeded = max((at for at, call in enumerate(same) if call.error is None), default=-1)
    failed = [call for call in same[succeeded + 1 :] if call.error == error]
    if len(failed) < FAILURES_BLOCK:
        return Allow()
    agents = len({call.agent for call in failed})
    by = f", by {agents} agents" if agents > 1 else ""
    return Block(
        "repeated_failure",
        f"{failed[-1].tool} failed {len(failed)} times in the same way with the same arguments{by}",
        f"Change the arguments, or what the call depends on; read the earlier result; {_OVERRIDE}.",
        _seqs(failed),
        _ref(failed),
    )


def _loop(calls: Sequence[Call], call: Call) -> Verdict:
    """Other arguments, the same error; over all tools, for two may run one program."""
    if call.error is None:
        return Allow()
    start = max(
        (at for at, c in enumerate(calls) if _is_override(c, call.tool, call.args)), default=0
    )
    failed = [
        earlier
        for earlier in calls[start:]
        if earlier.error == call.error and earlier.progress == call.progress
    ]
    tried = {(earlier.tool, earlier.args) for earlier in failed}
    if len(failed) < FAILURES_BLOCK or len(tried) < 2:
        return Allow()
    return Warn(
        "loop",
        f"{len(failed)} calls with {len(tried)} different arguments failed in the same way",
        "The arguments are not the cause: read the error, and change what it names.",
        _seqs(failed),
        _ref(failed),
    )


def _duplicates(same: Sequence[Call], call: Call) -> Verdict:
    """The same call with the same result, and nothing edited between."""
    if call.error is not None or call.result is None:
        return Allow()
    found = [earlier for earlier in same if earlier.error is None and earlier.result == call.result]
    if len(found) < 2:
        return Allow()
    exact = [earlier for earlier in found if earlier.raw == call.raw]
    reason = f"{call.tool} gave this result {len(found)} times, and nothing changed between"
    seqs, ref = _seqs(found[:-1]), _ref(found[:-1])
    way_out = f"Read the earlier result {ref or ''}".rstrip()
    if len(exact) >= DUPLICATES_BLOCK:
        action = f"{way_out}, or call with other arguments; {_OVERRIDE}."
        return Block("duplicate", reason, action, seqs, ref)
    if len(exact) >= DUPLICATES_WARN:
        return Warn("duplicate", reason, f"{way_out}, or call with other arguments.", seqs, ref)
    return Suggest("duplicate", reason, f"{way_out}.", ref, seqs)


def _known(same: Sequence[Call]) -> Verdict:
    """A proposed call whose answer was given, and did not change when it was asked for again."""
    if not same or same[-1].error is not None or same[-1].result is None:
        return Allow()
    last = same[-1]
    if any(call.raw != last.raw for call in same[-2:]):
        return Allow()  # it is polled, and its output changes
    ref = _ref(same)
    return Suggest(
        "duplicate",
        f"{last.tool} was called like this before, and nothing changed since",
        f"Read the earlier result {ref or ''}".rstrip() + ".",
        ref,
        _seqs(same),
    )


def _oscillation(mine: Sequence[Call]) -> Verdict:
    """The agent's latest calls repeat with a period, at the same states of the world."""
    keys = [(call.tool, call.args, call.result, call.error, call.progress) for call in mine]
    for period in PERIODS:
        span = period * ROUNDS
        latest = keys[-span:]
        first = latest[:period]
        if len(latest) == span and first * ROUNDS == latest and len(set(first)) > 1:
            return Warn(
                "oscillation",
                f"the same {period} calls in turn, {ROUNDS} times, with the same results",
                "Decide for one of them, and record why; or try something that is not among them.",
                _seqs(mine[-span:]),
            )
    return Allow()


def _runaway(idle: Sequence[Call]) -> Verdict:
    if len(idle) < RUNAWAY_WARN:
        return Allow()
    reason = f"{len(idle)} calls without progress: no edit, no step of the plan, no new result"
    if len(idle) < RUNAWAY_BLOCK:
        way_out = "Take stock with osiris_checkpoint, then edit, or go on to another step."
        return Warn("runaway", reason, way_out, _seqs(idle))
    action = f"Edit a file, update the plan, hand the task over, {_OVERRIDE}."
    return Block("runaway", reason, action, _seqs(idle))


# --- what counts --------------------------------------------------------------------------------


def _same(calls: Sequence[Call], tool: str, args: str, progress: str | int) -> list[Call]:
    """The calls of this tool with these arguments at this state, since the last override."""
    found: list[Call] = []
    for call in calls:
        if _is_override(call, tool, args):
            found.clear()
        elif (call.tool, call.args, call.progress) == (tool, args, progress):
            found.append(call)
    return found


def _is_override(call: Call, tool: str, args: str) -> bool:
    return call.kind == "override" and (call.tool, call.args) == (tool, args)


def _without_progress(mine: Sequence[Call]) -> list[Call]:
    """An agent's calls since the last that changed the world or gave a new result.

    The first call of a window is compared with nothing, and counts. A failure is no new result.
    """
    idle: list[Call] = []
    results: set[str] = set()
    states: set[str | int] = set()
    for call in mine:
        is_moved = call.kind != "call" or call.progress not in states
        is_news = call.error is None and call.result is not None and call.result not in results
        if states and (is_moved or is_news):
            idle.clear()
        else:
            idle.append(call)
        states.add(call.progress)
        if call.error is None and call.result is not None:
            results.add(call.result)
    return idle


def _most_severe(verdicts: Iterable[Verdict]) -> Verdict:
    return max(verdicts, key=lambda verdict: _SEVERITY.index(type(verdict)))


def _seqs(calls: Iterable[Call]) -> tuple[int, ...]:
    return tuple(call.seq for call in calls)


def _ref(calls: Sequence[Call]) -> str | None:
    return next((call.ref for call in reversed(calls) if call.ref), None)
