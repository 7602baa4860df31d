"""Gemini CLI's hooks: its events read, and answers in its form.

Source: geminicli.com/docs/hooks/reference; behaviour observed with Gemini CLI 0.61.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handoff_memory.hooks.event import Answer, Event, Kind, capped, dumped, table, text_of, texts

_NAMES: Final[Mapping[Kind, str]] = {
    "session-start": "SessionStart",
    "prompt": "BeforeAgent",
    "before-tool": "BeforeTool",
    "after-tool": "AfterTool",
    "before-compact": "PreCompress",
    "session-end": "SessionEnd",
}
_TAKE_CONTEXT: Final = ("SessionStart", "BeforeAgent", "AfterTool")
_OPEN: Final = "<untrusted_context>\n"
_CLOSE: Final = "\n</untrusted_context>"
_STATUS: Final = "\nExit Code: "
_GROUP: Final = "\nProcess Group PGID: "
# The model gets a replaced result as an error, so the text itself says that it is none.
_NO_ERROR: Final = "The call succeeded; this stands for its output.\n"

SILENCE: Final = None


def read(kind: Kind, payload: Mapping[str, Any]) -> Event | None:
    """The event that Gemini CLI reports, or None where it is another than the one asked for."""
    name = payload.get("hook_event_name")
    if name != _NAMES.get(kind):
        return None
    event = Event(
        kind,
        str(name),
        session=texts(payload, "session_id"),
        folder=texts(payload, "cwd"),
        tool=texts(payload, "tool_name") or "",
        args=table(payload.get("tool_input")),
        server=texts(table(payload.get("mcp_context")), "server_name") or "",
        prompt=_asked(texts(payload, "prompt") or ""),
        source=texts(payload, "source", "trigger", "reason") or "",
    )
    if kind != "after-tool":
        return event
    return _answered(
        event._replace(call_id=_id(event, texts(payload, "timestamp"))),
        table(payload.get("tool_response")),
    )


def write(event: Event, answer: Answer) -> dict[str, Any] | None:
    """The answer in Gemini CLI's form, or None for silence; it never grants anything."""
    if event.kind == "before-tool":
        return {"decision": "deny", "reason": answer.deny} if answer.deny else None
    context = capped(answer.context)
    if answer.replacement and event.is_replaceable:
        # Beside a replaced result no context is taken, so it joins the text.
        said = "\n".join(filter(None, (answer.replacement, context)))
        return {
            "decision": "deny",
            "reason": said if event.error or event.exit_status else _NO_ERROR + said,
        }
    if context and event.name in _TAKE_CONTEXT:
        return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": context}}
    return None


def _id(event: Event, at: str | None) -> str | None:
    """What tells a call from each other one: it has no id, and several may end at one time.

    One event has one time for all hooks that it fires.
    """
    if event.session is None or at is None:
        return None
    return f"{event.session}@{at} {event.tool} {dumped(event.args)}"


def _answered(event: Event, response: Mapping[str, Any]) -> Event:
    text = text_of(response.get("llmContent"))
    text = text if text is None else _unwrapped(text)
    status, is_shell = None, event.tool == "run_shell_command"
    if is_shell and text is not None:
        # The last line numbers the process: two equal outputs differ in nothing else.
        text = text.removeprefix("Output: ")
        text = text.rpartition(_GROUP)[0] or text
        number = text.rpartition(_STATUS)[2].partition("\n")[0] if _STATUS in text else "0"
        status = int(number) if number.isdigit() else None
    failed = texts(table(response.get("error")), "message")
    asked = event.args
    return event._replace(
        output=text,
        error=failed,
        exit_status=status,
        is_partial=any(asked.get(name) is not None for name in ("offset", "limit", "start_line")),
        is_replaceable=text is not None,
    )


def _unwrapped(text: str) -> str:
    """The output without the marks that Gemini CLI sets around what it does not trust."""
    if text.startswith(_OPEN) and text.endswith(_CLOSE):
        return text[len(_OPEN) : -len(_CLOSE)]
    return text


def _asked(prompt: str) -> str:
    """What the person wrote, without the context that hooks put before it."""
    head, mark, rest = prompt.partition("</hook_context>")
    return rest.lstrip() if mark and head.startswith("<hook_context>") else prompt
