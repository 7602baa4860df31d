"""Whoever may not ask gets nothing: wrong host, origin or token, on every path however spelt."""

from __future__ import annotations

import pytest

from asking import COOKIE, HOST, TOKEN, Browser, every_page

WRONG_HOSTS = (
    *("evil.example", "evil.example:8770", "127.0.0.1", "127.0.0.1:8771", "127.0.0.1:8770.", ""),
    *("LOCALHOST:8770", "Localhost:8770", "localhost.:8770", "localhost:08770", "localhost:8770 "),
    *("127.1:8770", "0x7f.1:8770", "2130706433:8770", "127.0.0.2:8770", "0.0.0.0:8770"),
    *(
        "[::1]:8770",
        "127.0.0.1.evil.example:8770",
        "localhost:8770@evil.example",
        "u@localhost:8770",
    ),
    *("127.0.0.1:8770,evil.example", "127.0.0.1:8770/evil", "ⓛocalhost:8770"),
)
WRONG_ORIGINS = (
    *("http://evil.example", "null", "", "https://127.0.0.1:8770", "http://127.0.0.1"),
    *("http://127.0.0.1:8771", "HTTP://127.0.0.1:8770", "http://LOCALHOST:8770"),
    *("http://localhost.:8770", "http://127.0.0.1:8770/", "http://127.0.0.1:8770.evil.example"),
    *("http://127.0.0.1:8770 http://evil.example", "file://", "http://u@127.0.0.1:8770"),
)
WRONG_COOKIES = (
    *(
        None,
        "",
        "handoff_memory_8770=",
        "handoff_memory_8770=wrong",
        f"handoff_memory_8771={TOKEN}",
    ),
    *(f"handoff_memory_8770={TOKEN}x", f"handoff_memory_8770={TOKEN.upper()}", f"token={TOKEN}"),
    *(f"handoff_memory_8770={TOKEN}; handoff_memory_8770=wrong", "handoff_memory_8770=\xfc"),
)
ODD_PATHS = (
    *("//", "///memory", "/%2e%2e/", "/..;/", "/.;/log", "/%2e%2e%2f", "/..%2f..%2fetc/passwd"),
    *("/%5c..%5c", "/memory/..", "/./log", "/LOG", "/log/", "/log%00", "/%00", "/%ff", "/log%20"),
    *("*", "", "http://127.0.0.1:8770/log", "//evil.example/", "/static/../gate.py"),
    *("/static/%2e%2e/gate.py", "/static//style.css", "/events", "/events/", "/favicon.ico"),
    *("/integrity/verify", "/integrity/audit?task=x", "/memory/value?name=service/cart/owner"),
)


SERVED = {"/static//style.css", "/events", ""}


@pytest.fixture
def paths(played: dict[str, str]) -> list[str]:
    return [*every_page(played), *ODD_PATHS, f"/?token={TOKEN}"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_a_wrong_host_is_refused_on_every_path(
    browser: Browser, paths: list[str], method: str
) -> None:
    for host in WRONG_HOSTS:
        for path in paths:
            answer = await browser(path, host=host, method=method)

            assert (answer.status, "set-cookie" in answer.headers) == (421, False), (host, path)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_a_wrong_origin_is_refused_on_every_path(
    browser: Browser, paths: list[str], method: str
) -> None:
    for origin in WRONG_ORIGINS:
        for path in paths:
            answer = await browser(path, origin=origin, method=method)

            assert (answer.status, "set-cookie" in answer.headers) == (403, False), (origin, path)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_a_wrong_token_is_refused_on_every_path(
    browser: Browser, paths: list[str], method: str
) -> None:
    for cookie in WRONG_COOKIES:
        for path in paths[:-1]:
            answer = await browser(path, cookie=cookie, method=method)

            assert (answer.status, "set-cookie" in answer.headers) == (403, False), (cookie, path)


async def test_no_host_or_two_hosts_are_refused(browser: Browser) -> None:
    none = await browser("/", host=None)
    two = await browser("/", more=[("host", HOST)])
    origins = await browser("/", origin=f"http://{HOST}", more=[("origin", "http://evil.example")])

    assert [none.status, two.status, origins.status] == [421, 421, 403]


@pytest.mark.parametrize("path", sorted({*ODD_PATHS} - SERVED))
async def test_an_odd_path_leads_nowhere_even_for_who_may_ask(browser: Browser, path: str) -> None:
    answer = await browser(path)

    assert answer.status in {400, 404, 405, 503}
    assert "location" not in answer.headers


async def test_a_refusal_says_nothing_of_the_memory(
    browser: Browser, played: dict[str, str]
) -> None:
    for path in every_page(played):
        answer = await browser(path, cookie=None)

        assert "cart" not in answer.text
        assert played["claimed"] not in answer.text


async def test_the_first_url_gives_a_cookie_and_drops_the_token(browser: Browser) -> None:
    answer = await browser(f"/?token={TOKEN}", cookie=None)

    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(COOKIE + ";")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie


@pytest.mark.parametrize(
    "query", ["token=", "token=wrong", f"token={TOKEN}x", f"token={TOKEN}&token=wrong", "token=%ff"]
)
async def test_a_wrong_token_in_the_url_is_refused_whatever_the_cookie(
    browser: Browser, query: str
) -> None:
    answer = await browser(f"/?{query}")

    assert answer.status == 403
    assert "set-cookie" not in answer.headers


async def test_a_token_counts_on_the_first_page_only(browser: Browser) -> None:
    answers = [
        await browser(f"{path}?token={TOKEN}", cookie=None)
        for path in ("/log", "//", "//evil.example/", "/handoffs", "/events")
    ]

    assert {answer.status for answer in answers} == {403}


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get"])
async def test_other_methods_are_refused(browser: Browser, method: str) -> None:
    assert (await browser("/", method=method)).status == 405


@pytest.mark.parametrize("path", ["/", "/memory", "/handoffs", "/log", "/events"])
async def test_pages_are_not_posted_to(browser: Browser, played: dict[str, str], path: str) -> None:
    assert (await browser(path, method="POST")).status == 405


async def test_every_answer_forbids_scripts_frames_and_caches(
    browser: Browser, played: dict[str, str]
) -> None:
    paths = [*every_page(played), "/nowhere", "/memory/record?name=a/b", f"/?token={TOKEN}"]

    answers = [await browser(path) for path in paths] + [await browser("/", cookie=None)]

    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


async def test_its_own_pages_may_ask_under_both_names(
    browser: Browser, played: dict[str, str]
) -> None:
    for host in (HOST, "localhost:8770"):
        answer = await browser(
            "/integrity/verify", method="POST", host=host, origin=f"http://{host}"
        )

        assert (answer.status, answer.headers["location"]) == (303, "/integrity")
