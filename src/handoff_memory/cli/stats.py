"""`stats`: counts, agents, what waits; and whether anything in the file was altered."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from handoff_memory.app import storage_facts
from handoff_memory.cli import rendering as r
from handoff_memory.cli.command import Call, verb
from handoff_memory.core.errors import CorruptDatabaseError
from handoff_memory.services import presence, verify
from handoff_memory.services.writing import Reply


@verb(
    "stats",
    examples=(
        "handoff-memory stats",
        "memory_stats --verify        exit status 1 where a row was altered",
        "memory_stats --verify --since last        what was written since the last good one",
        "memory_stats --verify --json | jq .verify.problems",
    ),
)
@click.option("--verify", "verifies", is_flag=True, help="Recompute every hash; name broken rows.")
@click.option(
    "--since",
    metavar="HEAD",
    help="Verify what was written since that head only: last, for the last one found good, or "
    "SEQ:CHAIN that you kept elsewhere.",
)
@click.option("--scope", default="", help="Count records and versions below this scope only.")
def stats(call: Call, *, verifies: bool, since: str | None, scope: str) -> int:
    """Counts, agents, what waits; --verify checks it all."""
    verifies = verifies or since is not None
    try:
        counted = call.read(lambda tx: presence.stats(tx, call.who, scope=scope))
    except CorruptDatabaseError as fault:
        if not verifies:
            raise
        report = {"verify": verify.damaged(fault)}
        call.show({**storage_facts(call.memory.settings), **report}, _text_of_damage)
        return 1
    reply = {"waiting": 0, **counted, **storage_facts(call.memory.settings), "failed_writes": 0}
    if verifies:
        total = reply["head"]["seq"]
        reply["verify"] = call.memory.verify_since(since) if since else _verified(call, total)
    call.show(reply, _text)
    return 1 if verifies and not reply["verify"]["ok"] else 0


def _verified(call: Call, total: int) -> Reply:
    hidden = not sys.stderr.isatty()
    with click.progressbar(length=total, label="verifying", file=sys.stderr, hidden=hidden) as bar:
        return call.memory.verify(lambda done, _: bar.update(done - bar.pos))


def _text_of_damage(reply: Reply) -> Iterator[str]:
    yield from r.table([("database", r.clean(reply["database"])), ("sqlite", reply["sqlite"])])
    yield ""
    yield from _verdict(reply["verify"])


def _text(reply: Reply) -> Iterator[str]:
    counts, packets = reply["counts"], reply["packets"]
    sizes = f"{r.size(reply.get('bytes', 0))}, log {r.size(reply.get('wal_bytes', 0))}"
    states = ", ".join(f"{count} {state}" for state, count in packets.items())
    facts = [
        ("database", f"{r.clean(reply['database'])}  ({sizes})"),
        ("records", f"{counts['records']:,} in {r.counted(counts['versions'], 'version')}"),
        ("outcomes", f"{counts['outcomes']:,}"),
        ("packets", f"{counts['packets']:,}" + (f": {states}" if states else "")),
        ("waiting", f"{reply['waiting']} for you"),
        ("durability", reply["durability"]),
        ("sqlite", reply["sqlite"]),
        ("head", f"{reply['head']['seq']} {reply['head']['chain'][:16]}"),
    ]
    yield from r.table([(name, str(fact)) for name, fact in facts])
    if note := reply.get("note"):
        yield r.doubtful(f"note: {note}")
    if agents := reply["agents"]:
        yield ""
        yield from r.table([("AGENT", "SESSIONS", "SEEN", "LAST WRITE"), *map(_agent, agents)])
    if "verify" in reply:
        yield ""
        yield from _verdict(reply["verify"])


def _agent(agent: Reply) -> tuple[str, ...]:
    last = r.clean(agent.get("last_write", "-"))
    return r.clean(agent["agent"]), str(agent["sessions"]), r.age(agent["seen"]), last


def _verdict(report: Reply) -> Iterator[str]:
    checked, problems = report["checked"], report["problems"]
    rows = ", ".join(r.counted(count, kind) for kind, count in checked.items() if kind != "journal")
    if report["ok"]:
        yield r.good("ok") + f"  {r.counted(checked['journal'], 'journal line')} checked: {rows}"
        if "since" in report:
            yield f"since line {report['since']['seq']}; not checked: {report['not_checked']}"
        return
    yield from r.table([_problem(problem) for problem in problems])
    seen = f" in {checked['journal']:,} journal lines" if checked else "; the rest cannot be read"
    yield r.bad(r.counted(len(problems), "problem")) + seen


def _problem(problem: Reply) -> tuple[str, str, str]:
    version = f"@{problem['version']}" if "version" in problem else ""
    return r.bad(problem["kind"]), r.clean(problem["name"]) + version, r.clean(problem["what"])
