"""A browser's requests to the dashboard, as a server hands them over; nothing is in between."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

import scene

TOKEN = "a-token-of-more-than-thirty-two-characters"
HOST = "127.0.0.1:8770"
COOKIE = f"handoff_memory_8770={TOKEN}"


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Browser:
    """Asks the site behind its gate; by itself as its own pages do."""

    app: ASGIApp

    async def __call__(
        self,
        target: str,
        *,
        method: str = "GET",
        host: str | None = HOST,
        cookie: str | None = COOKIE,
        origin: str | None = None,
        more: list[tuple[str, str]] | None = None,
    ) -> Answer:
        given = [("host", host), ("cookie", cookie), ("origin", origin), *(more or [])]
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), text.encode()) for name, text in given if text is not None],
            "server": ("127.0.0.1", 8770),
            "client": ("127.0.0.1", 50_000),
        }
        answer = Answer()

        asked = False

        async def receive() -> Message:
            nonlocal asked
            if asked:  # it stays and listens
                await asyncio.Event().wait()
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {k.decode(): v.decode() for k, v in message["headers"]}
            else:
                answer.body += message.get("body", b"")

        await self.app(scope, receive, send)
        return answer

    async def page(self, target: str) -> str:
        """The text of a page that is there."""
        answer = await self(target)
        assert answer.status == 200, answer.text
        return answer.text


def every_page(ids: dict[str, str]) -> list[str]:
    """A URL of each kind of page, of files and of static parts."""
    return [
        *("/", "/handoffs", "/memory", "/memory?q=rounding", "/tasks", "/integrity", "/log"),
        *(f"/handoffs/{packet}" for packet in ids.values()),
        *("/memory?q=nothing-of-that-kind", "/memory?scope=service&old=1", "/memory?agent=builder"),
        *(
            "/memory/record?name=service/cart/rounding",
            "/memory/record?name=service/cart/rounding@1",
        ),
        *("/memory/record?name=service/cart/rounding@1&against=2",),
        *(f"/tasks/{scene.TASK}", "/refs/r1", "/refs/r2"),
        *("/log?kind=claim", "/log?agent=builder", f"/log?task={scene.TASK}", "/log?below=5"),
        *("/memory/value?name=service/cart/rounding", "/refs/r1/raw"),
        *("/static/style.css", "/static/live.js", "/static/icon.svg"),
    ]
