"""What can be said of an installation: its SQLite, the file's place, and who uses it now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from handoff_memory.core import times
from handoff_memory.core.errors import MemoryFault
from handoff_memory.services.writing import Reply
from handoff_memory.store import driver, health, journal, migrate, place, sessions
from handoff_memory.store.engine import Row, Tx

_AGENTS: Final = 100


def library() -> Reply:
    """The SQLite in use: version, origin, known bug, and why it cannot hold the schema, if so."""
    return {
        "version": driver.VERSION,
        "origin": "bundled with pysqlite3" if driver.BUNDLED else "of this Python",
        "wal_reset_bug": driver.WAL_RESET_BUG,
        "unsuitable": _unsuitable(),
    }


def filesystem(path: Path) -> Reply:
    """The file system below a path, and whether a database in WAL mode would lose writes there."""
    kind = place.filesystem_type(path)
    return {"type": kind, "network": kind in place.NETWORK_FILESYSTEMS}


def database(tx: Tx, is_alive: Callable[[Row], bool]) -> Reply:
    """The end of the chain, what is wrong with the schema, and the sessions that are alive."""
    head = journal.head(tx)
    return {
        "id": health.meta(tx, "database_id"),
        "head": {"seq": head.seq, "chain": head.chain.hex()},
        "schema_problems": health.schema_problems(tx),
        "alive": [
            {"agent": row["agent"], "pid": row["pid"], "seen": times.iso(row["seen_at"])}
            for agent in sessions.agents(tx, _AGENTS)
            for row in sessions.others(tx, agent["agent"], "")
            if is_alive(row)
        ],
    }


def _unsuitable() -> str | None:
    conn = driver.connect(":memory:", isolation_level=None)
    try:
        migrate.apply(conn)
    except driver.DriverError as error:
        return str(error)
    except MemoryFault as fault:
        return fault.message
    finally:
        conn.close()
    return None
