"""The reference filesystem server behind the gateway: governed with no hook installed."""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from clients.conftest import SERVER
from processes import big, counted

pytestmark = pytest.mark.clients

Run = Callable[..., subprocess.CompletedProcess[str]]
LOG = big("compile", 1_700)
RULE = """
[[invariant]]
id = "tests-stay"
when = { path_glob = "tests/**" }
message = "tests are not changed"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a rule, a small file and one of 20,000 tokens."""
    found = tmp_path / "project"
    for name in (".osiris", "tests", "src"):
        (found / name).mkdir(parents=True)
    (found / ".osiris" / "invariants.toml").write_text(RULE)
    (found / "small.txt").write_text("a few words")
    (found / "big.log").write_text(LOG)
    return found


def wrapped(folder: Path) -> list[str]:
    return [*SERVER, "wrap", "--", "mcp-server-filesystem", str(folder)]


def told(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


def assert_governed(found: dict[str, Any], folder: Path) -> None:
    tools = {tool["name"]: tool for tool in found["tools"]}
    assert {"read_text_file", "write_file", "osiris_recall"} <= set(tools)
    assert not any("outputSchema" in tool for tool in found["tools"])
    assert told(found["small"]) == "a few words"
    assert found["small"]["structuredContent"] == {"content": "a few words"}
    assert counted(LOG) > 20_000
    assert counted(told(found["big"])) < 400
    assert "osiris_recall" in told(found["big"])
    assert found["recalled"] == LOG
    assert [result["isError"] for result in found["failed"]] == [True] * 4
    assert all("ENOENT" in told(result) for result in found["failed"][:3])
    assert "ENOENT" not in found["failed"][3]["content"][0]["text"][:40]
    assert found["blocked"]["isError"] is True
    assert "tests-stay: tests are not changed" in told(found["blocked"])
    assert not (folder / "tests" / "test_a.py").exists()
    assert (folder / "src" / "a.py").read_text() == "x"


@pytest.mark.parametrize("kind", ["v1", "v2-legacy", "v2-auto"])
def test_a_typescript_client_is_governed(run: Run, folder: Path, kind: str) -> None:
    done = run(
        "node", "gateway.mjs", kind, str(folder), *wrapped(folder), CLAUDE_PROJECT_DIR=str(folder)
    )

    assert done.returncode == 0, done.stderr
    assert_governed(json.loads(done.stdout), folder)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_python_client_is_governed(
    environment: Mapping[str, str], folder: Path, mode: Any
) -> None:
    command = wrapped(folder)
    server = StdioServerParameters(
        command=command[0],
        args=command[1:],
        env={**environment, "CLAUDE_PROJECT_DIR": str(folder)},
    )
    async with Client(server, mode=mode) as client:
        assert_governed(await session(client, folder), folder)


async def session(client: Client, folder: Path) -> dict[str, Any]:
    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        result = await client.call_tool(tool, arguments)
        return result.model_dump(by_alias=True, exclude_none=True)

    async def recalled(ref: str) -> str:
        pages: list[str] = []
        args: dict[str, Any] = {"unit": "bytes", "first": 0, "last": 1 << 30}
        while True:
            reply = (await call("osiris_recall", ref=ref, op="range", args=args))[
                "structuredContent"
            ]
            pages.append(reply["text"])
            if "next_cursor" not in reply:
                return "".join(pages)
            args = {**args, "cursor": reply["next_cursor"]}

    tools = (await client.list_tools()).tools
    return {
        "tools": [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools],
        "small": await call("read_text_file", path=str(folder / "small.txt")),
        "big": await call("read_text_file", path=str(folder / "big.log")),
        "recalled": await recalled("r1"),
        "failed": [await call("read_text_file", path=str(folder / "none.txt")) for _ in range(4)],
        "blocked": await call("write_file", path=str(folder / "tests/test_a.py"), content="x"),
        "written": await call("write_file", path=str(folder / "src/a.py"), content="x"),
    }
