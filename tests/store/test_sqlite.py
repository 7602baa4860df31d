"""Errors of the driver become ours by their result code."""

import pytest

from handoff_memory.core import errors
from handoff_memory.store import driver
from handoff_memory.store.sqlite import as_fault


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (5, errors.BusyError),
        (5 | 2 << 8, errors.BusyError),
        (7, errors.DatabaseIoError),
        (8 | 4 << 8, errors.ReadOnlyDatabaseError),
        (10 | 2 << 8, errors.DatabaseIoError),
        (11, errors.CorruptDatabaseError),
        (13, errors.DatabaseFullError),
        (14, errors.DatabasePermissionError),
        (15, errors.BusyError),
        (19 | 8 << 8, errors.CorruptDatabaseError),
        (26, errors.NotADatabaseError),
        (1, errors.CorruptDatabaseError),
    ],
)
def test_an_extended_result_code_is_told_by_its_primary_one(
    code: int, kind: type[errors.MemoryFault]
) -> None:
    error = driver.DriverError("what SQLite says")
    error.sqlite_errorcode = code

    fault = as_fault(error)

    assert type(fault) is kind
    assert "what SQLite says" in fault.message
