"""The gateway as clients start it: two processes, real pipes, both eras."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters

from handoff_memory.app import is_alive, open_local
from handoff_memory.services import verify
from handoff_memory.settings import read_settings

pytestmark = pytest.mark.processes

SERVER = [sys.executable, str(Path(__file__).with_name("wrapped.py"))]
WRAP = [sys.executable, "-m", "handoff_memory", "wrap"]
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    work = tmp_path / "work"
    work.mkdir()
    return {
        **os.environ,
        "MEMORY_DB": str(tmp_path / "memory.db"),
        "OSIRIS_HOME": str(tmp_path / "home"),
        "CLAUDE_PROJECT_DIR": str(work),
        "CLAUDE_CODE_SESSION_ID": "",
        "MEMORY_DURABILITY": "relaxed",
        "AGENT_ID": "scout",
    }


# --- clients of the SDK ------------------------------------------------------------------------


async def elicited(ctx: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada"})


def client(command: list[str], env: dict[str, str], era: Any) -> Client:
    server = StdioServerParameters(command=command[0], args=command[1:], env=env)
    return Client(server, mode=era, elicitation_callback=elicited)


async def tools_of(client: Client) -> list[dict[str, Any]]:
    found: list[types.Tool] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return [tool.model_dump(exclude={"output_schema"}) for tool in found]


async def error_of(asking: Any) -> tuple[int, str, Any]:
    with pytest.raises(MCPError) as caught:
        await asking
    return caught.value.code, caught.value.message, caught.value.data


async def seen_by(client: Client) -> dict[str, Any]:
    """All that a client can find out of the server, but for big results."""
    progress: list[Any] = []

    async def advanced(*told: Any) -> None:
        progress.append(told)

    reference = types.PromptReference(name="greet")
    with anyio.move_on_after(5):
        asked = client.call_tool("slow", {"wait_s": 0.1}, progress_callback=advanced)
        slow = await asked
    answers = {
        "slow": slow,
        "resources": await client.list_resources(),
        "templates": await client.list_resource_templates(),
        "resource": await client.read_resource("test://a"),
        "prompts": await client.list_prompts(),
        "prompt": await client.get_prompt("greet", {"who": "Ada"}),
        "completion": await client.complete(reference, {"name": "who", "value": "w"}),
        "echo": await client.call_tool("echo", {"text": "héé"}),
        "typed": await client.call_tool("typed", {}),
        "picture": await client.call_tool("picture", {}),
        "fail": await client.call_tool("fail", {}),
        "ask": await client.call_tool("ask", {}),
    }
    return {
        **{name: answer.model_dump() for name, answer in answers.items()},
        "server": client.server_info,
        "version": client.protocol_version,
        "instructions": client.instructions,
        "capabilities": client.server_capabilities,
        "progress": progress,
        "crash": await error_of(client.call_tool("crash", {})),
        "missing": await error_of(client.read_resource("test://missing")),
        "tools": await tools_of(client),
    }


@pytest.mark.parametrize("kind", ["both eras", "legacy"])
async def test_a_client_finds_behind_the_gateway_what_it_finds_before_it(
    env: dict[str, str], era: Any, kind: str
) -> None:
    server = [*SERVER, kind]
    async with client(server, env, era) as bare:
        before = await seen_by(bare)

    async with client([*WRAP, "--", *server], env, era) as wrapped:
        behind = await seen_by(wrapped)

    assert before["progress"]
    assert behind["tools"].pop()["name"] == "osiris_recall"
    assert behind == before


@pytest.mark.parametrize("kind", ["both eras", "legacy"])
async def test_what_is_big_is_kept_outside_and_what_loops_ends(
    env: dict[str, str], era: Any, kind: str
) -> None:
    async with client([*WRAP, "--", *SERVER, kind], env, era) as wrapped:
        big = await wrapped.call_tool("big", {})
        args = {"pattern": "line 1999:"}
        found = await wrapped.call_tool("osiris_recall", {"ref": "r1", "op": "grep", "args": args})
        typed = await wrapped.call_tool("typed", {"rows": 2_000})
        fails = [await wrapped.call_tool("fail", {"path": "x"}) for _ in range(4)]

    assert big.content[0].text.startswith("[handoff-memory kept this result outside")
    assert found.structured_content["text"].endswith("line 1999: module 4 did its work")
    assert typed.structured_content is None
    assert [len(fail.content) for fail in fails[:2]] == [1, 1]
    assert fails[2].content[0].text == "no such file: x"
    assert "no such file" not in fails[3].content[0].text


async def test_word_of_a_changed_list_arrives(env: dict[str, str]) -> None:
    told: list[str] = []

    async def heard(message: Any) -> None:
        told.append(getattr(message, "method", ""))

    server = StdioServerParameters(command=WRAP[0], args=[*WRAP[1:], "--", *SERVER], env=env)
    async with Client(server, mode="legacy", message_handler=heard) as wrapped:
        await wrapped.call_tool("notify", {})

    assert told == ["notifications/tools/list_changed"]


# --- lines -------------------------------------------------------------------------------------


class Peer:
    """A client that writes and reads lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._last = 0

    def send(self, method: str, *, is_request: bool = True, **params: Any) -> int:
        self._last += 1
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if is_request:
            message["id"] = self._last
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self._last

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def greet(self) -> dict[str, Any]:
        self.send("initialize", **HELLO)
        found = self.read()
        self.send("notifications/initialized", is_request=False)
        return found


