"""Errors of the driver become ours by their result code; one in a batch undoes itself alone."""

import random
import time

import pytest

from actors import Clock
from handoff_memory.core import errors
from handoff_memory.core.errors import NotFoundError
from handoff_memory.settings import Settings
from handoff_memory.store import driver, health
from handoff_memory.store.engine import Operation, Tx
from handoff_memory.store.faults import as_fault
from handoff_memory.store.sqlite import Source, Writer


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


def keep(name: str) -> Operation[str]:
    def operation(tx: Tx) -> str:
        health.set_meta(tx, name, "kept")
        return name

    return operation


def fail(tx: Tx) -> str:
    health.set_meta(tx, "undone", "kept")
    raise NotFoundError("nothing there")


def test_an_operation_that_fails_in_a_batch_undoes_itself_and_no_other(settings: Settings) -> None:
    source = Source(settings.database, False, Clock(), random.Random(1).randbytes)
    writer = Writer(source, deadline_s=5)
    soon = time.monotonic() + 5

    first, failed, last = writer.write([keep("first"), fail, keep("last")], until=soon)
    (alone,) = writer.write([fail], until=soon)

    assert (first, last) == ("first", "last")
    assert isinstance(failed, NotFoundError)
    assert isinstance(alone, NotFoundError)
    assert writer.read(lambda tx: health.meta(tx, "first")) == "kept"
    assert writer.read(lambda tx: health.meta(tx, "undone")) == ""
    assert writer.read(lambda tx: health.meta(tx, "last")) == "kept"
    writer.close()
