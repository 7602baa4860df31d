"""Memory: search as the tools do it, and a record with what was believed of it, and when."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from handoff_memory.core import names
from handoff_memory.core.errors import InvalidArgumentError, NotFoundError
from handoff_memory.core.names import Name
from handoff_memory.services import reading, search
from handoff_memory.store.engine import Row, Tx
from handoff_memory.web import charts, differences, rendering
from handoff_memory.web.page import Asked, Page

_HITS: Final = 25
_VERSIONS: Final = 50
_ROOM: Final = 64 << 10
_FILTERS: Final = ("q", "scope", "tag", "agent", "min", "since", "old")


def found(tx: Tx, asked: Asked) -> Page:
    """What a search finds; without a question the newest records."""
    wanted = search.Search(
        query=asked.query.get("q", ""),
        scope=asked.query.get("scope", ""),
        tags=tuple(asked.query["tag"].split(",")) if "tag" in asked.query else (),
        agent=asked.query.get("agent"),
        min_confidence=_share(asked.query.get("min")),
        since=asked.query.get("since"),
        include_superseded="old" in asked.query,
    )
    cursor = asked.query.get("cursor")
    told = search.search(*(tx, asked.who, asked.limits(_ROOM), wanted), limit=_HITS, after=cursor)
    given = {name: asked.query.get(name, "") for name in _FILTERS}
    live = () if cursor else ("record", "outcome")
    return Page("memory.html", "Memory", {"found": told, "given": given}, live=live)


def record(tx: Tx, asked: Asked) -> Page:
    """A version of a record, the history of the record, and what changed with that version.

    Raises:
        NotFoundError: There is no such record or version.
    """
    row = _row(tx, asked)
    name = Name(row["scope"], row["key"])
    limits = asked.limits(_ROOM)
    shown = reading.read(tx, asked.who, limits, name.at(row["version"]))
    history = reading.history(tx, asked.who, asked.limits(4 * _ROOM), name, limit=_VERSIONS)
    points = charts.confidence(history["history"])
    values = {
        "name": str(name),
        "record": shown,
        "history": history["history"],
        "has_more": "next_cursor" in history,
        "points": points,
        "line": charts.path(points),
        **_compared(tx, asked, row),
    }
    return Page("record.html", str(name), values, live=("record", "outcome"))


def value(tx: Tx, asked: Asked) -> Response:
    """The whole value of a version, to be kept as a file.

    Raises:
        NotFoundError: There is no such record or version, or its value was erased.
    """
    row = _row(tx, asked)
    if row["body"] is None:
        raise NotFoundError("the value was erased", way_out="Its hash and its author are kept.")
    return Response(
        bytes(row["body"]),
        media_type="application/octet-stream",
        headers={"content-disposition": f'attachment; filename="value-{row["seq"]}.json"'},
    )


def _row(tx: Tx, asked: Asked) -> Row:
    name = names.parse_name(asked.query.get("name", ""))
    return reading.get(tx, asked.who.project, name)


def _compared(tx: Tx, asked: Asked, row: Row) -> dict[str, Any]:
    """What changed since the version before, or since the one that is asked for."""
    against = asked.number("against") or row["version"] - 1
    if not 0 < against != row["version"]:
        return {"against": None, "lines": []}
    name = Name(row["scope"], row["key"], against)
    old, new = _text(tx, reading.get(tx, asked.who.project, name)), _text(tx, row)
    lines = None if old is None or new is None else differences.compare(old, new)
    return {"against": against, "lines": lines}


def _text(tx: Tx, row: Row) -> str | None:
    """A value as it is shown; None where it is large."""
    told = reading.with_value(tx, row, _ROOM)
    if "erased" in told:
        return "[erased]"
    return rendering.pretty(told["value"]) if "value" in told else None


def _share(text: str | None) -> float:
    try:
        percent = float(text or 0)
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise InvalidArgumentError(f"least confidence is a number from 0 to 100, not {text!r}")
    return percent / 100
