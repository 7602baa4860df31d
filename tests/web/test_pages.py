"""What each page shows, on a memory with something of everything."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import scene
from actors import Agent, Clock
from asking import Browser, every_page
from handoff_memory.app import Local


def words(page: str) -> str:
    """The text of a page, without markup and extra blanks."""
    return " ".join(re.sub(r"<[^>]*>", " ", page.split("<main", 1)[1]).split())


async def test_every_page_is_there_and_links_only_to_pages_that_are(
    browser: Browser, played: dict[str, str]
) -> None:
    found: set[str] = set()
    for path in every_page(played):
        page = await browser(path)
        assert page.status == 200, path
        if page.headers["content-type"].startswith("text/html"):
            found |= {
                link.replace("&amp;", "&") for link in re.findall(r'href="(/[^"]*)"', page.text)
            }

    broken = [link for link in sorted(found) if (await browser(link)).status != 200]

    assert len(found) > 40
    assert broken == []


async def test_the_overview_tells_agents_packets_writes_and_tasks(
    browser: Browser, played: dict[str, str], head: Callable[[], tuple[int, bytes]]
) -> None:
    page = words(await browser.page("/"))

    assert f"Journal head {head()[0]}" in page
    assert "researcher 0 of 1" in page
    assert played["waiting"] in page
    assert "high watch" in page
    assert "1 of 2 pins moved" in page
    assert f"{scene.TASK} 1/4" in page
    assert "Not verified since this dashboard began" in page


async def test_the_board_has_each_packet_in_the_column_of_its_state(
    browser: Browser, played: dict[str, str], clock: Clock
) -> None:
    columns = (await browser.page("/handoffs")).split("<h2>")[1:]

    assert [title.split(" ")[0] for title in columns] == ["Waiting", "Claimed", "Closed"]
    assert played["waiting"] in columns[0]
    assert played["reply"] in columns[0]
    assert played["claimed"] in columns[1]
    assert played["closed"] in columns[2]

    clock.forward(7200)
    later = (await browser.page("/handoffs")).split("<h2>")[1:]

    assert played["claimed"] in later[0]


async def test_a_packet_tells_its_pins_what_moved_its_thread_and_its_holder(
    browser: Browser, played: dict[str, str]
) -> None:
    page = words(await browser.page(f"/handoffs/{played['claimed']}"))
    thread = words(await browser.page(f"/handoffs/{played['closed']}"))

    assert "Delivered 1 time, now held by builder" in page
    assert "1 of 2 pins moved" in page
    assert "service/billing/limits was pinned at v1, now at v2, by researcher" in page
    assert "Totals and invoices agree to the cent" in page
    assert "claimed by builder" in page
    assert played["reply"] in thread


async def test_search_finds_as_the_tools_do(browser: Browser, played: dict[str, str]) -> None:
    words_found = await browser.page("/memory?q=rounding")
    tags = await browser.page("/memory?tag=billing,cart")
    nothing = await browser.page("/memory?q=%22%27%3B--")
    partly = await browser.page("/memory?q=rounding+zeppelin")

    assert "service/cart/rounding" in words_found
    assert "service/cart/owner" not in tags
    assert "Nothing found" in nothing
    assert "No record has every word" in words(partly)


async def test_pages_of_a_search_give_each_record_once(browser: Browser, scout: Agent) -> None:
    for n in range(60):
        scout.write(f"many/k{n:02d}", "the same words")

    found: list[str] = []
    link: str | None = "/memory?q=same+words"
    while link:
        page = await browser.page(link)
        found += re.findall(r"many/k\d\d(?=</bdi>)", page)
        more = re.search(r'href="(/memory\?cursor=[^"]*)"', page)
        link = more[1].replace("&amp;", "&") if more else None

    assert len(found) == 60
    assert len(set(found)) == 60


async def test_a_record_tells_its_history_its_changes_and_its_confidence(
    browser: Browser, played: dict[str, str]
) -> None:
    page = await browser.page("/memory/record?name=service/cart/rounding")
    old = words(await browser.page("/memory/record?name=service/cart/rounding@1"))

    assert "<del>  &#34;mode&#34;: &#34;half_even&#34;" in page
    assert "<ins>  &#34;mode&#34;: &#34;half_up&#34;" in page
    assert 'circle class="failure"' in page
    assert "70% → 76%" in page
    assert "three invoices agree" in page
    assert "Version 2 is current" in old
    assert "Changes since" not in old


async def test_an_expired_record_is_shown_and_flagged(
    browser: Browser, scout: Agent, clock: Clock
) -> None:
    scout.write("a/b", "soon gone", expires_in=10)
    clock.forward(60)

    page = words(await browser.page("/memory/record?name=a/b"))

    assert "expired" in page
    assert "soon gone" in page


async def test_a_large_value_is_shown_in_part_and_saved_whole(
    browser: Browser, scout: Agent
) -> None:
    text = "".join(f"line {n}\n" for n in range(80_000))
    scout.write("a/large", text)

    page = await browser.page("/memory/record?name=a/large")
    saved = await browser("/memory/value?name=a/large@1")

    assert len(page) < 300_000
    assert "Save it whole" in page
    assert saved.headers["content-disposition"].startswith("attachment;")
    assert saved.text.count("line ") == 80_000


async def test_a_task_tells_what_is_sealed_what_it_carries_and_what_it_cost(
    browser: Browser, played: dict[str, str]
) -> None:
    page = await browser.page(f"/tasks/{scene.TASK}")
    said = words(page)

    assert "OSIRIS/1 task=checkout-tests" in said
    assert "Context pressure 37%, calm" in said
    assert re.search(r"declared 9,200 estimated [\d,]+ unknown [\d,]+ free", said)
    assert 'rect class="unknown"' in page
    assert "saved, proven" in said
    assert "growth" in said
    assert "Bash by builder" in said
    assert "ruff was installed meanwhile" in said
    assert "the hook took longer than its deadline" in said
    assert "proven" in said.split("Payloads kept")[1]


async def test_a_finished_task_is_no_longer_at_work(
    browser: Browser, played: dict[str, str], local: Local, agent: Callable[..., Agent]
) -> None:
    scene.finished(local, agent("builder").who)

    assert "No task is being worked at" in await browser.page("/")
    assert "finished" in await browser.page("/tasks")


async def test_a_payload_is_shown_and_saved_to_the_byte(
    browser: Browser, played: dict[str, str], local: Local, agent: Callable[..., Agent]
) -> None:
    data = bytes(range(256)) * 40
    kept = scene.saw(local, agent("builder").who, "Bash", {"command": "tar c ."}, data)

    page = words(await browser.page(f"/refs/{kept['ref']}"))
    raw = await browser(f"/refs/{kept['ref']}/raw")

    assert "000000 00 01 02 03" in page
    assert raw.body == data
    assert raw.headers["content-type"] == "application/octet-stream"
    assert raw.headers["content-disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    ("query", "first", "others"),
    [
        ("kind=claim", "claim", "packet"),
        ("agent=Builder", "builder", "<bdi>researcher"),
        (f"task={scene.TASK}", scene.TASK, "service/cart"),
        ("agent=nobody", "Nothing here", "builder"),
    ],
)
async def test_the_log_is_filtered(
    browser: Browser, played: dict[str, str], query: str, first: str, others: str
) -> None:
    lines = (await browser.page(f"/log?{query}")).split('id="lines"')[1]

    assert first in lines
    assert others not in lines.replace(f'task={scene.TASK}"', "")


async def test_pages_of_the_log_have_each_line_once(browser: Browser, scout: Agent) -> None:
    for n in range(230):
        scout.write(f"a/k{n}")

    found: list[int] = []
    link: str | None = "/log"
    while link:
        page = await browser.page(link)
        found += map(int, re.findall(r'<tr data-key="(\d+)"', page))
        more = re.search(r'href="(/log\?below=\d+)"', page)
        link = more[1] if more else None

    assert found == list(range(230, 0, -1))


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/memory/record?name=service/cart/roundin", 404, "Nearest: service/cart/rounding"),
        ("/memory/record?name=service/cart/rounding@9", 404, "service/cart/rounding@2"),
        ("/memory/record?name=nonsense", 400, "no record name"),
        ("/memory/record", 400, "no record name"),
        ("/memory?cursor=nonsense", 400, "this cursor belongs"),
        ("/memory?min=many", 400, "a number from 0 to 100"),
        ("/memory?since=yesterday", 400, "is no time"),
        ("/memory?agent=%20", 400, "agent id"),
        ("/handoffs/h_00000000", 404, "no packet h_00000000"),
        ("/tasks/t0000", 404, f"Nearest: {scene.TASK}"),
        ("/refs/r999", 404, "no ref r999"),
        ("/refs/r999/raw", 404, "no ref r999"),
        ("/nowhere", 404, "Not Found"),
    ],
)
async def test_what_is_not_there_is_told_with_a_way_out(
    browser: Browser, played: dict[str, str], path: str, status: int, said: str
) -> None:
    answer = await browser(path)

    assert answer.status == status
    assert said in words(answer.text)


async def test_times_are_relative_and_exact_on_hover(
    browser: Browser, scout: Agent, clock: Clock
) -> None:
    scout.write("a/b")
    clock.forward(180)

    page = await browser.page("/memory/record?name=a/b")

    exact = 'title="2026-11-30 16:00:00.000 UTC"'
    assert f'<time datetime="2026-11-30T16:00:00.000Z" {exact}>3 min ago</time>' in page


async def test_the_page_of_another_project_shows_nothing_of_this_one(
    browser: Browser, agent: Callable[..., Agent]
) -> None:
    other = agent("scout", project="/elsewhere")
    other.write("secret/plan", "theirs")
    packet = other.create("theirs")["packet_id"]

    assert "theirs" not in await browser.page("/memory")
    assert packet not in await browser.page("/handoffs")
    assert (await browser(f"/handoffs/{packet}")).status == 404
