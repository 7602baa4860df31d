from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

import scene
from actors import Agent
from asking import TOKEN, Browser
from handoff_memory.app import Local, Makers, open_view
from handoff_memory.settings import Settings
from handoff_memory.web import serving
from handoff_memory.web.site import Site


@pytest.fixture
async def site(settings: Settings, makers: Makers) -> AsyncIterator[Site]:
    async with open_view(settings, makers) as view:
        made = Site(view)
        async with made.app.router.lifespan_context(made.app):
            yield made


@pytest.fixture
def browser(site: Site) -> Browser:
    return Browser(serving.guarded(site.app, host="127.0.0.1", port=8770, token=TOKEN))


@pytest.fixture
def played(local: Local, agent: Callable[..., Agent]) -> dict[str, str]:
    """The ids of the packets in a memory with something of everything."""
    return scene.play(local, agent)
