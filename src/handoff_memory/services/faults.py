"""How an error is told: the same JSON object on every surface."""

from __future__ import annotations

from typing import Any

from handoff_memory.core.errors import MemoryFault
from handoff_memory.rules import redact


def error_reply(fault: MemoryFault) -> dict[str, Any]:
    """An error as JSON, the same on every surface; what it repeats of the call is redacted."""
    told = {
        "code": fault.code,
        "message": fault.message,
        "retryable": fault.retryable,
        "next": fault.next_step,
        **fault.facts,
    }
    clean: redact.Redacted[Any] = redact.redact_value(told)
    return dict(clean.value)
