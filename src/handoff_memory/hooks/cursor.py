"""Cursor's hooks: its events read, and answers in its form.

A hook that is asked for permission must print JSON, or the call is blocked: `{}` says nothing.

Source: cursor.com/docs/hooks, as notes of 2026-09 describe it; no Cursor was run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handoff_memory.hooks.event import Answer, Event, Kind, capped, table, text_of, texts

_NAMES: Final[Mapping[Kind, tuple[str, ...]]] = {
    "session-start": ("sessionStart",),
    "prompt": ("beforeSubmitPrompt",),
    "before-tool": ("preToolUse", "beforeShellExecution", "beforeMCPExecution"),
    "after-tool": ("postToolUse", "postToolUseFailure"),
    "before-compact": ("preCompact",),
    "session-end": ("sessionEnd",),
}
_TAKE_CONTEXT: Final = ("sessionStart", "beforeSubmitPrompt", "postToolUse")
_MCP: Final = "MCP:"

SILENCE: Final[dict[str, Any]] = {}


def read(kind: Kind, payload: Mapping[str, Any]) -> Event | None:
    """The event that Cursor reports, or None where it is another than the one asked for."""
    name = payload.get("hook_event_name")
    if name not in _NAMES.get(kind, ()):
        return None
    tool, args = texts(payload, "tool_name") or "", table(payload.get("tool_input"))
    if name == "beforeShellExecution":
        tool, args = "Shell", {"command": texts(payload, "command") or ""}
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else None
    event = Event(
        kind,
        str(name),
        session=texts(payload, "conversation_id", "session_id"),
        folder=texts(payload, "cwd") or first,
        subagent=texts(payload, "subagent_id"),
        tool=tool.removeprefix(_MCP),
        args=args,
        call_id=texts(payload, "tool_use_id"),
        server=_server(payload, tool),
        prompt=texts(payload, "prompt") or "",
        source=texts(payload, "source", "trigger", "reason", "composer_mode") or "",
    )
    if kind != "after-tool":
        return event
    if name == "postToolUseFailure":
        return event._replace(error=texts(payload, "error_message") or "failed")
    return _answered(event, payload.get("tool_output"), is_mcp=tool.startswith(_MCP))


def write(event: Event, answer: Answer) -> dict[str, Any]:
    """The answer in Cursor's form, which is never empty of JSON; it never grants anything."""
    if event.kind == "before-tool":
        if not answer.deny:
            return SILENCE
        return {
            "permission": "deny",
            "user_message": answer.deny.partition("\n")[0],
            "agent_message": answer.deny,
        }
    told: dict[str, Any] = {}
    if event.subagent is None:
        if answer.replacement is not None and event.is_replaceable:
            told["updated_mcp_tool_output"] = _shaped(event.shape, answer.replacement)
        context = capped(answer.context)
        if context and event.name in _TAKE_CONTEXT:
            told["additional_context"] = context
    return told or SILENCE


def _answered(event: Event, output: Any, *, is_mcp: bool) -> Event:
    shape = table(output) if isinstance(output, str) and output.startswith("{") else output
    status, text = None, text_of(shape)
    if isinstance(shape, dict) and isinstance(shape.get("exitCode"), int):
        status, text = shape["exitCode"], texts(shape, "stdout", "output", "stderr") or text
    asked = event.args
    return event._replace(
        output=text,
        exit_status=status,
        is_partial=asked.get("offset") is not None or asked.get("limit") is not None,
        is_replaceable=is_mcp and event.subagent is None and text is not None,
        shape=shape,
    )


def _shaped(shape: Any, stub: str) -> dict[str, Any]:
    kept = {} if not isinstance(shape, dict) else {"isError": shape.get("isError", False)}
    return {**kept, "content": [{"type": "text", "text": stub}]}


def _server(payload: Mapping[str, Any], tool: str) -> str:
    """The MCP server of a call: what runs it, or its place in the tool's name."""
    told = texts(payload, "server", "server_name", "command", "url")
    if payload.get("hook_event_name") == "beforeShellExecution" or told is None:
        return tool.removeprefix(_MCP).rpartition("__")[0] if tool.startswith(_MCP) else ""
    return told
