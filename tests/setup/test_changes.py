from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from handoff_memory.core.errors import ClientFileError
from handoff_memory.settings import Places
from handoff_memory.setup import changes, files, jsonc
from handoff_memory.setup.changes import Change
from handoff_memory.setup.clients import CLIENTS, Client, Scope
from handoff_memory.setup.commands import Launch, hook

posix = pytest.mark.skipif(sys.platform == "win32", reason="no modes, no symlinks")
EDITED = [client for client in CLIENTS.values() if client.edited]
LAUNCH = Launch('/opt/it\'s "here"/python', ("serve",), {"AGENT_ID": "a", "MEMORY_DB": "/x/é.db"})
CASES = [(client, scope) for client in EDITED for scope in client.scopes]

EXISTING = {
    "claude-code": (
        '{\n  "numStartups": 3,\n  "mcpServers": {"other": {"command": "x"}},\n  "z": []\n}'
    ),
    "codex": (
        '# mine\nmodel = "gpt"\n\n[mcp_servers.other]\ncommand = "x" # keep\n\n'
        "[features]\nx = true\n"
    ),
    "gemini": (
        '{\r\n\t// my theme\r\n\t"theme": "dark",\r\n\t"hooks": {\r\n\t\t"BeforeTool": [\r\n'
        '\t\t\t{ "matcher": "x", "hooks": [{ "type": "command", "command": "lint" }], },\r\n'
        "\t\t],\r\n\t},\r\n}\r\n"
    ),
    "cursor": '{\n  "mcpServers":{}\n}\n',
    "vscode": (
        '\ufeff{\n    "servers": {\n        // one\n        "other": { "url": "u" }, // two\n'
        '    },\n    "inputs": []\n}\n'
    ),
}
HOOKS = {
    "claude-code": (
        '{\n  "permissions": {"allow": ["Bash(ls)"]},\n  "hooks": {\n    "PreToolUse": [\n'
        '      {"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}\n'
        "    ]\n  }\n}\n"
    ),
    "codex": '{"hooks": {"Stop": []}}',
    "cursor": (
        '{\n  "version": 1,\n  "hooks": {\n    "preToolUse": [\n      {"command": "check"}\n'
        "    ]\n  }\n}\n"
    ),
}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    home = tmp_path / "a home"
    home.mkdir()
    project = tmp_path / "project"
    project.mkdir()
    return Places(home=home, project=project, config=home / ".config", appdata=home / "AppData")


def ours(client: Client, scope: Scope, places: Places, launch: Launch = LAUNCH) -> list[Change]:
    return changes.installing(client, places, scope, launch, command(client))


def command(client: Client, python: str = "/opt/a b/python") -> Callable[[str], str]:
    return lambda kind: hook(
        Path(python), kind, client=client.key, agent="a", database=Path("/x y/m.db"), dialect="sh"
    )


def carry_out(settled: list[Change]) -> list[str]:
    for change in settled:
        changes.carry_out(change)
    return [change.outcome for change in settled]


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def write_existing(client: Client, scope: Scope, places: Places) -> None:
    texts = {client.files[scope](places): EXISTING[client.key]}
    if client.hooks and client.key in HOOKS:
        texts[client.hooks.files[scope](places)] = HOOKS[client.key]
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


@pytest.mark.parametrize(("client", "scope"), CASES, ids=lambda v: getattr(v, "key", v))
def test_a_file_with_a_life_of_its_own_is_restored_to_the_byte(
    client: Client, scope: Scope, places: Places, tmp_path: Path
) -> None:
    write_existing(client, scope, places)
    before = tree(tmp_path)

    done = carry_out(ours(client, scope, places))
    installed = tree(tmp_path)
    again = carry_out(ours(client, scope, places))

    assert set(done) == {"changed"}
    assert set(again) == {"unchanged"}
    assert tree(tmp_path) == installed
    assert set(carry_out(changes.uninstalling(client, places, scope))) == {"restored"}
    assert tree(tmp_path) == before


