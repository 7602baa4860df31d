"""A dashboard of its own and Chromium looking at it; what goes wrong in a page fails the test."""

from __future__ import annotations

import importlib.util
import itertools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from actors import Agent
from handoff_memory.app import Local, open_local
from handoff_memory.core.author import Author
from handoff_memory.settings import Settings
from shell import Shell

if importlib.util.find_spec("playwright") is None:  # make test-browser installs it
    collect_ignore_glob = ["test_*.py"]

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
PATIENCE_MS = 30_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@dataclass
class Watched:
    """Windows of one browser on one dashboard, and what went wrong in any of them."""

    chromium: Any
    url: str
    wrong: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    contexts: list[Any] = field(default_factory=list)

    @property
    def base(self) -> str:
        return self.url.partition("/?")[0]

    def window(self, **how: Any) -> Any:
        """A context that has the cookie."""
        context = self.chromium.new_context(**how)
        context.set_default_timeout(PATIENCE_MS)
        context.on("page", self._watch)
        context.on("request", self._requested)
        self.contexts.append(context)
        first = context.new_page()
        first.goto(self.url)
        first.close()
        return context

    def open(self, context: Any, path: str, *, status: int = 200) -> Any:
        page = context.new_page()
        answer = page.goto(self.base + path)
        assert answer.status == status, (path, answer.status)
        return page

    def _watch(self, page: Any) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))

    def _said(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.wrong.append(f"{message.type}: {message.text}")

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((self.base + "/", "blob:", "data:")):
            self.wrong.append(f"request: {request.url}")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert program, "no Chromium: make test-browser installs it"
    from playwright import sync_api  # noqa: PLC0415 - not part of the other tests' environment

    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, headless=True, args=list(SWITCHES)
        )
        yield browser
        browser.close()


@pytest.fixture
def shell(settings: Settings) -> Shell:
    env = {
        "MEMORY_DB": str(settings.database),
        "OSIRIS_HOME": str(settings.home),
        "CLAUDE_PROJECT_DIR": str(settings.folder),
    }
    return Shell(settings.database, env)


@pytest.fixture
def watched(chromium: Any, shell: Shell) -> Iterator[Watched]:
    """The browser at a dashboard whose database may not be there yet."""
    with shell.start("dashboard", "--port", "0") as process:
        try:
            assert process.stdout is not None
            found = Watched(chromium, process.stdout.readline().strip())
            yield found
            for context in found.contexts:
                context.close()
        finally:
            process.terminate()
            process.wait(20)
            assert process.stderr is not None
            said = process.stderr.read()
    assert (found.wrong, found.dialogs) == ([], [])
    assert said == ""


@pytest.fixture
def now(settings: Settings) -> Iterator[Local]:
    """The memory at the present time, as a dashboard that is a program of its own sees it."""
    with open_local(settings) as local:
        yield local


@pytest.fixture
def someone(now: Local) -> Callable[..., Agent]:
    numbers = itertools.count(1)
    return lambda name="scout", **_: Agent(now, Author(name, f"s_{next(numbers)}"))
