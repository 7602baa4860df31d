"""Replies about tasks as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handoff_memory.cli import rendering as r
from handoff_memory.services.writing import Reply

_HEAD: Final = ("TASK", "PLAN", "CALLS", "LAST", "BY", "OBJECTIVE")
_LISTS: Final = (
    ("constraints", "constraints"),
    ("decisions", "decisions"),
    ("plan", "plan"),
    ("lessons", "lessons"),
)


def overview(reply: Reply) -> Iterator[str]:
    """Tasks, a line each."""
    if not reply["tasks"]:
        yield "no tasks"
        return
    yield from r.table([_HEAD, *map(_line, reply["tasks"])])


def whole(reply: Reply) -> Iterator[str]:
    """A task: what is sealed, what happened, what it cost."""
    yield from r.block(reply["manifest"], indent="")
    yield ""
    yield from r.table(list(_facts(reply)))
    for name, title in _LISTS:
        if reply[name]:
            yield ""
            yield title
            yield from (f"  - {r.clean(text)}" for text in reply[name])
    if failures := reply["failures"]:
        yield ""
        yield from r.table([("FAILED", "TIMES", "LESSON"), *map(_failure, failures)])
    yield ""
    yield from r.table(_ledger(reply["ledger"]))


def _line(item: Reply) -> tuple[str, ...]:
    plan = "finished" if item["finished"] else f"{item['done']}/{item['steps']}"
    return (
        r.strong(r.clean(item["task"])),
        plan,
        f"{item['calls']:,}",
        r.age(item["at"]),
        r.clean(item["agent"]),
        r.clean(item["objective"]),
    )


def _facts(reply: Reply) -> Iterator[tuple[str, str]]:
    status = reply["status"]
    pressure = status["pressure"]
    yield "objective", r.clean(reply["objective"])
    yield "done", f"{r.counted(reply['calls'], 'call')}, {r.counted(reply['edits'], 'edit')}"
    used = f"{pressure['used_percent']} % of the window, {pressure['basis']}"
    left = pressure["turns_left"]
    yield "context", used if left is None else f"{used}; {r.counted(left, 'turn')} left"
    yield "budget", r.clean(status["budget"])
    if reply["flags"]:
        yield "flags", r.clean(", ".join(f"{name}: {v}" for name, v in reply["flags"].items()))
    if reply["refs"]:
        yield "refs", r.clean(" ".join(reply["refs"]))
    if "tools" in status:
        yield "tools", r.clean(", ".join(status["tools"]))


def _failure(item: Reply) -> tuple[str, str, str]:
    return r.clean(item["tool"]), str(item["attempts"]), r.clean(item["lesson"] or "-")


def _ledger(rows: list[list[str]]) -> list[tuple[str, ...]]:
    width = max(len(row[1]) for row in rows)
    head = ("LEDGER", "TOKENS".rjust(width), "")
    return [head, *((r.clean(a), b.rjust(width), r.clean(c)) for a, b, c in rows)]