@pytest.mark.parametrize(("client", "scope"), CASES, ids=lambda v: getattr(v, "key", v))
def test_what_was_made_goes_again(
    client: Client, scope: Scope, places: Places, tmp_path: Path
) -> None:
    client.files[scope](places).parent.parent.mkdir(parents=True, exist_ok=True)
    folder = client.files[scope](places).parent
    if not folder.name.startswith("."):
        folder.mkdir(exist_ok=True)
    before = tree(tmp_path)

    assert set(carry_out(ours(client, scope, places))) == {"created"}
    assert set(carry_out(changes.uninstalling(client, places, scope))) == {"removed"}

    assert tree(tmp_path) == before
    assert set(carry_out(changes.uninstalling(client, places, scope))) == {"unchanged"}


@pytest.mark.parametrize(("client", "scope"), CASES, ids=lambda v: getattr(v, "key", v))
def test_what_others_added_meanwhile_stays(client: Client, scope: Scope, places: Places) -> None:
    write_existing(client, scope, places)
    path = client.files[scope](places)
    carry_out(ours(client, scope, places))
    added = '\n[later]\nx = "y"\n' if client.shape == "codex" else None
    text = path.read_bytes().decode()
    path.write_bytes((text + added if added else jsonc.put(text, ("later",), "y")).encode())

    outcomes = carry_out(changes.uninstalling(client, places, scope))

    original = EXISTING[client.key]
    wanted = original + added if added else jsonc.put(original, ("later",), "y")
    assert outcomes[0] == "removed"
    assert path.read_bytes().decode() == wanted
    assert files.backup_of(path).read_bytes().decode() == original


def test_claude_code_gets_server_and_hooks(places: Places) -> None:
    client = CLIENTS["claude-code"]
    write_existing(client, "user", places)

    carry_out(ours(client, "user", places))

    servers = json.loads((places.home / ".claude.json").read_text("utf-8"))["mcpServers"]
    hooks = json.loads((places.home / ".claude" / "settings.json").read_text("utf-8"))["hooks"]
    assert servers == {
        "other": {"command": "x"},
        "handoff-memory": {
            "type": "stdio",
            "command": LAUNCH.command,
            "args": ["serve"],
            "env": LAUNCH.env,
        },
    }
    assert [group["matcher"] for group in hooks["PreToolUse"]] == ["Bash", "*"]
    assert list(hooks) == [
        "PreToolUse",
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "SessionEnd",
    ]
    assert hooks["PostToolUseFailure"][0]["hooks"] == [
        {"type": "command", "command": command(client)("after-tool"), "timeout": 10}
    ]


def test_codex_gets_what_keeps_its_turns_from_starting_without_us(places: Places) -> None:
    client = CLIENTS["codex"]
    write_existing(client, "project", places)

    carry_out(ours(client, "project", places))

    found = tomllib.loads((places.project / ".codex" / "config.toml").read_text("utf-8"))
    assert found["mcp_servers"]["handoff-memory"] == {
        "command": LAUNCH.command,
        "args": ["serve"],
        "env": LAUNCH.env,
        "startup_timeout_sec": 20,
        "required": True,
        "default_tools_approval_mode": "approve",
    }
    assert found["features"] == {"x": True}


def test_cursor_gets_flat_hooks_of_version_one(places: Places) -> None:
    client = CLIENTS["cursor"]

    carry_out(ours(client, "user", places))

    found = json.loads((places.home / ".cursor" / "hooks.json").read_text("utf-8"))
    assert found["version"] == 1
    assert found["hooks"]["preToolUse"] == [
        {"command": command(client)("before-tool"), "timeout": 10}
    ]


def test_gemini_counts_in_milliseconds(places: Places) -> None:
    client = CLIENTS["gemini"]

    carry_out(ours(client, "user", places))

    found = json.loads((places.home / ".gemini" / "settings.json").read_text("utf-8"))
    assert found["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"] == 10_000


@pytest.mark.parametrize("client", EDITED, ids=lambda client: client.key)
def test_another_agent_or_interpreter_replaces_ours_and_is_restored_too(
    client: Client, places: Places, tmp_path: Path
) -> None:
    write_existing(client, "user", places)
    before = tree(tmp_path)
    carry_out(ours(client, "user", places))
    other = LAUNCH._replace(command="/usr/bin/python", args=("-m", "handoff_memory", "serve"))

    settled = changes.installing(client, places, "user", other, command(client, "/usr/bin/python"))

    assert set(carry_out(settled)) == {"changed"}
    text = "".join(content.decode() for content in tree(tmp_path).values() if content)
    assert LAUNCH.command not in text
    assert "/opt/a b/python" not in text
    assert set(carry_out(changes.uninstalling(client, places, "user"))) == {"restored"}
    assert tree(tmp_path) == before


