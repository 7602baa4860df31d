"""Errors of the driver become ours by their result code; one in a batch undoes itself alone."""

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from actors import Clock
from handoff_memory.core import errors
from handoff_memory.core.errors import NotFoundError
from handoff_memory.settings import Settings
from handoff_memory.store import driver, health
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation, Tx
from handoff_memory.store.faults import as_fault
from handoff_memory.store.sqlite import Reader, Writer


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


def test_what_fails_in_a_large_batch_keeps_nothing_else_from_being_kept(settings: Settings) -> None:
    source = Source(settings.database, False, Clock(), random.Random(1).randbytes)
    writer = Writer(source, deadline_s=5)
    names = [f"name-{n}" for n in range(200)]
    failing = {70, 71, 199}
    batch = [fail if n in failing else keep(name) for n, name in enumerate(names)]

    results = writer.write(batch, until=time.monotonic() + 5)

    assert {n for n, each in enumerate(results) if isinstance(each, NotFoundError)} == failing
    for n, name in enumerate(names):
        kept = writer.read(lambda tx, name=name: health.meta(tx, name))  # type: ignore[misc]
        assert (kept, results[n] == name) == (("", False) if n in failing else ("kept", True))
    writer.close()


def test_a_part_that_cannot_be_kept_leaves_what_other_parts_kept(settings: Settings) -> None:
    source = Source(settings.database, False, Clock(), random.Random(1).randbytes)
    writer = Writer(source, deadline_s=5)
    calls: list[int] = []

    def refuse(tx: Tx) -> str:
        calls.append(len(calls))
        if len(calls) == 1:
            raise NotFoundError("nothing there")  # so that the batch is run in parts
        raise driver_error

    driver_error = driver.DriverError("disk I/O error")
    driver_error.sqlite_errorcode = 10
    batch = [*[keep(f"first-{n}") for n in range(64)], refuse]

    *kept, failed = writer.write(batch, until=time.monotonic() + 5)

    assert kept == [f"first-{n}" for n in range(64)]
    assert isinstance(failed, errors.DatabaseIoError)
    assert writer.read(lambda tx: health.meta(tx, "first-63")) == "kept"
    writer.close()


@pytest.mark.skipif(sys.platform != "linux", reason="tells open files by /proc")
@pytest.mark.parametrize("kind", [Reader, lambda source: Writer(source, deadline_s=1)])
def test_a_file_that_cannot_serve_is_not_kept_open(
    settings: Settings, kind: Callable[[Source], object]
) -> None:
    settings.database.parent.mkdir(exist_ok=True)
    settings.database.write_bytes(b"no database" * 1000)
    source = Source(settings.database, False, Clock(), random.Random(1).randbytes)

    with pytest.raises(errors.NotADatabaseError) as refused:
        kind(source)

    assert refused.tb is not None  # which holds what was made until then
    opened = [os.path.realpath(file) for file in Path("/proc/self/fd").iterdir()]
    assert not [file for file in opened if file.startswith(os.path.realpath(settings.database))]
