"""What `doctor` says of the clients that are here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from handoff_memory.cli.check import Check
from handoff_memory.cli.command import Call
from handoff_memory.core.errors import DatabaseMissingError, MemoryFault
from handoff_memory.services import enforcement
from handoff_memory.services.writing import Reply
from handoff_memory.settings import read_places
from handoff_memory.setup import canary
from handoff_memory.setup.canary import Sung
from handoff_memory.setup.standing import Standing
from handoff_memory.setup.survey import Found, survey
from handoff_memory.store.engine import Tx


def checks(call: Call) -> Iterator[Check]:
    """A line for each client, one for its hooks, and what could not be kept of them."""
    found = survey(read_places())
    for one in found:
        yield from _client(one, call.memory.settings.database)
    folder = call.memory.settings.folder
    with ThreadPoolExecutor(2) as pool:
        gateway = pool.submit(canary.sing_to_gateway, folder)
        command = pool.submit(canary.sing_to_run, folder)
    yield _passage("gateway (wrap)", gateway.result())
    yield _passage("command (run)", command.result())
    yield from _kept(call, [one for one in found if one.is_ours and one.sung])


def _client(found: Found, database: Path) -> Iterator[Check]:
    client = found.client
    name = f"{client.name} {found.version}" if found.version else client.name
    problems = [one for one in found.standings if one.problem]
    for one in problems:
        yield Check(client.key, "problem", one.problem or "", "Correct that file.")
    for one in found.servers:
        yield _server(found, name, one, database)
    if not found.servers and not problems:
        said = f"{name} is here, without the server"
        yield Check(client.key, "note", said, f"Run: handoff-memory install {client.key}")
    if found.sung and found.is_ours:
        yield _hooks(found, found.sung)


def _server(found: Found, name: str, one: Standing, database: Path) -> Check:
    key = found.client.key
    again = f"Run: handoff-memory install {key} --scope {one.scope}"
    program = Path(one.command or sys.executable)
    if program.is_absolute() and not program.exists():
        return Check(key, "problem", f"{name} starts {program}, which is not there", again)
    used = one.env.get("MEMORY_DB")
    if used and Path(str(used)) != database:
        said = f"{name} uses another database: {used}"
        return Check(key, "note", said, f"{again} --db {database}, or doctor --db {used}")
    return Check(key, "ok", f"{name}, server in {one.file}")


def _hooks(found: Found, sung: Sung) -> Check:
    client = found.client
    name = f"{client.key} hooks"
    if sung.enforced:
        return Check(name, "ok", "enforced: a canary was denied")
    said = f"advisory: {sung.reason}"
    if sung.way_out:
        return Check(name, "note", said, sung.way_out)
    scope = next(one.scope for one in found.standings if one.hooks)
    again = f"Run: handoff-memory install {client.key} --hooks --scope {scope}"
    return Check(name, "problem", said, again)


def _passage(name: str, sung: Sung) -> Check:
    if sung.enforced:
        return Check(name, "ok", "enforced: a canary was refused")
    return Check(name, "problem", f"advisory: {sung.reason}", "Install handoff-memory-mcp anew.")


def _kept(call: Call, found: Sequence[Found]) -> Iterator[Check]:
    """Keep in the database what was proved, where there is one and it does not know yet."""
    limits, who = call.memory.settings.limits, call.who
    proofs = {one.client.key: _proof(one) for one in found}

    def keep(tx: Tx) -> Reply:
        for key, proven in proofs.items():
            enforcement.keep(tx, who, limits, key, proven)
        return {}

    try:
        if call.memory.read(
            lambda tx: any(enforcement.differs(tx, who, key, proofs[key]) for key in proofs)
        ):
            call.write(keep)
    except DatabaseMissingError:
        return
    except MemoryFault as fault:
        yield Check("proof", "note", f"osiris_plan cannot repeat this: {fault.message}")


def _proof(found: Found) -> dict[str, object]:
    agents = (one.agent for one in found.servers)
    agent = next(filter(None, agents), found.client.key)
    hooks: enforcement.Hooks = "enforced" if found.sung and found.sung.enforced else "advisory"
    return enforcement.proof(agent, hooks, found.version)
