r"""Secrets replaced by typed placeholders, before anything is hashed, stored, indexed or logged.

One table of rows decides (kinds.py): a kind, what must occur for it to be possible at all, the
pattern, and a check where the pattern alone would raise false alarms. What a rejected value costs
is bounded (see `_spans`). Whether to replace or to refuse is the caller's choice.

Source: governor §10, memory §1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from handoff_memory.core.canonical import JsonValue

from handoff_memory.rules.redact.kinds import AFTER_NAME, LONG_WORD, ROWS, TOKEN_ROWS, Row

T = TypeVar("T")

_ROUNDS = 8  # a replaced secret can lay bare another; more often than this only by design
_REREAD = 256  # a rejected bare value longer than this is not searched again
_SHORT = 64
_MOST_HARMLESS = 4096


class Redacted(NamedTuple, Generic[T]):
    """What is left to store, and the kinds that were replaced: sorted, each once."""

    value: T
    kinds: tuple[str, ...]


_BETWEEN = bytes(byte for byte in range(256) if not re.match(rb"[\w.~-]", bytes([byte])))
_SPACED = bytes.maketrans(_BETWEEN, b" " * len(_BETWEEN))
# What must occur, and the place in `ROWS` of the row that it could be; token rows stand first.
# Flat, and text instead of bytes, in which `in` takes five times as long to begin.
_HINTS = tuple((hint, at) for at, row in enumerate(ROWS) for hint in row.hints)
_TOKEN_HINTS = tuple((hint, at) for hint, at in _HINTS if at < len(TOKEN_ROWS))
_FOLDED_HINTS = _HINTS[len(_TOKEN_HINTS) :]
# Of those, what stands within others: where none of these occurs, none of all does.
_ROOTS = tuple(
    hint
    for hint in dict(_FOLDED_HINTS)
    if not any(one in hint for one in dict(_FOLDED_HINTS) if one != hint)
)
# Names and labels come again and again; only what holds nothing is remembered.
_HARMLESS: set[str] = set()


# --- finding and replacing ------------------------------------------------------------------------


def _possible(text: str) -> list[Row]:
    """The rows that can match at all; most texts have none. Costs a few passes in C."""
    if text in _HARMLESS:
        return []
    rows = _hinted(text)
    if not rows and len(text) <= _SHORT:
        if len(_HARMLESS) >= _MOST_HARMLESS:
            _HARMLESS.clear()
        _HARMLESS.add(text)
    return rows


def _hinted(text: str) -> list[Row]:
    raw = text.encode("utf-8", "surrogatepass")
    folded = raw.lower().decode("utf-8", "surrogatepass") + "\n"
    found: set[int] = set()
    if [root for root in _ROOTS if root in folded]:
        found = {
            at
            for hint, at in _FOLDED_HINTS
            if hint in folded and (not ROWS[at].name or _assigns(hint, folded))
        }
    if long := [word for word in raw.translate(_SPACED).split() if len(word) >= LONG_WORD]:
        tokens = b" ".join(long).decode("utf-8", "surrogatepass")
        found |= {at for hint, at in _TOKEN_HINTS if hint in tokens}
    return [ROWS[at] for at in sorted(found)]


def _assigns(hint: str, folded: str) -> bool:
    return any(hint + after in folded for after in AFTER_NAME)


def _fold(text: str) -> str:
    """The text with ASCII letters lower-case; positions stay (str.lower() can move them)."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _spans(row: Row, subject: str, text: str, allowed: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Where the row's secrets stand in the text, left to right."""
    at = 0
    while found := row.pattern.search(subject, at):
        start, end = found.span(found.lastindex or 0)
        secret = text[start:end]
        if secret not in allowed and (row.check is None or row.check(secret)):
            yield start, end
            at = end
        # A rejected value may hold another name and value, so it is read again: but not
        # a long bare one, or `token=token=…` would cost the square of its length.
        elif found.start() < start and (end - start < _REREAD or text[start - 1] in "\"'`"):
            at = start
        else:
            at = end


