"""Schema versions: numbered steps, each applied and recorded in one transaction.

`PRAGMA user_version` holds the newest step, numbered major·1000 + step. Within a major every step
is additive, so that an older program of the same major goes on working with a newer file. It may
drop an index, which no statement names.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from handoff_memory.core.errors import (
    ForeignDatabaseError,
    NewerDatabaseError,
    UnsuitableSqliteError,
)
from handoff_memory.store import driver

APPLICATION_ID: Final = 0x484D656D  # "HMem": this file is ours
MAJOR: Final = 1
_TABLES: Final = "SELECT count(*) FROM sqlite_schema"
_STEPS: Final = Path(__file__).parent / "schema" / "sqlite"


@cache
def steps() -> tuple[tuple[int, str], ...]:
    """(number, SQL) of every step that this program knows, in order."""
    return tuple((_number(file), file.read_text("utf-8")) for file in sorted(_files()))


@cache
def newest() -> int:
    """The number of the newest step that this program knows."""
    return max(map(_number, _files()))


def _files() -> list[Path]:
    return [file for file in _STEPS.iterdir() if file.suffix == ".sql"]  # no glob: 0.2 ms


def _number(file: Path) -> int:
    return int(file.name[:4])


def inspect(conn: driver.Connection) -> int:
    """The file's schema number, 0 for an empty file; reads only.

    Raises:
        NewerDatabaseError: A newer major made it.
        ForeignDatabaseError: Another program made it.
        UnsuitableSqliteError: This SQLite cannot hold the schema.
    """
    if not driver.SUITABLE:
        raise UnsuitableSqliteError(f"SQLite {driver.VERSION} is too old; the schema needs 3.37")
    number, owner, tables = _marks(conn)
    if owner != APPLICATION_ID and (owner or number or tables):
        raise ForeignDatabaseError("the file is the SQLite database of another program")
    if number // 1000 > MAJOR:
        raise NewerDatabaseError(
            f"the file has schema {number}, this program knows up to {newest()}"
        )
    return number


def _marks(conn: driver.Connection) -> tuple[int, int, int]:
    """Schema number, owner and count of tables, all of one moment: others may be making the file.

    Read one by one, a file would seem to be another program's while its schema is committed.
    """
    is_apart = not conn.in_transaction
    if is_apart:
        conn.execute("BEGIN")
    try:
        number, owner, tables = (
            int(conn.execute(sql).fetchone()[0])
            for sql in ("PRAGMA user_version", "PRAGMA application_id", _TABLES)
        )
    finally:
        if is_apart:
            conn.execute("ROLLBACK")
    return number, owner, tables


def apply(conn: driver.Connection) -> None:
    """Bring the schema up to date; the caller holds the write transaction."""
    present = inspect(conn)
    for number, sql in steps():
        if number > present:
            for statement in _statements(sql):
                conn.execute(statement)
            conn.execute(f"PRAGMA user_version = {number}")
    if not present:
        conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _statements(sql: str) -> list[str]:
    # executescript would commit the transaction that this runs in.
    found, pending = [], ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if pending.rstrip().endswith(";") and driver.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
