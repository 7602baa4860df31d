"""Drafts of handoff packets: checked, redacted and measured before any transaction."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from handoff_memory.core import canonical, names, packet
from handoff_memory.core.errors import EmptyHandoffError, InvalidArgumentError, TooLargeError
from handoff_memory.core.packet import Priority, Status
from handoff_memory.rules import redact
from handoff_memory.services import writing
from handoff_memory.services.limits import Limits, refuse_secret

DETAILS: Final = (
    "severity",
    "objective",
    "last_request",
    "evidence",
    "if_then",
    "dead_ends",
    "decisions",
    "workspace",
    "results",
    "contract",
)
_SEVERITIES: Final = ("stable", "watch", "blocked")
_GRADES: Final = ("observed", "declared", "inferred")


class PacketDraft(NamedTuple):
    """A packet that is ready to be written."""

    body: bytes
    pins: tuple[names.Name, ...]
    recipient: str | None
    priority: Priority
    expires_in_s: int | None
    in_reply_to: str | None
    status: Status | None
    token: int | None
    warnings: tuple[str, ...]
    redacted: tuple[str, ...]
    digest: bytes


def draft_packet(  # noqa: PLR0913 - one keyword a field of the packet
    limits: Limits,
    *,
    summary: str,
    done: Sequence[str] = (),
    next_steps: Sequence[str] = (),
    open_questions: Sequence[str] = (),
    pins: Sequence[str] = (),
    to: str | None = None,
    details: dict[str, Any] | None = None,
    priority: Priority = "normal",
    expires_in: int | None = None,
    in_reply_to: str | None = None,
    status: Status | None = None,
    token: int | None = None,
    workspace: dict[str, Any] | None = None,
) -> PacketDraft:
    """Check and redact what is to be handed over.

    The sender's checkout, where there is one, goes into the details unless they name another.

    Raises:
        InputError: What is wrong with an argument; nothing was written.
    """
    if status and not in_reply_to:
        raise InvalidArgumentError("status goes with in_reply_to: it hands a packet back")
    if not status and not done and not next_steps:
        raise EmptyHandoffError("a packet needs done or next")
    if not summary.strip() or "\n" in summary.strip():
        raise InvalidArgumentError("summary is one line that says what this is about")
    content: Any = {
        "summary": summary.strip(),
        "done": list(done),
        "next": list(next_steps),
        "open": list(open_questions),
        "details": _details(details or {}, len(done)),
    }
    canonical.encode(content)  # refuses what nothing below could walk
    clean: redact.Redacted[Any] = redact.redact_value(content, limits.allowed)
    whole = _with_workspace(limits, clean.value, workspace)
    body = canonical.encode(whole)
    warnings = _size_warnings(whole, len(body.decode()))
    if expires_in is not None and not 0 < expires_in < 10**10:
        raise InvalidArgumentError("expires_in is a number of seconds from 1 on")
    recipient = None if to is None else names.agent_id(to)
    refuse_secret(limits, "agent id", recipient or "")
    wanted = tuple(dict.fromkeys(names.parse_name(pin) for pin in pins))
    if len(wanted) > packet.MAX_PINS:
        raise TooLargeError(f"at most {packet.MAX_PINS} pins, these are {len(wanted)}")
    for pin in wanted:
        refuse_secret(limits, "pin", str(pin))
    arguments = {
        "content": clean.value,  # without the checkout, which a retry may find changed
        "pins": [str(pin) for pin in wanted],
        "to": recipient,
        "priority": priority,
        "expires_in": expires_in,
        "in_reply_to": in_reply_to,
        "status": status,
    }
    return PacketDraft(
        body=body,
        pins=wanted,
        recipient=recipient,
        priority=priority,
        expires_in_s=expires_in,
        in_reply_to=in_reply_to,
        status=status,
        token=token,
        warnings=warnings,
        redacted=clean.kinds,
        digest=writing.digest_of("handoff_create", arguments),
    )


def _details(details: dict[str, Any], done: int) -> dict[str, Any]:
    if unknown := sorted(set(details) - set(DETAILS)):
        raise InvalidArgumentError(
            f"details has no field {unknown[0]!r}; it takes {', '.join(DETAILS)}"
        )
    if details.get("severity", "stable") not in _SEVERITIES:
        raise InvalidArgumentError(f"details.severity is one of {', '.join(_SEVERITIES)}")
    evidence = details.get("evidence")
    if evidence is None:
        return details
    if not isinstance(evidence, list) or len(evidence) > done:
        raise InvalidArgumentError("details.evidence is a list with an item for each done item")
    for item in evidence:
        grade = item.get("grade") if isinstance(item, dict) else None
        if grade is not None and grade not in _GRADES:
            raise InvalidArgumentError(f"an evidence grade is one of {', '.join(_GRADES)}")
    return details


def _with_workspace(limits: Limits, content: Any, workspace: dict[str, Any] | None) -> Any:
    if workspace is None or "workspace" in content["details"]:
        return content
    clean: redact.Redacted[Any] = redact.redact_value(workspace, limits.allowed)
    return {**content, "details": {**content["details"], "workspace": clean.value}}


def _size_warnings(content: Any, size: int) -> tuple[str, ...]:
    if size <= packet.WARN_CHARS:
        return ()
    fields = sorted(content, key=lambda field: -len(canonical.encode(content[field])))
    largest = ", ".join(fields[:2])
    if size > packet.MAX_CHARS:
        raise TooLargeError(
            f"the packet has {size} characters of at most {packet.MAX_CHARS}; largest: {largest}",
            way_out="Put long text into a record with memory_write and pin it.",
            size_chars=size,
            limit_chars=packet.MAX_CHARS,
        )
    return (f"the packet has {size} characters ({largest}): pin records instead of long text",)
