"""Verification: everything that is mutable is recomputed from the hashed rows.

The walk over hashes and chain (verify_rows), the replay of opinions and states (verify_replay), the
caches, and what SQLite says of the file. Every broken row is named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from handoff_memory.core import entry
from handoff_memory.core.errors import MemoryFault
from handoff_memory.services import findings, verify_amfs, verify_rows, verify_tasks
from handoff_memory.services.verify_replay import Replay
from handoff_memory.services.verify_rows import Walked
from handoff_memory.services.writing import Reply
from handoff_memory.store import health, journal, sealed
from handoff_memory.store.engine import Row, Tx
from handoff_memory.store.sealed import Span

Progress = Callable[[int, int], None]

_OPTIONAL: Final = frozenset({"amfs_entry", "amfs_document"})  # not told where there is none


class Asked(NamedTuple):
    """What is asked of SQLite, which answers without the interpreter's lock.

    Attributes:
        heads: What is wrong with current versions.
        texts: What is wrong with the full-text index.
        file: What is wrong with the file.
    """

    heads: list[Reply]
    texts: list[Reply]
    file: list[Reply]


def ask(tx: Tx) -> Asked:
    """Have SQLite check what shares nothing with the walk over hashes and chain."""
    heads = [
        _of_name(row, "the current version is not the newest") for row in health.wrong_heads(tx)
    ]
    what = "it is missing from the full-text index"
    texts = [_of_name(row, what) for row in health.unsearchable(tx)]
    file = [findings.problem("file", "database", what) for what in health.file_problems(tx)]
    return Asked(heads, texts, file)


def first_lines(tx: Tx, upto: int) -> Walked:
    """The walk over hashes and chain up to a line."""
    return verify_rows.walk(tx, Span(upto=upto), chain=entry.GENESIS)


def verify(
    tx: Tx,
    *,
    progress: Progress = lambda done, total: None,
    upto: int = 0,
    first: Callable[[Tx, int], Walked] = first_lines,
    asked: Callable[[Tx], Asked] = ask,
) -> Reply:
    """Recompute every hash, the chain, and every cache; name each broken row.

    Args:
        tx: One read transaction.
        progress: Told how many of how many journal lines are checked.
        upto: Where the first span ends, an existing line; 0 for all that stands before the journal.
        first: Gives what `first_lines` finds, where it ran somewhere else meanwhile.
        asked: Gives what `ask` finds, likewise.
    """
    head = journal.head(tx)
    chain = sealed.chain_at(tx, upto) or entry.GENESIS
    walked = verify_rows.walk(
        tx, Span(upto), chain=chain, progress=lambda seq: progress(seq, head.seq)
    )
    replay = Replay(tx)
    replay.everything()
    opinions = list(replay.opinion_problems(health.opinions(tx)))
    states = list(replay.state_problems())
    tasks = [findings.problem(*one) for one in verify_tasks.problems(tx)]
    tasks += [
        findings.problem("amfs_entry", name, what, version=version)
        for name, version, what in verify_amfs.problems(tx)
    ]
    schema = [
        findings.problem("schema", what.split(" is ")[0], what)
        for what in health.schema_problems(tx)
    ]
    before, other = first(tx, upto), asked(tx)
    progress(head.seq, head.seq)
    found = (*before.found, *walked.found, *replay.found)
    problems = [one.problem for one in sorted(found, key=lambda one: one.seq)]
    problems += other.heads + opinions + states + other.texts + tasks + schema + other.file
    return {
        "ok": not problems,
        "checked": {
            name: total
            for name, count in walked.checked.items()
            if (total := count + before.checked[name]) or name not in _OPTIONAL
        },
        "problems": problems,
        "head": {"seq": head.seq, "chain": head.chain.hex()},
    }


def damaged(fault: MemoryFault) -> Reply:
    """The report on a file that SQLite itself cannot read to its end."""
    problem = {"kind": "file", "name": "database", "what": fault.message}
    return {"ok": False, "checked": {}, "problems": [problem]}


def shortened(report: Reply, limit: int = 50) -> Reply:
    """A report whose list of problems fits a reply, and how many there are in all."""
    problems = report["problems"]
    if len(problems) <= limit:
        return report
    return {**report, "problems": problems[:limit], "problems_total": len(problems)}


def _of_name(row: Row, what: str) -> Reply:
    name = f"{row['scope']}/{row['key']}"
    return findings.problem("record", name, what, version=row["version"])
