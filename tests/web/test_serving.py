"""The command: it listens on this machine alone, prints a URL that works, and ends when told to."""

from __future__ import annotations

import http.client
import http.cookiejar
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.web import serving
from shell import Shell

pytestmark = pytest.mark.processes

TOKEN = "t" * 40


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(
        tmp_path / "memory.db",
        {"MEMORY_DB": str(tmp_path / "memory.db"), "OSIRIS_HOME": str(tmp_path / "home")},
    )


@contextmanager
def dashboard(shell: Shell, *args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with shell.start("dashboard", "--port", "0", *args) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_the_printed_url_leads_in_and_the_port_listens_on_loopback_alone(shell: Shell) -> None:
    assert shell("write", "a/b", "1").exit_code == 0
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()),
    )
    with dashboard(shell) as (process, url):
        page = opener.open(url, timeout=20).read().decode()
        again = opener.open(url.split("?", maxsplit=1)[0] + "log", timeout=20).read().decode()

        process.send_signal(signal.SIGINT if sys.platform != "win32" else signal.SIGTERM)
        assert process.wait(20) == 0 or sys.platform == "win32"

    assert url.startswith("http://127.0.0.1:")
    assert "<h1>Overview</h1>" in page
    assert "a/b@1" in again


def test_a_stream_does_not_keep_it_from_ending(shell: Shell) -> None:
    assert shell("write", "a/b", "1").exit_code == 0
    with dashboard(shell) as (process, url):
        base, _, token = url.partition("/?token=")
        port = int(base.rpartition(":")[2])
        stream = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        stream.request("GET", "/events", headers={"cookie": f"handoff_memory_{port}={token}"})
        answer = stream.getresponse()
        assert answer.readline() == b"event: check\n"

        process.terminate()
        process.wait(20)
        answer.read()
        stream.close()

    assert process.stderr is not None
    assert process.stderr.closed


EVERY = "0.0.0.0"  # noqa: S104 - that is what is refused


@pytest.mark.parametrize("host", [EVERY, "::", "", "no-such-host.invalid"])
def test_an_address_that_names_nobody_is_refused(shell: Shell, tmp_path: Path, host: str) -> None:
    (tmp_path / "token").write_text(TOKEN)

    result = shell("dashboard", "--host", host, "--token-file", str(tmp_path / "token"))

    assert result.exit_code == 2
    assert "address" in result.stderr


def test_another_address_is_refused_without_a_token_of_ones_own(shell: Shell) -> None:
    result = shell("dashboard", "--host", "192.0.2.1")

    assert result.exit_code == 2
    assert "can be reached from other machines" in result.stderr
    assert "--token-file" in result.stderr


@pytest.mark.parametrize("token", ["short", "", "é" * 40, "x" * 20 + "\n" + "x" * 20])
def test_a_weak_token_is_refused(shell: Shell, tmp_path: Path, token: str) -> None:
    (tmp_path / "token").write_text(token, "utf-8")

    result = shell("dashboard", "--host", "192.0.2.1", "--token-file", str(tmp_path / "token"))

    assert result.exit_code == 2
    assert "32 plain characters" in result.stderr


def test_a_token_of_ones_own_is_the_one_that_is_asked_for(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN + "\n")
    with dashboard(shell, "--token-file", str(tmp_path / "token"), "--json") as (_, printed):
        assert printed.endswith(f'/?token={TOKEN}"}}')


def test_a_port_that_is_taken_is_told(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        result = shell("dashboard", "--port", str(port))

    assert result.exit_code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in result.stderr


def test_the_script_is_the_verb(shell: Shell) -> None:
    result = shell.script("osiris-dashboard", "--help")

    assert result.returncode == 0
    assert "--token-file" in result.stdout


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("192.0.2.1", False),
    ],
)
def test_what_is_loopback(host: str, expected: bool) -> None:
    assert serving.is_loopback(host) is expected


def test_a_name_that_stands_for_all_is_none() -> None:
    with pytest.raises(InvalidArgumentError, match="stands for every address"):
        serving.is_loopback(EVERY)
