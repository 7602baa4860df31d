"""TOML edited as text: one table is put at the end, replaced or taken out; all else stays.

Each edit is read again and compared with what it should mean, so that a text which this cannot cut
right is refused, not damaged.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

_HEADER: Final = re.compile(r"[ \t]*\[")
_LINE: Final = re.compile(r"line (\d+)")


class TomlTextError(ValueError):
    """A text is no TOML, or is written in a way that cannot be edited safely.

    Attributes:
        line: Where, from 1, as far as it is known.
        reason: What is wrong there.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        self.line = line
        self.reason = reason
        super().__init__(reason)


def parse(text: str) -> dict[str, Any]:
    """What a text means.

    Raises:
        TomlTextError: Where and why it means nothing.
    """
    try:
        # A carriage return alone ends no line; before a line feed it is allowed.
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        line = _LINE.search(said)
        raise TomlTextError(said, int(line[1]) if line else None) from error


def put_table(text: str, path: Sequence[str], pairs: Mapping[str, Any]) -> str:
    """The text with a table of exactly those pairs.

    Raises:
        TomlTextError: The text is no TOML, or the table stands in it in an unusual form.
    """
    wanted = deepcopy(parse(text))
    above = wanted
    for step in path[:-1]:
        above = above.setdefault(step, {})
        if not isinstance(above, dict):
            raise TomlTextError(f"{step} is no table")
    if above.get(path[-1]) == pairs:
        return text
    above[path[-1]] = dict(pairs)
    eol = _eol(text)
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(name)} = {_value(value)}" for name, value in pairs.items()]
    block = eol.join(lines)
    span = _span(text, path)
    if span:
        edited = text[: span[0]] + block + text[span[1] :]
    elif not text.strip("\ufeff"):
        edited = text + block + eol
    elif text.endswith("\n"):
        edited = text + eol + block + eol
    else:
        edited = text + eol * 2 + block
    return _checked(edited, wanted)


def drop_table(text: str, path: Sequence[str]) -> str:
    """The text without that table.

    Raises:
        TomlTextError: The text is no TOML, or the table stands in it in an unusual form.
    """
    wanted = deepcopy(parse(text))
    above: Any = wanted
    for step in path[:-1]:
        above = above.get(step)
        if not isinstance(above, dict):
            return text
    if path[-1] not in above:
        return text
    del above[path[-1]]
    span = _span(text, path)
    if span is None:
        raise TomlTextError(f"{'.'.join(path)} is not written as a table of its own")
    eol = _eol(text)
    before, after = text[: span[0]], text[span[1] :]
    if after.startswith(eol):
        after = after[len(eol) :]
        before = before[: -len(eol)] if before.endswith(eol * 2) else before
    else:  # at the end of a text whose last line has no end
        before = before.removesuffix(eol).removesuffix(eol)
    return _checked(before + after, wanted, without=path)


def _span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Where a table stands: from its header to the end of its last pair, parts of it included."""
    names = r"[ \t]*\.[ \t]*".join(f"[\"']?{re.escape(step)}[\"']?" for step in path)
    ours = re.compile(rf"[ \t]*\[[ \t]*{names}[ \t]*(?:\.[^\]]*)?\]")
    start = end = None
    inside, at = False, 0
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line):
            inside = bool(ours.match(line))
            start = at if inside and start is None else start
        content = line.strip()
        if inside and content and not content.startswith("#"):
            end = at + len(line.rstrip("\r\n"))
        at += len(line)
    return None if start is None or end is None else (start, end)


def _checked(edited: str, wanted: dict[str, Any], *, without: Sequence[str] = ()) -> str:
    try:
        found = parse(edited)
    except TomlTextError as error:
        raise TomlTextError("its tables are written in a way that cannot be edited safely") from (
            error
        )
    for depth in range(len(without) - 1, 0, -1):
        wanted, found = _pruned(wanted, without[:depth]), _pruned(found, without[:depth])
    if found != wanted:
        raise TomlTextError("its tables are written in a way that cannot be edited safely")
    return edited


def _pruned(document: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    # A table that only ever was part of a header is gone with the header.
    head, *rest = path
    inner = document.get(head)
    if rest and isinstance(inner, dict):
        return {**document, head: _pruned(inner, rest)}
    return {name: value for name, value in document.items() if name != head or value != {}}


def _eol(text: str) -> str:
    return "\r\n" if re.match(r"[^\n]*\r\n", text) else "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{_key(name)} = {_value(inner)}" for name, inner in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
