"""JSON with comments and trailing commas, edited as text: all but the edited member stays.

A path leads to a member: names of objects, indexes of arrays. Reading is lenient where clients are;
what is written is plain JSON in the file's own indentation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

Path = Sequence[str | int]

_TOKEN: Final = re.compile(
    r"(?P<space>[ \t\r\n\ufeff]+)"
    r"|(?P<comment>//[^\r\n]*|/\*.*?\*/)"
    r'|(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>true|false|null)(?![A-Za-z0-9_])"
    r"|(?P<mark>[{}\[\],:])",
    re.DOTALL,
)
_LINE_ENDS: Final = re.compile(r"[ \t]*\r?\n")
_DEEPEST: Final = 200
_INDENT: Final = "  "


class JsoncError(ValueError):
    """A text is no JSON with comments, or not of the shape that an edit needs.

    Attributes:
        line: Where, from 1.
        reason: What is wrong there.
    """

    def __init__(self, text: str, at: int, reason: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        self.reason = reason
        super().__init__(f"line {self.line}: {reason}")


class _Token(NamedTuple):
    kind: str
    start: int
    end: int


@dataclass(slots=True)
class _Item:
    start: int  # of the key in an object, else of the value
    key: str | None
    node: _Node
    comma: int | None = None


@dataclass(slots=True)
class _Node:
    start: int
    end: int
    value: Any
    items: list[_Item] | None = None  # None: neither an object nor an array
    comments: list[_Token] = field(default_factory=list)  # those directly inside


def parse(text: str) -> Any:
    """The value of a text.

    Raises:
        JsoncError: Where and why it is none.
    """
    return _document(text).value


def find(text: str, path: Path) -> Any:
    """The value at a path, or None where there is nothing."""
    node: _Node | None = _document(text)
    for step in path:
        item = _item(node, step) if node else None
        node = item.node if item else None
    return node.value if node else None


def put(text: str, path: Path, value: Any) -> str:
    """The text with that value at a path; what is missing above it is made.

    An index one past the end of an array appends.

    Raises:
        JsoncError: No JSON, or something above the path holds no members.
    """
    node = _document(text)
    for depth, step in enumerate(path):
        if node.items is None or isinstance(step, str) != isinstance(node.value, dict):
            kind = "object" if isinstance(step, str) else "array"
            name = "/".join(map(str, path[:depth])) or "the whole"
            raise JsoncError(text, node.start, f"{name} is no {kind}")
        item = _item(node, step)
        if item is None:
            return _inserted(text, node, step, _nested(path[depth + 1 :], value))
        node = item.node
    if _same(node.value, value):
        return text
    indent = _line_indent(text, node.start)
    many = "\n" in text[node.start : node.end] or _stands_alone(text, node.start)
    return text[: node.start] + _rendered(text, value, indent, many=many) + text[node.end :]


def drop(text: str, path: Path) -> str:
    """The text without the member at a path; comments around it stay.

    Raises:
        JsoncError: No JSON.
    """
    node = _document(text)
    for step in path[:-1]:
        above = _item(node, step)
        if above is None:
            return text
        node = above.node
    item = _item(node, path[-1])
    if item is None:
        return text
    return _without(text, node, (node.items or []).index(item))


def _without(text: str, node: _Node, at: int) -> str:
    items = node.items or []
    item = items[at]
    before = node.start + 1
    cuts = []
    if at:
        before = items[at - 1].comma or before
        cuts = [] if item.comma else [(before, before + 1)]
        before += 1
    above = [comment for comment in node.comments if before <= comment.end <= item.start]
    start = above[-1].end if above else before
    behind = text[item.node.end :]
    if item.comma:
        behind = text[item.node.end : item.comma] + text[item.comma + 1 :]
    if above and text.startswith("//", above[-1].start) and not _LINE_ENDS.match(behind):
        start = item.start  # what follows must not become a part of a comment
    cuts.append((start, item.node.end))
    if item.comma:
        cuts.append((item.comma, item.comma + 1))
    if len(items) == 1 and not text[node.start + 1 : start].strip() + _rest(text, node, item):
        cuts = [(node.start + 1, node.end - 1)]
    for begin, end in reversed(cuts):
        text = text[:begin] + text[end:]
    return text


def _rest(text: str, node: _Node, item: _Item) -> str:
    return text[item.node.end : node.end - 1].replace(",", "", 1 if item.comma else 0).strip()


def _inserted(text: str, node: _Node, step: str | int, value: Any) -> str:
    items = node.items or []
    last = items[-1] if items else None
    trailing = last is not None and last.comma is not None
    anchor = node.start + 1
    if last:
        anchor = last.node.end if last.comma is None else last.comma + 1
    at = max([comment.end for comment in node.comments if comment.end > anchor], default=anchor)
    inside = text[node.start : node.end]
    bare = not items and not node.comments
    many = bare or "\n" in inside
    indent = _member_indent(text, node)
    piece = "" if isinstance(step, int) else json.dumps(step, ensure_ascii=False) + ": "
    piece += _rendered(text, value, indent, many=many) + ("," if trailing else "")
    lead = _eol(text) + indent if many else " "
    if bare:
        tail = _eol(text) + _line_indent(text, node.start)
        return text[:anchor] + lead + piece + tail + text[node.end - 1 :]
    comma = "," if last and not trailing else ""
    return text[:anchor] + comma + text[anchor:at] + lead + piece + text[at:]


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _item(node: _Node, step: str | int) -> _Item | None:
    if isinstance(step, int):
        items = node.items if isinstance(node.value, list) else None
        return items[step] if items and step < len(items) else None
    named = [item for item in node.items or [] if item.key == step]
    return named[-1] if named else None  # of two, the last one counts for every client


def _same(old: Any, new: Any) -> bool:
    return json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)


def _rendered(text: str, value: Any, indent: str, *, many: bool) -> str:
    if not many:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (_eol(text) + indent).join(lines)


def _eol(text: str) -> str:
    return "\r\n" if re.match(r"[^\n]*\r\n", text) else "\n"


def _unit(text: str) -> str:
    found = re.search(r"^[ \t]*[{\[][^\n]*\n([ \t]+)[^\s\]}]", text.lstrip("\ufeff"), re.MULTILINE)
    if not found:
        return _INDENT
    outer = _line_indent(text.lstrip("\ufeff"), found.start(1) - 1)
    return found[1].removeprefix(outer) or _INDENT


def _member_indent(text: str, node: _Node) -> str:
    first = node.items[0] if node.items else None
    if first and _stands_alone(text, first.start):
        return _line_indent(text, first.start)
    return _line_indent(text, node.start) + _unit(text)


def _stands_alone(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t")


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


@lru_cache(maxsize=4)
def _document(text: str) -> _Node:
    # An edit looks several times at a text that may take seconds to read; nobody changes a node.
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._at = 0
        self._comments: list[_Token] = []
        self._depth = 0

    def document(self) -> _Node:
        node = self._value()
        after = self._next()
        if after.kind != "end":
            raise self._error(after, "something stands behind the end")
        return node

    def _next(self) -> _Token:
        while (token := self._tokens[self._at]).kind == "comment":
            self._comments.append(token)
            self._at += 1
        self._at += token.kind != "end"
        return token

    def _peek(self) -> str:
        token = self._next()
        self._at -= token.kind != "end"
        return self._text[token.start : token.end]

    def _value(self) -> _Node:
        token = self._next()
        raw = self._text[token.start : token.end]
        if raw in {"{", "["}:
            return self._container(token, raw)
        if token.kind not in {"string", "number", "word"}:
            raise self._error(token, "a value is missing")
        return _Node(token.start, token.end, self._decoded(token))

    def _container(self, begin: _Token, opening: str) -> _Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(begin, f"nested deeper than {_DEEPEST}")
        outer, self._comments = self._comments, []
        closing = "}" if opening == "{" else "]"
        items: list[_Item] = []
        while self._peek() != closing:
            items.append(self._member(named=opening == "{"))
            if self._peek() == ",":
                items[-1].comma = self._next().start
            elif self._peek() != closing:
                raise self._error(self._next(), f"',' or '{closing}' is missing")
        end = self._next().end
        values = [item.node.value for item in items]
        whole = dict(zip([i.key for i in items], values, strict=True)) if closing == "}" else values
        node = _Node(begin.start, end, whole, items, self._comments)
        self._comments = outer
        self._depth -= 1
        return node

    def _member(self, *, named: bool) -> _Item:
        if not named:
            node = self._value()
            return _Item(node.start, None, node)
        token = self._next()
        if token.kind != "string":
            raise self._error(token, "a name in double quotes is missing")
        key = self._decoded(token)
        colon = self._next()
        if self._text[colon.start : colon.end] != ":":
            raise self._error(colon, "':' is missing")
        return _Item(token.start, key, self._value())

    def _decoded(self, token: _Token) -> Any:
        try:
            return json.loads(self._text[token.start : token.end])
        except ValueError as error:
            raise self._error(token, "a string has a wrong escape") from error

    def _error(self, token: _Token, reason: str) -> JsoncError:
        if token.kind == "end":
            reason = "the file ends too early"
        return JsoncError(self._text, token.start, reason)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise JsoncError(text, at, f"{text[at]!r} is not expected here")
        if found.lastgroup != "space":
            yield _Token(str(found.lastgroup), at, found.end())
        at = found.end()
    yield _Token("end", at, at)
