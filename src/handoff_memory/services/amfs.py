"""Entries and documents of AMFS on the shared memory: what agrees with a record becomes one.

Nothing here knows that SDK: it hands over plain fields, and what its own functions compute. How the
two models meet is written down in docs/senselab-amfs.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from handoff_memory.core import canonical, names
from handoff_memory.core import confidence as shares
from handoff_memory.core.author import Author
from handoff_memory.core.errors import InputError, InvalidNameError
from handoff_memory.core.names import Name
from handoff_memory.rules import redact
from handoff_memory.services import memory, writing
from handoff_memory.services.limits import Limits, refuse_secret
from handoff_memory.services.memory import RecordDraft
from handoff_memory.store import amfs, journal, records
from handoff_memory.store.amfs import EntryName, Place
from handoff_memory.store.engine import Row, Tx

NAMESPACE: Final = "default"
BRANCH: Final = "main"
SOURCE: Final = "AMFS"
_AT_ONCE: Final = 2000
_REMEMBERED: Final = 4096
_CAUGHT_UP: Final = "amfs.caught_up"


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """A version of an entry that is ready to be appended.

    Attributes:
        name: Of which entry.
        value: Canonical bytes, without secrets.
        record: What the shared memory gets, or None where the two models do not agree.
    """

    name: EntryName
    value: bytes
    record: RecordDraft | None


def entry_name(limits: Limits, place: Place, path: str, key: str) -> EntryName:
    """A checked name of an entry. A path is any text, a key holds no '/'.

    Raises:
        InvalidNameError: The name could not be told from another one.
        SecretRefusedError: It looks like a secret.
    """
    if not path or not key or "/" in key:
        what = f"key {key!r} holds '/'" if "/" in key else "an entity path and a key are not empty"
        raise InvalidNameError(
            what, way_out="Put the segments of a key but the last into the entity path."
        )
    if not (path.isascii() and key.isascii()):
        canonical.encode([path, key])  # refuses half characters
    refuse_secret(limits, "entity path or key", f"{path}/{key}")
    project = names.home(path, place.project)
    return EntryName(project, place.namespace, place.branch, path, key)


def draft_entry(  # noqa: PLR0913 - one keyword a field that both models know
    limits: Limits,
    name: EntryName,
    *,
    value: Any,
    confidence: float,
    tags: Sequence[str],
    expires_in_s: float | None,
    shared: bool,
) -> EntryDraft:
    """Check, redact and encode a version.

    Args:
        limits: Sizes and false alarms.
        name: Of which entry; checked.
        value: Any JSON.
        confidence: As its author put it.
        tags: Labels for the record; checked.
        expires_in_s: How long it is valid, not positive for one that is expired already.
        shared: Whether other agents may see it.

    Raises:
        InputError: What is wrong with the value; nothing was written.
    """
    body, clean = memory.clean_value(limits, value)
    agrees = shared and 0 <= confidence <= 1 and is_term(expires_in_s) and is_record(name)
    if not agrees:
        return EntryDraft(name, body, None)
    record = Name(name.path, name.key)
    labels = canonical.encode(list(tags))
    return EntryDraft(
        name,
        body,
        RecordDraft(
            name=record,
            body=body,
            confidence=shares.from_fraction(confidence),
            tags=labels,
            source=SOURCE,
            expires_in_s=None if expires_in_s is None else math.ceil(expires_in_s),
            text=memory.text_of(record, labels, SOURCE, clean.value),
            redacted=clean.kinds,
            condition=None,
        ),
    )


def is_term(expires_in_s: float | None) -> bool:
    """Whether a record can be valid for so long."""
    return expires_in_s is None or 0 < expires_in_s < 10**9


@lru_cache(_REMEMBERED)
def is_record(name: EntryName) -> bool:
    """Whether an entry by that name can be a record by the same name."""
    if (name.namespace, name.branch) != (NAMESPACE, BRANCH):
        return False
    try:
        record = names.writable(names.name(name.path, name.key))
    except InputError:
        return False
    return (record.scope, record.key) == (name.path, name.key)


def catch_up(tx: Tx) -> None:
    """Put records that other agents wrote on the version map, each as the next version."""
    while amfs.is_behind(tx):
        rows = amfs.unmapped(tx, _AT_ONCE)
        for row in rows:
            if row["scope"].partition("/")[0] != names.RESERVED:
                place = EntryName(row["project"], NAMESPACE, BRANCH, row["scope"], row["key"])
                amfs.adopt(tx, place, row["seq"])
        full = len(rows) == _AT_ONCE
        amfs.adopted(tx, rows[-1]["seq"] if full else amfs.newest_record(tx))


def head(tx: Tx, name: EntryName) -> Row | None:
    """The newest version of an entry, in a write transaction, which catches up where it must."""
    if _CAUGHT_UP not in tx.known:  # from here on only this transaction writes
        catch_up(tx)
        tx.known[_CAUGHT_UP] = True
    return amfs.newest(tx, name)


def append(  # noqa: PLR0913 - one keyword a part of the version
    tx: Tx,
    who: Author,
    draft: EntryDraft,
    fields: dict[str, Any],
    *,
    before: Row | None,
    writer: str,
    recalls: int,
    record: int | None = None,
) -> None:
    """Journal the next version of an entry, and its record where it is one.

    Args:
        tx: A write transaction that has caught up.
        who: Who writes.
        draft: The version.
        fields: What AMFS alone has of it.
        before: The version before.
        writer: The agent that the version is ascribed to, as AMFS spells it.
        recalls: How often the entry was read so far.
        record: The record that holds the very value already, where no new one is wanted.
    """
    wrote = record is None and draft.record is not None
    if record is None and draft.record is not None:
        name = draft.record.name
        # The map has caught up: what has no version on it is no record either.
        current = before and records.head(tx, draft.name.project, name.scope, name.key)
        record = memory.append(tx, who, draft.record, current).seq
    if record is None:
        fields = {**fields, "value": canonical.decode(draft.value)}
    version = before["version"] + 1 if before else 1
    row = {
        "project": draft.name.project,
        "namespace": draft.name.namespace,
        "branch": draft.name.branch,
        "path": draft.name.path,
        "key": draft.name.key,
        "version": version,
        "record": record,
        "wrote": int(wrote),
        "writer": writer,
    }
    prev = journal.hash_of(tx, before["entry"] or before["record"]) if before else None
    body = canonical.encode(fields)
    new = writing.append(tx, who, "amfs_entry", row, body=body, prev=prev, beside=wrote)
    amfs.add_version(tx, draft.name, version, entry=new.seq, record=record, recalls=recalls)


def keep(  # noqa: PLR0913 - one keyword a part of the document
    tx: Tx, who: Author, place: Place, kind: str, name: str, *, stamp: int, body: bytes
) -> None:
    """Journal a document: an outcome, a commit, a trace, what is known of an agent."""
    row = {
        "project": place.project,
        "namespace": place.namespace,
        "branch": place.branch,
        "type": kind,
        "name": name,
        "stamp": stamp,
    }
    writing.append(tx, who, "amfs_document", row, body=body)


def without_secrets(limits: Limits, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with secrets replaced by placeholders.

    Raises:
        InvalidValueError: They are no storable JSON.
    """
    canonical.encode(fields)
    clean: redact.Redacted[Any] = redact.redact_value(fields, limits.allowed)
    return dict(clean.value)


def document_body(limits: Limits, fields: dict[str, Any]) -> bytes:
    """The bytes of a document or an event, without secrets.

    Raises:
        InvalidValueError: It is no storable JSON.
    """
    return canonical.encode(without_secrets(limits, fields))
