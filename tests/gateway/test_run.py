"""Shell commands behind the governor, as an agent's shell starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handoff_memory.app import open_local
from handoff_memory.gateway import running
from handoff_memory.services import recalling
from handoff_memory.settings import Settings, read_settings
from processes import big

pytestmark = pytest.mark.processes

RUN = [sys.executable, "-m", "handoff_memory", "run"]
FLAGS = """
[[invariant]]
id = "tested"
when = { tool = "git.commit" }
require = { state = "tests_passed", fresh_after = "edit" }
message = "commit after the tests have passed"
"""

posix = pytest.mark.skipif(sys.platform == "win32", reason="a shell and signals of POSIX")


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


def run(
    env: dict[str, str], *command: str, stdin: bytes = b"", **more: Any
) -> subprocess.CompletedProcess[bytes]:
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    place = env["CLAUDE_PROJECT_DIR"]
    return subprocess.run(
        [*RUN, *command], env=env, input=stdin, cwd=place, timeout=60, check=False, **told
    )


def python(text: str) -> list[str]:
    return ["--", sys.executable, "-c", text]


def recalled(env: dict[str, str], *asked: str) -> bytes:
    command = [sys.executable, "-m", "handoff_memory", "recall", *asked]
    return subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE).stdout


def test_streams_and_status_of_a_small_command_pass_to_the_byte(env: dict[str, str]) -> None:
    text = (
        "import sys\n"
        "sys.stdout.buffer.write(b'a\\xff\\x00\\r\\n' + sys.stdin.buffer.read())\n"
        "sys.stderr.buffer.write(b'\\xfe why')\n"
        "sys.exit(9)\n"
    )

    done = run(env, *python(text), stdin=b"given\n")

    assert (done.returncode, done.stdout, done.stderr) == (9, b"a\xff\x00\r\ngiven\n", b"\xfe why")


def test_a_big_output_becomes_a_stub_and_the_same_command_shows_it(env: dict[str, str]) -> None:
    log = big("compile", 900).encode()
    text = f"import sys; sys.stdout.buffer.write({log!r}); sys.stderr.write('small')"

    first, second = (run(env, *python(text)) for _ in range(2))

    assert first.stdout.startswith(b"[handoff-memory kept this result outside")
    assert b"handoff-memory recall r1 grep" in first.stdout
    assert (first.returncode, first.stderr) == (0, b"small")
    assert second.stdout == log
    assert recalled(env, "r1") == log
    assert recalled(env, "r1", "tail", "--lines", "1").splitlines()[0] == log.splitlines()[-1]


def test_a_long_stderr_is_kept_below_the_output(env: dict[str, str]) -> None:
    log = big("warn", 900).encode()
    text = f"import sys; print('out'); sys.stdout.flush(); sys.stderr.buffer.write({log!r})"

    done = run(env, *python(text))

    assert done.stdout.startswith(b"[handoff-memory kept")
    assert done.stderr == b""
    assert recalled(env, "r1") == b"out\n--- stderr ---\n" + log


def test_two_streams_into_one_file_keep_their_order(env: dict[str, str]) -> None:
    text = "import os\nfor n in range(3): os.write(1, b'out\\n'); os.write(2, b'err\\n')\n"

    done = run(env, *python(text), stderr=subprocess.STDOUT)

    assert done.stdout == b"out\nerr\n" * 3


def test_the_same_failing_command_is_refused_after_its_third_failure(env: dict[str, str]) -> None:
    counted = Path(env["CLAUDE_PROJECT_DIR"], "count")
    text = "open('count', 'a').write('x'); raise SystemExit('no such table')"

    statuses = [run(env, *python(text)) for _ in range(4)]

    assert [done.returncode for done in statuses] == [1, 1, 1, 125]
    assert counted.read_text() == "xxx"
    assert statuses[3].stdout == b""
    assert b"handoff-memory: " in statuses[3].stderr


@posix
def test_a_commit_waits_for_the_tests(env: dict[str, str], tmp_path: Path) -> None:
    work = Path(env["CLAUDE_PROJECT_DIR"])
    (work / ".osiris").mkdir()
    (work / ".osiris" / "invariants.toml").write_text(FLAGS)
    (work / "test_a.py").write_text("def test_a(): pass\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("git", "pytest"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} ran\n")
        (programs / name).chmod(0o755)
    env["PATH"] = f"{programs}{os.pathsep}{env['PATH']}"

    refused = run(env, "--", "git", "commit", "-m", "x")
    text_refused = run(env, "-c", "true && git commit -m x")
    tested = run(env, "--", "pytest", "-q")
    allowed = run(env, "--", "git", "commit", "-m", "x")

    assert (refused.returncode, refused.stdout) == (125, b"")
    assert b"commit after the tests have passed" in refused.stderr
    assert text_refused.returncode == 125
    assert (tested.returncode, tested.stdout) == (0, b"pytest ran\n")
    assert (allowed.returncode, allowed.stdout) == (0, b"git ran\n")


@posix
def test_a_text_is_run_by_the_shell(env: dict[str, str]) -> None:
    done = run(env, "-c", "echo a; exit 5 | cat; (exit 6)")

    assert (done.returncode, done.stdout) == (6, b"a\n")


@posix
@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["-c", "kill -9 $$"], 128 + 9),
        (["--", "no-such-program-anywhere"], 127),
        (["--", "/"], 126),
        (["--"], 2),
        (["-c", "true", "--", "true"], 2),
    ],
)
def test_a_status_says_how_it_ended(env: dict[str, str], command: list[str], status: int) -> None:
    assert run(env, *command).returncode == status


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_reaches_the_command(env: dict[str, str], name: str, tmp_path: Path) -> None:
    number = getattr(signal, name)
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    text = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: (print('caught'), sys.exit(4)))\n"
        f"open({str(ready)!r}, 'w').close()\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([*RUN, *python(text)], env=env, stdout=subprocess.PIPE) as process:
        ready.open().close()  # until the command has come to its handler
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)

    assert (process.returncode, out) == (4, b"caught\n")


@posix
def test_on_a_terminal_everything_passes_and_is_observed(env: dict[str, str]) -> None:
    import pty  # noqa: PLC0415 - POSIX only

    log = big("compile", 900).encode()
    text = f"import sys; sys.stdout.buffer.write({log!r}); sys.exit(3)"
    ours, theirs = pty.openpty()
    with subprocess.Popen([*RUN, *python(text)], env=env, stdout=theirs) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: chunk(ours), b""))
    os.close(ours)

    assert process.returncode == 3
    assert shown.replace(b"\r\n", b"\n") == log
    with open_local(read_settings(env)) as local:
        calls = local.read(lambda tx: tx.all("SELECT * FROM events WHERE event = 'called'"))
    assert len(calls) == 1


def chunk(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.fixture
def handlers() -> Iterator[None]:
    """The signal handlers, put back after a command ran in this process."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
