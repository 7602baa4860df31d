"""What is in a payload, a line an entry: enough to choose the next range or grep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import orjson

from handoff_memory.core import lazy, media
from handoff_memory.core.errors import NotRowsError
from handoff_memory.rules.query import outline_code, outline_log
from handoff_memory.rules.query.answer import Answer, page
from handoff_memory.rules.query.question import Outline
from handoff_memory.rules.query.rows import rows
from handoff_memory.rules.query.shape import LOOKED_AT, Shape

_ENTRY_CHARS: Final = 200
_HEADING: Final = lazy.pattern(r"(#{1,6})[ \t]+(\S.*?)[ \t#]*$")
_UNDERLINE: Final = lazy.pattern(r"(=+|-+)[ \t]*$")
_FENCE: Final = lazy.pattern(r"[ \t]*(```+|~~~+)")
_DIFF_FILE: Final = lazy.pattern(r"(?:diff --git a/.* b/(?P<git>.*)|\+\+\+ (?:b/)?(?P<new>[^\t]*))")
_HUNK: Final = lazy.pattern(r"@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@")


def outline(text: bytes, media_type: str, asked: Outline, budget: int) -> Answer:
    """The entries from a position on."""
    kind = media_type
    if kind in ("text/plain", "application/octet-stream") or not _known(kind):
        kind = media.sniff(text)
    body = text.decode().removeprefix("\ufeff")
    entries = _entries(body, kind)
    lines = body.count("\n") + (not body.endswith("\n") if body else 0)
    head = f"{kind}, {lines:,} lines, {len(text):,} bytes"
    shown = [
        entry if len(entry) <= _ENTRY_CHARS else entry[:_ENTRY_CHARS] + "…" for entry in entries
    ]
    return page([head, *shown], asked.position, budget, "entries")


def _known(kind: str) -> bool:
    return kind in _OUTLINES or outline_code.knows(kind)


def _entries(body: str, kind: str) -> Sequence[str]:
    try:
        if kind in _OUTLINES:
            return _OUTLINES[kind](body)
        if outline_code.knows(kind):
            return outline_code.definitions(body, kind)
    except NotRowsError as error:
        return [error.message, *outline_log.log(body)]
    return outline_log.log(body)


def _markdown(body: str) -> list[str]:
    found: list[str] = []
    fence = last = ""
    for number, line in enumerate(body.split("\n"), 1):
        plain = line.rstrip("\r")
        mark = _FENCE.match(plain)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1][:3]
        elif not fence and (heading := _HEADING.match(plain)):
            found.append(f"{number} {heading[1]} {heading[2]}")
        elif not fence and last.strip() and (under := _UNDERLINE.match(plain)):
            found.append(f"{number - 1} {'#' if under[1][0] == '=' else '##'} {last.strip()}")
        last = plain if heading_may_follow(plain) else ""
    return found


def heading_may_follow(line: str) -> bool:
    """Whether a line can be a heading that is underlined: no list, quote, table or rule."""
    return not line.startswith(("#", "-", "=", "*", ">", "|", "    ", "`", "~"))


def _json(body: str) -> list[str]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return [f"the JSON cannot be read: {error}", *outline_log.log(body)]
    shape = Shape()
    shape.add(value)
    return shape.lines()


def _json_lines(body: str) -> list[str]:
    found = rows(body.encode(), "application/x-ndjson")
    shape, count = Shape(), 0
    for _, value in found:
        count += 1
        if count <= LOOKED_AT:
            shape.add(value)
    return [_rows(count), *([found.note] if found.note else []), *shape.lines("[]")]


def _csv(body: str) -> list[str]:
    found = rows(body.encode(), "text/csv")
    shape, count = Shape(), 0
    for _, value in found:
        count += 1
        if count <= LOOKED_AT:
            shape.add({name: _typed(cell) for name, cell in value.items()})
    columns = shape.lines("")[1:] if count else [f".{name}" for name in found.columns]
    total = f"{len(found.columns):,} columns, {_rows(count)}"
    return [total, *([found.note] if found.note else []), *columns]


def _rows(count: int) -> str:
    return f"{count:,} rows" + (
        f" (the first {LOOKED_AT:,} looked at)" if count > LOOKED_AT else ""
    )


def _typed(cell: str) -> object:
    if not cell:
        return None
    try:
        return float(cell) if len(cell) < 40 else cell
    except ValueError:
        return cell


def _diff(body: str) -> list[str]:
    found: list[list[object]] = []  # line, file, added, removed
    named = False
    old = new = 0  # lines of the hunk still to come
    for number, line in enumerate(body.split("\n"), 1):
        if old > 0 or new > 0:
            sign = line[:1]
            old -= sign in ("-", " ", "")
            new -= sign in ("+", " ", "")
            if found and sign in ("+", "-"):
                found[-1][2 if sign == "+" else 3] += 1  # type: ignore[operator]
        elif hunk := _HUNK.match(line):
            old, new = (int(hunk[side] or 1) for side in ("old", "new"))
        elif head := _DIFF_FILE.match(line):
            if head["git"] is not None or not named:
                found.append([number, (head["git"] or head["new"]).rstrip("\r"), 0, 0])
            named = head["git"] is not None
    return [f"{at} {name} +{added} -{removed}" for at, name, added, removed in found]


_OUTLINES: Final[dict[str, Callable[[str], list[str]]]] = {
    "text/markdown": _markdown,
    "application/json": _json,
    "application/x-ndjson": _json_lines,
    "text/csv": _csv,
    "text/x-diff": _diff,
}
