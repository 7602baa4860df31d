"""Codex's app server: what its terminal does where a person presses keys."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agents.clients import CODEX, RUN_S, Desk


class AppServer:
    """A running app server of one desk."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._ids = itertools.count(1)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request."""
        request_id = next(self._ids)
        self._send({"id": request_id, "method": method, "params": params})
        reply = next(one for one in self._messages() if one.get("id") == request_id)
        assert "result" in reply, reply
        found: dict[str, Any] = reply["result"]
        return found

    def tell(self, method: str) -> None:
        """Send a notification."""
        self._send({"method": method})

    def wait_for(self, method: str) -> None:
        """Return once the server has notified of this."""
        next(one for one in self._messages() if one.get("method") == method)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _messages(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout
        return map(json.loads, self._process.stdout)


@contextmanager
def app_server(desk: Desk) -> Iterator[AppServer]:
    """The app server, greeted; it is ended with the block."""
    with desk.start("codex", "app-server", **CODEX.environ(desk)) as process:
        server = AppServer(process)
        try:
            server.ask("initialize", clientInfo={"name": "tests", "version": "0"})
            server.tell("initialized")
            yield server
        finally:
            process.terminate()
            process.wait(RUN_S)


def trust_hooks(desk: Desk) -> None:
    """Trust the hooks as they stand, as a person does in Codex's /hooks."""
    with app_server(desk) as server:
        (found,) = server.ask("hooks/list", cwds=[str(desk.project)])["data"]
    with (desk.home / ".codex" / "config.toml").open("a", encoding="utf-8") as settings:
        for hook in found["hooks"]:
            trusted = json.dumps(hook["currentHash"])
            settings.write(f"\n[hooks.state.{json.dumps(hook['key'])}]\ntrusted_hash = {trusted}\n")
