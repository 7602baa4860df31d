"""Codex's hooks: its events read, and answers in its form.

Its answers have closed schemas: one field too many voids the answer.

Source: codex-rs/hooks/schema/generated; behaviour observed with Codex 0.171.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handoff_memory.hooks.event import Answer, Event, Kind, capped, table, text_of, texts

_NAMES: Final[Mapping[Kind, str]] = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "before-tool": "PreToolUse",
    "after-tool": "PostToolUse",
    "before-compact": "PreCompact",
    "turn-end": "Stop",
    "session-end": "SessionEnd",
}
_TAKE_CONTEXT: Final = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse")
_PATCH: Final = "apply_patch"

SILENCE: Final = None


def read(kind: Kind, payload: Mapping[str, Any]) -> Event | None:
    """The event that Codex reports, or None where it is another than the one asked for."""
    name = payload.get("hook_event_name")
    if name != _NAMES.get(kind):
        return None
    event = Event(
        kind,
        str(name),
        session=texts(payload, "session_id"),
        folder=texts(payload, "cwd"),
        subagent=texts(payload, "agent_id"),
        tool=texts(payload, "tool_name") or "",
        args=_args(payload),
        call_id=texts(payload, "tool_use_id"),
        prompt=texts(payload, "prompt") or "",
        source=texts(payload, "source", "trigger", "reason") or "",
    )
    if kind != "after-tool":
        return event
    response = payload.get("tool_response")
    failed = isinstance(response, dict) and response.get("isError") is True
    text = text_of(response)
    return event._replace(
        output=text,
        error=text if failed else None,
        is_replaceable=event.subagent is None and text is not None,
        shape=response,
        transcript=texts(payload, "transcript_path"),
    )


def write(event: Event, answer: Answer) -> dict[str, Any] | None:
    """The answer in Codex's form, or None for silence; it never grants anything.

    A `block` after a tool makes its reason the result that the model reads; the turn goes on.
    """
    if event.kind == "before-tool" and answer.deny:
        denied = {"permissionDecision": "deny", "permissionDecisionReason": answer.deny}
        return {"hookSpecificOutput": {"hookEventName": event.name, **denied}}
    if event.subagent is not None:
        return None
    told: dict[str, Any] = {}
    if answer.replacement and event.is_replaceable:
        told = {"decision": "block", "reason": answer.replacement}
    context = capped(answer.context)
    if context and event.name in _TAKE_CONTEXT:
        told["hookSpecificOutput"] = {"hookEventName": event.name, "additionalContext": context}
    return told or None


def _args(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments; a patch stands where else a command does, and is none."""
    args = table(payload.get("tool_input"))
    if payload.get("tool_name") == _PATCH and "command" in args:
        return {"patch": args["command"]}
    return args
