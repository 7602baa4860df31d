"""What agents write is shown as text, whatever it is: nothing of it becomes markup or acts."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

import hostile
import scene
from actors import Agent
from asking import Browser
from handoff_memory.app import Local

KNOWN = {
    *("html", "head", "meta", "title", "link", "script", "body", "a", "header", "img", "nav"),
    *("form", "input", "main", "section", "h1", "h2", "h3", "p", "dl", "div", "dt", "dd", "span"),
    *("table", "thead", "tbody", "tr", "th", "td", "bdi", "time", "svg", "line", "rect", "path"),
    *("circle", "text", "pre", "ol", "ul", "li", "code", "footer", "kbd"),
    *("button", "label", "select", "option", "article", "del", "ins", "progress", "noscript"),
}
OURS = {"/static/live.js", "/static/style.css", "/static/icon.svg"}


class Reader(HTMLParser):
    """Reads a page as a browser does, and notes whatever might act."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in KNOWN and tag != "title":
            self.found.append(f"<{tag}>")
        self.found += [
            f"{tag} {name}" for name in given if name.startswith("on") or name == "style"
        ]
        for name in ("src", "href", "action"):
            there = given.get(name) or "/"
            if not there.startswith(("/", "#")) or there.startswith("//"):
                self.found.append(f"{tag} {name}={there}")
        if tag in {"script", "link", "img"} and (given.get("src") or given.get("href")) not in OURS:
            self.found.append(f"{tag} {given}")

    def handle_decl(self, decl: str) -> None:
        if decl != "doctype html":
            self.found.append(decl)

    def handle_comment(self, data: str) -> None:
        self.found.append(data)


def acts(page: str) -> list[str]:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader.found


@pytest.fixture
def paths(local: Local, agent: Callable[..., Agent]) -> list[str]:
    return hostile.play(local, agent)


async def test_nothing_that_agents_write_acts_in_a_page(browser: Browser, paths: list[str]) -> None:
    links = set(paths)
    for path in paths:
        page = await browser.page(path)
        assert acts(page) == [], path
        links |= {link.replace("&amp;", "&") for link in re.findall(r'href="(/[^"]*)"', page)}

    for link in sorted(links - set(paths)):
        answer = await browser(link)
        assert answer.status == 200, link
        if answer.headers["content-type"].startswith("text/html"):
            assert acts(answer.text) == [], link


async def test_marks_that_turn_text_round_and_controls_are_shown_not_obeyed(
    browser: Browser, paths: list[str]
) -> None:
    for path in paths:
        page = await browser.page(path)

        assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", page) == []
    assert "\\u202eevil" in await browser.page("/memory?q=evil")


@pytest.mark.parametrize("text", hostile.TEXTS)
async def test_what_a_reader_asks_for_is_shown_as_text_too(
    browser: Browser, scout: Agent, text: str
) -> None:
    scout.write("a/b")
    asked = quote(text)
    paths = [f"/memory?q={asked}", f"/memory?scope={asked}", f"/memory?tag={asked}"]
    paths += [f"/memory/record?name={asked}", f"/log?kind={asked}", f"/log?agent={asked}"]
    paths += [f"/handoffs/{asked}", f"/tasks/{asked}", f"/refs/{asked}", f"/{asked}"]

    for path in paths:
        answer = await browser(path)

        assert answer.status in {200, 400, 404}
        assert acts(answer.text) == [], path


async def test_a_mebibyte_of_markup_is_shown_as_text(browser: Browser, scout: Agent) -> None:
    scout.write("a/first", "<b>" * 300_000)
    scout.write("a/first", {"deep": "<script>" * 120_000})

    page = await browser.page("/memory/record?name=a/first")
    old = await browser.page("/memory/record?name=a/first@1")

    assert acts(page) == acts(old) == []
    assert "too large to be compared" in page


async def test_a_payload_that_is_a_page_is_never_served_as_one(
    browser: Browser, local: Local, agent: Callable[..., Agent], played: dict[str, str]
) -> None:
    data = ("<!doctype html><script>alert(1)</script>\n" * 200).encode()
    kept = scene.saw(local, agent("builder").who, "WebFetch", {"url": "x"}, data)

    page = await browser.page(f"/refs/{kept['ref']}")
    raw = await browser(f"/refs/{kept['ref']}/raw")

    assert acts(page) == []
    assert raw.body == data
    assert raw.headers["content-type"] == "application/octet-stream"
    assert raw.headers["x-content-type-options"] == "nosniff"
