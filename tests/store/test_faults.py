"""What happens when the file, the disk, another process or an operation misbehaves.

The database is never opened by this process but through the product: a second SQLite library, or a
plain `open`, would drop the product's file locks. Whoever edits the file is another process.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handoff_memory.app import App, now_us, open_app, open_local
from handoff_memory.bridge import Bridge
from handoff_memory.core import errors
from handoff_memory.core.errors import MemoryFault, VersionConflictError
from handoff_memory.services import reading, verify
from handoff_memory.services.limits import Limits
from handoff_memory.store import journal, migrate
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Tx
from handoff_memory.store.wal import SYNCS_APART
from stress.worker import put, settings

pytestmark = pytest.mark.processes

MOUNTS = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can mount"
)
ROOT = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else"
)
POSIX = pytest.mark.skipif(os.name != "posix", reason="an open file is deleted as POSIX does")
WAIT_S = 20.0
# ruff: noqa: ASYNC221, ASYNC240 - what these tests do to files has to happen between two awaits

SQL = """
import sys
from handoff_memory.store import driver
conn = driver.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    conn.execute(statement).fetchall()
conn.close()
"""
# Holds the database until a line comes; the second argument says how.
HOLDER = """
import sys
from handoff_memory.store import driver
conn = driver.connect(sys.argv[1], isolation_level=None, timeout=10)
for statement in sys.argv[2:]:
    conn.execute(statement).fetchall()
print("held", flush=True)
sys.stdin.readline()
"""
# Uses the memory as nobody, and says how that ended.
AS_NOBODY = """
import asyncio, os, sys
from pathlib import Path
from handoff_memory.app import open_local
from handoff_memory.core.errors import MemoryFault
from handoff_memory.store import journal, migrate
from stress.worker import settings
import handoff_memory.services.presence
migrate.steps()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with open_local(settings(Path(sys.argv[1]))) as local:
    for use in (local.write, local.read):
        try:
            use(lambda tx: tx.all("SELECT * FROM journal"))
            print("ok")
        except MemoryFault as fault:
            print(fault.code)
"""
FIRST_OPEN = """
import sys
from pathlib import Path
from handoff_memory.app import open_local
from stress.worker import settings
sys.stdin.readline()
with open_local(settings(Path(sys.argv[1]))) as local:
    print(local.write(lambda tx: tx.one("SELECT value FROM meta")["value"]))
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def elsewhere(program: str, *arguments: object, **more: Any) -> str:
    """Run a program in a process of its own; what it said."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
        **more,
    )
    assert not done.returncode, done.stderr
    return done.stdout


def digest(path: Path) -> str:
    program = (
        "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())"
    )
    return elsewhere(program, path)


def overwrite(path: Path, offset: int, size: int) -> None:
    program = (
        "import os, sys; file = open(sys.argv[1], 'r+b'); file.seek(int(sys.argv[2]));"
        "file.write(os.urandom(int(sys.argv[3]))); file.close()"
    )
    elsewhere(program, path, offset, size)


@asynccontextmanager
async def opened(database: Path, **more: Any) -> AsyncIterator[App]:
    async with asyncio.timeout(WAIT_S), open_app(settings(database, **more)) as app:
        yield app


async def get(app: App, key: str) -> Any:
    name = reading.names.name("stress", key)
    who = app.identity.author()
    return (await app.read(lambda tx: reading.read(tx, who, Limits(), name)))["value"]


async def code_of(work: Any) -> str:
    with pytest.raises(MemoryFault) as caught:
        await work
    assert caught.value.next_step
    return caught.value.code


def keys(database: Path) -> set[str]:
    with open_local(settings(database)) as local:
        return {row["key"] for row in local.read(lambda tx: tx.all("SELECT key FROM heads"))}


def problems(database: Path) -> list[str]:
    with open_local(settings(database)) as local:
        return [problem["what"] for problem in local.read(verify.verify)["problems"]]


@asynccontextmanager
async def held(database: Path, *statements: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process keeps the database to itself, until it is told a line or this ends."""
    holder = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        HOLDER,
        str(database),
        *statements,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert await asyncio.wait_for(holder.stdout.readline(), WAIT_S) == b"held\n"
        yield holder
    finally:
        holder.stdin.close()
        await asyncio.wait_for(holder.wait(), WAIT_S)


EXCLUSIVELY = ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE")


# --- the file goes away ------------------------------------------------------------------------