@contextmanager
def started(*command: str, env: dict[str, str]) -> Iterator[Peer]:
    process = subprocess.Popen(
        [*WRAP, "--", *command],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            yield Peer(process)
        finally:
            process.kill()


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_a_server_without_tools_has_the_one(env: dict[str, str]) -> None:
    with started(*SERVER, "bare", env=env) as peer:
        greeting = peer.greet()
        peer.send("tools/list")
        tools = peer.read()["result"]["tools"]

    assert greeting["result"]["capabilities"]["tools"] == {}
    assert [tool["name"] for tool in tools] == ["osiris_recall"]


def test_a_cancelled_call_is_cancelled_in_the_server(env: dict[str, str]) -> None:
    with started(*SERVER, env=env) as peer:
        peer.greet()
        request_id = peer.send("tools/call", name="slow", _meta={"progressToken": "p"})
        assert peer.read()["method"] == "notifications/progress"
        peer.send("notifications/cancelled", is_request=False, requestId=request_id)

        assert peer.process.stderr
        assert peer.process.stderr.readline() == b"cancelled\n"


def test_a_huge_result_holds_nobody_up(env: dict[str, str]) -> None:
    with started(*SERVER, env=env) as peer:
        peer.greet()
        huge = peer.send("tools/call", name="huge", arguments={"size_bytes": 6 << 20})
        others = [peer.send("tools/call", name="echo", arguments={"n": n}) for n in range(3)]
        others.append(peer.send("ping"))
        answers = [peer.read() for _ in range(5)]

    assert {answer["id"] for answer in answers[:4]} == set(others)
    assert answers[4]["id"] == huge
    assert len(json.dumps(answers[4])) < 5_000


@pytest.mark.parametrize("status", [0, 7])
def test_the_gateway_ends_with_the_status_of_its_server(env: dict[str, str], status: int) -> None:
    text = (
        f"import sys; print('last words', flush=True); sys.stderr.write('why'); sys.exit({status})"
    )
    with started(*script(text), env=env) as peer:
        out, err = peer.process.communicate(timeout=20)

        assert peer.process.returncode == status
        assert out.split() == [b"last", b"words"]
        assert err == b"why"


@posix
def test_a_server_that_is_killed_ends_the_gateway(env: dict[str, str]) -> None:
    text = "import os; os.kill(os.getpid(), 9)"
    with started(*script(text), env=env) as peer:
        assert peer.process.wait(20) == 128 + signal.SIGKILL


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_reaches_the_server(env: dict[str, str], name: str) -> None:
    number = getattr(signal, name)
    text = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(3))\n"
        "print('{}', flush=True)\n"
        "time.sleep(60)\n"
    )
    with started(*script(text), env=env) as peer:
        assert peer.read() == {}
        peer.process.send_signal(number)

        assert peer.process.wait(20) == 3


def test_a_client_that_leaves_gets_what_it_asked_for_and_ends_both(env: dict[str, str]) -> None:
    with started(*SERVER, env=env) as peer:
        peer.greet()
        peer.send("tools/call", name="big")
        out, _ = peer.process.communicate(timeout=20)

        assert b"kept this result outside" in out
        assert peer.process.returncode == 0


@posix
def test_a_server_that_does_not_end_is_ended(env: dict[str, str]) -> None:
    text = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print(os.getpid(), flush=True)\n"
        "while True: time.sleep(60)\n"
    )
    with started(*script(text), env=env) as peer:
        assert peer.process.stdout
        assert peer.process.stdin
        child = int(peer.process.stdout.readline())
        peer.process.stdin.close()

        assert peer.process.wait(20) == 128 + signal.SIGKILL
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_no_program_of_that_name(env: dict[str, str]) -> None:
    with started("no-such-program-anywhere", env=env) as peer:
        out, err = peer.process.communicate(timeout=20)

        assert peer.process.returncode == 127
        assert (out, err.strip()) == (b"", b"error: there is no program 'no-such-program-anywhere'")


def test_a_wrapped_call_makes_no_twin_of_its_agent(env: dict[str, str]) -> None:
    with started(*SERVER, env=env) as peer:
        peer.greet()
        peer.send("tools/call", name="big")
        peer.read()
        with open_local(read_settings(env)) as local:
            rows = local.read(lambda tx: tx.all("SELECT * FROM sessions WHERE ended_at IS NULL"))
            assert local.read(verify.verify)["ok"] is True

    assert [row for row in rows if is_alive(row)] == []


def test_a_database_locked_for_ever_lets_calls_pass(env: dict[str, str]) -> None:
    with started(*SERVER, env=env) as peer:
        peer.greet()
        peer.send("tools/call", name="echo", arguments={"text": "a"})
        peer.read()
        with lock(env["MEMORY_DB"]):
            begun = time.monotonic()
            peer.send("tools/call", name="big")
            answer = peer.read()
            took_s = time.monotonic() - begun

    assert len(answer["result"]["content"][0]["text"]) > 60_000
    assert took_s < 20  # a bound that no load breaks, well below any client's patience


@contextmanager
def lock(path: str) -> Iterator[None]:
    """Hold the write lock from another process, as a stuck writer does."""
    text = (
        "import sys, sqlite3\n"
        f"db = sqlite3.connect({path!r}, isolation_level=None)\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    holder = subprocess.Popen(script(text), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout
        assert holder.stdin
        holder.stdout.readline()
        yield
        holder.stdin.close()
