"""Payloads: content-addressed bytes in parts; whoever reads them checks their hash."""

from __future__ import annotations

from typing import Final

from handoff_memory.store.engine import Row, Tx

_BY_REF: Final = "SELECT * FROM payloads WHERE ref = :ref"
_BY_ALIAS: Final = "SELECT * FROM payloads WHERE alias = :alias"
_BY_PREFIX: Final = "SELECT * FROM payloads WHERE ref >= :low AND ref < :high LIMIT 2"
_NEXT_ALIAS: Final = "SELECT COALESCE(max(alias), 0) + 1 AS alias FROM payloads"
_ALL: Final = "SELECT * FROM payloads ORDER BY seq"
_TOTALS: Final = """
    SELECT count(*) AS payloads, COALESCE(sum(size_bytes), 0) AS bytes,
        (SELECT COALESCE(sum(length(bytes)), 0) FROM payload_parts) AS stored_bytes FROM payloads"""

_ADD_PART: Final = """
    INSERT INTO payload_parts (ref, part, codec, bytes) VALUES (:ref, :part, :codec, :bytes)
    ON CONFLICT (ref, part) DO NOTHING"""
_PRESENT: Final = "SELECT part FROM payload_parts WHERE ref = :ref"
_PARTS: Final = "SELECT codec, bytes FROM payload_parts WHERE ref = :ref ORDER BY part"


def by_ref(tx: Tx, ref: str) -> Row | None:
    """The payload with that hash, hexadecimal."""
    return tx.one(_BY_REF, ref=ref)


def by_alias(tx: Tx, alias: int) -> Row | None:
    """The payload that is shown as `r<alias>`."""
    return tx.one(_BY_ALIAS, alias=alias)


def by_prefix(tx: Tx, prefix: str) -> list[Row]:
    """At most two payloads whose hash begins so: two say that the prefix is not unique."""
    return tx.all(_BY_PREFIX, low=prefix, high=prefix + "g")


def next_alias(tx: Tx) -> int:
    """The number of the next payload."""
    found = tx.one(_NEXT_ALIAS)
    return int(found["alias"]) if found else 1


def add_part(tx: Tx, ref: str, part: int, codec: str, data: bytes) -> None:
    """Keep a part; one that is there already stays."""
    tx.run(_ADD_PART, ref=ref, part=part, codec=codec, bytes=data)


def present(tx: Tx, ref: str) -> set[int]:
    """Which parts are kept."""
    return {row["part"] for row in tx.all(_PRESENT, ref=ref)}


def parts(tx: Tx, ref: str) -> list[tuple[str, bytes]]:
    """Codec and bytes of each part, in order."""
    return [(row["codec"], bytes(row["bytes"])) for row in tx.all(_PARTS, ref=ref)]


def every(tx: Tx) -> list[Row]:
    """Every payload, oldest first."""
    return tx.all(_ALL)


def totals(tx: Tx) -> dict[str, int]:
    """How many payloads there are, their bytes, and the bytes that keeping them takes."""
    found = tx.one(_TOTALS)
    return {name: found[name] for name in ("payloads", "bytes", "stored_bytes")} if found else {}
