"""Claude Code's hooks: its events read, and answers in its form.

Source: code.claude.com/docs/en/hooks; shapes recorded from Claude Code 2.1.332.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handoff_memory.hooks.event import Answer, Event, Kind, capped, table, text_of, texts

_NAMES: Final[Mapping[Kind, tuple[str, ...]]] = {
    "session-start": ("SessionStart",),
    "prompt": ("UserPromptSubmit",),
    "before-tool": ("PreToolUse",),
    "after-tool": ("PostToolUse", "PostToolUseFailure"),
    "before-compact": ("PreCompact",),
    "session-end": ("SessionEnd",),
}
# Compaction and the end of a session take no context.
_TAKE_CONTEXT: Final = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse")
_EXIT: Final = "Exit code "
# With these Claude Code shows a preview of what a file holds.
_PERSISTED: Final = ("persistedOutputPath", "persistedOutputSize")

SILENCE: Final = None


def read(kind: Kind, payload: Mapping[str, Any]) -> Event | None:
    """The event that Claude Code reports, or None where it is not for us.

    Cursor runs these hooks too, and has hooks of its own: there they are silent.
    """
    name = payload.get("hook_event_name")
    if "cursor_version" in payload or name not in _NAMES.get(kind, ()):
        return None
    event = Event(
        kind,
        str(name),
        session=texts(payload, "session_id"),
        folder=texts(payload, "cwd"),
        subagent=texts(payload, "agent_id"),
        tool=texts(payload, "tool_name") or "",
        args=table(payload.get("tool_input")),
        call_id=texts(payload, "tool_use_id"),
        server=texts(table(payload.get("mcp_server")), "name") or "",
        prompt=texts(payload, "prompt") or "",
        source=texts(payload, "source", "trigger", "reason") or "",
    )
    if kind != "after-tool":
        return event
    if name == "PostToolUseFailure":
        return _failed(event, texts(payload, "error") or "failed")
    return _succeeded(event, payload.get("tool_response"))


def write(event: Event, answer: Answer) -> dict[str, Any] | None:
    """The answer in Claude Code's form, or None for silence; it never grants anything."""
    if event.kind == "before-tool" and answer.deny:
        denied = {"permissionDecision": "deny", "permissionDecisionReason": answer.deny}
        return _specific(event, denied)
    if event.subagent is not None:
        return None
    told: dict[str, Any] = {}
    if answer.replacement is not None and event.is_replaceable:
        told["updatedToolOutput"] = _shaped(event.shape, answer.replacement)
    context = capped(answer.context)
    if context and event.name.startswith(_TAKE_CONTEXT):
        told["additionalContext"] = context
    return _specific(event, told) if told else None


def _specific(event: Event, told: dict[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event.name, **told}}


def _failed(event: Event, error: str) -> Event:
    """A failed call: its output stands in the error, and nothing can replace it."""
    first, _, rest = error.partition("\n")
    number = first.removeprefix(_EXIT)
    if first == number or not number.isdigit():
        return event._replace(error=error)
    return event._replace(output=rest, exit_status=int(number))


def _succeeded(event: Event, response: Any) -> Event:
    more = response if isinstance(response, dict) else {}
    text = None if more.get("isImage") else _said(response)
    asked = event.args
    is_read = event.tool == "Read"
    return event._replace(
        output=text,
        exit_status=0 if _is_done(more) else None,
        is_partial=is_read and (asked.get("offset") or asked.get("limit")) is not None,
        shape=response,
        is_replaceable=event.subagent is None and text is not None,
        kept_at=texts(more, "persistedOutputPath"),
    )


def _is_done(response: Mapping[str, Any]) -> bool:
    """Whether a shell command ended with status 0; what another status means is told in words."""
    unlike = ("interrupted", "returnCodeInterpretation", "backgroundTaskId")
    return "stdout" in response and not any(response.get(name) for name in unlike)


def _said(shape: Any) -> str | None:
    """What the model would read of a tool's output; None of a shape that is not known."""
    match shape:
        case {"stdout": str(out), "stderr": str(err)}:
            return f"{out}\n{err}" if out and err else out or err
        case {"file": {"content": str(text)}} | {"content": str(text)} | {"result": str(text)}:
            return text
        case {"filenames": [*names], "numFiles": int()}:
            return "\n".join(map(str, names))
        case str() | [*_] | {"content": [*_]}:
            return text_of(shape)
        case _:
            return None


def _shaped(shape: Any, stub: str) -> Any:  # noqa: C901, PLR0911 - one case a shape
    """The stub in the shape of a tool's output, without which it is not taken; None if unknown."""
    match shape:
        case str():
            return stub
        case [{"type": "text"}, *_]:
            return [{"type": "text", "text": stub}]
        case {"stdout": _, "stderr": _}:
            kept = {name: value for name, value in shape.items() if name not in _PERSISTED}
            return {**kept, "stdout": stub, "stderr": ""}
        case {"file": {**file}}:
            return {**shape, "file": {**file, "content": stub, "numLines": 1, "startLine": 1}}
        case {"content": [{"type": "text"}, *_]}:
            blocks = {**shape, "content": [{"type": "text", "text": stub}]}
            blocks.pop("structuredContent", None)
            return blocks
        case {"content": str()}:  # Grep
            return {**shape, "content": stub, "numLines": stub.count("\n") + 1}
        case {"result": str()}:  # WebFetch
            return {**shape, "result": stub}
        case {"filenames": [*_], "numFiles": int()}:  # Glob, Grep for files
            return {**shape, "filenames": [stub], "numFiles": 1}
        case _:
            return None
