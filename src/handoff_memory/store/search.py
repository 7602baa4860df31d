"""Full text and listing: which versions match, in which order; their rows are read elsewhere."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from handoff_memory.core import canonical, confidence
from handoff_memory.store.engine import Row, Tx

_NEVER: Final = 2**62
_EVEN: Final = confidence.ONE // 2  # below it a version is held for wrong rather than right
CANDIDATES: Final = 5000  # ranking looks at the newest so many matches of all words
TELLING: Final = 1000  # and at so many that hold a word which few others do

_ADD_CURRENT: Final = """
    INSERT INTO current_text (rowid, name, tags, source, text)
    VALUES (:seq, :name, :tags, :source, :text)"""
_DROP_CURRENT: Final = """
    INSERT INTO current_text (current_text, rowid, name, tags, source, text)
    VALUES ('delete', :seq, :name, :tags, :source, :text)"""
_ADD_PAST: Final = """
    INSERT INTO past_text (rowid, name, tags, source, text)
    VALUES (:seq, :name, :tags, :source, :text)"""

_FILTER: Final = """
        AND (r.project = :project OR r.project = '')
        AND (:scope = '' OR r.scope = :scope
            OR (r.scope >= :scope || '/' AND r.scope < :scope || '0'))
        AND (:agent IS NULL OR r.agent = :agent)
        AND (:since IS NULL OR r.at >= :since)
        AND (r.expires_at IS NULL OR r.expires_at > :now)
        AND COALESCE(o.confidence, r.confidence) >= :min_confidence
        AND (:tags = '[]' OR NOT EXISTS (
            SELECT 1 FROM json_each(:tags) wanted WHERE NOT EXISTS (
                SELECT 1 FROM json_each(r.tags) tag WHERE tag.value = wanted.value)))"""

# Versions that were current at the time of a snapshot and have been superseded since.
_SINCE_SUPERSEDED: Final = """
        AND EXISTS (SELECT 1 FROM records n WHERE n.project = r.project AND n.scope = r.scope
            AND n.key = r.key AND n.version = r.version + 1 AND n.seq > :newest)"""

# CROSS JOIN keeps the order of the loops: the planner would rather walk all records by their name.
# bm25 is smaller the better, and negative; distrust makes a match count for less.
_RANKED: Final = """
        SELECT seq, rank, doubted FROM (
            SELECT t.rowid AS seq, COALESCE(o.confidence, r.confidence) < :even AS doubted,
                {share} * bm25({table}, 4.0, 2.0, 1.0, 1.0)
                * (0.25 + 0.75 * COALESCE(o.confidence, r.confidence) / 1000000.0) AS rank
            FROM {table} t
            CROSS JOIN records r ON r.seq = t.rowid
            LEFT JOIN opinions o ON o.seq = r.seq
            WHERE {table} MATCH :match AND t.rowid <= :newest {more} {filter}
            ORDER BY t.rowid DESC LIMIT :candidates)"""
# bm25 counts how often a word stands in a text, so that half of a query in a name beats all of it
# in a value. Here each piece counts once, by its weight, and a long text less, down to a half: it
# holds more words by chance. What is doubted comes last on its page in any case: distrust would
# only drive it off the page. A fact that was kept up to date, or used with success, counts a little
# more than a note that was written once: it decides between texts that say as much.
_COVERED: Final = """
        SELECT t.seq, COALESCE(o.confidence, r.confidence) < :even AS doubted,
            -{share} * t.weight * (1.0 - 0.5 * length(r.body) / (length(r.body) + 500.0))
            * iif(COALESCE(o.confidence, r.confidence) < :even, 1.0,
                0.25 + 0.75 * COALESCE(o.confidence, r.confidence) / 1000000.0)
            * iif(r.version > 1 OR COALESCE(o.success, 0) > 0, 1.05, 1.0) AS rank
        FROM (
            SELECT {table}.rowid AS seq, sum(json_extract(p.value, '$[1]')) AS weight
            FROM json_each(:pieces) p
            CROSS JOIN {table} ON {table} MATCH json_extract(p.value, '$[0]')
            GROUP BY {table}.rowid) t
        CROSS JOIN records r ON r.seq = t.seq
        LEFT JOIN opinions o ON o.seq = r.seq
        WHERE t.seq <= :newest {more} {filter}"""
# The newest so many are counted, and those before them taken to be as frequent.
_COUNTED: Final = """
        SELECT CASE WHEN count(*) < :most THEN count(*) ELSE
            count(*) * :newest / max(1, :newest - min(seq)) END AS found
        FROM (
            SELECT rowid AS seq FROM {table} WHERE {table} MATCH m.value AND rowid <= :newest
            ORDER BY rowid DESC LIMIT :most)"""
_BEST: Final = """
    WITH hits AS ({hits})
    SELECT seq, doubted, count(*) OVER () AS found FROM hits
    ORDER BY rank, seq DESC LIMIT :limit"""

_LISTED: Final = f"""
    SELECT h.seq, 0 AS found
    FROM heads h
    CROSS JOIN records r ON r.seq = h.seq
    LEFT JOIN opinions o ON o.seq = r.seq
    WHERE h.seq <= :newest AND h.seq < :below {_FILTER}
    ORDER BY h.seq DESC LIMIT :limit"""  # noqa: S608 - constants of this module
# A scope with few records is read by its name; one with many is met soon enough on the way from the
# newest back.
_FEW_IN_SCOPE: Final = """
    SELECT count(*) < :candidates AS few FROM (
        SELECT 1 FROM heads WHERE project IN (:project, '')
            AND scope >= :scope AND scope < :scope || '0' LIMIT :candidates)"""
# Materialised, the heads are met newest first, and records only until enough of them pass.
_LISTED_IN_SCOPE: Final = f"""
    WITH near AS MATERIALIZED (
        SELECT seq FROM heads
        WHERE project IN (:project, '') AND scope >= :scope AND scope < :scope || '0'
            AND seq <= :newest AND seq < :below
        ORDER BY seq DESC)
    SELECT h.seq, 0 AS found
    FROM near h
    CROSS JOIN records r ON r.seq = h.seq
    LEFT JOIN opinions o ON o.seq = r.seq
    WHERE h.seq > 0 {_FILTER}
    LIMIT :limit"""  # noqa: S608 - constants of this module
# NOT INDEXED: by seq, for the planner would rather sort all records of a project.
_LISTED_AS_OF: Final = f"""
    SELECT r.seq, 0 AS found
    FROM records r NOT INDEXED
    LEFT JOIN opinions o ON o.seq = r.seq
    WHERE r.seq <= :newest AND r.seq < :below {_FILTER}
        AND NOT EXISTS (SELECT 1 FROM records n WHERE n.project = r.project AND n.scope = r.scope
            AND n.key = r.key AND n.version = r.version + 1 AND n.seq <= :newest)
    ORDER BY r.seq DESC LIMIT :limit"""  # noqa: S608 - constants of this module
_LISTED_ALL: Final = f"""
    SELECT r.seq, 0 AS found
    FROM records r NOT INDEXED
    LEFT JOIN opinions o ON o.seq = r.seq
    WHERE r.seq <= :newest AND r.seq < :below {_FILTER}
    ORDER BY r.seq DESC LIMIT :limit"""  # noqa: S608 - constants of this module

_NOW: Final[dict[str, object]] = {"table": "current_text", "share": 1.0, "more": ""}

# What a search is about: current versions, those current at its snapshot, or all.
Reach = Literal["current", "as_of", "all"]
# Table, what a match in it counts for, and which of its versions a reach lets through beside.
_TABLES: Final[dict[Reach, tuple[dict[str, object], ...]]] = {
    "current": (_NOW,),
    "as_of": (_NOW, {"table": "past_text", "share": 1.0, "more": _SINCE_SUPERSEDED}),
    "all": (_NOW, {"table": "past_text", "share": 0.5, "more": ""}),
}


def _over(statement: str, reach: Reach) -> str:
    parts = (statement.format(**table, filter=_FILTER) for table in _TABLES[reach])
    return " UNION ALL ".join(parts)


_MATCHING: Final = {reach: _BEST.format(hits=_over(_RANKED, reach)) for reach in _TABLES}
_COVERING: Final = {reach: _BEST.format(hits=_over(_COVERED, reach)) for reach in _TABLES}
_COUNTING: Final = {
    reach: f"""
    SELECT (SELECT sum(found) FROM ({_over(_COUNTED, reach)})) AS found
    FROM json_each(:matches) m ORDER BY m.key"""  # noqa: S608 - constants of this module
    for reach in _TABLES
}
_LISTING: Final[dict[Reach, str]] = {
    "current": _LISTED,
    "as_of": _LISTED_AS_OF,
    "all": _LISTED_ALL,
}


class Text(NamedTuple):
    """What is indexed of a version: each column ready for the tokenizer."""

    name: str
    tags: str
    source: str
    text: str


class Filter(NamedTuple):
    """Which versions a search may return.

    Attributes:
        project: Seen beside what every project sees.
        scope: The scope or its first segments, empty for all.
        tags: Canonical JSON list of tags that a record must all have.
        agent: Canonical id of the author, or None.
        min_confidence: Millionths.
        since: Written at or after, microseconds, or None.
        now: What has expired by then is left out, microseconds.
        newest: Newest seq that counts, so that pages of one search agree.
    """

    project: str
    scope: str
    tags: str
    agent: str | None
    min_confidence: int
    since: int | None
    now: int
    newest: int


def add(tx: Tx, seq: int, text: Text) -> None:
    """Index the current version of a record."""
    name, tags, source, value = text
    tx.add(_ADD_CURRENT, seq=seq, name=name, tags=tags, source=source, text=value)


def supersede(tx: Tx, seq: int, text: Text) -> None:
    """Move a version, whose text must be the very one that was added, to the past."""
    tx.add(_DROP_CURRENT, seq=seq, **text._asdict())
    tx.add(_ADD_PAST, seq=seq, **text._asdict())


def matching(tx: Tx, match: str, wanted: Filter, *, reach: Reach, limit: int) -> list[Row]:
    """The best versions that match, best first.

    Returns:
        `seq`, `found` (matches ranked, at most `CANDIDATES` a table), and `doubted`: whether its
        confidence is below a half.
    """
    return tx.all(
        _MATCHING[reach],
        match=match,
        limit=limit,
        candidates=CANDIDATES,
        even=_EVEN,
        **wanted._asdict(),
    )


def covering(
    tx: Tx, pieces: Sequence[tuple[str, float]], wanted: Filter, *, reach: Reach, limit: int
) -> list[Row]:
    """As `matching`, for match expressions with weights: best is what the most of them match."""
    return tx.all(
        _COVERING[reach],
        pieces=canonical.encode(pieces).decode(),
        limit=limit,
        even=_EVEN,
        **wanted._asdict(),
    )


def counted(tx: Tx, matches: Sequence[str], *, reach: Reach, newest: int) -> list[int]:
    """In how many versions up to `newest` each matches; about so many above `TELLING`."""
    encoded = canonical.encode(matches).decode()
    rows = tx.all(_COUNTING[reach], matches=encoded, newest=newest, most=TELLING + 1)
    return [int(row["found"]) for row in rows]


def listed(tx: Tx, wanted: Filter, *, reach: Reach, limit: int, below: int = _NEVER) -> list[Row]:
    """`seq` of what the filter lets through below a seq, newest first."""
    query = _LISTING[reach]
    if reach == "current" and wanted.scope and _is_small(tx, wanted):
        query = _LISTED_IN_SCOPE
    return tx.all(query, limit=limit, below=below, **wanted._asdict())


def _is_small(tx: Tx, wanted: Filter) -> bool:
    found = tx.one(_FEW_IN_SCOPE, project=wanted.project, scope=wanted.scope, candidates=CANDIDATES)
    return bool(found and found["few"])
