"""Replies and errors as MCP results: the text says exactly what the structured content says."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import orjson

from handoff_memory.core.errors import MemoryFault
from handoff_memory.rules import redact
from handoff_memory.services.faults import error_reply

__all__ = ["error_reply", "failure", "fault_of", "result"]


def result(reply: dict[str, Any], *, is_error: bool = False) -> dict[str, Any]:
    """A tool's result; some clients show the model the text, some the structured content.

    As it goes over the wire: the SDK makes that of its own models only to check it once more.
    """
    content = {"type": "text", "text": orjson.dumps(reply).decode()}
    return {"content": [content], "structuredContent": reply, "isError": is_error}


def fault_of(error: Exception) -> MemoryFault:
    """The promised error for any exception; one that nobody foresaw goes to stderr."""
    if isinstance(error, MemoryFault):
        return error
    trace = "".join(traceback.format_exception(error))
    sys.stderr.write(redact.redact_text(trace).value)
    return MemoryFault(f"unexpected {type(error).__name__}")


def failure(error: Exception) -> dict[str, Any]:
    """An error as a result that the model sees: code, sentence, and what to do next."""
    return result(error_reply(fault_of(error)), is_error=True)
