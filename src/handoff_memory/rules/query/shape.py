"""The shape of JSON values: which keys, which types, how long, how many."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

_DEPTH: Final = 6
_KEYS: Final = 40
LOOKED_AT: Final = 10_000  # items of one array; the rest is only counted
_NAMES: Final = {str: "string", bool: "boolean", dict: "object", list: "array"}
_NUMBERS: Final = {int: "integer", float: "number"}


@dataclass(slots=True)
class Shape:
    """What values at one place have in common; add them one by one."""

    depth: int = 0
    types: Counter[str] = field(default_factory=Counter)
    low: float | None = None
    high: float | None = None
    shortest: dict[str, int] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)
    members: dict[str, Shape] = field(default_factory=dict)
    items: Shape | None = None
    unlisted: int = 0

    def add(self, value: Any) -> None:
        """Count one value and, down to a depth, what is in it."""
        kind = type(value)
        name = _NAMES.get(kind) or _NUMBERS.get(kind) or "null"
        self.types[name] += 1
        if kind in _NUMBERS:
            self.low = value if self.low is None else min(self.low, value)
            self.high = value if self.high is None else max(self.high, value)
        elif kind in (str, list, dict):
            length = len(value)
            self.shortest[name] = min(length, self.shortest.get(name, length))
            self.longest[name] = max(length, self.longest.get(name, length))
            if self.depth < _DEPTH:
                self._add_inner(value)

    def _add_inner(self, value: Any) -> None:
        if isinstance(value, list):
            self.items = self.items or Shape(self.depth + 1)
            for item in value[:LOOKED_AT]:
                self.items.add(item)
        if isinstance(value, dict):
            for key, member in value.items():
                if key in self.members or len(self.members) < _KEYS:
                    self.members.setdefault(key, Shape(self.depth + 1)).add(member)
                else:
                    self.unlisted += 1

    def lines(self, path: str = "") -> list[str]:
        """One line a place, its path first."""
        found = [f"{path or '.'}: {self._said()}"]
        base = "" if path == "." else path
        for key, member in self.members.items():
            found += member.lines(f"{base}.{key}")
        if self.unlisted:
            found.append(f"{base}.…: {self.unlisted:,} values under other keys")
        if self.items is not None and self.items.types:
            found += self.items.lines(f"{base}[]")
        return found

    def _said(self) -> str:
        many = sum(self.types.values()) > 1
        return (
            " | ".join(
                self._one(name) + (f" x{count:,}" if many else "")
                for name, count in self.types.items()
            )
            or "nothing"
        )

    def _one(self, name: str) -> str:
        if name in self.longest:
            unit = {"string": "chars", "array": "items", "object": "keys"}[name]
            cut = ""
            if name == "array" and self.longest[name] > LOOKED_AT:
                cut = f" (the first {LOOKED_AT:,} looked at)"
            return f"{name} of {_span(self.shortest[name], self.longest[name])} {unit}{cut}"
        if name in ("integer", "number") and self.low is not None and self.high is not None:
            return f"{name} {_span(self.low, self.high)}"
        return name


def _span(low: float, high: float) -> str:
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"
