"""Verification and audit as a person runs them: progress, findings by name, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import scene
from actors import Agent, Reply
from asking import Browser
from handoff_memory.app import Local, Makers, open_view
from handoff_memory.core.errors import DatabaseMissingError
from handoff_memory.settings import Settings
from handoff_memory.web.checks import Check, Checks
from handoff_memory.web.site import Site
from shell import Shell

ALTERED = (
    "DROP TRIGGER records_keep_values",
    "DROP TRIGGER records_only_erase",
    "UPDATE records SET source = 'forged' WHERE scope = 'service/cart' AND version = 2",
)
FLIPPED = (
    "DROP TRIGGER payload_parts_keep_values",
    "UPDATE payload_parts SET bytes = x'00' WHERE rowid = 1",
)


@pytest.fixture
def tamper(settings: Settings) -> Callable[..., None]:
    return Shell(settings.database, {}).tamper


async def test_an_edit_in_the_file_is_found_and_named(
    browser: Browser, site: Site, played: dict[str, str], tamper: Callable[..., None]
) -> None:
    await browser("/integrity/verify", method="POST")
    await site.checks.finish()
    whole = await browser.page("/integrity")
    tamper(*ALTERED)

    await browser("/integrity/verify", method="POST")
    await site.checks.finish()
    page = await browser.page("/integrity")

    assert "no finding" in whole
    assert 'href="/memory/record?name=service%2Fcart%2Frounding%402"' in page
    assert "a field was altered" in page
    assert "trigger records_keep_values is missing" in page
    assert "findings" in await browser.page("/")


async def test_the_head_that_was_found_good_elsewhere_is_told(
    browser: Browser, played: dict[str, str], local: Local
) -> None:
    before = await browser.page("/integrity")
    head = local.verify(lambda done, total: None)["head"]["seq"]

    page = await browser.page("/integrity")

    assert "Found good" not in before
    assert f'up to <span class="figure">{head}</span>' in page
    assert "Found good" in await browser.page("/")


async def test_an_audit_names_the_payload_that_was_altered(
    browser: Browser, site: Site, played: dict[str, str], tamper: Callable[..., None]
) -> None:
    await browser(f"/integrity/audit?task={scene.TASK}&back=1", method="POST")
    await site.checks.finish()
    whole = await browser.page(f"/tasks/{scene.TASK}")
    tamper(*FLIPPED)

    answer = await browser(f"/integrity/audit?task={scene.TASK}", method="POST")
    await site.checks.finish()
    page = await browser.page("/integrity")

    assert "lossless" in whole
    assert answer.headers["location"] == "/integrity"
    assert "not lossless" in page
    assert "cannot be unpacked" in page
    assert (await browser("/refs/r1")).status == 500


async def test_an_audit_of_no_task_could_not_run(
    browser: Browser, site: Site, played: dict[str, str]
) -> None:
    await browser("/integrity/audit?task=nothing", method="POST")
    await site.checks.finish()

    assert "could not run" in await browser.page("/integrity")


async def test_a_verification_tells_how_far_it_has_come(
    site: Site, scout: Agent, browser: Browser
) -> None:
    for n in range(2100):
        scout.write(f"a/k{n}")
    seen: set[int] = set()

    site.checks.start(None)
    while (check := site.checks.verification) and check.is_running:
        seen.add(check.done)
        await asyncio.sleep(0)

    assert {1000, 2000} & seen
    assert check is not None
    assert check.total == 2100


async def test_one_runs_at_a_time(site: Site, scout: Agent) -> None:
    scout.write("a/b")
    site.checks.start(None)

    site.checks.start("another")
    await site.checks.finish()

    assert site.checks.audits == []


async def test_the_oldest_audit_is_forgotten_and_never_the_verification(
    site: Site, scout: Agent
) -> None:
    scout.write("a/b")
    for task in [None, *map(str, range(25))]:
        site.checks.start(task)
        await site.checks.finish()

    assert site.checks.verification is not None
    assert [check.task for check in site.checks.audits] == [str(n) for n in range(24, 5, -1)]


async def test_a_dashboard_that_ends_does_not_wait_for_a_verification(
    settings: Settings, makers: Makers, scout: Agent
) -> None:
    for n in range(1100):
        scout.write(f"a/k{n}")
    async with open_view(settings, makers) as view:
        checks = Checks(view, scout.who)
        checks.start(None)
        await asyncio.sleep(0)

        await checks.stop()

        check = checks.verification
        assert check is not None
        assert check.report is None
        assert not check.is_running


async def test_a_damaged_file_is_a_finding(
    settings: Settings, makers: Makers, local: Local, scout: Agent
) -> None:
    for n in range(200):
        scout.write(f"a/k{n}", "x" * 2000)
    local.close()
    local.__init__(settings, makers)  # type: ignore[misc]
    damage(settings.database)
    async with open_view(settings, makers) as view:
        checks = Checks(view, scout.who)
        checks.start(None)
        await checks.finish()

    check = checks.verification
    assert check is not None
    report: Reply = check.report or {}
    assert not report["ok"]
    assert report["problems"][0]["kind"] == "file"


async def test_without_a_database_nothing_can_be_verified(site: Site) -> None:
    site.checks.start(None)
    await site.checks.finish()

    check = site.checks.verification
    assert check == Check(
        None,
        "2026-11-30T16:00:00.000Z",
        fault=check and check.fault,
        ended_at="2026-11-30T16:00:00.000Z",
    )
    assert check is not None
    assert (check.fault or {})["code"] == DatabaseMissingError.code


def damage(database: Path) -> None:
    data = bytearray(database.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 40_000] = b"\xff" * 40_000
    database.write_bytes(data)
