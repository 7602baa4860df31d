"""The one module that imports a SQLite driver.

Two SQLite libraries that open the same file in one process drop each other's POSIX locks and lose
acknowledged writes, so nothing else may import one. Every SQLite from 3.7.0 to 3.51.2 can corrupt a
WAL database that several processes share; `pysqlite3` bundles a newer one (docs/adr/0002).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3 as driver
else:
    try:
        import pysqlite3.dbapi2 as driver
    except ImportError:
        import sqlite3 as driver

Connection = driver.Connection
Cursor = driver.Cursor
Row = driver.Row
DriverError = driver.Error
connect = driver.connect
complete_statement = driver.complete_statement

VERSION: Final[str] = driver.sqlite_version
VERSION_INFO: Final = tuple(int(part) for part in VERSION.split("."))
BUNDLED: Final = driver.__name__ != "sqlite3"
# Without these each None and each bytes that is bound costs 1.4 us, for two lookups that fail.
driver.register_adapter(bytes, bytes)
driver.register_adapter(type(None), {None: None}.get)
# STRICT tables came with 3.37.
SUITABLE: Final[bool] = VERSION_INFO >= (3, 37)
# The WAL-reset bug; while it is there, commit, checkpoint and close exclude each other (sqlite.py).
WAL_RESET_BUG: Final[bool] = VERSION_INFO < (3, 51, 3)
# From 3.44 on `PRAGMA integrity_check` looks into the full-text index by itself.
CHECKS_FULL_TEXT: Final[bool] = VERSION_INFO >= (3, 44)


def result_code(error: DriverError) -> int:
    """The extended SQLite result code of a driver error, 0 where it carries none."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0)
