"""The stream tells open pages of each write, whoever made it, and of a database that went away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson

from actors import Agent
from asking import Browser
from handoff_memory.settings import Settings
from handoff_memory.web.site import Site


async def opened(site: Site) -> AsyncIterator[bytes]:
    """A stream that has told how far the checks have come."""
    stream = aiter(site.follower.stream())
    assert await told(stream) == ("check", {"revision": 0})
    return stream


async def told(stream: AsyncIterator[bytes]) -> tuple[str, Any]:
    """The next event."""
    event = (await asyncio.wait_for(anext(stream), 10)).decode().splitlines()
    return event[0].removeprefix("event: "), orjson.loads(event[1].removeprefix("data: "))


async def test_a_write_of_another_connection_is_told_with_its_kind(
    site: Site, scout: Agent
) -> None:
    scout.write("a/b")
    stream = await opened(site)
    first = await told(stream)

    scout.write("a/b")
    second = await told(stream)
    scout.create(pins=["a/b"])
    third = await told(stream)
    await stream.aclose()  # type: ignore[attr-defined]

    assert first == ("journal", {"seq": 1, "kinds": []})
    assert second == ("journal", {"seq": 2, "kinds": ["record"]})
    assert third == ("journal", {"seq": 3, "kinds": ["packet"]})


async def test_many_writes_at_once_are_told_as_every_kind(site: Site, scout: Agent) -> None:
    scout.write("a/b")
    stream = await opened(site)
    await told(stream)

    for n in range(250):
        scout.write(f"a/k{n}")
    name, said = await told(stream)
    while said["seq"] < 251:
        name, said = await told(stream)
    await stream.aclose()  # type: ignore[attr-defined]

    assert name == "journal"


async def test_a_second_page_begins_where_the_journal_stands(site: Site, scout: Agent) -> None:
    scout.write("a/b")
    first, second = await opened(site), await opened(site)
    await told(first)

    assert await told(second) == ("journal", {"seq": 1, "kinds": []})

    await first.aclose()  # type: ignore[attr-defined]
    await second.aclose()  # type: ignore[attr-defined]


async def test_a_database_that_goes_and_comes_back_is_told(
    site: Site, scout: Agent, settings: Settings
) -> None:
    scout.write("a/b")
    stream = await opened(site)
    await told(stream)
    aside = settings.database.with_name("aside.db")

    settings.database.rename(aside)
    gone = await told(stream)
    aside.rename(settings.database)
    back = await told(stream)
    await stream.aclose()  # type: ignore[attr-defined]

    assert gone == ("fault", {"code": "database_missing"})
    assert back == ("journal", {"seq": 1, "kinds": ["*"]})


async def test_a_verification_is_told(site: Site, scout: Agent) -> None:
    scout.write("a/b")
    stream = await opened(site)
    await told(stream)

    site.checks.start(None)

    assert (await told(stream))[0] == "check"
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_page_that_comes_late_is_told_how_far_a_verification_came(
    site: Site, scout: Agent
) -> None:
    scout.write("a/b")
    site.checks.start(None)
    await site.checks.finish()
    stream = aiter(site.follower.stream())

    assert await told(stream) == ("check", {"revision": site.checks.revision})
    assert site.checks.revision > 0
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_reader_that_hangs_loses_what_is_old(site: Site, scout: Agent) -> None:
    with site.follower.watching() as queue:
        for n in range(200):
            site.follower.tell(("journal", {"seq": n}))

        assert queue.qsize() == 64
        assert queue.get_nowait() == ("journal", {"seq": 136})


async def test_every_stream_ends_with_the_server(site: Site, scout: Agent) -> None:
    scout.write("a/b")
    stream = await opened(site)
    await told(stream)

    site.end()

    assert await anext(stream, None) is None


async def test_asking_for_the_head_of_the_stream_ends(browser: Browser, scout: Agent) -> None:
    answer = await browser("/events", method="HEAD")

    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
