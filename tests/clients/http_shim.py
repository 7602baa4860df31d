"""The product's server behind HTTP: the conformance suite speaks nothing else, the product stdio.

Usage: python http_shim.py. Its first line of output is the address. All but the transport is what
stdio serves: settings, application, tools, middleware.
"""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from handoff_memory.app import open_app
from handoff_memory.server.build import build_server
from handoff_memory.settings import read_settings

HOST = "127.0.0.1"


async def serve() -> None:
    """Serve on a free port until a signal asks to stop."""
    async with open_app(read_settings()) as app:
        await app.open()
        web = build_server(app).streamable_http_app(host=HOST)
        server = uvicorn.Server(uvicorn.Config(web, log_level="warning"))
        with socket.create_server((HOST, 0)) as listening:
            print(f"http://{HOST}:{listening.getsockname()[1]}/mcp", flush=True)  # noqa: T201
            await server.serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(serve())
