"""Each setting of governor.md §11 is read, has its default, and changes what happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from actors import Clock, Tools
from handoff_memory.app import Makers, open_app
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.server.build import build_server
from handoff_memory.settings import read_settings
from processes import big, served


def test_the_defaults_are_those_of_the_specification(tmp_path: Path) -> None:
    found = read_settings(environ={"HOME": str(tmp_path)})

    assert found.home == Path("~/.osiris").expanduser()
    assert found.database == found.home / "osiris.db"
    assert found.roots == ()
    assert (found.cache_ttl_s, found.prune_threshold_tokens) == (300, 40_000)
    assert (found.prune_mode, found.dispatch_only, found.dotted) == ("cache_ttl", False, False)
    assert (found.tools, found.durable, found.limits.value_bytes) == ("all", True, 1 << 20)


@pytest.mark.parametrize(
    ("name", "value", "field", "expected"),
    [
        ("OSIRIS_CACHE_TTL_S", "60", "cache_ttl_s", 60),
        ("OSIRIS_PRUNE_THRESHOLD_TOKENS", "1000", "prune_threshold_tokens", 1000),
        ("OSIRIS_PRUNE_MODE", "aggressive", "prune_mode", "aggressive"),
        ("OSIRIS_STUB_TOKENS", "2000", "stub_tokens", 2000),
        ("OSIRIS_DISPATCH_ONLY", "1", "dispatch_only", True),
        ("OSIRIS_TOOL_NAMES", "dotted", "dotted", True),
        ("MEMORY_TOOLS", "governor", "tools", "governor"),
        ("MEMORY_DURABILITY", "relaxed", "durable", False),
        ("AGENT_ID", "scout", "agent", "scout"),
        ("MEMORY_PROJECT", "p", "project", "p"),
        ("MEMORY_DB", "/somewhere/m.db", "database", Path("/somewhere/m.db")),
        ("OSIRIS_HOME", "/somewhere", "database", Path("/somewhere/osiris.db")),
        ("OSIRIS_ROOTS", "/a; /b;", "roots", (Path("/a"), Path("/b"))),
        ("OSIRIS_ROOTS", "/a:b", "roots", (Path("/a:b"),)),
    ],
)
def test_a_variable_is_read(name: str, value: str, field: str, expected: Any) -> None:
    assert getattr(read_settings(environ={name: value}), field) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OSIRIS_CACHE_TTL_S", "0"),
        ("OSIRIS_CACHE_TTL_S", "five"),
        ("OSIRIS_PRUNE_THRESHOLD_TOKENS", "-1"),
        ("OSIRIS_PRUNE_MODE", "eager"),
        ("OSIRIS_STUB_TOKENS", "20"),
        ("OSIRIS_DISPATCH_ONLY", "yes"),
        ("OSIRIS_TOOL_NAMES", "camel"),
        ("MEMORY_TOOLS", "none"),
    ],
)
def test_a_wrong_value_is_refused_and_names_the_variable(name: str, value: str) -> None:
    with pytest.raises(InvalidArgumentError, match=name):
        read_settings(environ={name: value})


@pytest.mark.parametrize(("ttl_s", "leaves"), [("10", True), ("300", False)])
async def test_the_lifetime_of_the_cache_decides_whether_results_leave(
    ttl_s: str, *, leaves: bool, tmp_path: Path, clock: Clock, makers: Makers
) -> None:
    environ = {"OSIRIS_CACHE_TTL_S": ttl_s, "OSIRIS_HOME": str(tmp_path), "AGENT_ID": "scout"}
    async with open_app(read_settings(environ), makers) as app, Client(build_server(app)) as client:
        call = Tools(client)
        await call("osiris_plan", objective="x")
        await call("osiris_observe", tool="Bash", args={"command": "a"}, result=big("one"))
        clock.forward(30)

        reply = await call("osiris_observe", tool="Read")

    assert ("prune" in reply) is leaves


@pytest.mark.processes
async def test_only_what_lies_below_the_roots_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "f.txt"
    file.write_text("text")
    async with served(tmp_path / "1") as call:
        await call("osiris_plan", objective="x")
        refusal = await call.refused("osiris_observe", path=str(file))
    async with served(tmp_path / "2", OSIRIS_ROOTS=str(tmp_path / "a")) as call:
        await call("osiris_plan", objective="x")
        reply = await call("osiris_observe", path=str(file))

    assert refusal["code"] == "path_outside_roots"
    assert reply["ok"]


@pytest.mark.processes
async def test_reports_are_written_below_the_home_folder(tmp_path: Path) -> None:
    async with served(tmp_path, OSIRIS_HOME=str(tmp_path / "elsewhere")) as call:
        await call("osiris_plan", task="t1", objective="x")
        await call("osiris_checkpoint", mode="report")

    assert (tmp_path / "elsewhere" / "reports" / "t1.md").is_file()
    assert not (tmp_path / "home").exists()
