"""Serving the site to browsers of this machine, or of a network where that is asked for by name."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from handoff_memory.app import View, open_view
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.settings import Settings
from handoff_memory.web.gate import Gate
from handoff_memory.web.site import Site

LOOPBACK: Final = "127.0.0.1"
PORT: Final = 8770
MIN_TOKEN: Final = 32
_NAME_OF_LOOPBACK: Final = "localhost"
_LAST_WORDS_S: Final = 2


def serve(
    settings: Settings, *, host: str, port: int, token: str, announce: Callable[[str], None]
) -> None:
    """Serve until interrupted.

    Args:
        settings: Which memory.
        host: The address to listen on, as browsers are to name it.
        port: The port, 0 for any that is free.
        token: What a browser must bring.
        announce: Told the URL to open, once it can be opened.

    Raises:
        InvalidArgumentError: Nobody can listen there.
    """
    with _listening(host, port) as listener, suppress(KeyboardInterrupt):
        asyncio.run(_serve(settings, listener, host, token, announce))


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone.

    Raises:
        InvalidArgumentError: It is none, or stands for all: no Host header could be told from it.
    """
    address = ipaddress.ip_address(_resolved(host)[1])
    if not host or address.is_unspecified:
        raise InvalidArgumentError(
            f"{host!r} stands for every address", way_out="Name the one that browsers will use."
        )
    return address.is_loopback


def guarded(site: ASGIApp, *, host: str, port: int, token: str) -> Gate:
    """The site behind its gate; only the names under which it is meant to be reached count."""
    names = {host, _NAME_OF_LOOPBACK} if host == LOOPBACK else {host}
    hosts = {f"{_bracketed(name)}:{port}" for name in names}
    if port == 80:
        hosts |= {_bracketed(name) for name in names}
    # Cookies know no port: two dashboards on one machine must not overwrite each other's.
    return Gate(site, token=token, hosts=hosts, cookie=f"handoff_memory_{port}")


async def _serve(
    settings: Settings,
    listener: socket.socket,
    host: str,
    token: str,
    announce: Callable[[str], None],
) -> None:
    port = listener.getsockname()[1]
    async with open_view(settings) as view:
        server = _Server(view, host=host, port=port, token=token)
        announce(f"http://{_bracketed(host)}:{port}/?token={token}")
        await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """A server whose streams end when it does."""

    def __init__(self, view: View, *, host: str, port: int, token: str) -> None:
        self._site = Site(view)
        super().__init__(
            uvicorn.Config(
                guarded(self._site.app, host=host, port=port, token=token),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                timeout_graceful_shutdown=_LAST_WORDS_S,
            )
        )

    async def shutdown(  # type: ignore[explicit-override]
        self, sockets: list[socket.socket] | None = None
    ) -> None:
        """End the streams, then all else."""
        self._site.end()
        await super().shutdown(sockets)


def _listening(host: str, port: int) -> socket.socket:
    family, address = _resolved(host)
    try:
        return socket.create_server((address, port), family=family)
    except OSError as error:
        raise InvalidArgumentError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            way_out="Choose another with --port, or end the program that has it.",
        ) from error


def _resolved(host: str) -> tuple[socket.AddressFamily, str]:
    """The family of an address or a name, and the address."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InvalidArgumentError(f"{host!r} is no address: {error.strerror or error}") from error
    return family, str(place[0])


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
