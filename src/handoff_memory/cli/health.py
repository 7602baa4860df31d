"""`health`: server, database, rules and roots in short; `doctor` looks closer."""

from __future__ import annotations

import os
from collections.abc import Iterator

from handoff_memory import __version__, rulebook
from handoff_memory.app import is_alive
from handoff_memory.cli import output
from handoff_memory.cli import rendering as r
from handoff_memory.cli.check import Check, lines
from handoff_memory.cli.command import Call, verb
from handoff_memory.core.errors import DatabaseMissingError, MemoryFault
from handoff_memory.services import checkup
from handoff_memory.services.writing import Reply
from handoff_memory.settings import Settings
from handoff_memory.store import payloads, tasks
from handoff_memory.store.engine import Tx


@verb("health", examples=("handoff-memory health", "osiris health --json"))
def health(call: Call) -> int:
    """Whether the governor can work here.

    Exit status 1 where there is a problem.
    """
    settings = call.memory.settings
    checks = [_server(settings), *_database(call), *_rules(settings), *_roots(settings)]
    ok = all(check.status != "problem" for check in checks)
    if call.as_json:
        output.print_json({"ok": ok, "checks": [check._asdict() for check in checks]})
    else:
        output.print_lines(lines(checks))
    return 0 if ok else 1


def _server(settings: Settings) -> Check:
    listed = "osiris_call alone" if settings.dispatch_only else f"tools: {settings.tools}"
    pruning = f"prunes as {settings.prune_mode} from {settings.prune_threshold_tokens:,} tokens"
    return Check("server", "ok", f"{__version__}, {listed}, {pruning}")


def _database(call: Call) -> Iterator[Check]:
    def facts(tx: Tx) -> tuple[Reply, dict[str, int], int]:
        found = checkup.database(tx, is_alive)
        return found, payloads.totals(tx), tasks.count(tx, call.who.project)

    path = call.memory.settings.database
    try:
        found, kept, count = call.memory.read(facts)
    except DatabaseMissingError:
        yield Check("database", "note", f"{path} is not there", "The first write makes it.")
        return
    except MemoryFault as fault:
        yield Check("database", "problem", fault.message, fault.next_step)
        return
    for what in found["schema_problems"]:
        yield Check("schema", "problem", what, "Run memory_stats --verify, restore a backup.")
    yield Check("database", "ok", f"{path}, seq {found['head']['seq']}")
    yield Check("tasks", "ok", r.counted(count, "task") + " in this project")
    sizes = f"{r.size(kept['bytes'])}, {r.size(kept['stored_bytes'])} as stored"
    yield Check("payloads", "ok", f"{r.counted(kept['payloads'], 'payload')}, {sizes}")


def _rules(settings: Settings) -> Iterator[Check]:
    path, book = rulebook.find(settings.folder), rulebook.RuleBook(settings.folder).read()
    if path is None:
        yield Check("rules", "note", f"no {rulebook.PLACE} in {settings.folder} or above")
        return
    yield Check("rules", "ok", f"{r.counted(len(book.rules), 'rule')} in {path}")
    for problem in book.problems:
        yield Check("rules", "problem", str(problem), "The rules that could be read hold.")


def _roots(settings: Settings) -> Iterator[Check]:
    if not settings.roots:
        yield Check("roots", "note", "OSIRIS_ROOTS is empty: osiris_observe reads no path")
    for root in settings.roots:
        if root.is_dir() and os.access(root, os.R_OK | os.X_OK):
            yield Check("roots", "ok", str(root))
        else:
            yield Check("roots", "problem", f"{root} is no readable folder", "Set OSIRIS_ROOTS.")
