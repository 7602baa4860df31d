from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from handoff_memory.settings import Places
from handoff_memory.setup import changes, codex_trust
from handoff_memory.setup.clients import CLIENTS
from handoff_memory.setup.commands import Launch
from handoff_memory.setup.standing import standings
from handoff_memory.setup.survey import Found, survey

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stands in for clients with sh")
LAUNCH = Launch("/x/python", ("serve",), {"AGENT_ID": "ada", "MEMORY_DB": "/d/m.db"})
DENIAL = json.dumps({"hookSpecificOutput": {"permissionDecision": "deny"}})
DENYING = f"echo '{DENIAL}' # -m handoff_memory hook x"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    for name in ("home", "project", "bin"):
        (tmp_path / name).mkdir()
    home = tmp_path / "home"
    programs = str(tmp_path / "bin")
    return Places(home, tmp_path / "project", config=home / ".config", programs=programs)


@pytest.fixture
def program(places: Places) -> Callable[[str, str], Path]:
    def write(name: str, script: str) -> Path:
        path = Path(places.programs) / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return write


def install(places: Places, key: str, command: str = DENYING) -> None:
    for change in changes.installing(CLIENTS[key], places, "user", LAUNCH, lambda _: command):
        changes.carry_out(change)


def only(places: Places) -> Found:
    (found,) = survey(places)
    return found


def test_where_no_client_is_none_is_found(places: Places) -> None:
    assert survey(places) == []


def test_a_program_says_its_version(places: Places, program: Callable[[str, str], Path]) -> None:
    program("claude", 'test "$1" = --version && echo "2.1.332 (Claude Code)"')

    found = only(places)

    assert (found.client.key, found.version) == ("claude-code", "2.1.332")
    assert not found.is_ours


def test_a_program_from_npm_is_not_started_for_it(places: Places, tmp_path: Path) -> None:
    package = tmp_path / "lib" / "gemini-cli"
    (package / "bundle").mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.61.0"}')
    script = package / "bundle" / "gemini.js"
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(0o755)
    (Path(places.programs) / "gemini").symlink_to(script)

    assert only(places).version == "0.61.0"


def test_a_program_that_says_none_has_none(
    places: Places, program: Callable[[str, str], Path]
) -> None:
    program("goose", "exit 3")

    assert only(places).version is None


def test_what_stands_in_the_files_is_read(places: Places) -> None:
    install(places, "claude-code")

    found = only(places)

    (one,) = found.servers
    assert (one.scope, one.agent, one.command) == ("user", "ada", "/x/python")
    assert one.env["MEMORY_DB"] == "/d/m.db"
    assert found.sung is not None
    assert found.sung.enforced


def test_in_the_persons_own_folder_a_file_is_looked_at_once(places: Places) -> None:
    install(places, "cursor")

    found = only(places._replace(project=places.home))

    assert [one.scope for one in found.standings] == ["user"]


@pytest.mark.parametrize(
    ("key", "name", "setting", "reason"),
    [
        ("claude-code", ".claude/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("gemini", ".gemini/settings.json", {"hooksConfig": {"enabled": False}}, "hooksConfig"),
    ],
)
def test_hooks_that_are_turned_off_are_not_enforced(
    places: Places, key: str, name: str, setting: dict[str, object], reason: str
) -> None:
    path = places.home / name
    path.parent.mkdir()
    path.write_text(json.dumps(setting))
    install(places, key)

    sung = only(places).sung

    assert sung is not None
    assert not sung.enforced
    assert reason in sung.reason
    assert sung.way_out


@pytest.mark.parametrize("feature", ["hooks", "codex_hooks"])
def test_codex_may_have_the_feature_off(places: Places, feature: str) -> None:
    path = places.home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(f"[features]\n{feature} = false\n")
    install(places, "codex")

    (one,) = standings(CLIENTS["codex"], places)

    assert one.off == "features.hooks is false"


def app_server(status: str) -> str:
    hook = {
        "eventName": "preToolUse",
        "command": DENYING,
        "enabled": True,
        "trustStatus": status,
    }
    reply = json.dumps({"id": 2, "result": {"data": [{"hooks": [hook]}]}})
    return f"read a; echo '{{\"id\": 1}}'; read b; read c; cat <<'E'\n{reply}\nE"


@pytest.mark.parametrize(
    ("status", "enforced"), [("trusted", True), ("untrusted", False), ("modified", False)]
)
def test_codex_itself_says_whether_it_trusts_a_hook(
    places: Places, program: Callable[[str, str], Path], status: str, enforced: bool
) -> None:
    program("codex", f'test "$1" = --version && exec echo codex 1.2.3\n{app_server(status)}')
    install(places, "codex")

    sung = only(places).sung

    assert sung is not None
    assert sung.enforced is enforced
    assert enforced or "trust" in sung.reason


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", """echo '{"id": 2}'""", "echo []"])
def test_a_codex_that_says_nothing_is_no_failure(
    program: Callable[[str, str], Path], tmp_path: Path, script: str
) -> None:
    assert codex_trust.trusted(str(program("codex", script)), tmp_path) is None


def test_without_codex_its_file_says_whether_a_hook_is_trusted(places: Places) -> None:
    install(places, "codex")
    config = places.home / ".codex" / "config.toml"
    before = only(places).sung
    hooks = places.home / ".codex" / "hooks.json"
    with config.open("a") as file:
        file.write(f'\n[hooks.state."{hooks}:pre_tool_use:0:0"]\ntrusted_hash = "sha256:0"\n')

    after = only(places).sung

    assert (before and before.enforced, after and after.enforced) == (False, True)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (".claude.json", "{", "line 1"),
        (".claude/settings.json", '{\n"a" 1}', "line 2"),
        (".codex/config.toml", "a =\n", "line 1"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(
    places: Places, name: str, text: str, said: str
) -> None:
    path = places.home / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)

    (one,) = only(places).standings

    assert one.problem is not None
    assert said in one.problem


def test_yaml_is_only_searched_for_our_name(places: Places) -> None:
    path = places.config / "goose" / "config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("extensions:\n  handoff-memory:\n    enabled: true\n")

    assert only(places).is_ours
