"""The hook as a process: what it answers, and that whatever fails the call goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from handoff_memory.hooks.event import CANARY, KINDS
from handoff_memory.hooks.options import CLIENTS
from hook_runs import COMMAND, NAMES, Client, locked, made
from stress.harness import small_disk

pytestmark = pytest.mark.processes

BIG: Final = "\n".join(f"{i}: a line of a long output" for i in range(4000))
CLOSED: Final = """
[[invariant]]
id = "no-push"
when = { tool = "git.push" }
fail_closed = true
message = "Nobody pushes"

[[invariant]]
id = "tests-before-commit"
when = { tool = "git.commit" }
require = { state = "tests_passed" }
message = "Cannot commit while tests are failing"
"""
BROKEN: Final = '\n[[invariant]]\nid = "x"\nwhen = { tool = 7 }\nmessage = "?"\n'
IN_TIME_S: Final = 8  # the deadline is 1.5 or 3; the rest is a busy machine
linux_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can mount"
)


# --- what it does -------------------------------------------------------------------------------


def test_a_big_output_is_kept_and_a_stub_stands_in(client: Client) -> None:
    run = client.after("make", BIG, "t1")

    shown = run.answer["hookSpecificOutput"]["updatedToolOutput"]["stdout"]
    assert "r1" in shown
    assert len(shown) < len(BIG) / 10
    assert client.shell("recall", "r1").stdout == BIG


def test_codex_s_record_has_the_output_that_it_shortened(tmp_path: Path) -> None:
    client = made("codex", tmp_path)

    run = client.after("make", BIG, "t1")

    assert run.answer["decision"] == "block"
    assert client.shell("recall", "r1").stdout == BIG


def test_a_commit_before_tests_is_refused(any_client: Client) -> None:
    any_client.rules(CLOSED)

    run = any_client.before("cd src && git commit -m done")

    assert run.denial is not None
    assert "tests-before-commit" in run.denial
    assert run.status == 0


PATCH: Final = "*** Begin Patch\n*** Update File: tests/test_shop.py\n@@\n-x\n+y\n*** End Patch\n"


@pytest.mark.parametrize(
    ("name", "tool", "args"),
    [
        ("claude-code", "Write", {"file_path": "tests/test_shop.py", "content": "x"}),
        ("codex", "apply_patch", {"command": PATCH}),
        ("gemini", "replace", {"file_path": "tests/test_shop.py", "old_string": "x"}),
        ("cursor", "Write", {"file_path": "tests/test_shop.py", "content": "x"}),
    ],
)
def test_an_edit_of_what_a_rule_keeps_is_refused(
    name: str, tool: str, args: dict[str, Any], tmp_path: Path
) -> None:
    client = made(name, tmp_path)
    client.rules('[[invariant]]\nid = "tests"\nwhen = { path_glob = "tests/**" }\nmessage = "No"\n')

    run = client.fire("before-tool", client.event(NAMES[name][0], tool_name=tool, tool_input=args))

    assert "tests: No" in str(run.denial)


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini", "cursor"])
def test_the_same_failure_is_refused_after_the_third_time(name: str, tmp_path: Path) -> None:
    client = made(name, tmp_path)
    for number in range(3):
        client.after("make", "error: no rule to make target", f"t{number}", status=2)

    assert client.before("make").denial is not None
    assert client.before("ls").denial is None


def test_a_session_is_told_what_was_begun_and_leaves_what_is_unfinished(client: Client) -> None:
    start = client.event("SessionStart", source="startup")
    assert client.fire("session-start", start).answer is None
    asked = client.event("UserPromptSubmit", prompt="Mend the basket in src/shop.py")
    assert client.fire("prompt", asked).answer is None
    client.after("sed -i s/a/b/ src/shop.py", "", "t1")
    assert client.fire("before-compact", client.event("PreCompact", trigger="auto")).stdout == b""
    assert client.journal("checkpointed") == 1

    resumed = client.fire("session-start", client.event("SessionStart", source="compact"))
    ended = client.fire("session-end", client.event("SessionEnd", reason="other"))

    manifest = resumed.answer["hookSpecificOutput"]["additionalContext"]
    assert "Mend the basket" in manifest
    assert ended.stdout == b""
    other = made("codex", client.project.parent)
    other.session = "session-2"
    told = other.fire("session-start", other.event("SessionStart", source="startup"))
    assert "Mend the basket" in told.answer["hookSpecificOutput"]["additionalContext"]


def test_a_turn_of_codex_ends_without_a_word(tmp_path: Path) -> None:
    client = made("codex", tmp_path)
    client.after("make", "done", "t1")

    run = client.fire("turn-end", client.event("Stop", stop_hook_active=False))

    assert (run.status, run.stdout) == (0, b"")


def test_a_subagent_s_output_is_observed_and_left_as_it_is(client: Client) -> None:
    told = {"stdout": BIG, "stderr": "", "interrupted": False, "isImage": False}
    call = client.event("PostToolUse", tool_name="Bash", tool_input={"command": "make"})

    run = client.fire("after-tool", {**call, "agent_id": "a1", "tool_response": told})

    assert run.answer is None
    assert client.calls() == 1


@pytest.mark.parametrize("name", CLIENTS)
def test_the_canary_is_refused_without_a_database(name: str, tmp_path: Path) -> None:
    client = made(name, tmp_path)
    call = client.event(NAMES[name][0], tool_name=CANARY, tool_input={}, tool_use_id="t1")

    run = client.fire("before-tool", call)

    assert run.denial is not None
    assert CANARY in run.denial
    assert not client.database.exists()


def test_our_own_tools_are_not_observed(client: Client) -> None:
    call = client.event("PostToolUse", tool_name="mcp__handoff-memory__memory_read", tool_input={})

    run = client.fire("after-tool", {**call, "tool_use_id": "t1", "tool_response": BIG})

    assert run.answer is None
    assert not client.database.exists()


def test_two_hosts_that_fire_for_one_call_count_once(any_client: Client) -> None:
    any_client.after("make", "done", "t0")

    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda _: any_client.after("make", "done", "777"), range(2)))

    assert [run.status for run in runs] == [0, 0]
    assert any_client.calls() == 2


def test_calls_of_gemini_that_end_in_the_same_moment_are_told_apart(tmp_path: Path) -> None:
    client = made("gemini", tmp_path)

    one = client.after("cat a.log", BIG, "same")
    two = client.after("cat b.log", BIG.replace("line", "row"), "same")

    assert "r1," in one.answer["reason"]
    assert "r2," in two.answer["reason"]


def test_claude_code_s_hook_is_silent_where_cursor_runs_it(tmp_path: Path) -> None:
    claude, cursor = made("claude-code", tmp_path), made("cursor", tmp_path)
    tool = NAMES["claude-code"][2]
    fields: dict[str, Any] = {"tool_name": tool, "tool_input": {"command": "make"}}
    told = {"stdout": "x", "stderr": ""}
    call = claude.event("PostToolUse", **fields, tool_use_id="t1", tool_response=told)

    cursor.after("make", "x", "t1")
    run = claude.fire("after-tool", {**call, "cursor_version": "2.4.1"})

    assert run.answer is None
    assert claude.calls() == 1


def test_a_flag_names_who_acts_and_where(tmp_path: Path) -> None:
    client = made("gemini", tmp_path)
    other = tmp_path / "other.db"
    call = client.event("BeforeAgent", prompt="go", timestamp="2026-11-30T00:00:00.1Z")

    client.fire("prompt", call, options=("--agent-id", "Reviewer", f"--db={other}"))

    assert other.exists()
    assert not client.database.exists()


def test_a_hook_loads_nothing_that_a_server_needs(client: Client) -> None:
    call = client.event("PreToolUse", tool_name="Bash", tool_input={"command": "ls"})
    command = [sys.executable, "-X", "importtime", *COMMAND[1:]]

    done = subprocess.run(
        [*command, "before-tool", "--client", client.name],
        input=str(call).replace("'", '"'),
        capture_output=True,
        text=True,
        env=client.environ(),
        timeout=60,
        check=True,
    )

    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "handoff_memory.guard" in loaded
    heavy = ("asyncio", "pydantic", "mcp", "click", "aiosqlite", "argparse", "regex", "jmespath")
    assert loaded.isdisjoint(heavy)


@pytest.mark.parametrize(
    "odd",
    [
        b'"\\ud83d"',  # half a character, as JavaScript cuts and writes it
        b'"\xff"',
        b"1e999",
        b"NaN",
        b"1" * 5_000,
    ],
)
def test_what_only_other_readers_take_for_json_is_judged_as_well(
    any_client: Client, odd: bytes
) -> None:
    any_client.rules(CLOSED)
    name, _, tool = NAMES[any_client.name]
    args = {"command": "git push", "odd": "ODD"}
    call = orjson.dumps(any_client.event(name, tool_name=tool, tool_input=args))

    for given in (call.replace(b'"ODD"', odd), b"\xef\xbb\xbf" + call):
        assert "no-push" in str(any_client.fire("before-tool", given).denial)


# --- whatever fails -----------------------------------------------------------------------------


@pytest.mark.parametrize("given", [b"", b"garbage", b"[1]", b'{"a":', b"\xff\xfe\x00", b"null"])
def test_what_is_no_event_is_answered_with_silence(any_client: Client, given: bytes) -> None:
    run = any_client.fire("before-tool", given)

    assert run.status == 0
    assert run.stdout == (b"{}" if any_client.name == "cursor" else b"")
    assert [gap["text"].partition(":")[0] for gap in any_client.gaps] == ["before-tool"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_of_odd_types_is_answered_with_silence(client: Client, kind: str) -> None:
    given = {"hook_event_name": ["PreToolUse"], "tool_name": 7, "tool_input": "x", "cwd": {}}

    run = client.fire(kind, given)

    assert (run.status, run.stdout) == (0, b"")


@pytest.mark.parametrize("client_name", ["claude-code", "cursor"])
def test_a_stdin_that_is_never_closed_ends_at_the_deadline(
    client_name: str, tmp_path: Path
) -> None:
    client = made(client_name, tmp_path)
    hook = subprocess.Popen(
        [*COMMAND, "before-tool", "--client", client.name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=client.environ(),
    )
    assert hook.stdin is not None
    assert hook.stdout is not None
    hook.stdin.write(b'{"hook_event_name":')
    hook.stdin.flush()

    status = hook.wait(timeout=IN_TIME_S)

    assert status == 0
    assert hook.stdout.read() == (b"{}" if client_name == "cursor" else b"")
    assert "too long" in client.gaps[0]["text"]
    hook.stdout.close()
    hook.stdin.close()


def test_a_locked_database_lets_the_call_go_on_and_the_gap_is_journaled_later(
    client: Client,
) -> None:
    client.after("ls", "a.txt", "t1")

    with locked(client.database):
        before = client.before("make", OSIRIS_HOOK_DEADLINE_MS="1500")
        after = client.after("make", "done", "t2", OSIRIS_HOOK_DEADLINE_MS="1500")

    assert (before.status, after.status) == (0, 0)
    assert before.denial is None
    assert max(before.seconds, after.seconds) < IN_TIME_S
    waiting = len(client.gaps)
    assert waiting >= 1

    client.after("ls", "a.txt", "t3")

    assert client.gaps == []
    assert client.journal("gap") == waiting


def test_a_gap_of_another_agent_waits_for_it(client: Client) -> None:
    client.database.write_bytes(b"no database at all " * 100)
    client.before("make", AGENT_ID="reviewer")
    client.database.unlink()

    client.after("ls", "a.txt", "t1")
    assert len(client.gaps) == 1
    client.after("ls", "a.txt", "t2", AGENT_ID="reviewer")

    assert client.gaps == []


@pytest.mark.parametrize("name", ["codex", "cursor"])
def test_what_must_not_go_by_unjudged_is_refused_where_the_hook_fails(
    name: str, tmp_path: Path
) -> None:
    client = made(name, tmp_path)
    client.rules(CLOSED + BROKEN)
    client.after("ls", "a.txt", "t1")

    with locked(client.database):
        pushed = client.before("git push", OSIRIS_HOOK_DEADLINE_MS="1500")
        committed = client.before("git commit -m x", OSIRIS_HOOK_DEADLINE_MS="1500")

    assert pushed.denial is not None
    assert "no-push: Nobody pushes" in pushed.denial
    assert "fail_closed" in pushed.denial
    assert committed.denial is None
    assert pushed.seconds < IN_TIME_S


@pytest.mark.parametrize(
    "env",
    [
        {"MEMORY_DEADLINE_S": "soon"},
        {"AGENT_ID": "no agent\nid"},
        {"OSIRIS_HOOK_DEADLINE_MS": "-1"},
        {"OSIRIS_HOME": "/dev/null/home", "MEMORY_DB": ""},
        {"MEMORY_DB": "/dev/null/memory.db"},
        {"MEMORY_DB": "/proc/self/mem"},
    ],
    ids=lambda env: next(iter(env.items()))[0],
)
def test_broken_settings_let_the_call_go_on(client: Client, env: dict[str, str]) -> None:
    client.rules(CLOSED)

    passed, pushed = client.before("make", **env), client.before("git push", **env)

    assert (passed.status, passed.stdout) == (0, b"")
    assert pushed.status == 0
    assert "no-push" in str(pushed.denial)


@pytest.mark.parametrize("damage", [b"", b"SQLite format 3\x00" + b"\xff" * 5000, b"no database"])
def test_a_damaged_database_lets_the_call_go_on(client: Client, damage: bytes) -> None:
    client.database.write_bytes(damage)

    runs = [client.before("make"), client.after("make", BIG, "t1")]

    assert [run.status for run in runs] == [0, 0]
    assert runs[0].stdout == b""


@pytest.mark.parametrize(
    "rules", [b"\xff", b"[[invariant]", b"x = 1", b"#" * (2 << 20), BROKEN.encode()]
)
def test_broken_rules_let_the_call_go_on(client: Client, rules: bytes) -> None:
    (client.project / ".osiris").mkdir()
    (client.project / ".osiris" / "invariants.toml").write_bytes(rules)

    run = client.before("make")

    assert (run.status, run.denial) == (0, None)


@linux_root
def test_a_full_disk_lets_the_call_go_on(client: Client, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        client.database, client.home = disk / "memory.db", disk / "home"
        client.after("ls", "a.txt", "t1")
        free = shutil.disk_usage(disk).free
        (disk / "filler").write_bytes(bytes(free))

        runs = [client.before("make"), client.after("make", BIG, "t2")]

        assert [run.status for run in runs] == [0, 0]
        assert [run.denial for run in runs] == [None, None]
        (disk / "filler").unlink()
        assert client.before("make").status == 0


@pytest.mark.skipif(os.name != "posix", reason="a POSIX shell")
def test_a_package_that_was_uninstalled_lets_the_call_go_on(client: Client) -> None:
    command = f'"{sys.executable}" -I -S -m handoff_memory hook before-tool || exit 0'

    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (0, b"")
    assert b"handoff_memory" in done.stderr


def test_a_client_that_does_not_read_the_answer_is_no_failure(client: Client) -> None:
    hook = subprocess.Popen(
        [*COMMAND, "before-tool", "--client", client.name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=client.environ(),
    )
    assert hook.stdin is not None
    assert hook.stdout is not None
    assert hook.stderr is not None
    hook.stdout.close()
    hook.stdin.write(str(client.event("PreToolUse", tool_name=CANARY)).replace("'", '"').encode())
    hook.stdin.close()

    assert hook.wait(timeout=IN_TIME_S) == 0
    hook.stderr.close()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("before-tool",),
        ("sometime", "--client", "codex"),
        ("prompt", "--client", "x"),
        ("--no",),
    ],
)
def test_a_mistyped_hook_says_so_on_stderr_alone(client: Client, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [*COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Usage: handoff-memory hook EVENT" in done.stderr


def test_help_is_given(client: Client) -> None:
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, timeout=60, check=True)

    assert b"Examples:" in done.stdout
    assert "hook" in client.shell("--help").stdout


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_time_is_kept_where_the_work_hangs(any_client: Client) -> None:
    any_client.home.mkdir()
    os.mkfifo(any_client.home / "not-secret.txt")  # reading it never ends

    run = any_client.before("make")

    assert run.status == 0
    assert run.stdout == (b"{}" if any_client.name == "cursor" else b"")
    assert run.seconds < IN_TIME_S


LATE: Final = """
from handoff_memory.hooks.event import NOTHING
from handoff_memory.hooks.main import Hook
from handoff_memory.hooks.options import Options

hook = Hook(Options("after-tool", "claude-code"))
hook._give(NOTHING)
hook._too_late()
print("goes on", flush=True)
"""


def test_an_answer_that_is_being_given_is_not_cut_off(client: Client) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LATE],
        capture_output=True,
        text=True,
        env=client.environ(),
        timeout=60,
        check=True,
    )

    assert done.stdout == "goes on\n"