@POSIX
async def test_nothing_is_acknowledged_while_the_file_is_deleted_and_all_works_once_it_is_back(
    database: Path,
) -> None:
    aside = database.with_name("aside")
    async with opened(database) as app:
        await put(app, "before")
        database.rename(aside)

        assert await code_of(put(app, "meanwhile")) == "database_missing"
        assert await code_of(get(app, "before")) == "database_missing"
        assert app.failed_writes == 1
        aside.rename(database)
        await put(app, "after")

        assert await get(app, "before") is None
    assert keys(database) == {"before", "after"}


@POSIX
async def test_every_one_of_many_first_reads_is_answered_when_the_file_is_gone(
    database: Path,
) -> None:
    async with opened(database) as app:
        await put(app, "before")
        database.unlink()

        codes = await asyncio.gather(*(code_of(get(app, "before")) for _ in range(10)))

    assert codes == ["database_missing"] * 10


@POSIX
async def test_a_file_deleted_within_a_transaction_takes_the_acknowledgement_with_it(
    database: Path,
) -> None:
    async with opened(database) as app:
        await put(app, "before")

        assert await code_of(app.write(lambda tx: database.unlink())) == "database_missing"


@POSIX
async def test_a_file_that_took_the_place_of_the_database_is_not_written(
    tmp_path: Path, database: Path
) -> None:
    other = tmp_path / "other.db"
    async with opened(other) as app:
        await put(app, "theirs")
    async with opened(database) as app:
        await put(app, "ours")
        other.replace(database)

        assert await code_of(put(app, "lost")) == "database_replaced"
        assert await code_of(get(app, "ours")) == "database_replaced"
    assert keys(database) == {"theirs"}


@POSIX
async def test_a_file_moved_aside_has_all_that_was_acknowledged_and_its_log_spoils_no_other(
    tmp_path: Path, database: Path
) -> None:
    aside, other = tmp_path / "aside.db", tmp_path / "other.db"
    async with opened(other) as app:
        await put(app, "theirs")
    async with opened(database) as app:
        await put(app, "ours")
        database.rename(aside)
        other.rename(database)

    assert (keys(aside), keys(database)) == ({"ours"}, {"theirs"})
    assert (problems(aside), problems(database)) == ([], [])


@POSIX
async def test_a_deleted_wal_is_noticed_before_anything_is_acknowledged(database: Path) -> None:
    async with opened(database) as app:
        await put(app, "before")
        database.with_name("memory.db-wal").unlink()

        assert await code_of(put(app, "after")) == "database_replaced"


# --- not ours ----------------------------------------------------------------------------------


async def refused(database: Path) -> set[str]:
    async with opened(database) as app:
        return {await code_of(put(app, "k")), await code_of(get(app, "k"))}


async def test_a_text_file_is_refused_and_left_alone(database: Path) -> None:
    database.write_text("dear diary, " * 100)
    before = digest(database)

    assert await refused(database) == {"not_a_database"}
    assert digest(database) == before


async def test_a_folder_and_a_symlink_are_refused(tmp_path: Path, database: Path) -> None:
    database.mkdir()
    link, target = tmp_path / "link.db", tmp_path / "target.db"
    link.symlink_to(target)

    assert await refused(database) == {"not_a_database"}
    assert await refused(link) == {"not_a_database"}
    assert not target.exists()


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        (["CREATE TABLE theirs (id)"], "foreign_database"),
        (["PRAGMA application_id = 7"], "foreign_database"),
        (["PRAGMA user_version = 1001"], "foreign_database"),
        (
            [
                "CREATE TABLE from_the_future (id)",
                f"PRAGMA application_id = {migrate.APPLICATION_ID}",
                "PRAGMA user_version = 2001",
            ],
            "newer_database",
        ),
    ],
)
async def test_a_database_that_this_program_did_not_make_is_left_byte_identical(
    database: Path, statements: list[str], code: str
) -> None:
    elsewhere(SQL, database, *statements)
    before = digest(database)

    assert await refused(database) == {code}
    assert digest(database) == before
    assert sorted(found.name for found in database.parent.iterdir()) in (
        ["memory.db", "memory.db.lock"],
        ["memory.db"],
    )


async def test_a_database_of_ours_that_a_newer_major_lifted_is_left_byte_identical(
    database: Path,
) -> None:
    async with opened(database) as app:
        await put(app, "k")
    elsewhere(SQL, database, "PRAGMA user_version = 2001")
    before = digest(database)

    assert await refused(database) == {"newer_database"}
    assert digest(database) == before


