"""What the governor does about an event, and what the client is answered."""

from __future__ import annotations

from typing import Final

from handoff_memory.guard import Call, Guard, Kept, Outcome, Verdict
from handoff_memory.hooks.event import CANARY, CANARY_DENIED, NOTHING, Answer, Event, is_own

_REFUSED: Final = ("block", "ask")


def answered_at_once(event: Event) -> Answer | None:
    """The answer to what needs no memory: the canary, and calls of our own tools."""
    if event.kind == "before-tool" and event.tool == CANARY:
        return Answer(deny=CANARY_DENIED)
    if event.kind in {"before-tool", "after-tool"} and (not event.tool or is_own(event)):
        return NOTHING
    return None


def act(guard: Guard, event: Event) -> Answer:
    """Tell the governor of an event; what comes of it for the client."""
    match event.kind:
        case "before-tool":
            return _judged(guard.before(_call(event)))
        case "after-tool":
            return _kept(guard.after(_call(event), _outcome(event)))
        case "session-start":
            return Answer(context=guard.opening(event.source))
        case "prompt":
            return Answer(context=guard.prompted(event.prompt))
        case "before-compact":
            guard.compacting()
        case "turn-end" | "session-end":
            guard.ending(final=event.kind == "session-end")
    return NOTHING


def _call(event: Event) -> Call:
    return Call(event.tool, event.args, event.call_id, event.subagent or "")


def _outcome(event: Event) -> Outcome:
    data = None if event.output is None else event.output.encode("utf-8", "replace")
    return Outcome(
        data, event.error, event.exit_status, event.is_partial, replaceable=event.is_replaceable
    )


def _judged(verdict: Verdict) -> Answer:
    if verdict.decision in _REFUSED:
        return Answer(deny=verdict.reason.strip() or "refused by a rule of this project")
    return Answer(context=verdict.reason) if verdict.decision == "warn" else NOTHING


def _kept(kept: Kept) -> Answer:
    return Answer(replacement=kept.stub, context=kept.note)
