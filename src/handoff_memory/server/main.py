"""`handoff-memory serve`: one client on stdin and stdout until it leaves."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import NoReturn

from handoff_memory.app import App, open_app
from handoff_memory.core.errors import MemoryFault
from handoff_memory.server.build import build_server
from handoff_memory.server.stdio import leave, serve_stdio
from handoff_memory.services import presence
from handoff_memory.settings import Settings


def serve(settings: Settings) -> NoReturn:
    """Serve and end the process."""
    asyncio.run(_serve(settings))
    leave()


async def _serve(settings: Settings) -> None:
    async with open_app(settings) as app:
        opening = asyncio.create_task(_open(app))  # while the client still says hello

        async def closing() -> None:
            await opening
            await _say_goodbye(app)
            await app.close()

        await serve_stdio(build_server(app), on_closing=closing)
        leave()


async def _open(app: App) -> None:
    await asyncio.to_thread(lambda: app.identity.project)  # may ask git, which may be slow
    await app.open()


async def _say_goodbye(app: App) -> None:
    who = app.identity.author()
    with suppress(MemoryFault):  # the session then counts as over once its process is gone
        await app.write(lambda tx: presence.leave(tx, who))
