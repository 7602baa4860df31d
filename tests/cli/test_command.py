from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from handoff_memory.cli.main import cli
from shell import Shell

pytestmark = pytest.mark.processes

ESCAPES = "\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\u202egnp\r"
VERBS = list(cli.list_commands(cli.make_context("handoff-memory", ["stats"])))


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_has_help_with_an_example(shell: Shell, name: str) -> None:
    result = shell(name, "--help")

    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert f"handoff-memory {name}" in result.stdout or f"memory_{name}" in result.stdout


def test_the_verbs_are_those_that_were_promised(shell: Shell) -> None:
    promised = (
        "serve stats read write search history outcome handoffs thread pickup log dashboard doctor "
        "demo tasks task recall audit health invariants approve install uninstall hook wrap run"
    )

    assert promised.split() == VERBS
    assert all(name in shell("--help").stdout for name in VERBS)


def test_a_flag_wins_over_the_environment_before_and_behind_the_verb(
    shell: Shell, tmp_path: Path
) -> None:
    other = str(tmp_path / "other.db")

    shell.json("--db", other, "write", "s/k", '"elsewhere"', "--agent", "Grace")

    read = shell.json("read", "s/k", "--db", other)
    assert (read["value"], read["agent"]) == ("elsewhere", "grace")
    assert not shell.database.exists()


def test_projects_are_kept_apart_in_the_home_database(shell: Shell) -> None:
    shell.json("write", "s/k", "1", "--project", "one", MEMORY_DB="")

    assert shell("read", "s/k", MEMORY_PROJECT="two", MEMORY_DB="").exit_code == 2
    assert shell("read", "s/k", MEMORY_PROJECT="one", MEMORY_DB="").exit_code == 0


def test_a_person_without_an_agent_id_acts_as_the_login(shell: Shell) -> None:
    shell.json("write", "s/k", "1", AGENT_ID="", LOGNAME="Lovelace")

    assert shell.json("read", "s/k")["agent"] == "cli-lovelace"


def test_a_command_takes_no_live_sessions_id(shell: Shell) -> None:
    shell.json("write", "s/k", "1", CLAUDE_CODE_SESSION_ID="the-live-one")

    assert json.loads(shell("log", "--json").stdout)["session"] != "the-live-one"


@pytest.mark.parametrize(
    "args",
    [
        ("nosuchverb",),
        ("read",),
        ("read", "no-slash"),
        ("read", "s/k", "--version", "0"),
        ("log", "--after", "99999999999999999999"),
        ("outcome", "s/k", "perhaps"),
        ("search", "--since", "yesterday-ish"),
        ("search", "--cursor", "made-up"),
        ("stats", "--durability", "sometimes"),
        ("stats", "--agent", "\x01"),
        ("search", "half a \udcff character"),
        ("write", "s/k", "1", "--source", "\udcff"),
    ],
)
def test_bad_usage_exits_2_and_says_what_to_do(shell: Shell, args: tuple[str, ...]) -> None:
    shell.json("write", "s/k", "1")

    text, document = shell(*args), shell(*args, "--json")

    first, second = text.stderr.splitlines()
    assert (text.exit_code, text.stdout) == (2, "")
    assert first.startswith("error: ")
    assert second.startswith("next: ")
    error = json.loads(document.stdout)
    assert (document.exit_code, document.stderr) == (2, "")
    assert error.keys() >= {"code", "message", "retryable", "next"}
    assert error["message"] in (first.removeprefix("error: "), error["message"])


