"""The site: which path is which page, and how errors of the memory become pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from handoff_memory import __version__
from handoff_memory.app import View
from handoff_memory.core.errors import (
    BusyError,
    CorruptDatabaseError,
    CorruptRefError,
    DatabaseMissingError,
    InputError,
    MemoryFault,
    NewerDatabaseError,
    NotFoundError,
    OlderDatabaseError,
)
from handoff_memory.services import timeline
from handoff_memory.services.faults import error_reply
from handoff_memory.store.engine import Tx
from handoff_memory.web.checks import Checks
from handoff_memory.web.follow import Follower
from handoff_memory.web.page import Asked, Maker, Page
from handoff_memory.web.pages import handoffs, integrity, log, memory, overview, tasks
from handoff_memory.web.rendering import HERE, environment, task_url, url

AGENT: Final = "dashboard"

_PAGES: Final[Mapping[str, Maker]] = {
    "/": overview.overview,
    "/handoffs": handoffs.board,
    "/handoffs/{packet}": handoffs.packet,
    "/memory": memory.found,
    "/memory/record": memory.record,
    "/tasks": tasks.board,
    "/tasks/{task}": tasks.task,
    "/refs/{ref}": tasks.ref,
    "/integrity": integrity.integrity,
    "/log": log.log,
}
_FILES: Final[Mapping[str, Callable[[Tx, Asked], Response]]] = {
    "/memory/value": memory.value,
    "/refs/{ref}/raw": tasks.raw,
}
_TITLES: Final[Mapping[type[MemoryFault], tuple[str, HTTPStatus]]] = {
    NotFoundError: ("Not found", HTTPStatus.NOT_FOUND),
    InputError: ("That cannot be asked", HTTPStatus.BAD_REQUEST),
    DatabaseMissingError: ("No memory yet", HTTPStatus.SERVICE_UNAVAILABLE),
    OlderDatabaseError: ("The memory is being prepared", HTTPStatus.SERVICE_UNAVAILABLE),
    NewerDatabaseError: ("A newer version made this memory", HTTPStatus.SERVICE_UNAVAILABLE),
    CorruptDatabaseError: ("The memory is damaged", HTTPStatus.INTERNAL_SERVER_ERROR),
    CorruptRefError: ("This payload is damaged", HTTPStatus.INTERNAL_SERVER_ERROR),
    BusyError: ("The memory is busy", HTTPStatus.SERVICE_UNAVAILABLE),
    MemoryFault: ("The memory cannot be read", HTTPStatus.SERVICE_UNAVAILABLE),
}


class Site:
    """The dashboard as an ASGI application, without the gate in front of it.

    Attributes:
        app: The application.
        checks: Verifications and audits.
        follower: What tells open pages that something was written.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._who = view.identity.author(AGENT)
        self.checks = Checks(view, self._who)
        self.follower = Follower(view, self.checks)
        self._templates = environment()
        self.app = Starlette(
            routes=[
                *(Route(path, self._page(make)) for path, make in _PAGES.items()),
                *(Route(path, self._file(make)) for path, make in _FILES.items()),
                Route("/integrity/verify", self._verify, methods=["POST"]),
                Route("/integrity/audit", self._audit, methods=["POST"]),
                Route("/events", self._events),
                Mount("/static", StaticFiles(directory=HERE / "static")),
            ],
            exception_handlers={
                MemoryFault: self._fault,
                HTTPException: self._refusal,
                Exception: self._failure,
            },
            lifespan=self._living,
        )
        self.app.router.redirect_slashes = False

    def end(self) -> None:
        """Let every stream end, so that the server can."""
        self.follower.end()

    @asynccontextmanager
    async def _living(self, _app: Starlette) -> AsyncIterator[None]:
        following = asyncio.create_task(self.follower.run(), name="follower")
        try:
            yield
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await self.checks.stop()

    def _page(self, make: Maker) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            asked = self._asked(request)
            seq, page = await self._view.read(lambda tx: (timeline.head(tx), make(tx, asked)))
            return self._rendered(request, page, seq)

        return answer

    def _file(
        self, make: Callable[[Tx, Asked], Response]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            asked = self._asked(request)
            return await self._view.read(lambda tx: make(tx, asked))

        return answer

    async def _verify(self, _request: Request) -> Response:
        self.checks.start(None)
        return RedirectResponse("/integrity", HTTPStatus.SEE_OTHER)

    async def _audit(self, request: Request) -> Response:
        task = request.query_params.get("task", "")
        self.checks.start(task)
        there = task_url(task) if "back" in request.query_params else "/integrity"
        return RedirectResponse(there, HTTPStatus.SEE_OTHER)

    async def _events(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(self.follower.stream(), media_type="text/event-stream")

    async def _fault(self, request: Request, fault: Exception) -> Response:
        told = error_reply(fault) if isinstance(fault, MemoryFault) else {}
        kinds = (kind for kind in type(fault).__mro__ if kind in _TITLES)
        title, status = _TITLES[next(kinds)]
        values = {"told": told, "database": str(self._view.settings.database)}
        return self._rendered(request, Page("fault.html", title, values, ("*",), status), 0)

    async def _refusal(self, request: Request, refusal: Exception) -> Response:
        status = refusal.status_code if isinstance(refusal, HTTPException) else 500
        told = {
            "code": f"http_{status}",
            "message": HTTPStatus(status).phrase,
            "next": "Choose a page above.",
            "nearest": [],
        }
        page = Page("fault.html", HTTPStatus(status).phrase, {"told": told}, status=status)
        return self._rendered(request, page, 0)

    async def _failure(self, request: Request, _error: Exception) -> Response:
        return await self._refusal(request, HTTPException(500))

    def _asked(self, request: Request) -> Asked:
        query = {name: text for name, text in request.query_params.items() if text}
        return Asked(self._who, self._view.settings, self.checks, query, request.path_params)

    def _rendered(self, request: Request, page: Page, seq: int) -> HTMLResponse:
        check = self.checks.verification
        shell: dict[str, Any] = {
            "page": page,
            "title": page.title,
            "path": request.url.path,
            "here": url(request.url.path, **dict(request.query_params)),
            "now": self._view.now(),
            "seq": seq,
            "version": __version__,
            "project": self._who.project,
            "revision": self.checks.revision,
            "running": check is not None and check.is_running,
        }
        template = self._templates.get_template(page.template)
        return HTMLResponse(template.render({**page.values, **shell}), page.status)
