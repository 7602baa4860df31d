from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.setup.clients import Shell
from handoff_memory.setup.commands import hook, is_hook, launch, lies_in_cache

posix = pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
AWKWARD = '/o p/it\'s "here" $HOME `id` 100% \\n !/x'


def command(python: str, database: str = "/d/m.db", *, dialect: Shell = "sh") -> str:
    return hook(
        Path(python),
        "before-tool",
        client="codex",
        agent="a b",
        database=Path(database),
        dialect=dialect,
    )


@posix
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1))
def test_a_shell_reads_the_words_that_were_meant(name: str) -> None:
    path = str(PurePosixPath("/") / name)

    words = shlex.split(command(path, path))

    assert words[0] == str(Path(path))
    assert words[words.index("--db") + 1] == str(Path(path))
    assert words[-3:] == ["||", "exit", "0"]


@posix
def test_a_real_shell_runs_it_and_hides_its_failure(tmp_path: Path) -> None:
    python = tmp_path / AWKWARD.strip("/")
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit 2\n')
    python.chmod(0o755)

    done = subprocess.run(
        ["sh", "-c", command(str(python), AWKWARD)], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines() == [
        *("-P", "-m", "handoff_memory", "hook", "before-tool"),
        *("--client", "codex", "--agent-id", "a b", "--db", AWKWARD),
    ]


@posix
def test_a_python_that_is_gone_is_no_failure() -> None:
    done = subprocess.run(["sh", "-c", command("/gone/python")], capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (0, b"")


def test_windows_gets_words_that_cmd_and_sh_read_alike() -> None:
    assert command("C:\\Program Files\\py.exe", "C:\\a b\\m.db", dialect="cmd") == (
        '"C:/Program Files/py.exe" -P -m handoff_memory hook before-tool --client codex '
        '--agent-id "a b" --db "C:/a b/m.db" || exit 0'
    )


def test_powershell_gets_a_call_and_an_end_of_its_own() -> None:
    assert command("C:\\Program Files\\py.exe", dialect="powershell") == (
        '& "C:/Program Files/py.exe" -P -m handoff_memory hook before-tool --client codex '
        '--agent-id "a b" --db "/d/m.db"; exit 0'
    )


@pytest.mark.parametrize("path", ["C:\\100%\\m.db", "C:\\$x\\m.db", "C:\\`x\\m.db", 'C:\\"x\\m.db'])
def test_what_windows_cannot_quote_is_refused(path: str) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be quoted"):
        command("C:\\py.exe", path, dialect="cmd")


@pytest.mark.parametrize("path", ["/a\nb", "/a\x00b", "/a\udcffb"])
def test_what_no_file_can_hold_is_refused(path: str) -> None:
    with pytest.raises(InvalidArgumentError, match="settings file cannot"):
        command("/usr/bin/python", path)
    with pytest.raises(InvalidArgumentError, match="settings file cannot"):
        launch(Path("/usr/bin/python"), "a", Path(path))


def test_the_script_next_to_the_interpreter_is_preferred(tmp_path: Path) -> None:
    python = tmp_path / "python"

    without = launch(python, "ada", Path("/d/m.db"))
    script = tmp_path / ("handoff-memory.exe" if sys.platform == "win32" else "handoff-memory")
    script.touch()
    found = launch(python, "ada", Path("/d/m.db"))

    assert without[:2] == (str(python), ("-P", "-m", "handoff_memory", "serve"))
    assert found[:2] == (str(script), ("serve",))
    assert found.env == {"AGENT_ID": "ada", "MEMORY_DB": str(Path("/d/m.db"))}


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (command("/x/python"), True),
        (command(AWKWARD), True),
        (command("C:\\py.exe", dialect="cmd"), True),
        ('"/x/bin/handoff-memory" hook prompt --client codex || exit 0', True),
        ("handoff-memory.exe hook prompt", True),
        ("handoff-memory run -- hook", False),
        ("my-hook", False),
        (None, False),
    ],
)
def test_our_hooks_are_known_by_their_command(text: object, ours: bool) -> None:
    assert is_hook(text) is ours


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/home/a/.cache/uv/archive-v0/x1/bin/python", True),
        ("C:\\Users\\a\\AppData\\Local\\uv\\cache\\environments-v2\\x\\Scripts\\python.exe", True),
        ("/home/a/.local/share/uv/tools/handoff-memory-mcp/bin/python", False),
        ("/work/.venv/bin/python", False),
    ],
)
def test_an_interpreter_in_a_cache_is_known(path: str, inside: bool) -> None:
    assert lies_in_cache(Path(path)) is inside
