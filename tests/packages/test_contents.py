"""What stands in packages/: written from the project, and true of it."""

from __future__ import annotations

import importlib.util
import json
import re
import struct
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import jsonschema
import pytest

from handoff_memory import __version__
from handoff_memory.app import App
from handoff_memory.core import packet
from handoff_memory.hooks import claude_code
from handoff_memory.hooks.event import KINDS
from handoff_memory.server.build import NAME
from handoff_memory.server.memory_tools import MemoryTools
from handoff_memory.settings import read_settings

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "packages"
PLUGIN = PACKAGES / "claude-plugin"
COMMAND = re.compile(
    r'sh "\$\{CLAUDE_PLUGIN_ROOT\}/(\S+)" hook (\S+) --client claude-code \|\| exit 0'
)


def document(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("builder", ROOT / "scripts" / "build_packages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_the_packages_say_what_the_project_says(builder: ModuleType) -> None:
    stale = builder.refresh(builder.read_project(), check=True)

    assert stale == [], "run `python scripts/build_packages.py`"
    assert builder.read_project().version == __version__


def test_a_project_that_says_something_new_makes_them_stale(builder: ModuleType) -> None:
    project = builder.read_project()
    newer = type(project)(**{**vars(project), "version": "9.9.9"})

    stale = builder.refresh(newer, check=True)

    assert set(stale) == {
        "claude-plugin/.claude-plugin/plugin.json",
        "claude-plugin/scripts/requirement",
        "npm/package.json",
        "server.json",
    }


def test_the_registry_takes_the_entry() -> None:
    schema = document(Path(__file__).with_name("server.schema.json"))
    jsonschema.Draft202012Validator.check_schema(schema)

    jsonschema.validate(document(PACKAGES / "server.json"), schema)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "handoff-memory"},
        {"description": "x" * 101},
        {"version": "^0.1.0"},
        {"packages": [{"registryType": "pypi", "identifier": "handoff-memory-mcp"}]},
        {"license": "MIT"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_registry_would_refuse(wrong: dict[str, Any]) -> None:
    schema = document(Path(__file__).with_name("server.schema.json"))

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document(PACKAGES / "server.json"), **wrong}, schema)


def test_each_registry_is_shown_who_owns_the_name() -> None:
    name = document(PACKAGES / "server.json")["name"]

    assert f"<!-- mcp-name: {name} -->" in (ROOT / "README.md").read_text("utf-8")
    assert document(PACKAGES / "npm" / "package.json")["mcpName"] == name


def test_the_variables_that_are_asked_for_are_read() -> None:
    variables = document(PACKAGES / "server.json")["packages"][0]["environmentVariables"]
    environ = {variable["name"]: "elsewhere" for variable in variables}

    settings = read_settings(environ)

    assert settings.agent == "elsewhere"
    assert settings.database.name == "elsewhere"


def test_each_hook_gets_an_event_that_it_understands() -> None:
    for event, entries in document(PLUGIN / "hooks" / "hooks.json")["hooks"].items():
        command = COMMAND.fullmatch(entries[0]["hooks"][0]["command"])
        assert command is not None
        assert (PLUGIN / command[1]).is_file()
        kind = next(kind for kind in KINDS if kind == command[2])
        assert claude_code.read(kind, {"hook_event_name": event}) is not None


def test_the_plugin_names_the_server_as_the_server_does() -> None:
    (name,) = document(PLUGIN / ".mcp.json")["mcpServers"]

    assert name == NAME


async def test_the_skill_speaks_of_what_there_is(
    serve: Callable[..., AbstractAsyncContextManager[App]],
) -> None:
    text = (PLUGIN / "skills" / "handoff" / "SKILL.md").read_text("utf-8")
    async with serve() as app:
        tools = MemoryTools(app).table
    arguments = {name for tool in tools.values() for name in tool.arguments.model_fields}
    replies = {"stale"}

    said = set(re.findall(r"`([^`]+)`", text))

    assert said <= {*tools, *arguments, *get_args(packet.Status), *replies}
    assert {"handoff_pickup", "handoff_create"} <= said


def test_the_icon_has_the_size_that_the_directory_asks_for() -> None:
    head = (PLUGIN / ".claude-plugin" / "icon.png").read_bytes()[:24]

    width, height = struct.unpack(">II", head[16:])

    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert 512 <= width == height <= 2048
