"""The project's rules: which action is refused, asked about or warned of, and the way out.

`parse` reads `.osiris/invariants.toml`; `judge` holds an action against the rules, the flags and a
person's approvals. All rules that match are reported; the most severe makes the verdict. A part is
loaded when it is first asked for: most hooks meet no rules, and need none (docs/adr/0012).

Source: governor §7.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handoff_memory.rules.invariants.action import Action
    from handoff_memory.rules.invariants.book import parse, strict
    from handoff_memory.rules.invariants.contents import Book, Problem
    from handoff_memory.rules.invariants.judging import Finding, Judgement, Reliance, judge
    from handoff_memory.rules.invariants.match import spellings
    from handoff_memory.rules.invariants.rule import Paths, Require, Rule, VerdictName, When

__all__ = [
    "Action",
    "Book",
    "Finding",
    "Judgement",
    "Paths",
    "Problem",
    "Reliance",
    "Require",
    "Rule",
    "VerdictName",
    "When",
    "judge",
    "parse",
    "spellings",
    "strict",
]

_PARTS = {
    "action": ("Action",),
    "book": ("parse", "strict"),
    "contents": ("Book", "Problem"),
    "judging": ("Finding", "Judgement", "Reliance", "judge"),
    "match": ("spellings",),
    "rule": ("Paths", "Require", "Rule", "VerdictName", "When"),
}


def __getattr__(name: str) -> Any:
    for part, names in _PARTS.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{part}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
