from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from handoff_memory.hooks import capabilities
from handoff_memory.hooks.event import KINDS
from handoff_memory.settings import Places, read_places
from handoff_memory.setup.clients import CLIENTS, Client, Shape
from handoff_memory.setup.commands import Launch
from handoff_memory.setup.entries import groups, snippet

LAUNCH = Launch("/opt/a b/python", ("-m", "x"), {"AGENT_ID": "é", "MEMORY_DB": '/x "y".db'})
YAML = {"continue", "goose"}


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.key)
def test_a_snippet_is_a_document_of_the_clients_own_kind(client: Client) -> None:
    text = snippet(client, LAUNCH)

    if client.shape in YAML:
        assert text.startswith(f"{client.top}:\n  ")
        assert '/opt/a b/python"' in text
        return
    read = tomllib.loads if client.shape == "codex" else json.loads
    entry = read(text)[client.top]["handoff-memory"]
    command = [LAUNCH.command, *LAUNCH.args]
    assert command in (entry["command"], [entry["command"], *entry.get("args", [])])
    assert LAUNCH.env in (entry.get("env"), entry.get("environment"))


def test_yaml_is_written_with_scalars_of_json() -> None:
    assert snippet(CLIENTS["goose"], LAUNCH) == (
        'extensions:\n  handoff-memory:\n    enabled: true\n    type: "stdio"\n'
        '    name: "handoff-memory"\n    cmd: "/opt/a b/python"\n    args: ["-m", "x"]\n'
        '    envs: {"AGENT_ID": "\\u00e9", "MEMORY_DB": "/x \\"y\\".db"}\n    timeout: 300\n'
    )
    assert snippet(CLIENTS["continue"], LAUNCH) == (
        'mcpServers:\n  - name: "handoff-memory"\n    command: "/opt/a b/python"\n'
        '    args: ["-m", "x"]\n'
        '    env: {"AGENT_ID": "\\u00e9", "MEMORY_DB": "/x \\"y\\".db"}\n'
    )


def test_every_shape_has_a_client() -> None:
    assert {client.shape for client in CLIENTS.values()} == set(get_args(Shape))


def test_the_clients_with_hooks_are_those_that_hooks_can_serve() -> None:
    hooked = [client.key for client in CLIENTS.values() if client.hooks]

    assert hooked == list(capabilities.CLIENTS)


@pytest.mark.parametrize("key", capabilities.CLIENTS)
def test_every_event_of_a_client_gets_its_command(key: str) -> None:
    found = groups(CLIENTS[key], lambda kind: f"hook {kind}")

    text = json.dumps(found)
    kinds = capabilities.CLIENTS[key].powers
    assert all(f'"hook {kind}"' in text for kind in kinds)
    assert set(kinds) <= set(KINDS)
    events = [name for power in kinds.values() for name in power.event.split(", ")]
    assert list(found) == events


def test_a_client_without_hooks_gets_none() -> None:
    assert groups(CLIENTS["vscode"], str) == {}


@pytest.mark.parametrize(
    ("system", "key", "path"),
    [
        ("linux", "vscode", "C/Code/User/mcp.json"),
        ("darwin", "vscode", "H/Library/Application Support/Code/User/mcp.json"),
        ("win32", "vscode", "A/Code/User/mcp.json"),
        ("linux", "goose", "C/goose/config.yaml"),
        ("win32", "goose", "A/Block/goose/config/config.yaml"),
        ("win32", "zed", "A/Zed/settings.json"),
        ("darwin", "zed", "C/zed/settings.json"),
        ("linux", "claude-code", "H/.claude.json"),
        ("linux", "gemini", "H/.gemini/settings.json"),
    ],
)
def test_each_system_has_its_places(system: str, key: str, path: str) -> None:
    places = Places(Path("H"), Path("P"), config=Path("C"), appdata=Path("A"), system=system)

    assert CLIENTS[key].files["user"](places) == Path(path)


def test_the_environment_may_move_a_clients_folder(tmp_path: Path) -> None:
    names = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME", "APPDATA")
    env = {name: str(tmp_path / name) for name in (*names, "HOME", "USERPROFILE")}

    places = read_places(env)

    found = {key: client.files["user"](places) for key, client in CLIENTS.items() if client.files}
    assert found["claude-code"] == tmp_path / "CLAUDE_CONFIG_DIR" / ".claude.json"
    assert found["codex"] == tmp_path / "CODEX_HOME" / "config.toml"
    assert found["gemini"] == tmp_path / "GEMINI_CLI_HOME" / ".gemini" / "settings.json"
    assert found["opencode"] == tmp_path / "XDG_CONFIG_HOME" / "opencode" / "opencode.json"
    assert places.appdata == tmp_path / "APPDATA"
    hooks = CLIENTS["claude-code"].hooks
    assert hooks is not None
    assert hooks.files["user"](places) == tmp_path / "CLAUDE_CONFIG_DIR" / "settings.json"
