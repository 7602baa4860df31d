"""What the tests of the memory share: settings in a folder of their own, a set clock, agents.

Real databases, no mocks; time stands still until a test moves it, and chance repeats itself.
"""

from __future__ import annotations

import itertools
import random
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from mcp import Client
from mcp_types import Implementation

from actors import Agent, Clock, Reply, Tools, git
from handoff_memory.app import App, Local, Makers, open_app, open_local
from handoff_memory.core.author import Author
from handoff_memory.server.build import build_server
from handoff_memory.services import verify
from handoff_memory.settings import Settings
from handoff_memory.store import journal

hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=2000)
hypothesis.settings.load_profile("default")


# A run in the background inherits ignored signals, and would hand them on to every process that a
# test starts and means to stop.
for number in (signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "work"
    folder.mkdir()
    return Settings(
        home=tmp_path / "home", database=tmp_path / "memory.db", folder=folder, durable=False
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def makers(clock: Clock) -> Makers:
    numbers = itertools.count(1)
    return Makers(
        clock=clock, entropy=random.Random(2).randbytes, session=lambda: f"s_{next(numbers)}"
    )


@pytest.fixture
def local(settings: Settings, makers: Makers) -> Iterator[Local]:
    with open_local(settings, makers) as opened:
        yield opened


@pytest.fixture
def agent(local: Local, makers: Makers) -> Callable[..., Agent]:
    """A new session of an agent by that name, in the project where one is named."""
    dead: set[str] = set()

    def enter(name: str = "scout", *, project: str = "") -> Agent:
        return Agent(local, Author(name, makers.session(), project), dead)

    return enter


@pytest.fixture
def scout(agent: Callable[..., Agent]) -> Agent:
    return agent("scout")


@pytest.fixture
def executor(agent: Callable[..., Agent]) -> Agent:
    return agent("executor")


@pytest.fixture
def head(local: Local) -> Callable[[], tuple[int, bytes]]:
    """The end of the journal: equal ends, nothing was written between."""

    def read() -> tuple[int, bytes]:
        found = local.read(journal.head)
        return found.seq, found.chain

    return read


@pytest.fixture
def verified(local: Local) -> Callable[[], Reply]:
    return lambda: local.read(verify.verify)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git repository with one commit."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "one")
    return folder


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> Any:
    """How a client says hello: `server/discover` of 2026, or `initialize`."""
    return request.param


@pytest.fixture
def serve(settings: Settings, makers: Makers) -> Callable[..., AbstractAsyncContextManager[App]]:
    """An application of its own on the shared database, as another process has one."""

    @asynccontextmanager
    async def opened(agent: str | None = "scout", **more: Any) -> AsyncIterator[App]:
        async with open_app(settings._replace(agent=agent, **more), makers) as app:
            await app.read(journal.head)  # the greeting does not wait for the file to be opened
            yield app

    return opened


@pytest.fixture
def connect(
    era: Any, serve: Callable[..., AbstractAsyncContextManager[App]]
) -> Callable[..., AbstractAsyncContextManager[Tools]]:
    """A client of a server of its own on the shared database."""

    @asynccontextmanager
    async def connected(
        agent: str | None = "scout", *, announced: str = "a-client", **more: Any
    ) -> AsyncIterator[Tools]:
        hello = Implementation(name=announced, version="1")
        async with (
            serve(agent, **more) as app,
            Client(build_server(app), mode=era, client_info=hello) as client,
        ):
            yield Tools(client)

    return connected