async def test_a_newer_step_of_the_same_major_is_worked_with(database: Path) -> None:
    newer = migrate.newest() + 1
    async with opened(database) as app:
        await put(app, "before")
    elsewhere(
        SQL,
        database,
        "CREATE TABLE extra (id INTEGER PRIMARY KEY) STRICT",
        "ALTER TABLE records ADD COLUMN novelty TEXT",
        f"PRAGMA user_version = {newer}",
    )

    async with opened(database) as app:
        await put(app, "after")
        number = await app.read(lambda tx: tx.one("PRAGMA user_version"))

    assert number is not None
    assert tuple(number) == (newer,)
    assert keys(database) == {"before", "after"}


# --- damage ------------------------------------------------------------------------------------


async def filled(database: Path) -> int:
    """A database of some pages without a log; its size."""
    async with opened(database) as app:
        await asyncio.gather(*(put(app, f"k{number}", "word " * 300) for number in range(200)))
    return database.stat().st_size


async def test_a_truncated_file_is_corrupt_to_reads_and_writes_and_never_falls_back(
    database: Path,
) -> None:
    size = await filled(database)
    elsewhere(
        "import os, sys; os.truncate(sys.argv[1], int(sys.argv[2]))", database, size // 8192 * 4096
    )

    async with opened(database) as app:
        code = await code_of(app.read(verify.verify))

    assert code == "database_corrupt"


