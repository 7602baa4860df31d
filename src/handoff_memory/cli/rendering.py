"""Text for people: recalled text made harmless, columns that line up, times as ages."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click
import orjson

from handoff_memory.app import now_us
from handoff_memory.core import times, visible

_GAP: Final = "  "
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def clean(text: object) -> str:
    """One line of text with every control character shown instead of obeyed."""
    return visible.line(str(text))


def block(text: str, indent: str = _GAP) -> Iterator[str]:
    """The lines of a text, indented so that none can pose as a line of ours."""
    for line in visible.block(text).split("\n"):
        yield f"{indent}{line}".rstrip()


def value_lines(item: dict[str, Any]) -> Iterator[str]:
    """The value in a reply: text as it is, anything else as indented JSON."""
    if item.get("erased"):
        yield f"{_GAP}[erased]"
    elif isinstance(value := item.get("value"), str):
        yield from block(value)
    else:
        yield from block(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows with aligned columns; on a terminal the last column is cut to its width."""
    if not rows:
        return
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    room = _columns() - sum(widths) - len(_GAP) * len(widths) - 1
    for row in rows:
        cells = [
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False)
        ]
        yield _GAP.join([*cells, _cut(row[-1], room)]).rstrip()


def age(at: str | None) -> str:
    """An ISO time as `3 min ago` or `in 58 min`."""
    if at is None:
        return "?"
    seconds = (now_us() - times.parse(at, 0)) // times.SECOND
    for size, unit in _UNITS:
        if abs(seconds) >= size:
            count = abs(seconds) // size
            return f"{count} {unit} ago" if seconds > 0 else f"in {count} {unit}"
    return "now"


def percent(share: float) -> str:
    """A confidence as `84%`."""
    return f"{round(share * 100, 1):g}%"


def size(count: int) -> str:
    """Bytes as `1.4 MiB`."""
    amount, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f} {unit}" if unit != "B" else f"{count} B"


def counted(count: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def strong(text: str) -> str:
    """A heading or a name."""
    return click.style(text, bold=True)


def good(text: str) -> str:
    """All is well."""
    return click.style(text, fg="green")


def doubtful(text: str) -> str:
    """Look twice."""
    return click.style(text, fg="yellow")


def bad(text: str) -> str:
    """Something is broken."""
    return click.style(text, fg="red")


def _width(text: str) -> int:
    return sum(_cells(char) for char in click.unstyle(text))


def _cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def _columns() -> int:
    # Whoever pipes or redirects wants the whole line.
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 1 << 20


def _cut(text: str, room: int) -> str:
    if _width(text) <= room or room < 8:
        return text
    kept, used = [], 1
    for char in text:
        used += _cells(char)
        if used > room:
            break
        kept.append(char)
    return "".join(kept) + "…"
