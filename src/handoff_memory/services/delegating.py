"""`osiris_handoff`: a delegation that can be executed, carried by a handoff packet.

The contract says what to reach, from what, with which tools and paths, how to tell that it is done,
and at what cost. Its result cites evidence. The packet (pins, claims, leases) is the memory's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from handoff_memory.core.author import Author
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.services import handoff, packet_drafts, refs, tasks
from handoff_memory.services.handoff import IsDead
from handoff_memory.services.limits import Limits
from handoff_memory.services.packet_drafts import PacketDraft
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx

_TERMS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "tools": list,
    "paths": list,
    "checks": list,
    "budget": dict,
    "deadline_s": int,
}
_STATUSES: Final = ("done", "returned")
_SUMMARY_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Delegation:
    """What is delegated, and on which terms.

    Attributes:
        objective: What is to be reached.
        to: The agent, or None for whoever comes first.
        inputs: Records (`scope/key@N`) to start from, and refs.
        contract: `tools`, `paths`, `checks` (command and expected exit status or pattern),
            `budget`, `deadline_s`.
    """

    objective: str
    to: str | None = None
    inputs: tuple[str, ...] = ()
    contract: Mapping[str, Any] = field(default_factory=dict)


def draft(limits: Limits, wanted: Delegation) -> PacketDraft:
    """A packet with an executable contract in it.

    Raises:
        InputError: A term is unknown or of the wrong type.
    """
    contract = _contract(wanted.contract)
    pins = [given for given in wanted.inputs if not _is_ref(given)]
    kept = [given for given in wanted.inputs if _is_ref(given)]
    return packet_drafts.draft_packet(
        limits,
        summary=wanted.objective.strip().splitlines()[0][:_SUMMARY_CHARS],
        next_steps=[wanted.objective.strip()],
        pins=pins,
        to=wanted.to,
        details={"objective": wanted.objective.strip(), "contract": {**contract, "refs": kept}},
        expires_in=contract.get("deadline_s"),
    )


def delegate(
    tx: Tx,
    who: Author,
    limits: Limits,
    packet: PacketDraft,
    inputs: Sequence[str] = (),
    *,
    task_id: str | None = None,
) -> Reply:
    """Write the packet and note it in the task; a ref that does not exist is refused.

    Raises:
        PinNotFoundError: A pin names no record.
        NotFoundError: A ref means no payload, or there is no such task.
    """
    task = tasks.get(tx, who, task_id)
    _refs_exist(tx, inputs)
    made = handoff.create(tx, who, packet)
    told = {"packet": made["packet_id"], "state": "offered"}
    tasks.happened(tx, who, limits, task, "delegated", told)
    return {field: made[field] for field in ("packet_id", "to", "pins")}


def accept(
    tx: Tx,
    who: Author,
    limits: Limits,
    packet_id: str | None,
    *,
    is_dead: IsDead = lambda session: False,
) -> Reply:
    """Claim a delegation: its contract, its records as pinned, and which of them are stale."""
    return handoff.pickup(tx, who, limits, packet_id=packet_id, is_dead=is_dead)


def result_draft(limits: Limits, packet_id: str, result: Mapping[str, Any]) -> PacketDraft:
    """The packet that hands a delegation back with its result.

    Raises:
        InvalidArgumentError: The result says no status, no summary, or cites no evidence.
    """
    status = result.get("status", "done")
    if status not in _STATUSES:
        raise InvalidArgumentError(f"result.status is {' or '.join(_STATUSES)}")
    summary = result.get("summary")
    if not isinstance(summary, str) or not summary.strip():
        raise InvalidArgumentError("result.summary says in one line what came out")
    evidence = result.get("evidence")
    if status == "done" and not (isinstance(evidence, list) and evidence):
        raise InvalidArgumentError(
            "a result that is done cites evidence",
            way_out="Put refs (r12) or records (scope/key@N) into result.evidence.",
        )
    cited = [str(item) for item in evidence or []]
    return packet_drafts.draft_packet(
        limits,
        summary=summary.strip().splitlines()[0][:_SUMMARY_CHARS],
        done=[summary.strip()] if status == "done" else [],
        pins=[item for item in cited if not _is_ref(item)],
        details={"results": {**result, "evidence": cited}},
        in_reply_to=packet_id,
        status=status,
        token=result.get("token"),
    )


def give_back(tx: Tx, who: Author, packet: PacketDraft, evidence: Sequence[str]) -> Reply:
    """Hand a delegation back; a ref that is cited must exist.

    Raises:
        NotFoundError: A cited ref means no payload.
        ClaimLostError: The caller does not hold the delegation.
    """
    _refs_exist(tx, evidence)
    made = handoff.create(tx, who, packet)
    return {field: made[field] for field in ("packet_id", "closed")}


def _refs_exist(tx: Tx, items: Sequence[str]) -> None:
    for item in items:
        if _is_ref(item):
            refs.find(tx, item)


def _contract(given: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in given.items():
        if name not in _TERMS:
            raise InvalidArgumentError(f"contract takes {', '.join(_TERMS)}; not {name!r}")
        if not isinstance(value, _TERMS[name]) or isinstance(value, bool):
            raise InvalidArgumentError(f"contract.{name} has the wrong type")
    for check in given.get("checks", ()):
        if not isinstance(check, dict) or not isinstance(check.get("command"), str):
            raise InvalidArgumentError("a check has a command and an expected exit or pattern")
        if not {"exit", "pattern"} & set(check):
            raise InvalidArgumentError("a check says the exit status or the pattern it expects")
    return dict(given)


def _is_ref(text: str) -> bool:
    plain = text.strip()
    return plain.startswith(("mem://", "sha256:")) or (plain[:1] == "r" and plain[1:].isdigit())