def test_a_fault_nobody_foresaw_is_told_without_a_traceback(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.json("write", "s/k", "1")
    monkeypatch.setattr("handoff_memory.services.reading.read", None)

    result = shell("read", "s/k")

    assert result.exit_code == 2
    assert result.stderr.startswith("error: unexpected TypeError at records.py:")
    assert "Traceback" not in result.stderr


def test_escape_sequences_in_recalled_text_do_not_reach_a_terminal(shell: Shell) -> None:
    shell.json("write", "s/text", json.dumps(ESCAPES), "--source", ESCAPES)
    shell.json("write", "s/tree", json.dumps({ESCAPES: [ESCAPES]}))
    shell.json("outcome", "s/text", "success", "--note", ESCAPES)

    runs = [
        shell("read", "s/text", "s/tree"),
        shell("history", "s/text"),
        shell("search", "red"),
        shell("read", f"s/{ESCAPES.strip()}x"),
        shell("read", "s/text", "--json"),
    ]

    for run in runs:
        unsafe = [char for char in run.output if char in "\x1b\x07\x9b\x7f\u202e\r"]
        assert unsafe == [], run.output
    assert shell.json("read", "s/text")["value"] == ESCAPES


def test_text_cannot_pose_as_a_line_of_ours(shell: Shell) -> None:
    shell.json("write", "s/k", json.dumps("x\nok  all verified"))

    assert "\nok" not in shell("read", "s/k").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no pty")
def test_colours_show_on_a_terminal_and_never_with_no_color(shell: Shell) -> None:
    shell.json("write", "s/k", "1")

    assert "\x1b[32mok" in on_terminal(shell, "stats", "--verify")
    assert "\x1b[32m" not in on_terminal(shell, "stats", "--verify", NO_COLOR="anything")
    assert "\x1b[32m" not in on_terminal(shell, "stats", "--verify", "--no-color")
    assert "\x1b" not in shell("stats", "--verify").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no pty")
def test_checking_a_file_shows_its_progress_to_a_person(shell: Shell) -> None:
    shell.json("write", "s/k", "1")

    assert "100%" in on_terminal(shell, "stats", "--verify")


def test_a_command_loads_neither_the_server_nor_an_event_loop(shell: Shell) -> None:
    shell.json("write", "s/k", "1")
    code = (
        "import sys; sys.argv = ['memory_stats']\n"
        "from handoff_memory.__main__ import memory_stats\n"
        "try: memory_stats()\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        env=shell.environ(),
        check=True,
    )

    heavy = {"mcp", "mcp_types", "pydantic", "asyncio", "aiosqlite", "anyio"}
    assert heavy.isdisjoint(done.stderr.split())


def test_every_character_is_printed_where_the_locale_lacks_it(shell: Shell) -> None:
    shell.json("write", "s/k", '"🦉 字"')

    env = {"PYTHONIOENCODING": "latin-1"}
    text, document = shell.start("read", "s/k", **env), shell.start("read", "s/k", "--json", **env)

    assert "\\U0001f989" in text.communicate(timeout=60)[0]
    assert json.loads(document.communicate(timeout=60)[0])["value"] == "🦉 字"


def test_serving_with_a_wrong_setting_exits_2(shell: Shell) -> None:
    served = shell.start("--durability", "never")

    _, said = served.communicate(timeout=60)
    assert served.returncode == 2
    assert said.startswith("error: MEMORY_DURABILITY is full or relaxed")


def test_serving_is_what_is_done_without_a_verb(shell: Shell, tmp_path: Path) -> None:
    for args in ((), ("serve",), ("--db", str(tmp_path / "x.db")), ("serve", "--agent", "bob")):
        served = shell.start(*args)

        assert served.communicate(timeout=60)[0] == ""
        assert served.returncode == 0


def test_the_demo_says_what_to_do_where_there_is_no_checkout(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handoff_memory.cli.demo._CHECKOUT", tmp_path)

    result = shell("demo")

    assert result.exit_code == 2
    assert "next: Clone the repository and run: make demo" in result.stderr


@pytest.mark.parametrize(("code", "status"), [("print('played')", 0), ("raise SystemExit(3)", 1)])
def test_the_demo_of_a_checkout_is_played(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, status: int
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "run.py").write_text(code)
    monkeypatch.setattr("handoff_memory.cli.demo._CHECKOUT", tmp_path)

    result = shell("demo", "--json")

    assert result.exit_code == status
    assert json.loads(result.stdout)["ok"] is (status == 0)


def on_terminal(shell: Shell, *args: str, **env: str) -> str:
    """What a verb shows on a terminal of its own."""
    import os  # noqa: PLC0415 - not on Windows
    import pty  # noqa: PLC0415

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "handoff_memory", *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=shell.environ(TERM="xterm", **env),
    ):
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # Linux says so at the end
            pass
    os.close(ours)
    return shown.decode()
