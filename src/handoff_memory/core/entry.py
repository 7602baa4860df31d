"""Journal entries: the frozen fields of each kind, and every hash that is taken of them.

docs/format.md has the same in prose, with test vectors. A field is never added to a (kind, v): a
column that comes later belongs to a new v, and verification knows both.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Final, TypeAlias

import orjson

from handoff_memory.core.digest import ready, sha256

GENESIS: Final = bytes(32)
HASH_BYTES: Final = 32
SALT_BYTES: Final = 16

_COMMON: Final = ("agent", "session", "authn", "at", "op")
FIELDS: Final[Mapping[tuple[str, int], tuple[str, ...]]] = {
    ("record", 1): (
        *_COMMON,
        *("project", "scope", "key", "version", "confidence", "tags", "source", "expires_at"),
    ),
    ("outcome", 1): (*_COMMON, "record", "outcome", "before", "after", "packet"),
    ("packet", 1): (
        *_COMMON,
        *("project", "packet", "recipient", "status", "priority", "expires_at"),
        *("in_reply_to", "thread", "pins"),
    ),
    ("claim", 1): (*_COMMON, "packet", "action", "lease_us"),
    ("task", 1): (*_COMMON, "project", "task"),
    ("event", 1): (*_COMMON, "task", "event"),
    ("payload", 1): (
        *_COMMON,
        *("ref", "alias", "size_bytes", "redacted_bytes", "media_type"),
    ),
    ("amfs_entry", 1): (
        *_COMMON,
        *("project", "namespace", "branch", "path", "key", "version", "record", "wrote", "writer"),
    ),
    ("amfs_document", 1): (
        *_COMMON,
        *("project", "namespace", "branch", "type", "name", "stamp"),
    ),
}
# Kept as canonical JSON text in their column, hashed as the list they are, of texts or of objects.
_LISTS: Final = frozenset({"tags", "pins"})
_OF_OBJECTS: Final = "pins"

_BODY: Final = b"hm/body/1\0"
_ENTRY: Final = b"hm/entry/1\0"
_CHAIN: Final = b"hm/chain/1\0"
_LEAF: Final = b"\0"


def commit_body(salt: bytes, body: bytes) -> bytes:
    """The salted commitment to a body: it stays valid when body and salt are erased."""
    return sha256(_BODY + salt + body).digest()


def entry_bytes(kind: str, v: int, row: Mapping[str, Any]) -> bytes:
    """The canonical JSON that is hashed for a row.

    Args:
        kind: `record`, `outcome`, `packet` or `claim`.
        v: Version of the kind's field list.
        row: The row's columns by name, hashes as bytes, with `seq`, `body_commit` and `prev`.

    Raises:
        KeyError: No such (kind, v): a newer program wrote it.
    """
    return encoder(kind, v)(_picker(kind, v)(row))


@cache
def columns(kind: str, v: int) -> tuple[str, ...]:
    """The columns that an entry is made of, in the order of its keys.

    Raises:
        KeyError: No such (kind, v).
    """
    return tuple(sorted((*FIELDS[kind, v], "seq", "body_commit", "prev")))


@cache
def _picker(kind: str, v: int) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    return itemgetter(*columns(kind, v))


@cache
def encoder(kind: str, v: int) -> Callable[[Sequence[Any]], bytes]:
    """As `entry_bytes`, of the values in the order of `columns`: for many rows of one kind."""
    names = columns(kind, v)
    blank: dict[str, Any] = dict.fromkeys(sorted((*names, "kind", "v")))
    blank.update({"kind": kind, "v": v})
    lists = [name for name in names if name in _LISTS]
    option = orjson.OPT_SORT_KEYS if _OF_OBJECTS in lists else None  # all else is sorted here

    def encode(values: Sequence[Any]) -> bytes:
        entry: dict[str, Any] = blank.copy()
        entry.update(zip(names, values, strict=True))
        if (commit := entry["body_commit"]) is not None:
            entry["body_commit"] = commit.hex()
        if (prev := entry["prev"]) is not None:
            entry["prev"] = prev.hex()
        for name in lists:
            entry[name] = orjson.loads(entry[name])
        return orjson.dumps(entry, option=option)

    return encode


def entry_hash(entry: bytes) -> bytes:
    """The hash of an entry, shown as `hash` in every reply."""
    return sha256(_ENTRY + entry).digest()


def next_chain(chain: bytes, entry: bytes) -> bytes:
    """The chain after an entry. Source: format.md; the leaf is RFC 9162 §2.1.1."""
    leaf = sha256(_LEAF + entry).digest()
    return sha256(_CHAIN + chain + leaf).digest()


# Commitment to the body, hash of the entry, and the chain after it.
Hashes: TypeAlias = tuple[bytes | None, bytes, bytes]


def hasher(
    kind: str, v: int
) -> Callable[[bytes | None, bytes | None, Sequence[Any], bytes], Hashes]:
    """What makes the hashes of a row from salt, body, values of `columns`, and the chain before.

    The commitment is no bytes at all where half of what it covers is gone.
    """
    encode, sha = encoder(kind, v), ready()

    def hashes(
        salt: bytes | None, body: bytes | None, values: Sequence[Any], chain: bytes
    ) -> Hashes:
        data = encode(values)
        commit: bytes | None
        if salt is not None and body is not None:
            commit = sha(_BODY + salt + body).digest()
        else:
            commit = None if salt is body else b""
        leaf = sha(_LEAF + data).digest()
        return commit, sha(_ENTRY + data).digest(), sha(_CHAIN + chain + leaf).digest()

    return hashes
