from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from handoff_memory.setup.clients import CLIENTS
from shell import Shell

pytestmark = pytest.mark.processes


@pytest.fixture
def home(shell: Shell) -> Path:
    folder = Path(shell.env["HOME"])
    folder.mkdir()
    return folder


def test_the_clients_stand_in_a_table(shell: Shell, home: Path) -> None:
    lines = shell("install", "--list").stdout.splitlines()

    assert [line.split()[0] for line in lines] == list(CLIENTS)
    assert len({line.index("user") for line in lines if "user" in line}) == 1
    assert [row["key"] for row in shell.json("install", "--list")["clients"]] == list(CLIENTS)
    assert all(key in shell("install", "--help").stdout for key in CLIENTS)


def test_installing_twice_and_uninstalling(shell: Shell, home: Path) -> None:
    first = shell.json("install", "claude-code", "--hooks", "--agent-id", "Reviewer")
    second = shell("install", "claude-code", "--hooks", "--agent-id", "Reviewer")

    entry = json.loads((home / ".claude.json").read_text("utf-8"))["mcpServers"]["handoff-memory"]
    assert [row["outcome"] for row in first["files"]] == ["created", "created"]
    assert second.stdout.count("unchanged") == 2
    assert entry["env"] == {"AGENT_ID": "reviewer", "MEMORY_DB": str(shell.database)}
    assert Path(entry["command"]).is_absolute()
    hooks = (home / ".claude" / "settings.json").read_text("utf-8")
    assert "--agent-id reviewer" in hooks
    assert shell("uninstall", "claude-code").exit_code == 0
    assert list(home.iterdir()) == []


def test_what_is_replaced_is_told_and_hooks_that_stand_go_along(
    shell: Shell, home: Path, tmp_path: Path
) -> None:
    other = str(tmp_path / "other.db")
    shell("install", "claude-code", "--hooks", "--agent-id", "ada", "--db", other)

    notes = shell.json("install", "claude-code")["notes"]

    assert notes == [
        f"AGENT_ID was ada, MEMORY_DB was {other}: run it again with --agent-id or --db to keep it"
    ]
    hooks = (home / ".claude" / "settings.json").read_text("utf-8")
    assert "--agent-id claude-code" in hooks
    assert other not in hooks
    assert shell.json("install", "claude-code")["notes"] == []


def test_the_agent_has_the_clients_name_whoever_installs(shell: Shell, home: Path) -> None:
    shell.json("install", "cursor")

    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["handoff-memory"]
    assert entry["env"]["AGENT_ID"] == "cursor"


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_dry_run_shows_the_change_and_makes_none(shell: Shell, home: Path, verb: str) -> None:
    if verb == "uninstall":
        shell.json("install", "gemini", "--hooks")
    before = {path: path.read_bytes() for path in home.rglob("*.json")}
    more = ("--hooks",) if verb == "install" else ()

    shown = shell(verb, "gemini", "--dry-run", *more).stdout

    sign = "+" if verb == "install" else "-"
    assert f'{sign}    "handoff-memory": {{' in shown
    assert f'{sign}    "BeforeTool": [' in shown
    assert "(not done)" in shown
    assert {path: path.read_bytes() for path in home.rglob("*.json")} == before


def test_a_project_has_files_of_its_own(
    shell: Shell, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "a project"
    project.mkdir()
    monkeypatch.chdir(project)

    result = shell("install", "vscode", "--scope", "project", "--hooks")

    assert "handoff-memory" in json.loads((project / ".vscode/mcp.json").read_text())["servers"]
    assert "paths of this machine" in result.stdout
    assert "VS Code runs no hooks" in result.stdout
    assert list(home.iterdir()) == []
    shell("uninstall", "vscode", "--scope", "project")
    assert list(project.iterdir()) == []


def test_what_is_not_edited_is_printed(shell: Shell, home: Path) -> None:
    result = shell("install", "zed")
    reply = shell.json("install", "minimax-code")

    entry = json.loads(result.stdout)["context_servers"]["handoff-memory"]
    assert entry["env"]["MEMORY_DB"] == str(shell.database)
    assert "zed" in result.stderr
    assert reply["file"] is None
    assert "mcpServers" in json.loads(reply["snippet"])
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("install",), "a client is missing"),
        (("install", "emacs"), "there is no client 'emacs'"),
        (("uninstall", "emacs"), "there is no client 'emacs'"),
        (("uninstall", "zed"), "not edited by this program"),
        (("install", "codex", "--agent-id", " "), "agent id"),
    ],
)
def test_what_cannot_be_done_is_said(shell: Shell, home: Path, args: list[str], said: str) -> None:
    result = shell(*args)

    assert result.exit_code == 2
    assert said in result.stderr
    if "emacs" in args or args == ("install",):
        assert ", ".join(CLIENTS) in result.stderr


def test_a_malformed_file_is_named_with_its_line(shell: Shell, home: Path) -> None:
    (home / ".claude.json").write_text('{\n  "a": 1,\n  oops\n}')

    result = shell("install", "claude-code", "--hooks")

    assert result.exit_code == 2
    assert f"{home / '.claude.json'}, line 3" in result.stderr
    assert [path.name for path in home.iterdir()] == [".claude.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="written for a shell of POSIX")
def test_doctor_proves_hooks_and_the_plan_repeats_it(shell: Shell, home: Path) -> None:
    shell.json("write", "s/k", "1")
    shell.json("install", "claude-code", "--hooks")

    reply = shell.json("doctor")
    checks = {check["name"]: check for check in reply["checks"]}
    again = shell.json("doctor")

    assert checks["claude-code"]["status"] == "ok"
    assert checks["claude-code hooks"]["found"] == "enforced: a canary was denied"
    kept = shell.json("read", "osiris/enforcement/claude-code")
    assert kept["value"] == {"agent": "claude-code", "hooks": "enforced", "version": None}
    assert kept["version"] == 1
    assert again["ok"] is True


@pytest.mark.skipif(sys.platform == "win32", reason="written for a shell of POSIX")
def test_doctor_finds_hooks_that_no_longer_work(shell: Shell, home: Path) -> None:
    shell.json("write", "s/k", "1")
    shell.json("install", "claude-code", "--hooks")
    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace(sys.executable, "/gone/python"))
    config = home / ".claude.json"
    entry = json.loads(config.read_text())
    entry["mcpServers"]["handoff-memory"]["command"] = "/gone/python"
    config.write_text(json.dumps(entry))

    result = shell("doctor")

    assert result.exit_code == 1
    assert "starts /gone/python, which is not there" in result.stdout
    assert "advisory: the hook did not deny a canary" in result.stdout
    kept = shell.json("read", "osiris/enforcement/claude-code")
    assert kept["value"]["hooks"] == "advisory"


def test_doctor_tells_a_client_that_uses_another_database(shell: Shell, home: Path) -> None:
    shell.json("install", "cursor", "--db", str(home / "other.db"))
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text("{}")

    found = {check["name"]: check for check in shell.json("doctor")["checks"]}

    assert "another database" in found["cursor"]["found"]
    assert found["cursor hooks"]["next"] == "Run: handoff-memory install cursor --hooks"
    assert found["gemini"]["next"] == "Run: handoff-memory install gemini"
    assert "gemini hooks" not in found
    assert not shell.database.exists()


def test_doctor_tells_a_file_that_it_cannot_read(shell: Shell, home: Path) -> None:
    (home / ".claude.json").write_text("{")

    result = shell("doctor")

    assert result.exit_code == 1
    assert "the file ends too early" in result.stdout