def test_hooks_may_come_later(places: Places, tmp_path: Path) -> None:
    client = CLIENTS["gemini"]
    write_existing(client, "user", places)
    before = tree(tmp_path)

    carry_out(changes.installing(client, places, "user", LAUNCH, None))
    carry_out(ours(client, "user", places))

    assert carry_out(changes.uninstalling(client, places, "user")) == ["restored"]
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (
            "codex",
            '[mcp_servers.handoff-memory]\ncommand = "mine"\n# since May\nargs = ["serve"]\n',
        ),
        ("cursor", '{"mcpServers": {"handoff-memory": {"command": "mine"}}}'),
    ],
)
def test_a_file_of_our_entry_alone_by_another_hand_is_kept(
    places: Places, key: str, text: str
) -> None:
    path = CLIENTS[key].files["user"](places)
    path.parent.mkdir()
    path.write_text(text)

    carry_out(ours(CLIENTS[key], "user", places))

    assert files.backup_of(path).read_text() == text


@pytest.mark.parametrize("client", EDITED, ids=lambda client: client.key)
def test_what_was_made_goes_again_after_a_change_of_agent_and_interpreter(
    client: Client, places: Places, tmp_path: Path
) -> None:
    client.files["user"](places).parent.parent.mkdir(parents=True, exist_ok=True)
    folder = client.files["user"](places).parent
    if not folder.name.startswith("."):
        folder.mkdir(exist_ok=True)
    before = tree(tmp_path)
    other = Launch("/usr/bin/python", ("-P", "-m", "handoff_memory", "serve"), LAUNCH.env)

    carry_out(changes.installing(client, places, "user", LAUNCH, None))
    carry_out(changes.installing(client, places, "user", other, command(client, "/usr/bin/python")))
    carry_out(ours(client, "user", places))
    carry_out(changes.uninstalling(client, places, "user"))

    assert tree(tmp_path) == before


def test_an_entry_by_another_hand_goes_as_well(places: Places) -> None:
    client = CLIENTS["cursor"]
    path = places.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"handoff-memory": {"command": "old"}, "b": {}}}')
    carry_out(ours(client, "user", places))

    carry_out(changes.uninstalling(client, places, "user"))

    assert json.loads(path.read_text()) == {"mcpServers": {"b": {}}}


def test_our_command_in_a_group_of_others_is_taken_out_of_it(places: Places) -> None:
    client = CLIENTS["claude-code"]
    path = places.home / ".claude" / "settings.json"
    path.parent.mkdir()
    mine = {"type": "command", "command": "mine"}
    old = {"type": "command", "command": command(client)("before-tool")}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "B", "hooks": [mine, old]}]}}))

    carry_out(ours(client, "user", places))

    groups = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert [(group["matcher"], len(group["hooks"])) for group in groups] == [("B", 1), ("*", 1)]
    carry_out(changes.uninstalling(client, places, "user"))
    left = json.loads(path.read_text())
    assert left == {"hooks": {"PreToolUse": [{"matcher": "B", "hooks": [mine]}]}}


def test_an_event_that_is_ours_no_more_is_cleared(places: Places) -> None:
    client = CLIENTS["claude-code"]
    path = places.home / ".claude" / "settings.json"
    path.parent.mkdir()
    old = {"hooks": [{"type": "command", "command": command(client)("turn-end")}]}
    path.write_text(json.dumps({"hooks": {"Stop": [old]}}))

    carry_out(ours(client, "user", places))

    assert json.loads(path.read_text())["hooks"]["Stop"] == []


