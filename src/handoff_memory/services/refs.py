"""Refs: payloads redacted, hashed, kept once, and checked against their hash on every read.

A payload is kept in parts, each in a transaction of its own, and only then journaled: a large one
keeps no small write waiting for longer than a part takes.
"""

import re
import zlib
from typing import Any, Final, NamedTuple

from handoff_memory.core import lazy
from handoff_memory.core.author import Author
from handoff_memory.core.digest import sha256
from handoff_memory.core.errors import CorruptRefError, NotFoundError
from handoff_memory.rules import redact
from handoff_memory.services import writing
from handoff_memory.services.limits import Limits
from handoff_memory.store import payloads
from handoff_memory.store.engine import Row, Tx

PART_BYTES: Final = 256 << 10
_WORTH_IT: Final = 0.9  # compressed parts larger than this share of the plain ones stay plain
_PLACEHOLDER: Final = lazy.pattern(rb"\[redacted:[a-z0-9-]{1,40}\]")


class PayloadDraft(NamedTuple):
    """A payload that is ready to be kept.

    Attributes:
        ref: SHA-256 of the redacted bytes, hexadecimal: what `sha256sum` says of them.
        parts: Codec and bytes of each part.
        size_bytes: Length of the redacted bytes.
        redacted_bytes: How many bytes of the original placeholders stand for.
        kinds: Kinds of secrets that were replaced.
        media_type: What it is.
    """

    ref: str
    parts: tuple[tuple[str, bytes], ...]
    size_bytes: int
    redacted_bytes: int
    kinds: tuple[str, ...]
    media_type: str


def draft(limits: Limits, data: bytes, media_type: str) -> PayloadDraft:
    """Redact, hash and compress; takes time, so it is done before any transaction."""
    clean, kinds = _redacted(limits, data)
    plain = [clean[at : at + PART_BYTES] for at in range(0, len(clean), PART_BYTES)] or [b""]
    return PayloadDraft(
        ref=sha256(clean).hexdigest(),
        parts=tuple(_packed(part) for part in plain),
        size_bytes=len(clean),
        redacted_bytes=_replaced_bytes(data, clean) if kinds else 0,
        kinds=kinds,
        media_type=media_type,
    )


def keep_part(tx: Tx, payload: PayloadDraft, part: int) -> None:
    """Keep one part; the payload counts only once `keep` has journaled it."""
    codec, data = payload.parts[part]
    payloads.add_part(tx, payload.ref, part, codec, data)


def keep(tx: Tx, who: Author, payload: PayloadDraft) -> Row:
    """Journal a payload whose parts are kept, unless it is there already."""
    if row := payloads.by_ref(tx, payload.ref):
        return row
    # Handing over what is there already would copy all of it once more, inside the transaction.
    for part in set(range(len(payload.parts))) - payloads.present(tx, payload.ref):
        keep_part(tx, payload, part)
    fields: dict[str, Any] = {
        "ref": payload.ref,
        "alias": payloads.next_alias(tx),
        "size_bytes": payload.size_bytes,
        "redacted_bytes": payload.redacted_bytes,
        "media_type": payload.media_type,
    }
    writing.append(tx, who, "payload", fields)
    return _get(tx, payload.ref)


def find(tx: Tx, text: str) -> Row:
    """The payload that a ref, a prefix of one, or an alias means.

    Raises:
        NotFoundError: It means none, or a prefix means several.
    """
    plain = text.strip().removeprefix("mem://").removeprefix("sha256:").lower()
    if re.fullmatch(r"r[1-9][0-9]{0,17}", plain):
        row = payloads.by_alias(tx, int(plain[1:]))
        if row:
            return row
    elif re.fullmatch(r"[0-9a-f]{8,64}", plain):
        rows = payloads.by_prefix(tx, plain)
        if len(rows) == 1:
            return rows[0]
        if rows:
            raise NotFoundError(f"{text}: more than one ref begins so", way_out="Give more digits.")
    raise NotFoundError(
        f"no ref {text}", way_out="Give r<number>, sha256:<hex>, or at least 8 of its hex digits."
    )


def read(tx: Tx, row: Row) -> bytes:
    """The bytes of a payload, checked against its hash before any is given out.

    Raises:
        CorruptRefError: They are not the bytes that were kept.
    """
    try:
        data = b"".join(_unpacked(codec, part) for codec, part in payloads.parts(tx, row["ref"]))
    except (zlib.error, ValueError) as error:
        raise CorruptRefError(
            f"ref {row['ref'][:12]}… cannot be unpacked", ref=row["ref"]
        ) from error
    if sha256(data).hexdigest() != row["ref"]:
        raise CorruptRefError(f"the bytes of ref {row['ref'][:12]}… were altered", ref=row["ref"])
    return data


def is_new(tx: Tx, payload: PayloadDraft) -> bool:
    """Whether nobody has kept this payload yet."""
    return payloads.by_ref(tx, payload.ref) is None


def joined(payload: PayloadDraft) -> bytes:
    """The redacted bytes of a draft."""
    return b"".join(_unpacked(codec, part) for codec, part in payload.parts)


def hash_of(text: str) -> str:
    """SHA-256 of a text, hexadecimal."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def short(row: Row) -> str:
    """How replies show a ref: two tokens instead of sixty."""
    return f"r{row['alias']}"


def _get(tx: Tx, ref: str) -> Row:
    row = payloads.by_ref(tx, ref)
    if row is None:
        raise NotFoundError(f"no ref sha256:{ref}")
    return row


def _redacted(limits: Limits, data: bytes) -> tuple[bytes, tuple[str, ...]]:
    if b"\0" in data[:8192]:
        return data, ()  # no text
    try:
        text, encoding = data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        text, encoding = data.decode("latin-1"), "latin-1"  # maps every byte, and back
    clean = redact.redact_text(text, limits.allowed)
    return (clean.value.encode(encoding), clean.kinds) if clean.kinds else (data, ())


def _replaced_bytes(data: bytes, clean: bytes) -> int:
    added = sum(map(len, _PLACEHOLDER.findall(clean))) - sum(map(len, _PLACEHOLDER.findall(data)))
    return len(data) - len(clean) + added


def _packed(part: bytes) -> tuple[str, bytes]:
    small = zlib.compress(part, 1)
    return ("zlib", small) if len(small) < _WORTH_IT * len(part) else ("plain", part)


def _unpacked(codec: str, part: bytes) -> bytes:
    if codec == "zlib":
        return zlib.decompress(part)
    if codec == "plain":
        return part
    raise ValueError(f"unknown codec {codec!r}")
