"""Searching entries as the SDK's own default does, without making an entry of each row first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from amfs_core.models import SearchQuery
from amfs_core.scope import covers

from handoff_memory.amfs import entries
from handoff_memory.core import confidence
from handoff_memory.store import amfs
from handoff_memory.store.amfs import Place
from handoff_memory.store.engine import Row, Tx

Fields = dict[str, Any] | None


def best(tx: Tx, place: Place, query: SearchQuery) -> list[Row]:
    """The rows that a query lets through, at most its limit, in its order."""
    path = None if query.include_descendants else query.entity_path or None
    order = _ORDERS.get(query.sort_by, _unordered)
    found = []
    for row in amfs.listed(tx, place, path, superseded=False):
        fields = entries.fields_in(row)
        if _passes(row, fields, query):
            found.append((order(row, fields), row))
    if query.sort_by in _ORDERS:
        found.sort(key=lambda pair: pair[0], reverse=True)
    return [row for _, row in found[: query.limit]]


def _passes(row: Row, fields: Fields, query: SearchQuery) -> bool:
    share = _confidence(row, fields)
    return (
        share >= query.min_confidence
        and (query.max_confidence is None or share <= query.max_confidence)
        and (query.agent_id is None or query.agent_id == (row["writer"] or row["agent"]))
        and (query.since is None or _written_at(row, fields) >= query.since)
        and (query.pattern_ref is None or query.pattern_ref in _pattern_refs(fields))
        and _is_below(row, query)
        and _speaks_of(row, fields, query)
    )


def _is_below(row: Row, query: SearchQuery) -> bool:
    if not (query.include_descendants and query.entity_path):
        return True
    return bool(covers(query.entity_path, row["path"]))


def _speaks_of(row: Row, fields: Fields, query: SearchQuery) -> bool:
    # With a recall_config the SDK ranks by meaning itself, and wants every candidate.
    if not query.query or query.recall_config is not None:
        return True
    wanted = query.query.lower()
    return (
        wanted in row["key"].lower()
        or wanted in row["path"].lower()
        or wanted in str(entries.value_of(row, fields)).lower()
    )


def _confidence(row: Row, fields: Fields) -> float:
    if fields is None:
        return confidence.to_fraction(row["confidence"])
    return float(fields["confidence"])


def _written_at(row: Row, fields: Fields) -> datetime:
    if fields is None:
        return entries.moment(row["at"])
    written = datetime.fromisoformat(fields["provenance"]["written_at"])
    return written if written.tzinfo else written.replace(tzinfo=UTC)


def _pattern_refs(fields: Fields) -> list[str]:
    return list(fields["provenance"]["pattern_refs"]) if fields else []


def _version(row: Row, _fields: Fields) -> int:
    return int(row["version"])


def _unordered(_row: Row, _fields: Fields) -> int:
    return 0


_ORDERS: Final[dict[str, Callable[[Row, Fields], Any]]] = {
    "confidence": _confidence,
    "recency": _written_at,
    "version": _version,
}
