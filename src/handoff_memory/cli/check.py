"""The lines of `doctor` and `health`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from handoff_memory.cli import rendering as r

Status = Literal["ok", "note", "problem"]


class Check(NamedTuple):
    """One line of the report."""

    name: str
    status: Status
    found: str
    next: str | None = None


def lines(checks: list[Check]) -> Iterator[str]:
    """A report for people."""
    colours = {"ok": r.good, "note": r.doubtful, "problem": r.bad}
    yield from r.table(
        [
            (colours[check.status](check.status), check.name, r.clean(_sentence(check)))
            for check in checks
        ]
    )


def _sentence(check: Check) -> str:
    return f"{check.found}. {check.next}" if check.next else check.found