def _scrub(text: str, rows: Iterable[Row], allowed: frozenset[str], kinds: set[str]) -> str:
    """The text without the rows' secrets, until no row finds one; adds what it found to kinds."""
    left, found = _ROUNDS, True
    while found and left:
        left, found = left - 1, False
        folded = _fold(text)
        for row in rows:
            spans = list(_spans(row, folded if row.folded else text, text, allowed))
            if spans:
                found = True
                kinds.add(row.kind)
                ends = [0, *(end for _, end in spans)]
                kept = [text[a:b] for a, (b, _) in zip(ends, spans, strict=False)]
                text = f"[redacted:{row.kind}]".join([*kept, text[ends[-1] :]])
                folded = _fold(text)
    return text


class _Search:
    """What one call looks for, and the kinds that it has found so far."""

    def __init__(self, rows: Sequence[Row], allowed: frozenset[str], kinds: set[str]) -> None:
        self.rows = rows
        self.allowed = allowed
        self.kinds = kinds
        self.seen: dict[str, str] = {}

    def text(self, text: str) -> str:
        """As `_scrub`; keys and words repeat, so each is looked at once."""
        if text not in self.seen:
            self.seen[text] = _scrub(text, self.rows, self.allowed, self.kinds)
        scrubbed = self.seen[text]
        return text if scrubbed == text else scrubbed  # not an equal one: identity says "unchanged"

    def named(self, text: str, name: str) -> str:
        """The text, or a placeholder where the first row that knows the name says it is secret."""
        folded = _fold(name[-64:])
        for row in self.rows:
            if row.name and row.check and row.name.search(folded) and row.check(text):
                self.kinds.add(row.kind)
                return f"[redacted:{row.kind}]"
        return text


def _strings(value: JsonValue) -> list[str]:
    """Every string and key, in no particular order."""
    waiting: list[JsonValue] = [value]
    found: list[str] = []
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            found += item
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
    return found


def _walk(value: JsonValue, name: str, search: _Search) -> JsonValue:
    if isinstance(value, str):
        scrubbed = search.text(value)
        return scrubbed if value in search.allowed else search.named(scrubbed, name)
    if isinstance(value, dict):
        return _members(value, search)
    if isinstance(value, list | tuple):
        walked = [_walk(item, name, search) for item in value]
        return walked if any(a is not b for a, b in zip(value, walked, strict=True)) else value
    return value


def _members(members: dict[str, JsonValue], search: _Search) -> dict[str, JsonValue]:
    keys = [search.text(key) for key in members]
    taken = {new for old, new in zip(members, keys, strict=True) if old == new}
    numbers: Counter[str] = Counter()
    walked: dict[str, JsonValue] = {}
    for (old, value), new in zip(members.items(), keys, strict=True):
        owner = members.get("name") if old == "value" else None
        child = _walk(value, owner if isinstance(owner, str) else old, search)
        walked[new if old == new else _free(new, taken, numbers)] = child
    same = list(walked) == list(members) and all(members[k] is v for k, v in walked.items())
    return members if same else walked


def _free(key: str, taken: set[str], numbers: Counter[str]) -> str:
    """The key, or key#2, key#3 …: two keys that became one must not lose an entry."""
    while True:
        numbers[key] += 1
        name = key if numbers[key] == 1 else f"{key}#{numbers[key]}"
        if name not in taken:
            taken.add(name)
            return name


def redact_text(text: str, allowed: frozenset[str] = frozenset()) -> Redacted[str]:
    """The text with each secret replaced by `[redacted:<kind>]`; the very same when there is none.

    Args:
        text: Any text, lone surrogates included.
        allowed: Exact strings that are never replaced (known false alarms).
    """
    if not (rows := _possible(text)):
        return Redacted(text, ())
    kinds: set[str] = set()
    return Redacted(_scrub(text, rows, allowed, kinds), tuple(sorted(kinds)))


def secret_kinds(text: str, allowed: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The kinds of secrets in a name: names are refused, never altered."""
    return redact_text(text, allowed).kinds


def redact_value(value: JsonValue, allowed: frozenset[str] = frozenset()) -> Redacted[JsonValue]:
    """The value with the secrets in its strings and keys replaced; the same object without any.

    A string below a key such as `password` is judged with that name beside it, also within a list
    and in `{"name": "DB_PASSWORD", "value": …}`. The caller bounds the depth (memory §1).
    """
    if not (rows := _possible("\n".join(set(_strings(value))))):
        return Redacted(value, ())
    kinds: set[str] = set()
    walked = _walk(value, "", _Search(rows, allowed, kinds))
    return Redacted(walked, tuple(sorted(kinds)))
