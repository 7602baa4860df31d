"""Full text and listing: which versions match, in which order; their rows are read elsewhere."""

from typing import Final, Literal, NamedTuple

from handoff_memory.store.engine import Row, Tx

_NEVER: Final = 2**62
CANDIDATES: Final = 5000  # ranking looks at the newest so many matches

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
        AND NOT EXISTS (
            SELECT 1 FROM json_each(:tags) wanted WHERE NOT EXISTS (
                SELECT 1 FROM json_each(r.tags) tag WHERE tag.value = wanted.value))"""

# Versions that were current at the time of a snapshot and have been superseded since.
_SINCE_SUPERSEDED: Final = """
        AND EXISTS (SELECT 1 FROM records n WHERE n.project = r.project AND n.scope = r.scope
            AND n.key = r.key AND n.version = r.version + 1 AND n.seq > :newest)"""

# CROSS JOIN keeps the order of the loops: the planner would rather walk all records by their name.
# bm25 is smaller the better, and negative; distrust makes a match count for less.
_RANKED: Final = f"""
    WITH hits AS (
        SELECT t.rowid AS seq, bm25(current_text, 4.0, 2.0, 1.0, 1.0)
            * (0.25 + 0.75 * COALESCE(o.confidence, r.confidence) / 1000000.0) AS rank
        FROM current_text t
        CROSS JOIN records r ON r.seq = t.rowid
        LEFT JOIN opinions o ON o.seq = r.seq
        WHERE current_text MATCH :match AND t.rowid <= :newest {_FILTER}
        ORDER BY t.rowid DESC LIMIT :candidates)
    SELECT seq, count(*) OVER () AS found FROM hits
    ORDER BY rank, seq DESC LIMIT :limit"""  # noqa: S608 - constants of this module
_RANKED_ALL: Final = f"""
    WITH hits AS (
        SELECT seq, rank FROM (
            SELECT t.rowid AS seq, bm25(current_text, 4.0, 2.0, 1.0, 1.0)
                * (0.25 + 0.75 * COALESCE(o.confidence, r.confidence) / 1000000.0) AS rank
            FROM current_text t
            CROSS JOIN records r ON r.seq = t.rowid
            LEFT JOIN opinions o ON o.seq = r.seq
            WHERE current_text MATCH :match AND t.rowid <= :newest {_FILTER}
            ORDER BY t.rowid DESC LIMIT :candidates)
        UNION ALL
        SELECT seq, rank FROM (
            SELECT t.rowid AS seq, 0.5 * bm25(past_text, 4.0, 2.0, 1.0, 1.0)
                * (0.25 + 0.75 * COALESCE(o.confidence, r.confidence) / 1000000.0) AS rank
            FROM past_text t
            CROSS JOIN records r ON r.seq = t.rowid
            LEFT JOIN opinions o ON o.seq = r.seq
            WHERE past_text MATCH :match AND t.rowid <= :newest {_FILTER}
            ORDER BY t.rowid DESC LIMIT :candidates))
    SELECT seq, count(*) OVER () AS found FROM hits
    ORDER BY rank, seq DESC LIMIT :limit"""  # noqa: S608 - constants of this module
_RANKED_AS_OF: Final = f"""
    WITH hits AS (
        SELECT seq, rank FROM (
            SELECT t.rowid AS seq, bm25(current_text, 4.0, 2.0, 1.0, 1.0)
                * (0.25 + 0.75 * COALESCE(o.confidence, r.confidence) / 1000000.0) AS rank
            FROM current_text t
            CROSS JOIN records r ON r.seq = t.rowid
            LEFT JOIN opinions o ON o.seq = r.seq
            WHERE current_text MATCH :match AND t.rowid <= :newest {_FILTER}
            ORDER BY t.rowid DESC LIMIT :candidates)
        UNION ALL
        SELECT seq, rank FROM (
            SELECT t.rowid AS seq, bm25(past_text, 4.0, 2.0, 1.0, 1.0)
                * (0.25 + 0.75 * COALESCE(o.confidence, r.confidence) / 1000000.0) AS rank
            FROM past_text t
            CROSS JOIN records r ON r.seq = t.rowid
            LEFT JOIN opinions o ON o.seq = r.seq
            WHERE past_text MATCH :match AND t.rowid <= :newest {_SINCE_SUPERSEDED} {_FILTER}
            ORDER BY t.rowid DESC LIMIT :candidates))
    SELECT seq, count(*) OVER () AS found FROM hits
    ORDER BY rank, seq DESC LIMIT :limit"""  # noqa: S608 - constants of this module
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
_LISTED_AS_OF: Final = f"""
    SELECT r.seq, 0 AS found
    FROM records r
    LEFT JOIN opinions o ON o.seq = r.seq
    WHERE r.seq <= :newest AND r.seq < :below {_FILTER}
        AND NOT EXISTS (SELECT 1 FROM records n WHERE n.project = r.project AND n.scope = r.scope
            AND n.key = r.key AND n.version = r.version + 1 AND n.seq <= :newest)
    ORDER BY r.seq DESC LIMIT :limit"""  # noqa: S608 - constants of this module
_LISTED_ALL: Final = f"""
    SELECT r.seq, 0 AS found
    FROM records r
    LEFT JOIN opinions o ON o.seq = r.seq
    WHERE r.seq <= :newest AND r.seq < :below {_FILTER}
    ORDER BY r.seq DESC LIMIT :limit"""  # noqa: S608 - constants of this module

# What a search is about: current versions, those current at its snapshot, or all.
Reach = Literal["current", "as_of", "all"]
_MATCHING: Final[dict[Reach, str]] = {
    "current": _RANKED,
    "as_of": _RANKED_AS_OF,
    "all": _RANKED_ALL,
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
    tx.run(_ADD_CURRENT, seq=seq, **text._asdict())


def supersede(tx: Tx, seq: int, text: Text) -> None:
    """Move a version, whose text must be the very one that was added, to the past."""
    tx.run(_DROP_CURRENT, seq=seq, **text._asdict())
    tx.run(_ADD_PAST, seq=seq, **text._asdict())


def matching(tx: Tx, match: str, wanted: Filter, *, reach: Reach, limit: int) -> list[Row]:
    """`seq` and `found` (matches ranked, at most `CANDIDATES` a table), best first."""
    return tx.all(
        _MATCHING[reach], match=match, limit=limit, candidates=CANDIDATES, **wanted._asdict()
    )


def listed(tx: Tx, wanted: Filter, *, reach: Reach, limit: int, below: int = _NEVER) -> list[Row]:
    """`seq` of what the filter lets through below a seq, newest first."""
    query = _LISTING[reach]
    if reach == "current" and wanted.scope and _is_small(tx, wanted):
        query = _LISTED_IN_SCOPE
    return tx.all(query, limit=limit, below=below, **wanted._asdict())


def _is_small(tx: Tx, wanted: Filter) -> bool:
    found = tx.one(_FEW_IN_SCOPE, project=wanted.project, scope=wanted.scope, candidates=CANDIDATES)
    return bool(found and found["few"])
