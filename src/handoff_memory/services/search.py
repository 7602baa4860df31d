"""Search over records: all words first, then any word, with previews instead of whole values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from handoff_memory.core import canonical, confidence, cursor, names, times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import TooLargeError
from handoff_memory.rules import text
from handoff_memory.services import reading
from handoff_memory.services.limits import MAX_QUERY_CHARS, Limits
from handoff_memory.services.writing import Reply
from handoff_memory.store import journal, records
from handoff_memory.store import search as index
from handoff_memory.store.engine import Row, Tx

_PREVIEW_CHARS: Final = 300
_ALL, _ANY, _LISTED = 0, 1, 2
_MATCH: Final = {_ALL: "all", _ANY: "any", _LISTED: "listed"}


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for.

    Attributes:
        query: Words, paths, any text; empty lists what the other fields let through, newest first.
        scope: A scope or its first segments, empty for all.
        tags: A record must have them all.
        agent: Its author, or None.
        min_confidence: 0..1.
        since: ISO 8601 time or an age such as `2h`, or None.
        include_superseded: Whether old versions are found too.
    """

    query: str = ""
    scope: str = ""
    tags: tuple[str, ...] = ()
    agent: str | None = None
    min_confidence: float = 0.0
    since: str | None = None
    include_superseded: bool = False


def search(
    tx: Tx, who: Author, limits: Limits, wanted: Search, *, limit: int, after: str | None = None
) -> Reply:
    """Previews of what matches, best first, and how it matched.

    Raises:
        InputError: A filter breaks a rule, or the cursor is not of this call.
    """
    if len(wanted.query) > MAX_QUERY_CHARS:
        raise TooLargeError(
            f"the query has {len(wanted.query)} characters, the limit is {MAX_QUERY_CHARS}",
            way_out="Search for a few telling words.",
        )
    query = text.query(wanted.query)
    call = cursor.fingerprint("search", who.project, *_parts(wanted))
    newest, position, mode = cursor.unseal(after, call, 3) if after else (0, 0, _ALL)
    newest = newest or journal.head(tx).seq
    filtered = _filter(tx, who, wanted, newest)
    if not wanted.query.strip():
        return _list(tx, limits, wanted, filtered, call=call, limit=limit, below=position)
    rows: list[Row] = []
    if mode == _ALL and query.all_words:
        rows = _matching(tx, query.all_words, filtered, wanted, limit, position)
    if not rows and not (after and mode == _ALL) and query.any_word:
        mode = _ANY
        rows = _matching(tx, query.any_word, filtered, wanted, limit, position)
    shown = _shown(tx, limits, rows[:limit], query.terms)
    reply: Reply = {"results": shown, "match": _MATCH[mode] if rows else "none"}
    if rows and rows[0]["found"] >= index.CANDIDATES:
        reply["ranked"] = (
            f"only the newest {index.CANDIDATES} matches were ranked: narrow the search"
        )
    if len(rows) > len(shown):
        reply["next_cursor"] = cursor.seal(call, newest, position + len(shown), mode)
    return reply


def _list(  # noqa: PLR0913 - parts of one search
    tx: Tx,
    limits: Limits,
    wanted: Search,
    filtered: index.Filter,
    *,
    call: str,
    limit: int,
    below: int,
) -> Reply:
    if below:
        filtered = replace(filtered, newest=below - 1)
    rows = index.listed(tx, filtered, past=wanted.include_superseded, limit=limit + 1)
    shown = _shown(tx, limits, rows[:limit], ())
    reply: Reply = {"results": shown, "match": _MATCH[_LISTED] if rows else "none"}
    if len(rows) > len(shown):
        last = rows[len(shown) - 1]["seq"]
        reply["next_cursor"] = cursor.seal(call, filtered.newest, last, _LISTED)
    return reply


def _matching(
    tx: Tx, match: str, filtered: index.Filter, wanted: Search, limit: int, offset: int
) -> list[Row]:
    return index.matching(
        tx, match, filtered, past=wanted.include_superseded, limit=limit + 1, offset=offset
    )


def _shown(tx: Tx, limits: Limits, rows: Sequence[Row], terms: tuple[str, ...]) -> list[Reply]:
    found: list[Reply] = []
    room = limits.room
    for hit in rows:
        row = records.by_seq(tx, hit["seq"])
        if row is None:
            continue
        item = _preview(tx, row, terms)
        room -= len(canonical.encode(item))
        if room < 0 and found:
            break
        found.append(item)
    return found


def _preview(tx: Tx, row: Row, terms: tuple[str, ...]) -> Reply:
    whole = reading.describe(tx, row)
    kept = ("scope", "key", "version", "confidence", "agent", "at", "superseded_by", "expired")
    item = {field: whole[field] for field in kept if field in whole}
    item["preview"] = text.preview(reading.text_of_value(row), terms, _PREVIEW_CHARS)
    return item


def _filter(tx: Tx, who: Author, wanted: Search, newest: int) -> index.Filter:
    return index.Filter(
        project=who.project,
        scope=names.scope_prefix(wanted.scope) if wanted.scope else "",
        tags=canonical.encode([names.tag(tag) for tag in wanted.tags]).decode(),
        agent=names.agent_id(wanted.agent) if wanted.agent else None,
        min_confidence=confidence.from_fraction(wanted.min_confidence),
        since=times.parse(wanted.since, tx.now) if wanted.since else None,
        now=tx.now,
        newest=newest,
    )


def _parts(wanted: Search) -> tuple[object, ...]:
    return tuple(getattr(wanted, field) for field in Search.__slots__)
