"""Who may ask: the Host, the Origin and the token of every request, before anything else sees it.

A page of another site can make this machine's browser send requests here, also under a name that
it made point here. So a request must name us as its host, come from our own pages or from none, and
carry the token that only the printed URL and the cookie hold. Source: docs/adr/0020.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS: Final = frozenset({"GET", "HEAD", "POST"})
_POLICY: Final = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'"),
        *("connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"),
    )
)
# `no-referrer` would make a browser send `Origin: null` with our own forms.
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Not here</title></head>
<body><h1>{title}</h1><p>{text}</p>{more}</body></html>
"""
_AGAIN: Final = (
    '<p>If you came by a link from elsewhere: <a href="">open this page again</a>. '
    "A browser keeps the cookie back on the way in from another site.</p>"
)


class Gate:
    """An ASGI application that lets through to another what may ask."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: Iterable[str], cookie: str) -> None:
        """Guard an application.

        Args:
            app: What is guarded.
            token: What a request must know.
            hosts: The `host:port` spellings under which browsers reach it.
            cookie: Name of the cookie that holds the token.
        """
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(hosts)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            answer = self._refusal(scope) or self._entry(scope) or self._app
            await answer(scope, receive, _guarded(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.getlist("host") not in [[host] for host in self._hosts]:
            return _refused(
                HTTPStatus.MISDIRECTED_REQUEST, "This name does not lead to the dashboard."
            )
        if not self._origins.issuperset(headers.getlist("origin")):
            return _refused(HTTPStatus.FORBIDDEN, "Another site may not ask here.")
        if scope["method"] not in _METHODS:
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, "The dashboard only shows.")
        given = self._given(scope, headers)
        if given is None or not hmac.compare_digest(given.encode(), self._token):
            text = "Open the URL that the command printed: it holds the token."
            return _refused(HTTPStatus.FORBIDDEN, text, more=_AGAIN if given is None else "")
        return None

    def _entry(self, scope: Scope) -> Response | None:
        """The first visit: the token moves from the URL into a cookie."""
        if not _tokens(scope):
            return None
        answer = RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)
        answer.set_cookie(
            *(self._cookie, self._token.decode()), path="/", httponly=True, samesite="strict"
        )
        return answer

    def _given(self, scope: Scope, headers: Headers) -> str | None:
        if tokens := _tokens(scope):
            return tokens[0] if len(tokens) == 1 else ""
        cookies = cookie_parser("; ".join(headers.getlist("cookie")))
        return cookies.get(self._cookie)


def _tokens(scope: Scope) -> list[str]:
    """The tokens in the URL; only that of the first page holds one."""
    if scope["path"] != "/" or scope["method"] != "GET":
        return []
    query = scope["query_string"].decode("latin-1")
    return parse_qs(query, keep_blank_values=True, max_num_fields=100).get("token", [])


def _refused(status: HTTPStatus, text: str, *, more: str = "") -> Response:
    return HTMLResponse(_PAGE.format(title=status.phrase, text=text, more=more), status)


def _guarded(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
