"""The demo is played while pages are open, and they follow it."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from actors import Agent
from shell import Shell

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "demo"))

import executor  # noqa: E402 - the demo's own scripts
import scout  # noqa: E402

FORGED = (
    "DROP TRIGGER records_keep_values",
    "UPDATE records SET source = 'forged' WHERE scope = 'listing/482' AND version = 1",
)
WAIT_S = 60


class Pace:
    """Lets the demo go on to a step once the test has seen what came of the one before."""

    def __init__(self, *held: str) -> None:
        self._gates = {number: threading.Event() for number in held}

    def step(self, text: str) -> None:
        if gate := self._gates.get(text.partition(".")[0]):
            assert gate.wait(WAIT_S), text

    def go_on(self, number: str) -> None:
        self._gates[number].set()


@contextmanager
def playing(session: Any) -> Iterator[None]:
    """A session of the demo, on a thread of its own."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(session)
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join(WAIT_S)
    assert failed == []
    assert not thread.is_alive()


def test_open_pages_follow_the_demo(
    watched: Any, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect.set_options(timeout=30_000)
    window = watched.window()
    overview, board, log = (
        watched.open(window, path, status=503) for path in ("/", "/handoffs", "/log")
    )
    watched.wrong.clear()  # a 503 is noted in the console
    expect(board.locator("h1")).to_have_text("No memory yet")

    giving = Pace("7")
    monkeypatch.setattr(scout, "step", giving.step)
    with playing(scout.hand_over(shell.database)):
        waiting = board.locator("#waiting article")
        expect(waiting).to_contain_text("Two listings worth an application")
        expect(waiting).to_contain_text("0 of 4 pins moved")
        expect(overview.locator("#waiting")).to_contain_text("scout-agent → executor-agent")
        expect(overview.locator("#agents .dot.on")).to_have_count(1)
        packet = str(waiting.locator("a.row").text_content())
        giving.go_on("7")
    expect(waiting).to_contain_text("1 of 4 pins moved")
    page = watched.open(window, f"/handoffs/{packet}")
    expect(page.locator("#pins .note.warn")).to_contain_text("listing/553/assessment was pinned")

    taking = Pace("2", "6")
    monkeypatch.setattr(executor, "step", taking.step)
    with playing(executor.work(shell.database, WAIT_S)):
        expect(board.locator("#claimed article")).to_contain_text("held by executor-agent")
        expect(page.locator("#packet")).to_contain_text("now held by executor-agent")
        taking.go_on("2")
        expect(log.locator("#lines")).to_contain_text("application/482/draft@1")
        belief = watched.open(window, "/memory/record?name=source/boards-example/rate-limit")
        expect(belief.locator("#belief table")).to_contain_text("60% → 39%")
        taking.go_on("6")
    expect(board.locator("#closed article")).to_contain_text(packet)
    expect(board.locator("#waiting article")).to_contain_text("executor-agent → scout-agent")
    expect(page.locator("#thread li")).to_have_count(2)
    expect(belief.locator("#history li")).to_have_count(2)


def test_an_edit_in_the_file_by_another_process_shows_up_as_a_finding(
    watched: Any, shell: Shell, someone: Callable[..., Agent]
) -> None:
    someone().write("listing/482/assessment", {"verdict": "apply"}, source="seen on the card")
    page = watched.open(watched.window(), "/integrity")
    expect(page.locator("#stream")).to_have_text("live")

    page.get_by_role("button", name="Verify now").click()
    expect(page.locator("#verification")).to_contain_text("no finding")
    shell.tamper(*FORGED)
    page.get_by_role("button", name="Verify now").click()

    finding = page.locator(".findings tr", has_text="a field was altered")
    expect(finding).to_contain_text("listing/482/assessment")
    finding.locator("a").click()
    expect(page).to_have_url(re.compile("listing%2F482%2Fassessment%401"))


def test_ten_pages_share_one_stream_and_all_follow(
    watched: Any, someone: Callable[..., Agent]
) -> None:
    agent = someone()
    agent.write("a/b")
    window = watched.window()
    streams: list[str] = []
    window.on(
        "request", lambda request: streams.append(request.url) if "/events" in request.url else 0
    )
    pages = [watched.open(window, "/log") for _ in range(10)]
    expect(pages[0].locator("#stream")).to_have_text("live")

    agent.write("a/news")

    for page in pages:
        expect(page.locator("#lines")).to_contain_text("a/news@1")
    assert len(streams) == 1

    pages[0].close()
    expect(pages[9].locator("#stream")).to_have_text("live")
    agent.write("a/later")
    for page in pages[1:]:
        expect(page.locator("#lines")).to_contain_text("a/later@1")


def test_a_refresh_marks_what_is_new_and_keeps_the_place(
    watched: Any, someone: Callable[..., Agent]
) -> None:
    agent = someone()
    for n in range(3):
        agent.write(f"a/k{n}")
    window = watched.window()
    log, overview = watched.open(window, "/log"), watched.open(window, "/")
    expect(log.locator("#stream")).to_have_text("live")
    log.locator("a.row", has_text="a/k1").focus()

    agent.write("a/k3")

    expect(log.locator("tr.fresh")).to_contain_text("a/k3@1")
    expect(log.locator("a.row", has_text="a/k1")).to_be_focused()
    expect(overview.locator("#facts")).to_contain_text("4")
