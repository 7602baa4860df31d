"""Five kinds of tool output, seeded, of an exact number of tokens, with facts planted in them.

Three facts stand at the head, in the middle and at the tail of each; a fourth is a measure over all
of it. A one-line edit changes the middle one.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from context.counting import fitted, words

_PLACES = ("north", "centre", "south")
Facts = Mapping[str, int]


class Question(NamedTuple):
    """A need for one fact of a payload.

    Attributes:
        text: As the person asks it.
        op: How a ref is asked for it: the operation of `osiris_recall`.
        args: Of that operation.
        command: How a file is asked for it, with `{path}` for the file.
        answer: Finds the answer in a text, or gives None.
    """

    text: str
    op: str
    args: dict[str, Any]
    command: str
    answer: Callable[[str], str | None]


class Payload(NamedTuple):
    """One state of a tool's output.

    Attributes:
        kind: `log`, `json`, `source`, `diff` or `table`.
        tool: Which tool of the client gives it.
        args: With which arguments.
        text: What it gives.
        truth: The answers by place: `north`, `centre`, `south`, and `whole` for the measure.
    """

    kind: str
    tool: str
    args: dict[str, Any]
    text: str
    truth: dict[str, str]

    def edited(self) -> Payload:
        """The state after somebody else changed the middle fact."""
        before = self.truth["centre"]
        after = str((int(before) + 389) % 900 + 100)
        line = next(one for one in self.text.splitlines() if _fact("centre") in one)
        text = self.text.replace(line, line.replace(before, after))
        return self._replace(text=text, truth={**self.truth, "centre": after, **_whole(self, text)})

    def question(self, place: str) -> Question:
        """The question for one of the four facts."""
        return _measure(self.kind) if place == "whole" else _lookup(self.kind, place)


class _Kind(NamedTuple):
    tool: str
    args: dict[str, Any]
    write: Callable[[int, Facts, int, int], str]  # seed, facts, rows, words of padding
    fact: str  # a regular expression with {name} for the fact's name
    ask: str
    op: str
    options: dict[str, Any]
    command: str
    measure: Callable[[str], str | None]  # of the whole text
    reply: str  # a regular expression for the measure in what a recall or a command gives


def payload(kind: str, size: int, seed: int) -> Payload:
    """An output of that kind with exactly that many tokens."""
    about = _KINDS[kind]
    rng = random.Random(f"{seed} {kind} {size}")
    facts = dict(zip(_PLACES, rng.sample(range(100, 900), 3), strict=True))
    text = fitted(lambda rows, more: about.write(seed, facts, rows, more), size)
    made = Payload(kind, about.tool, about.args, text, {k: str(v) for k, v in facts.items()})
    return made._replace(truth={**made.truth, **_whole(made, text)})


def kinds() -> tuple[str, ...]:
    """The names of the kinds."""
    return tuple(_KINDS)


# --- questions -----------------------------------------------------------------------------------


def _fact(place: str) -> str:
    return f"{place.upper()}_47"


def _whole(made: Payload, text: str) -> dict[str, str]:
    return {"whole": str(_KINDS[made.kind].measure(text))}


def _lookup(kind: str, place: str) -> Question:
    name = _fact(place)
    form = re.compile(_KINDS[kind].fact.format(name=name))

    def answer(text: str) -> str | None:
        found = form.search(text)
        return found[1] if found else None

    return Question(
        f"How many rows does batch {name} have?",
        "grep",
        {"pattern": name},
        f"grep -n {name} {{path}}",
        answer,
    )


def _measure(kind: str) -> Question:
    about = _KINDS[kind]
    form = re.compile(about.reply)

    def answer(text: str) -> str | None:
        found = form.search(text)
        return found[1].replace(",", "") if found else None

    return Question(about.ask, about.op, about.options, about.command, answer)


def measured(kind: str, text: str) -> str | None:
    """The measure, by reading a whole payload."""
    return _KINDS[kind].measure(text)


def _counted(pattern: str) -> Callable[[str], str]:
    form = re.compile(pattern, re.MULTILINE)
    return lambda text: str(len(form.findall(text)))


# --- the kinds -----------------------------------------------------------------------------------


def _at(rows: int) -> dict[int, list[str]]:
    """Which facts stand behind which row: the first, the middle and the last one."""
    placed: dict[int, list[str]] = {}
    for place, row in zip(_PLACES, (0, rows // 2, rows - 1), strict=True):
        placed.setdefault(row, []).append(place)
    return placed


def _log(seed: int, facts: Facts, rows: int, more: int) -> str:
    placed, lines = _at(rows), []
    for row in range(rows):
        rng = random.Random(f"{seed} log {row}")
        clock = f"2026-11-30T10:{row // 60 % 60:02}:{row % 60:02}Z"
        shard, page = rng.randrange(4, 20), rng.randrange(100, 900)
        if row % 17 == 3:
            lines.append(f"{clock} ERROR loader: page {page} of shard {shard} timed out")
        else:
            took = rng.randrange(10, 99)
            lines.append(f"{clock} INFO loader: stored page {page} of shard {shard} in {took} ms")
        lines += [f"{clock} INFO batch {_fact(p)} rows={facts[p]}" for p in placed.get(row, ())]
    note = f"2026-11-30T10:00:00Z INFO note: {words(more)}"
    return "\n".join([lines[0], *([note] if more else []), *lines[1:]]) + "\n"


def _json(seed: int, facts: Facts, rows: int, more: int) -> str:
    placed, jobs = _at(rows), []
    for row in range(rows):
        rng = random.Random(f"{seed} json {row}")
        state = "failed" if row % 13 == 2 else rng.choice(["done", "queued"])
        jobs.append({"id": f"job_{100 + row}", "state": state, "rows": rng.randrange(100, 900)})
        jobs += [{"id": _fact(p), "state": "done", "rows": facts[p]} for p in placed.get(row, ())]
    note = json.dumps({"note": words(more)})[1:-1]
    listed = ",\n".join(map(json.dumps, jobs))
    return "{" + note + ', "jobs": [\n' + listed + "\n]}\n"


def _source(seed: int, facts: Facts, rows: int, more: int) -> str:
    placed = _at(rows)
    lines = [f'"""Loaders of batches: {words(more + 1)}."""', ""]
    for row in range(rows):
        rng = random.Random(f"{seed} source {row}")
        name = f"{rng.choice(['load', 'merge', 'check', 'store'])}_{rng.choice(_NOUNS)}_{row}"
        ends = "raise StaleError(rows)" if row % 7 == 1 else f"return rows[:{rng.randrange(9, 99)}]"
        lines += [f"def {name}(rows, limit):", "    if len(rows) > limit:", f"        {ends}"]
        lines += ["    return rows", ""]
        lines += [f"{_fact(p)}_ROWS = {facts[p]}" for p in placed.get(row, ())]
    return "\n".join(lines) + "\n"


_NOUNS = ("orders", "parcels", "invoices", "routes", "depots", "lorries")


def _diff(seed: int, facts: Facts, rows: int, more: int) -> str:
    placed, lines = _at(rows), []
    for row in range(rows):
        rng = random.Random(f"{seed} diff {row}")
        path = f"app/{rng.choice(_NOUNS)}_{row}.py"
        added = [f"+{_fact(p)}_ROWS = {facts[p]}" for p in placed.get(row, ())]
        added += [f"+limit = {rng.randrange(100, 900)}"] if not added else []
        note = [f" # {words(more)}"] if more and row == 0 else []
        old, new = 3 + len(note), 2 + len(note) + len(added)
        lines += [f"diff --git a/{path} b/{path}", f"--- a/{path}", f"+++ b/{path}"]
        lines += [f"@@ -9,{old} +9,{new} @@", *note, f" rows = load({row})"]
        lines += [f"-limit = {rng.randrange(100, 900)}", *added, " store(rows[:limit])"]
    return "\n".join(lines) + "\n"


def _table(seed: int, facts: Facts, rows: int, more: int) -> str:
    placed = _at(rows)
    lines = ["batch,region,state,rows,note"]
    for row in range(rows):
        rng = random.Random(f"{seed} table {row}")
        note = words(more) if row == 0 else ""
        region, state = rng.choice(["emea", "apac", "amer"]), rng.choice(["done", "open"])
        lines.append(f"b{100 + row},{region},{state},{rng.randrange(100, 900)},{note}")
        lines += [f"{_fact(p)},emea,done,{facts[p]}," for p in placed.get(row, ())]
    return "\n".join(lines) + "\n"


def _sum(text: str) -> str:
    return str(sum(int(line.split(",")[3]) for line in text.splitlines()[1:]))


def _by_look(text: str) -> str:
    return str(sum(job["state"] == "failed" for job in json.loads(text)["jobs"]))


_COUNT = r"^([\d,]+)(?: matches)?$"
_KINDS: dict[str, _Kind] = {
    "log": _Kind(
        "Bash",
        {"command": "cat logs/import.log"},
        _log,
        r"{name} rows=(\d+)",
        "How many pages timed out?",
        "grep",
        {"pattern": "timed out", "max_matches": 0},
        "grep -c 'timed out' {path}",
        _counted("timed out"),
        _COUNT,
    ),
    "json": _Kind(
        "mcp__tracker__jobs",
        {"project": "import"},
        _json,
        r'"{name}", "state": "done", "rows": (\d+)',
        "How many jobs failed?",
        "aggregate",
        {"by": "state"},
        "jq '[.jobs[]|select(.state==\"failed\")]|length' {path}",
        _by_look,
        r"(?m)^(?:failed\t)?(\d+)$",
    ),
    "source": _Kind(
        "Read",
        {"file_path": "/srv/app/loaders.py"},
        _source,
        r"{name}_ROWS = (\d+)",
        "How many functions raise StaleError?",
        "grep",
        {"pattern": "raise StaleError", "max_matches": 0},
        "grep -c 'raise StaleError' {path}",
        _counted("raise StaleError"),
        _COUNT,
    ),
    "diff": _Kind(
        "Bash",
        {"command": "git diff main"},
        _diff,
        r"{name}_ROWS = (\d+)",
        "How many files changed?",
        "grep",
        {"pattern": "diff --git", "max_matches": 0},
        "grep -c 'diff --git' {path}",
        _counted("^diff --git"),
        _COUNT,
    ),
    "table": _Kind(
        "mcp__warehouse__query",
        {"sql": "SELECT * FROM batches"},
        _table,
        r"{name},emea,done,(\d+)",
        "How many rows do all batches have together?",
        "aggregate",
        {"measure": "sum", "field": "rows"},
        "awk -F, '{{s+=$4}}END{{print s}}' {path}",
        _sum,
        r"^(\d+)$",
    ),
}
