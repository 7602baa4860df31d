"""Records: appending versions.

A draft is made before the transaction: it is checked, redacted and encoded there, so that a large
value keeps nobody waiting.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from handoff_memory.core import canonical, confidence, names, times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import (
    InvalidArgumentError,
    TooLargeError,
    VersionConflictError,
)
from handoff_memory.core.names import Name
from handoff_memory.rules import redact, text
from handoff_memory.services import reading, writing
from handoff_memory.services.limits import (
    MAX_SOURCE_CHARS,
    MAX_TAGS,
    Limits,
    refuse_secret,
)
from handoff_memory.services.writing import Reply
from handoff_memory.store import records, search
from handoff_memory.store.engine import Row, Tx
from handoff_memory.store.journal import Appended

_NO_TAGS: Final = canonical.encode([])


class RecordDraft(NamedTuple):
    """A version that is ready to be appended."""

    name: Name
    body: bytes
    confidence: int
    tags: bytes
    source: str | None
    expires_in_s: int | None
    text: search.Text
    redacted: tuple[str, ...]
    condition: Any

    @property
    def digest(self) -> bytes:
        """What makes a retry of the write the same request."""
        return writing.digest_of(
            "memory_write",
            {
                "name": str(self.name),
                "body": self.body.decode(),
                "tags": self.tags.decode(),
                "source": self.source,
                "confidence": self.confidence,
                "expires_in": self.expires_in_s,
                "condition": self.condition,
            },
        )


# --- writing -----------------------------------------------------------------------------------


def draft_record(  # noqa: PLR0913 - one keyword a field of the record
    limits: Limits,
    *,
    scope: str,
    key: str,
    value: Any,
    confidence_share: float | None = None,
    tags: Sequence[str] = (),
    source: str | None = None,
    expires_in: int | None = None,
    condition: Any = None,
    reserved: bool = False,
) -> RecordDraft:
    """Check, redact and encode what is to be written.

    Args:
        limits: Sizes and false alarms.
        scope: Scope of the record.
        key: Key of the record.
        value: Any JSON.
        confidence_share: 0..1, the default where None.
        tags: Short labels.
        source: Where this comes from.
        expires_in: Seconds until plain reads and searches leave the version out.
        condition: What else makes two requests differ (expected_version, if_changed).
        reserved: Whether the governor writes in its own scope.

    Raises:
        InputError: What is wrong with an argument; nothing was written.
    """
    name = plain_name(limits, scope, key)
    if not reserved:
        names.writable(name)
    body, clean = clean_value(limits, value)
    checked_tags = _tags(limits, tags)
    clean_source = free_text(limits, "source", source, MAX_SOURCE_CHARS)
    if confidence_share is None:
        share = confidence.DEFAULT
    elif 0 <= confidence_share <= 1:
        share = confidence.from_fraction(confidence_share)
    else:
        raise InvalidArgumentError("confidence is a number from 0 to 1")
    if expires_in is not None and not 0 < expires_in < 10**10:
        raise InvalidArgumentError("expires_in is a number of seconds from 1 on")
    return RecordDraft(
        name=name,
        body=body,
        confidence=share,
        tags=checked_tags,
        source=clean_source.value,
        expires_in_s=expires_in,
        text=text_of(name, checked_tags, clean_source.value, clean.value),
        redacted=_kinds(clean.kinds, clean_source.kinds),
        condition=condition,
    )


def write(
    tx: Tx,
    who: Author,
    draft: RecordDraft,
    *,
    expected_version: int | None = None,
    if_changed: bool = False,
    op: str | None = None,
) -> Reply:
    """Append version N+1 of a record, or version 1.

    Args:
        tx: A write transaction.
        who: The author.
        draft: What to append.
        expected_version: The version that must be current, 0 for none.
        if_changed: Leave a current version with the very same value alone.
        op: The caller's request_id.

    Raises:
        VersionConflictError: Another version is current.
        RequestMismatchError: The request_id was used with other arguments.
    """
    digest = b"" if op is None else draft.digest
    return writing.once(
        tx, who, op, digest, lambda: _write(tx, who, draft, expected_version, if_changed, op)
    )


def _write(
    tx: Tx,
    who: Author,
    draft: RecordDraft,
    expected_version: int | None,
    if_changed: bool,
    op: str | None,
) -> Reply:
    name = draft.name
    project = names.home(name.scope, who.project)
    head = records.head(tx, project, name.scope, name.key)
    version = head["version"] if head else 0
    if expected_version is not None and expected_version != version:
        raise _conflict(name, expected_version, head)
    if head and if_changed and _is_same(tx, head, draft):
        current = reading.get(tx, who.project, Name(name.scope, name.key))
        return {
            **_receipt(name.at(version), bytes(head["entry_hash"]), current["confidence"]),
            "superseded": None,
            "unchanged": True,
        }
    new = append(tx, who, draft, head, op=op)
    reply = {
        **_receipt(name.at(version + 1), new.entry_hash, draft.confidence),
        "superseded": version or None,
    }
    return with_redacted(reply, draft.redacted)


def append(
    tx: Tx, who: Author, draft: RecordDraft, head: Row | None, *, op: str | None = None
) -> Appended:
    """Append the version after the current one, whatever that is.

    Args:
        tx: A write transaction.
        who: The author.
        draft: What to append.
        head: `records.head` of that name.
        op: The caller's request_id.
    """
    name = draft.name
    project = names.home(name.scope, who.project)
    version = head["version"] + 1 if head else 1
    fields = {
        "project": project,
        "scope": name.scope,
        "key": name.key,
        "version": version,
        "confidence": draft.confidence,
        "tags": draft.tags.decode(),
        "source": draft.source,
        "expires_at": _expiry(tx.now, draft.expires_in_s),
    }
    prev = bytes(head["entry_hash"]) if head else None
    new = writing.append(tx, who, "record", fields, body=draft.body, prev=prev, op=op)
    records.set_head(tx, project, name.scope, name.key, seq=new.seq, version=version)
    if head and head["body"] is not None:
        search.supersede(tx, head["seq"], _text_of_row(name, head))
    search.add(tx, new.seq, draft.text)
    return new


def _is_same(tx: Tx, head: Row, draft: RecordDraft) -> bool:
    expired = head["expires_at"] is not None and head["expires_at"] <= tx.now
    return bytes(head["body"] or b"") == draft.body and not expired


# --- names and texts ---------------------------------------------------------------------------


def plain_name(limits: Limits, scope: str, key: str, version: int | None = None) -> Name:
    """A checked name that holds no secret.

    Raises:
        InvalidNameError: A naming rule is broken.
        SecretRefusedError: The scope or key looks like a secret.
    """
    name = names.name(scope, key, version)
    refuse_secret(limits, "scope", name.scope)
    refuse_secret(limits, "key", name.key)
    return name


def checked_name(limits: Limits, given: str) -> Name:
    """The name of `scope/key` or `scope/key@version`, holding no secret.

    Raises:
        InvalidNameError: A naming rule is broken.
        SecretRefusedError: It looks like a secret.
    """
    refuse_secret(limits, "name", given)
    return names.parse_name(given)


def clean_value(limits: Limits, value: Any) -> tuple[bytes, redact.Redacted[Any]]:
    """The canonical bytes of a value without its secrets, and what was replaced.

    Raises:
        InvalidValueError: It is no storable JSON.
        TooLargeError: It is larger than a value may be.
    """
    body = canonical.encode(value)  # refuses what nothing below could walk
    clean: redact.Redacted[Any] = redact.redact_value(value, limits.allowed)
    if clean.kinds:
        body = canonical.encode(clean.value)
    if len(body) > limits.value_bytes:
        raise TooLargeError(
            f"the value takes {len(body)} bytes, the limit is {limits.value_bytes}",
            size_bytes=len(body),
            limit_bytes=limits.value_bytes,
        )
    return body, clean


def _tags(limits: Limits, tags: Sequence[str]) -> bytes:
    if not tags:
        return _NO_TAGS
    checked = [names.tag(tag) for tag in tags]
    if len(checked) > MAX_TAGS:
        raise InvalidArgumentError(f"at most {MAX_TAGS} tags, these are {len(checked)}")
    for tag in checked:
        refuse_secret(limits, "tag", tag)
    return canonical.encode(list(dict.fromkeys(checked)))


def free_text(limits: Limits, what: str, given: str | None, limit: int) -> redact.Redacted[Any]:
    """A text of an agent's own, without secrets.

    Raises:
        TooLargeError: It has more characters than the limit.
        InvalidValueError: It holds half characters.
    """
    if given is None:
        return redact.Redacted(None, ())
    canonical.encode(given)  # refuses half characters before anything else looks at them
    if len(given) > limit:
        raise TooLargeError(
            f"{what} has {len(given)} characters, the limit is {limit}",
            way_out="Put long text into the value of a record.",
        )
    return redact.redact_text(given, limits.allowed)


def text_of(name: Name, tags: bytes, source: str | None, value: Any) -> search.Text:
    """What is indexed of a version; the parts must be free of secrets."""
    return search.Text(
        name=text.indexed(str(name)),
        tags=text.indexed(" ".join(canonical.decode(tags))),
        source=text.indexed(source or ""),
        text=text.indexed(text.of_value(value)),
    )


def _text_of_row(name: Name, row: Row) -> search.Text:
    value = canonical.decode(row["body"])
    return text_of(name, row["tags"].encode(), row["source"], value)


# --- parts of replies --------------------------------------------------------------------------


def _receipt(name: Name, entry_hash: bytes, share: int) -> Reply:
    return {
        "scope": name.scope,
        "key": name.key,
        "version": name.version,
        "hash": entry_hash.hex(),
        "confidence": confidence.to_fraction(share),
    }


def with_redacted(reply: Reply, kinds: tuple[str, ...]) -> Reply:
    """The reply, and which kinds of secrets were replaced where any were."""
    return {**reply, "redacted": list(kinds)} if kinds else reply


def _kinds(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({*one, *other})) if one and other else one or other


def _conflict(name: Name, expected: int, head: Row | None) -> VersionConflictError:
    if head is None:
        return VersionConflictError(
            f"{name} does not exist, expected version {expected}", current_version=0
        )
    return VersionConflictError(
        f"{name} is at version {head['version']}, not {expected}",
        current_version=head["version"],
        hash=bytes(head["entry_hash"]).hex(),
        agent=head["agent"],
        at=times.iso(head["at"]),
    )


def _expiry(now: int, expires_in_s: int | None) -> int | None:
    return None if expires_in_s is None else now + expires_in_s * times.SECOND