async def test_a_random_page_is_named_by_verification_or_by_the_error(database: Path) -> None:
    size = await filled(database)
    overwrite(database, size // 2 // 4096 * 4096, 4096)

    try:
        found = problems(database)
    except errors.CorruptDatabaseError as error:
        found = [error.message]

    assert found


async def test_a_broken_header_is_no_database(database: Path) -> None:
    await filled(database)
    overwrite(database, 0, 16)

    assert await refused(database) == {"not_a_database"}


# --- a disk or a user that may not ---------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    point = tmp_path / "disk"
    point.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(point)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount here")
    yield point
    subprocess.run(["umount", "-l", str(point)], check=True)


@MOUNTS
async def test_a_read_only_file_system_is_named_and_used_again_once_it_is_writable(
    disk: Path,
) -> None:
    async with opened(disk / "memory.db") as app:
        await put(app, "before")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

    async with opened(disk / "memory.db") as app:
        assert await code_of(put(app, "meanwhile")) == "database_read_only"
        assert await code_of(get(app, "before")) == "database_read_only"
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        await put(app, "after")

    assert keys(disk / "memory.db") == {"before", "after"}


@MOUNTS
async def test_a_commit_that_fails_ends_in_a_clean_error_and_the_next_one_works(disk: Path) -> None:
    ballast = disk / "ballast"
    async with opened(disk / "memory.db") as app:
        await put(app, "before")
        dd = ["dd", "if=/dev/zero", f"of={ballast}", "bs=4k"]
        subprocess.run(dd, capture_output=True, check=False)

        codes = await asyncio.gather(
            *(code_of(put(app, f"lost-{number}", "word " * 3000)) for number in range(16))
        )
        ballast.unlink()
        await put(app, "after", "word " * 3000)

    assert set(codes) == {"database_full"}
    assert keys(disk / "memory.db") == {"before", "after"}
    assert problems(disk / "memory.db") == []


@MOUNTS
async def test_a_disk_that_fills_up_within_a_batch_keeps_nothing_of_that_batch(disk: Path) -> None:
    # More than the page cache holds, so SQLite writes before the commit, meets the full disk within
    # an operation and ends the transaction by itself. What then ran would commit on its own.
    def large(tx: Tx, name: str, size: int) -> None:
        tx.run("INSERT INTO meta (name, value) VALUES (:name, :value)", name=name, value="x" * size)

    async with opened(disk / "memory.db") as app:
        await put(app, "before")
        operations = [
            lambda tx, n=n: large(tx, f"lost-{n}", 4_000_000 if n % 2 else 10) for n in range(60)
        ]
        codes = await asyncio.gather(*(code_of(app.write(operation)) for operation in operations))
        await put(app, "after")
        names = await app.read(lambda tx: tx.all("SELECT name FROM meta WHERE name LIKE 'lost%'"))

    assert codes == ["database_full"] * 60
    assert names == []
    assert keys(disk / "memory.db") == {"before", "after"}
    assert problems(disk / "memory.db") == []


@pytest.fixture
def common() -> Iterator[Path]:
    """A folder that everybody may look into; pytest's own are private."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@ROOT
async def test_who_may_not_create_open_or_write_the_file_is_told_so(common: Path) -> None:
    private, readable = common / "private.db", common / "readable.db"
    for database in (private, readable):
        async with opened(database) as app:
            await put(app, "k")
    readable.chmod(0o644)

    assert elsewhere(AS_NOBODY, private).split()[0] == "database_permission"
    assert elsewhere(AS_NOBODY, readable).split()[0] == "database_read_only"
    assert elsewhere(AS_NOBODY, common / "new.db").split() == [
        "database_permission",
        "database_missing",
    ]


async def test_the_file_is_for_its_owner_only(database: Path) -> None:
    async with opened(database) as app:
        await put(app, "k")

        modes = {found.name: found.stat().st_mode & 0o777 for found in database.parent.iterdir()}

    assert modes == {f"memory.db{end}": 0o600 for end in ("", "-wal", "-shm", ".lock")}


# --- batches -----------------------------------------------------------------------------------


async def test_one_refused_operation_of_a_batch_leaves_the_others(database: Path) -> None:
    async with opened(database) as app:
        await put(app, "k0")

        results = await asyncio.gather(
            *(put(app, f"k{number}", expected_version=0) for number in range(8)),
            return_exceptions=True,
        )

    assert isinstance(results[0], VersionConflictError)
    assert results[1:] == [1] * 7
    assert keys(database) == {f"k{number}" for number in range(8)}


async def test_an_operation_that_breaks_in_the_middle_is_undone_alone(database: Path) -> None:
    def broken(tx: Tx) -> None:
        tx.run("INSERT INTO meta (name, value) VALUES ('broken', 'half done')")
        raise LookupError("nobody foresaw this")

    async with opened(database) as app:
        await put(app, "before")

        first, error, last = await asyncio.gather(
            put(app, "first"), app.write(broken), put(app, "last"), return_exceptions=True
        )
        traces = await app.read(lambda tx: tx.all("SELECT * FROM meta WHERE name = 'broken'"))

    assert isinstance(error, LookupError)
    assert (first, last, traces) == (1, 1, [])
    assert problems(database) == []


def commits(database: Path) -> int:
    """How many commits the log holds: frames that say how large the database is after them."""
    log = database.with_name(f"{database.name}-wal").read_bytes()  # SQLite locks other files
    frame = 24 + int.from_bytes(log[8:12], "big")
    return sum(any(log[at + 4 : at + 8]) for at in range(32, len(log), frame))


async def test_writes_that_wait_are_committed_together(database: Path) -> None:
    async with opened(database) as app:
        await put(app, "first")
        before = commits(database)
        for number in range(16):
            await put(app, f"alone-{number}")
        alone = commits(database) - before
        await asyncio.gather(*(put(app, f"together-{number}") for number in range(16)))
        together = commits(database) - before - alone

    assert alone == 16
    assert 1 <= together <= 3


async def test_the_write_of_a_cancelled_caller_is_finished(database: Path) -> None:
    async with opened(database) as app:
        await put(app, "before")
        writing = asyncio.create_task(put(app, "abandoned"))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

        await put(app, "after")

    assert keys(database) == {"before", "abandoned", "after"}


def open_files() -> int:
    descriptors = Path("/proc/self/fd")
    return len(list(descriptors.iterdir())) if descriptors.exists() else 0


async def test_a_cancelled_first_call_leaves_no_half_open_connection(database: Path) -> None:
    before = open_files()
    async with opened(database) as app:
        for _ in range(20):
            for first in (app.open(), get(app, "k")):
                task = asyncio.create_task(first)
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
        await put(app, "k", 1)
        assert await get(app, "k") == 1
        while_open = open_files()
    # The writer's file, log, index and lock; two readers' file, log and index.
    assert while_open - open_files() <= 4 + 2 * 3
    assert open_files() <= before


async def test_what_was_accepted_is_finished_when_the_application_closes(database: Path) -> None:
    async with opened(database) as app:
        await put(app, "before")
        tasks = [asyncio.create_task(put(app, f"k{number}")) for number in range(100)]
        await asyncio.sleep(0)
    assert [await task for task in tasks] == [1] * 100
    assert len(keys(database)) == 101


async def test_a_closed_bridge_refuses_instead_of_keeping_its_caller_for_ever(
    database: Path,
) -> None:
    bridge = Bridge(Source(database, True, now_us, os.urandom), deadline_s=1)
    await bridge.close()

    async with asyncio.timeout(WAIT_S):
        for use in (bridge.write, bridge.read):
            with pytest.raises(RuntimeError, match="closed"):
                await use(lambda tx: None)
    assert not database.exists()


# --- deadlines ---------------------------------------------------------------------------------


async def test_a_write_past_its_deadline_is_busy_and_is_not_executed_later(database: Path) -> None:
    async with opened(database, deadline_s=0.5) as app:
        await put(app, "before")
        async with held(database, "BEGIN IMMEDIATE"):
            began = time.monotonic()

            codes = await asyncio.gather(*(code_of(put(app, f"late-{n}")) for n in range(100)))

            took_s = time.monotonic() - began
            assert await get(app, "before") is None
        await put(app, "after")

    assert set(codes) == {"busy"}
    assert took_s < 1.5
    assert keys(database) == {"before", "after"}


async def test_opening_counts_towards_the_deadline_of_every_call_that_waits_for_it(
    database: Path,
) -> None:
    async with opened(database) as app:
        await put(app, "before")
    async with held(database, *EXCLUSIVELY) as holder, opened(database, deadline_s=0.5) as app:
        opening = asyncio.create_task(app.open())
        await asyncio.sleep(0)
        began = time.monotonic()

        calls = [put(app, f"late-{n}") if n % 2 else get(app, "before") for n in range(10)]
        codes = await asyncio.gather(*map(code_of, calls))

        took_s = time.monotonic() - began
        await opening
        assert holder.stdin is not None
        holder.stdin.close()
        await holder.wait()
        await put(app, "after")
        assert await get(app, "before") is None

    assert set(codes) == {"busy"}
    assert took_s < 1.5
    assert keys(database) == {"before", "after"}


# --- opening -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("durable", "level"), [(True, 1 if SYNCS_APART else 2), (False, 1)])
async def test_durability_is_what_was_asked_for(database: Path, durable: bool, level: int) -> None:
    def pragma(tx: Tx, name: str) -> Any:
        return next(iter(tx.all(f"PRAGMA {name}")))[0]

    async with opened(database, durable=durable) as app:
        assert await app.write(lambda tx: pragma(tx, "synchronous")) == level
        assert await app.write(lambda tx: pragma(tx, "journal_mode")) == "wal"
        for use in (app.write, app.read):
            for name, value in (
                ("trusted_schema", 0),
                ("mmap_size", 0),
                ("cell_size_check", 1),
                ("wal_autocheckpoint", 0),
            ):
                found = await use(lambda tx, name=name: pragma(tx, name))  # type: ignore[misc]
                assert (name, found) == (name, value)


async def test_a_backup_that_lost_the_journal_mode_is_given_it_back(
    tmp_path: Path, database: Path
) -> None:
    backup = tmp_path / "backup.db"
    async with opened(database) as app:
        await put(app, "before")
    elsewhere(SQL, database, f"VACUUM INTO '{backup}'")

    async with opened(backup) as app:
        mode = await app.write(lambda tx: tx.one("PRAGMA journal_mode"))
        await put(app, "after")

    assert mode is not None
    assert tuple(mode) == ("wal",)
    assert keys(backup) == {"before", "after"}


async def test_a_reader_cannot_write(database: Path) -> None:
    async with opened(database) as app:
        await put(app, "k")

        assert (
            await code_of(app.read(lambda tx: tx.run("DELETE FROM meta"))) == "database_read_only"
        )


def test_processes_that_open_a_missing_file_at_once_make_one_database(database: Path) -> None:
    command = [sys.executable, "-c", FIRST_OPEN, str(database)]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    processes = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, text=True
        )
        for _ in range(6)
    ]

    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=WAIT_S)[0] for process in processes]

    assert [process.returncode for process in processes] == [0] * 6
    assert len(set(said)) == 1
    assert problems(database) == []


async def test_the_log_is_moved_into_the_file_once_it_has_grown(database: Path) -> None:
    async with opened(database) as app:
        await put(app, "first")
        small = database.stat().st_size
        until = time.monotonic() + WAIT_S
        count = 0
        while database.stat().st_size == small and time.monotonic() < until:
            count += 1
            await asyncio.gather(*(put(app, f"k{count}-{n}", "word " * 5000) for n in range(32)))

        assert database.stat().st_size > small


@pytest.mark.parametrize("turns", range(10))
async def test_closing_waits_for_a_connection_whose_only_caller_was_cancelled(
    turns: int, database: Path
) -> None:
    async with open_app(settings(database)) as app:
        reading_head = asyncio.create_task(app.read(journal.head))
        for _ in range(turns):
            await asyncio.sleep(0)  # cancelled at another place each time
        reading_head.cancel()

    # A thread that outlives its event loop would raise there, and a warning is an error.
    assert reading_head.cancelled() or reading_head.done()
