"""The SDK's entries as rows and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from amfs_core.hashing import content_hash, integrity_chain_hash
from amfs_core.models import ArtifactRef, MemoryEntry, MemoryType

from handoff_memory.core import canonical, confidence
from handoff_memory.store.engine import Row

_MICROSECOND: Final = 1_000_000
# Columns of the entry, or counted in one, and so not in its body as well.
_ELSEWHERE: Final = {"entity_path", "key", "version", "branch", "value", "recall_count"}
_SAID_ANYWAY: Final = ("amfs_version", "confidence", "content_hash", "integrity_chain")


def moment(microseconds: int) -> datetime:
    """The time of a column."""
    return datetime.fromtimestamp(microseconds / _MICROSECOND, tz=UTC)


def microseconds(given: datetime) -> int:
    """The column of a time; one without a zone is UTC, as the SDK takes it."""
    aware = given if given.tzinfo else given.replace(tzinfo=UTC)
    delta = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * _MICROSECOND + delta.microseconds


def value_of(row: Row, fields: dict[str, Any] | None) -> Any:
    """The value of a version, from its record or from the version itself."""
    if row["record"] is None:
        return fields["value"] if fields else None
    return None if row["value"] is None else canonical.decode(row["value"])


def fields_in(row: Row) -> dict[str, Any] | None:
    """What AMFS alone has of a version, None where the shared memory wrote it."""
    return None if row["fields"] is None else canonical.decode(row["fields"])


def entry_of(row: Row, recalls: int = 0) -> MemoryEntry:
    """The entry of a row; `recalls` are not in it yet."""
    fields = fields_in(row)
    value = value_of(row, fields)
    known = {
        "entity_path": row["path"],
        "key": row["key"],
        "version": row["version"],
        "branch": row["branch"],
        "value": value,
        "recall_count": row["recalls"] + recalls,
    }
    if fields is None:
        return _foreign(row, known)
    provenance = {**fields["provenance"], "agent_id": row["writer"]}
    return MemoryEntry.model_validate({**fields, **known, "provenance": provenance})


def fields_of(entry: MemoryEntry) -> dict[str, Any]:
    """What AMFS alone has of an entry; the rest is in columns, or in the record."""
    fields: dict[str, Any] = entry.model_dump(
        mode="json", exclude={*_ELSEWHERE, "provenance"}, exclude_defaults=True
    )
    for name in _SAID_ANYWAY:
        fields[name] = getattr(entry, name)
    fields["provenance"] = entry.provenance.model_dump(mode="json", exclude={"agent_id"})
    return fields


def references(entry: MemoryEntry) -> dict[str, Any]:
    """What an entry refers to, empty where it is nothing."""
    refs = entry.provenance.pattern_refs
    if not (refs or entry.artifact_refs):
        return {}
    artifacts = [ref.model_dump(mode="json") for ref in entry.artifact_refs]
    return {"pattern_refs": refs, "artifact_refs": artifacts}


def referring(entry: MemoryEntry, said: dict[str, Any]) -> MemoryEntry:
    """The entry with other references."""
    provenance = entry.provenance.model_copy(update={"pattern_refs": said["pattern_refs"]})
    artifacts = [ArtifactRef.model_validate(ref) for ref in said["artifact_refs"]]
    return entry.model_copy(update={"provenance": provenance, "artifact_refs": artifacts})


def labels(entry: MemoryEntry) -> tuple[str, ...]:
    """The tags of the record: of what kind it is, where it is no plain fact."""
    return () if entry.memory_type is MemoryType.FACT else (entry.memory_type.value,)


def following(entry: MemoryEntry, before: MemoryEntry | None, value: Any) -> MemoryEntry:
    """The entry as it stands after its true predecessor, whatever its writer had read."""
    digest = content_hash(value)
    chain = integrity_chain_hash(digest, before.integrity_chain if before else None)
    return entry.model_copy(
        update={
            "value": value,
            "version": before.version + 1 if before else 1,
            "recall_count": max(entry.recall_count, before.recall_count if before else 0),
            "content_hash": digest,
            "integrity_chain": chain,
        }
    )


def _foreign(row: Row, known: dict[str, Any]) -> MemoryEntry:
    """A version that an agent of the shared memory wrote: its own words, no evidence of AMFS."""
    return MemoryEntry.model_validate(
        {
            **known,
            "provenance": {
                "agent_id": row["agent"],
                "session_id": row["session"],
                "written_at": moment(row["at"]),
            },
            "confidence": confidence.to_fraction(row["confidence"]),
            "ttl_at": None if row["expires_at"] is None else moment(row["expires_at"]),
            "content_hash": content_hash(known["value"]),
        }
    )
