"""Our error for each that SQLite reports."""

from __future__ import annotations

from typing import Final

from handoff_memory.core import errors
from handoff_memory.core.errors import BusyError, MemoryFault
from handoff_memory.store import driver

_BY_CODE: Final[dict[int, tuple[type[MemoryFault], str]]] = {
    3: (errors.DatabasePermissionError, "the database may not be opened by this user"),
    5: (BusyError, "another process held the database for too long"),
    6: (BusyError, "another connection held the database for too long"),
    7: (errors.DatabaseIoError, "memory ran out"),
    8: (errors.ReadOnlyDatabaseError, "the database cannot be written"),
    10: (errors.DatabaseIoError, "the operating system reported an I/O error"),
    11: (errors.CorruptDatabaseError, "the database file is damaged"),
    13: (errors.DatabaseFullError, "the disk is full"),
    14: (errors.DatabasePermissionError, "the database or a file beside it cannot be opened"),
    15: (BusyError, "other processes changed the database's log for too long"),
    18: (errors.TooLargeError, "a text is larger than SQLite can hold"),
    19: (errors.CorruptDatabaseError, "rows and caches of the database contradict each other"),
    23: (errors.DatabasePermissionError, "the database may not be opened by this user"),
    26: (errors.NotADatabaseError, "the file is no SQLite database"),
}


def as_fault(error: driver.DriverError) -> MemoryFault:
    """Our error for a driver's error, by its result code, never by its text."""
    code = driver.result_code(error)
    kind, sentence = _BY_CODE.get(
        code & 0xFF, (errors.CorruptDatabaseError, "the database's schema is not as it was made")
    )
    return kind(f"{sentence} ({error})", sqlite=getattr(error, "sqlite_errorname", "") or "")


class translated:  # noqa: N801 - reads as a statement: with translated()
    """Turns a driver's error into ours on the way out."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, driver.DriverError):
            raise as_fault(error) from error