@pytest.mark.parametrize(
    ("key", "name", "text", "said"),
    [
        ("claude-code", ".claude.json", '{\n"a": 1\n"b": 2}', "line 3"),
        ("claude-code", ".claude.json", '{"mcpServers": []}', "mcpServers is no object"),
        ("claude-code", ".claude/settings.json", '{"hooks": {"PreToolUse": {}}}', "is no array"),
        ("codex", ".codex/config.toml", "a = 1\nb =\n", "line 2"),
        ("codex", ".codex/config.toml", "mcp_servers = {}\n", "cannot be edited safely"),
        ("gemini", ".gemini/settings.json", "[]", "line 1"),
    ],
)
def test_a_file_that_cannot_be_edited_is_named_and_nothing_is_changed(
    places: Places, tmp_path: Path, key: str, name: str, text: str, said: str
) -> None:
    path = places.home / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    before = tree(tmp_path)

    with pytest.raises(ClientFileError, match=said) as caught:
        ours(CLIENTS[key], "user", places)

    assert str(path) in caught.value.message
    assert tree(tmp_path) == before


def test_a_file_in_another_encoding_is_refused(places: Places) -> None:
    (places.home / ".claude.json").write_bytes('{"a": "é"}'.encode("latin-1"))

    with pytest.raises(ClientFileError, match="line 1: no UTF-8"):
        ours(CLIENTS["claude-code"], "user", places)


def test_an_empty_file_is_filled_and_empty_again(places: Places, tmp_path: Path) -> None:
    (places.home / ".claude.json").write_bytes(b"")
    before = tree(tmp_path)

    carry_out(ours(CLIENTS["claude-code"], "user", places))
    assert json.loads((places.home / ".claude.json").read_text())
    carry_out(changes.uninstalling(CLIENTS["claude-code"], places, "user"))

    assert tree(tmp_path) == before


def test_a_change_by_another_program_meanwhile_is_not_overwritten(places: Places) -> None:
    path = places.home / ".claude.json"
    path.write_text("{}")
    settled = ours(CLIENTS["claude-code"], "user", places)
    path.write_text('{"new": 1}')

    with pytest.raises(ClientFileError, match="changed by another program"):
        carry_out(settled)

    assert path.read_text() == '{"new": 1}'
    assert [left.name for left in places.home.iterdir() if left.name.startswith("..")] == []


def test_a_file_that_appeared_meanwhile_is_not_overwritten(places: Places) -> None:
    settled = ours(CLIENTS["claude-code"], "user", places)
    (places.home / ".claude.json").write_text('{"new": 1}')

    with pytest.raises(ClientFileError, match="changed by another program"):
        carry_out(settled)


def test_an_older_copy_is_moved_aside_not_lost(places: Places) -> None:
    path = places.home / ".claude.json"
    path.write_text('{"first": 1}')
    carry_out(ours(CLIENTS["claude-code"], "user", places))
    path.write_text('{"second": 2}')  # without us, by another program

    moved = [changes.carry_out(change) for change in ours(CLIENTS["claude-code"], "user", places)]

    assert moved[0] is not None
    assert moved[0].read_text() == '{"first": 1}'
    assert files.backup_of(path).read_text() == '{"second": 2}'


@posix
def test_a_link_is_followed_and_a_mode_is_kept(places: Places, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    real.chmod(0o600)
    link = places.home / ".claude.json"
    link.symlink_to(real)

    carry_out(ours(CLIENTS["claude-code"], "user", places))

    assert link.is_symlink()
    assert "handoff-memory" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    assert files.backup_of(link) == tmp_path / "dotfiles" / "claude.json.handoff-memory.bak"
    assert files.backup_of(link).stat().st_mode & 0o777 == 0o600
    carry_out(changes.uninstalling(CLIENTS["claude-code"], places, "user"))
    assert real.read_text() == "{}\n"
    assert link.is_symlink()


@posix
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(places: Places) -> None:
    places.home.chmod(0o500)

    with pytest.raises(ClientFileError, match="cannot be written"):
        carry_out(ours(CLIENTS["claude-code"], "user", places))


def test_a_folder_in_the_place_of_a_file_is_named(places: Places) -> None:
    (places.home / ".claude.json").mkdir()

    with pytest.raises(ClientFileError, match="cannot be read"):
        ours(CLIENTS["claude-code"], "user", places)


def test_a_diff_shows_no_secrets(places: Places) -> None:
    path = places.home / ".claude.json"
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    path.write_text(f'{{\n  "token": "{key}"\n}}')

    (change, *_) = ours(CLIENTS["claude-code"], "user", places)
    shown = "\n".join(change.diff())

    assert "+    " in shown
    assert key not in shown