def test_of_an_output_beyond_the_limit_both_ends_are_kept(
    settings: Settings, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    limits = settings.limits._replace(payload_bytes=20_000)
    text = "for n in range(4000): print(f'line {n:05}')"

    status = running.run(
        settings._replace(limits=limits), python(text)[1:], agent="scout", task_id=None
    )

    assert status == 0
    assert capfdbinary.readouterr().out.startswith(b"[handoff-memory kept")
    with open_local(settings) as local:
        _, kept = local.read(lambda tx: recalling.payload(tx, "r1"))
    assert kept.startswith(b"line 00000\nline 00001\n")
    assert kept.endswith(b"\nline 03998\nline 03999\n")
    assert b"\n--- 24,000 bytes left out ---\n" in kept


@pytest.mark.parametrize("is_there", [True, False], ids=["with a memory", "without one"])
def test_a_task_that_does_not_exist_is_an_error_and_nothing_runs(
    env: dict[str, str], tmp_path: Path, is_there: bool
) -> None:
    if is_there:
        run(env, *python("print()"))
    mark = tmp_path / "mark"
    touch = f"import pathlib; pathlib.Path({str(mark)!r}).touch()"
    command = [sys.executable, "-m", "handoff_memory"]

    for verb in ("run", "wrap"):
        done = subprocess.run(
            [*command, verb, "--task", "typo", "--", sys.executable, "-c", touch],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 2
        assert b"no task typo" in done.stderr
    assert not mark.exists()
