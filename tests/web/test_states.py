"""No database, an empty, an older, a newer, a damaged one: a page says so, and it recovers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from actors import Agent
from asking import Browser, every_page
from handoff_memory.app import open_local
from handoff_memory.services import presence
from handoff_memory.settings import Settings
from handoff_memory.store import migrate
from handoff_memory.web.site import Site


def edit(database: Path, *statements: str) -> None:
    """What another process does to the file."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "[c.execute(s) for s in sys.argv[2:]]; c.commit(); c.close()"
    )
    subprocess.run([sys.executable, "-c", code, database, *statements], check=True)


def made(settings: Settings) -> None:
    with open_local(settings) as local:
        local.write(lambda tx: presence.enter(tx, local.identity.author("scout")))


PATHS = ("/", "/handoffs", "/memory", "/memory?q=x", "/tasks", "/integrity", "/log")


async def all_say(browser: Browser, status: int, *texts: str) -> None:
    for path in PATHS:
        answer = await browser(path)

        assert answer.status == status, path
        for text in texts:
            assert text in answer.text, path


async def test_without_a_database_each_page_says_so_and_makes_none(
    browser: Browser, settings: Settings
) -> None:
    await all_say(browser, 503, "No memory yet", str(settings.database), "Set MEMORY_DB")

    assert list(settings.database.parent.glob("memory.db*")) == []


async def test_a_database_that_appears_is_shown(browser: Browser, settings: Settings) -> None:
    assert (await browser("/")).status == 503

    made(settings)

    assert "Nothing has been written yet" in await browser.page("/")


async def test_an_empty_memory_has_a_sentence_for_each_part(
    browser: Browser, settings: Settings
) -> None:
    made(settings)

    for path, text in (
        ("/", "Nothing has been written yet"),
        ("/handoffs", "Nothing waits"),
        ("/memory", "No record is here yet"),
        ("/tasks", "No task yet"),
        ("/integrity", "No task to audit"),
        ("/log", "Nothing has been written yet"),
    ):
        assert text in await browser.page(path)


async def test_an_empty_file_is_told_and_left_empty(browser: Browser, settings: Settings) -> None:
    settings.database.touch()

    await all_say(browser, 503, "The memory is being prepared", "handoff-memory stats")

    assert settings.database.stat().st_size == 0


async def test_an_older_database_is_told_and_not_brought_up_to_date(
    browser: Browser, settings: Settings
) -> None:
    made(settings)
    edit(settings.database, "PRAGMA user_version = 1001")

    await all_say(browser, 503, "The memory is being prepared")

    edit(settings.database, f"PRAGMA user_version = {migrate.newest()}")
    await all_say(browser, 200)


async def test_a_database_that_is_being_migrated_is_told(
    browser: Browser, settings: Settings
) -> None:
    made(settings)
    edit(settings.database, "PRAGMA user_version = 1001")

    with holding(settings.database, f"PRAGMA user_version = {migrate.newest()}"):
        await all_say(browser, 503, "The memory is being prepared")

    await all_say(browser, 200)


async def test_a_newer_major_is_told_and_left_alone(browser: Browser, settings: Settings) -> None:
    made(settings)
    edit(settings.database, "PRAGMA user_version = 2001")

    await all_say(browser, 503, "A newer version made this memory", "Upgrade handoff-memory-mcp")


async def test_the_database_of_another_program_is_told(
    browser: Browser, settings: Settings
) -> None:
    edit(settings.database, "CREATE TABLE theirs (x)")

    await all_say(browser, 503, "another program")


async def test_what_is_no_database_is_told(browser: Browser, settings: Settings) -> None:
    settings.database.write_bytes(b"not a database, and longer than a header of one" * 100)

    await all_say(browser, 503, "The memory cannot be read", "not_a_database")


async def test_a_damaged_file_is_told(browser: Browser, settings: Settings) -> None:
    made(settings)
    size = settings.database.stat().st_size
    settings.database.write_bytes(settings.database.read_bytes()[:1024] + b"\xff" * (size - 1024))

    answers = [await browser(path) for path in PATHS]

    assert {answer.status for answer in answers} == {500}
    assert all("The memory is damaged" in answer.text for answer in answers)


async def test_a_database_that_is_taken_away_and_put_back_is_shown_again(
    browser: Browser, settings: Settings
) -> None:
    made(settings)
    assert (await browser("/")).status == 200
    aside = settings.database.with_name("aside.db")
    settings.database.rename(aside)

    gone = await browser("/")
    aside.rename(settings.database)

    assert gone.status == 503
    assert (await browser("/")).status == 200


async def test_nothing_is_written_and_nobody_is_kept_from_writing(
    browser: Browser,
    site: Site,
    settings: Settings,
    played: dict[str, str],
    head: Callable[[], tuple[int, bytes]],
    scout: Agent,
) -> None:
    scout.write("a/before")
    before, stat = head(), settings.database.stat()
    log = settings.database.with_name("memory.db-wal")
    wal = log.stat().st_size

    with holding(settings.database):  # whoever needed the write lock would wait for ever
        for path in every_page(played):
            assert (await browser(path)).status == 200
        await browser("/integrity/verify", method="POST")
        await site.checks.finish()
        await browser("/integrity/audit?task=checkout-tests", method="POST")
        await site.checks.finish()
        assert "no finding" in await browser.page("/integrity")

    after = settings.database.stat()
    assert head() == before
    assert (after.st_size, after.st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)
    assert log.stat().st_size == wal
    scout.write("a/after")


@contextmanager
def holding(database: Path, *statements: str) -> Iterator[None]:
    """Another process holds the write lock, and commits what it did at the end."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('BEGIN IMMEDIATE'); [c.execute(s) for s in sys.argv[2:]];"
        "print('held', flush=True); sys.stdin.read(); c.execute('COMMIT')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, database, *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield
