"""A payload as rows: JSON lines, a JSON array (also the only array of an object), or CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from handoff_memory.core import lazy, media
from handoff_memory.core.errors import NotRowsError

_NAMED_BAD: Final = 10
_JSON_LINE: Final = lazy.pattern(rb"^[ \t]*\{.*\}[ \t]*\r?$", re.MULTILINE)


@dataclass(slots=True)
class Rows:
    """Rows to walk through once; afterwards it is known which were bad.

    Attributes:
        kind: What they are, for people.
        columns: The header of CSV; empty for JSON.
    """

    kind: str
    columns: tuple[str, ...] = ()
    bad: int = 0
    first_bad: list[int] = field(default_factory=list)
    _values: Iterator[tuple[int, Any]] = field(default_factory=lambda: iter(()))

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Each row that can be read, with its number from 1 (of JSON lines: its line)."""
        return self._values

    def refuse(self, number: int) -> None:
        """Count a row that cannot be read."""
        self.bad += 1
        if len(self.first_bad) < _NAMED_BAD:
            self.first_bad.append(number)

    @property
    def note(self) -> str:
        """Which rows could not be read; empty where all could."""
        if not self.bad:
            return ""
        more = ", …" if self.bad > len(self.first_bad) else ""
        named = ", ".join(map(str, self.first_bad))
        return f"{self.bad:,} bad {self.kind} left out: {named}{more}"


def rows(text: bytes, media_type: str) -> Rows:
    """The rows of a payload.

    Raises:
        NotRowsError: It has none.
    """
    body = text.removeprefix(b"\xef\xbb\xbf")
    kind = media_type if media_type in _READERS else media.sniff(body)
    if kind not in _READERS and _JSON_LINE.search(body[:8192]) is not None:
        kind = "application/x-ndjson"
    reader = _READERS.get(kind)
    if reader is None:
        raise NotRowsError(f"the payload is {kind}, which holds no rows")
    return reader(body)


def _lines(text: bytes) -> Rows:
    found = Rows("lines")
    found._values = _json_lines(text, found)
    return found


def _json_lines(text: bytes, found: Rows) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(io.BytesIO(text), 1):
        if line.strip():
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                found.refuse(number)
            else:
                yield number, value


def _document(text: bytes) -> Rows:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if text.lstrip().startswith(b"{") and b"\n" in text.strip():
            return _lines(text)
        raise NotRowsError(f"the JSON cannot be read: {error}") from error
    if isinstance(value, dict):
        arrays = [member for member in value.values() if isinstance(member, list)]
        value = arrays[0] if len(arrays) == 1 else [value]
    if not isinstance(value, list):
        raise NotRowsError("the JSON document is a single value")
    return Rows("rows", _values=iter(enumerate(value, 1)))


def _table(text: bytes) -> Rows:
    decoded = text.decode()
    separator = media.delimiter(decoded[:8192].rpartition("\n")[0] or decoded[:8192]) or ","
    reader = csv.reader(io.StringIO(decoded, newline=""), delimiter=separator)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise NotRowsError(f"the CSV cannot be read: {error}") from error
    found = Rows("rows", tuple(header))
    found._values = _records(reader, found)
    return found


def _records(reader: Iterator[list[str]], found: Rows) -> Iterator[tuple[int, Any]]:
    number = 0
    while True:
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:  # a field beyond the limit of the csv module
            found.refuse(number)
            continue
        if len(cells) == len(found.columns):
            yield number, dict(zip(found.columns, cells, strict=True))
        elif cells:
            found.refuse(number)


_READERS: Final = {
    "application/x-ndjson": _lines,
    "application/json": _document,
    "text/csv": _table,
}
