"""Each page in a real browser: for eyes, keys, phones and screen readers; also without scripts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import hostile
import scene
from actors import Agent
from handoff_memory.app import Local

ROOT = Path(__file__).parents[2]
AXE = ROOT / "tests/browser/node_modules/axe-core/axe.min.js"
PICTURES = ROOT / "docs/images"
MOST_BYTES = 150_000
RECORD = "/memory/record?name=service/cart/rounding"


@pytest.fixture
def ids(now: Local, someone: Callable[..., Agent]) -> dict[str, str]:
    return scene.play(now, someone)


def shown(ids: dict[str, str]) -> dict[str, str]:
    """A page of each kind, by the name of its picture."""
    return {
        "overview": "/",
        "handoffs": "/handoffs",
        "packet": f"/handoffs/{ids['claimed']}",
        "memory": "/memory?q=cart",
        "record": RECORD,
        "tasks": "/tasks",
        "task": f"/tasks/{scene.TASK}",
        "payload": "/refs/r1",
        "integrity": "/integrity",
        "log": "/log",
    }


def verified(watched: Any, window: Any) -> None:
    page = watched.open(window, "/integrity")
    page.get_by_role("button", name="Verify now").click()
    expect(page.locator("#verification")).to_contain_text("no finding")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_accessibility_checker_finds_nothing_serious(
    watched: Any, ids: dict[str, str], scheme: str
) -> None:
    window = watched.window(color_scheme=scheme)
    verified(watched, window)
    checker = AXE.read_text("utf-8")
    paths = [*shown(ids).values(), f"/handoffs/{ids['closed']}", RECORD + "@1"]

    for path in paths:
        page = watched.open(window, path)
        page.evaluate(checker)
        found = page.evaluate("axe.run()")

        serious = [
            (one["id"], [node["html"] for node in one["nodes"]][:3])
            for one in found["violations"]
            if one["impact"] in {"serious", "critical", "moderate"}
        ]
        assert serious == [], path
        page.close()


def test_each_page_is_photographed_for_the_docs(
    watched: Any, ids: dict[str, str], tmp_path: Path
) -> None:
    folder = ROOT / os.environ["PICTURES"] if "PICTURES" in os.environ else tmp_path
    folder.mkdir(exist_ok=True)
    light = watched.window(viewport={"width": 1120, "height": 760})
    dark = watched.window(viewport={"width": 1120, "height": 760}, color_scheme="dark")
    phone = watched.window(viewport={"width": 390, "height": 760})
    verified(watched, light)
    views = [(light, name, path) for name, path in shown(ids).items()]
    views += [(dark, "record-dark", RECORD), (phone, "overview-phone", "/")]

    for window, name, path in views:
        page = watched.open(window, path)
        expect(page.locator("#stream")).to_have_text("live")
        page.screenshot(path=folder / f"{name}.png", animations="disabled")
        page.close()

    made = {file.name: file.stat().st_size for file in folder.glob("*.png")}
    assert set(made) == {file.name for file in PICTURES.glob("*.png")}
    assert max(made.values()) <= MOST_BYTES


def test_every_page_fits_a_phone(watched: Any, ids: dict[str, str]) -> None:
    window = watched.window(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)

    for path in shown(ids).values():
        page = watched.open(window, path)

        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        page.close()


def test_keys_search_and_move(watched: Any, ids: dict[str, str]) -> None:
    page = watched.open(watched.window(), "/handoffs")
    rows = page.locator("a.row")

    page.keyboard.press("j")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator(".find input")).to_be_focused()
    page.keyboard.type("rounding j k /")
    page.keyboard.press("Enter")

    expect(page.locator("#query")).to_have_value("rounding j k /")


def test_times_go_on_by_themselves_and_are_exact_on_hover(
    watched: Any, ids: dict[str, str]
) -> None:
    page = watched.open(watched.window(), RECORD)
    time = page.locator("#record time").first

    title = time.get_attribute("title")
    page.clock.install()
    page.reload()
    page.clock.fast_forward(600_000)

    assert title.endswith(" UTC")
    expect(page.locator("#record time").first).to_contain_text("10 min ago")


def test_pages_read_well_without_scripts(watched: Any, ids: dict[str, str]) -> None:
    window = watched.window(java_script_enabled=False)

    for path in shown(ids).values():
        page = watched.open(window, path)
        assert len(page.locator("main").inner_text()) > 80, path
        page.close()
    page = watched.open(window, "/integrity")
    page.get_by_role("button", name="Verify now").click()

    expect(page.locator("#verification")).to_contain_text("no finding", timeout=20_000)


def test_nothing_that_agents_write_acts(
    watched: Any, now: Local, someone: Callable[..., Agent]
) -> None:
    paths = hostile.play(now, someone)
    window = watched.window()

    for path in paths:
        page = watched.open(window, path)
        assert page.locator("main h1").count() == 1, path
        assert page.evaluate("document.scripts.length") == 1
        assert page.locator("main img, main script, main style, main iframe").count() == 0
        page.close()
    search = watched.open(window, "/memory?q=alert")
    for link in [row.get_attribute("href") for row in search.locator("#found a.row").all()]:
        watched.open(window, link).close()


def test_a_stranger_is_shown_the_way_and_nothing_else(watched: Any, ids: dict[str, str]) -> None:
    stranger = watched.chromium.new_context()
    page = stranger.new_page()

    answer = page.goto(watched.base + "/handoffs")

    assert answer.status == 403
    assert "Open the URL that the command printed" in page.content()
    assert ids["claimed"] not in page.content()
    stranger.close()
