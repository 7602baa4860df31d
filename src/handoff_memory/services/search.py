"""Search over records: all words first, then any word, with previews instead of whole values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
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
_MOST_NUMBERS: Final = 2000  # in a cursor, which names what was shown
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


@dataclass(frozen=True, slots=True)
class _Page:
    """One page of a search: for which call, how long, and over which versions."""

    call: str
    limit: int
    reach: index.Reach


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
    newest, mode, *seen = cursor.unseal(after, call, 2, _MOST_NUMBERS) if after else (0, _ALL)
    head = journal.head(tx).seq
    filtered = _filter(tx, who, wanted, newest or head)
    page = _Page(
        call=call,
        limit=limit,
        reach="all"
        if wanted.include_superseded
        else "as_of"
        if head > filtered.newest
        else "current",
    )
    if not wanted.query.strip():
        return _list(tx, limits, filtered, page, below=seen[0] if seen else None)
    before = frozenset(accumulate(seen))
    tried = (mode,) if after else (_ALL, _ANY)
    mode, rows = _found(tx, query, filtered, page, before, tried)
    shown = _shown(tx, limits, rows[:limit], query.terms)
    reply: Reply = {"results": shown, "match": _MATCH[mode] if rows else "none"}
    if rows and rows[0]["found"] >= index.CANDIDATES:
        reply["ranked"] = (
            f"only the newest {index.CANDIDATES} matches were ranked: narrow the search"
        )
    if len(rows) > len(shown):
        given = before | {row["seq"] for row in rows[: len(shown)]}
        if len(given) > _MOST_NUMBERS - 2:
            reply["ranked"] = f"{len(given)} results were shown, and no more are: narrow the search"
        else:
            reply["next_cursor"] = cursor.seal(call, filtered.newest, mode, *_steps(given))
    return reply


def _list(
    tx: Tx, limits: Limits, filtered: index.Filter, page: _Page, *, below: int | None
) -> Reply:
    bound = {} if below is None else {"below": below}
    rows = index.listed(tx, filtered, reach=page.reach, limit=page.limit + 1, **bound)
    shown = _shown(tx, limits, rows[: page.limit], ())
    reply: Reply = {"results": shown, "match": _MATCH[_LISTED] if rows else "none"}
    if len(rows) > len(shown):
        last = rows[len(shown) - 1]["seq"]
        reply["next_cursor"] = cursor.seal(page.call, filtered.newest, _LISTED, last)
    return reply


def _found(
    tx: Tx,
    query: text.Query,
    filtered: index.Filter,
    page: _Page,
    before: frozenset[int],
    tried: Sequence[int],
) -> tuple[int, list[Row]]:
    """How a page was found, and its rows."""
    mode, rows = tried[0], list[Row]()
    for mode in tried:
        find = _all_words if mode == _ALL else _any_word
        rows = _fresh(find(tx, query, filtered, page, before), page, before)
        # What corrects a record that was found wrong need not use its words: then look further.
        if rows and not any(row["doubted"] for row in rows):
            break
    return mode, rows


def _all_words(
    tx: Tx, query: text.Query, filtered: index.Filter, page: _Page, before: frozenset[int]
) -> list[Row]:
    if not query.all_words:
        return []
    limit = page.limit + 1 + len(before)
    return index.matching(tx, query.all_words, filtered, reach=page.reach, limit=limit)


def _any_word(
    tx: Tx, query: text.Query, filtered: index.Filter, page: _Page, before: frozenset[int]
) -> list[Row]:
    limit = page.limit + 1 + len(before)
    newest = filtered.newest
    rows: list[Row] = []
    found = _standing(tx, query, newest, page.reach)
    if pieces := text.weighed(found, newest, index.TELLING):
        rows = index.covering(tx, pieces, filtered, reach=page.reach, limit=limit)
    if len(rows) < limit and query.any_word:  # a filter may leave nothing of the telling words
        covered = {row["seq"] for row in rows}
        more = index.matching(tx, query.any_word, filtered, reach=page.reach, limit=limit)
        rows += [row for row in more if row["seq"] not in covered]
    return rows


def _standing(
    tx: Tx, query: text.Query, newest: int, reach: index.Reach
) -> list[tuple[text.Piece, int]]:
    """The words of a query and its neighbours that stand in any text, and in how many."""

    def counted(pieces: Sequence[text.Piece]) -> list[tuple[text.Piece, int]]:
        spelled = [phrase for piece in pieces for phrase in piece.spellings]
        counts = iter(index.counted(tx, spelled, reach=reach, newest=newest))
        found = [(piece, [next(counts) for _ in piece.spellings]) for piece in pieces]
        return [(piece.spelled(texts), sum(texts)) for piece, texts in found]

    typed = text.neighbours(query.text)
    found = counted([*query.pieces, *typed])
    absent = {piece.spellings[0] for piece, texts in found if not texts}
    if absent:
        found += counted(
            [pair for pair in text.neighbours(query.text, absent) if pair not in typed]
        )
    return [(piece, texts) for piece, texts in found if texts]


def _fresh(rows: list[Row], page: _Page, before: frozenset[int]) -> list[Row]:
    # What was shown is left out by name: ranks move while others write, and offsets with them.
    fresh = [row for row in rows if row["seq"] not in before]
    best, more = fresh[: page.limit], fresh[page.limit : page.limit + 1]
    # What was found wrong says the same words as what corrects it, and must not be read first.
    return sorted(best, key=lambda row: bool(row["doubted"])) + more


def _steps(seqs: frozenset[int]) -> list[int]:
    """The numbers in order, each as its distance from the one before."""
    ordered = sorted(seqs)
    return [later - earlier for earlier, later in pairwise([0, *ordered])]


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
