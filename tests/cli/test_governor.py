from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from actors import Tools
from handoff_memory.app import governing, open_local
from handoff_memory.core.author import Author
from handoff_memory.rules.invariants import Book
from handoff_memory.services import observing, planning
from handoff_memory.services.planning import PlanRequest
from handoff_memory.settings import Settings, read_settings
from shell import Shell

Connect = Callable[..., AbstractAsyncContextManager[Tools]]

HOSTILE = "fix \x1b[31mred\x1b]0;owned\x07 \u202egnp"
LOG = "".join(f"line {number}: nothing to see\n" for number in range(1, 400))
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
RULES = """\
[[invariant]]
id = "tests-before-commit"
when = { tool = "git.commit" }
require = { state = "tests_passed" }
message = "Cannot commit while tests are failing"

[[invariant]]
id = "no-test-edit"
when = { path_glob = "tests/**" }
verdict = "ask"
message = "Modifying test suites requires explicit approval"
"""


class Governed:
    """A task of an agent, by the services."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.settings: Settings = read_settings(shell.env)
        self.by = governing(self.settings, Book())

    def plan(self, task: str = "t1", *, project: str = "", **more: Any) -> dict[str, Any]:
        with open_local(self.settings) as memory:
            who = Author("builder", "s_builder", project)
            return memory.write(
                lambda tx: planning.plan(tx, who, self.by, PlanRequest(task=task, **more))
            )

    def observe(self, data: str | bytes, tool: str = "run", task: str = "t1") -> str:
        """The ref of a result."""
        seen = observing.see(
            self.settings.limits,
            tool,
            {"n": len(data)},
            data=data.encode() if isinstance(data, str) else data,
        )
        with open_local(self.settings) as memory:
            who = Author("builder", "s_builder")
            reply = memory.write(lambda tx: observing.observe(tx, who, self.by, seen, task_id=task))
        ref: str = reply["ref"]
        return ref


@pytest.fixture
def shell(shell: Shell, tmp_path: Path) -> Shell:
    """A shell in a project of its own."""
    folder = tmp_path / "project"
    (folder / ".osiris").mkdir(parents=True)
    return Shell(shell.database, {**shell.env, "CLAUDE_PROJECT_DIR": str(folder)})


@pytest.fixture
def governed(shell: Shell) -> Governed:
    found = Governed(shell)
    found.plan(
        objective="fix the profile bug",
        plan=("reproduce", "mend", "test"),
        decisions=("keep the old format",),
        lesson="the log lies about the line",
    )
    found.plan(step=1)
    return found


@pytest.fixture
def rules(shell: Shell) -> Path:
    path = Path(shell.env["CLAUDE_PROJECT_DIR"]) / ".osiris" / "invariants.toml"
    path.write_text(RULES)
    return path


@pytest.fixture
def era() -> str:
    return "auto"


# --- audit


def test_an_audit_of_what_is_whole_is_lossless(governed: Governed, shell: Shell) -> None:
    governed.observe(LOG)
    governed.observe(LOG + f"token = {TOKEN}\n" * 3)

    text, reply = shell("audit", "--task", "t1"), shell.json("audit", "--task", "t1")

    assert (text.exit_code, text.stderr) == (0, "")
    assert text.stdout.splitlines()[-1] == "lossless"
    redacted = reply.pop("redacted_bytes")
    assert redacted >= 3 * len(TOKEN)
    assert reply == {
        "lossless": True,
        "items_externalized": 2,
        "items_verified": 2,
        "items_missing": 0,
        "integrity_violations": [],
    }


def test_an_audit_of_altered_bytes_exits_1_and_names_the_ref(
    governed: Governed, shell: Shell
) -> None:
    governed.observe(LOG)
    shell.tamper(
        "DROP TRIGGER payload_parts_keep_values",
        "UPDATE payload_parts SET codec = 'plain', bytes = CAST('forged' AS BLOB)",
    )

    text, document = shell("audit", "--task", "t1"), shell.script("osiris", "audit", "--task", "t1")
    as_json = shell("audit", "--task", "t1", "--json")

    assert (text.exit_code, document.returncode, as_json.exit_code) == (1, 1, 1)
    assert "not lossless" in document.stdout
    reply = json.loads(as_json.stdout)
    assert reply["lossless"] is False
    assert (reply["items_verified"], reply["items_missing"]) == (0, 0)
    assert reply["integrity_violations"][0].startswith("mem://sha256:")
    assert reply["integrity_violations"][0] in text.stdout


def test_an_audit_of_no_task_could_not_run(governed: Governed, shell: Shell) -> None:
    other, none = shell("audit", "--task", "t9", "--json"), shell("audit")

    assert (other.exit_code, none.exit_code) == (2, 2)
    assert json.loads(other.stdout)["code"] == "not_found"


def test_an_audit_without_a_database_could_not_run(shell: Shell) -> None:
    assert shell("audit", "--task", "t1").exit_code == 2
    assert not shell.database.exists()


# --- tasks


def test_tasks_come_a_line_each_the_last_touched_first(governed: Governed, shell: Shell) -> None:
    governed.plan("t2", objective=HOSTILE)
    governed.observe(LOG)

    text, reply = shell("tasks").stdout, shell.json("tasks")

    assert [item["task"] for item in reply["tasks"]] == ["t1", "t2"]
    first = reply["tasks"][0]
    assert (first["done"], first["steps"], first["calls"]) == (1, 3, 1)
    assert (first["agent"], first["objective"]) == ("builder", "fix the profile bug")
    head, *lines = text.splitlines()
    assert len({line.index(line.split()[1]) for line in lines}) == 1
    assert head.index("OBJECTIVE") == lines[0].index("fix the profile bug")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert [item["task"] for item in shell.json("tasks", "--limit", "1")["tasks"]] == ["t1"]


def test_no_tasks_at_all_is_said(shell: Shell) -> None:
    shell.json("write", "s/k", "1")

    assert shell("tasks").stdout == "no tasks\n"


def test_tasks_of_another_project_are_not_seen(shell: Shell) -> None:
    governed = Governed(shell)
    governed.plan("t1", project="other", objective="theirs")

    assert shell.json("tasks")["tasks"] == []
    assert shell("task", "t1").exit_code == 2
    assert shell("task", "t1", "--project", "other").exit_code == 0


def test_a_task_is_shown_whole(governed: Governed, shell: Shell) -> None:
    governed.plan(decisions=(HOSTILE,))
    governed.observe(LOG)

    text = shell("task", "t1").stdout

    assert text.startswith("OSIRIS/1 task=t1 ")
    assert "SEAL=sha256:" in text
    assert "  - reproduce [completed]" in text
    assert "  - the log lies about the line" in text
    assert "LEDGER" in text
    assert "net" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


async def test_a_task_is_what_the_tool_and_the_resource_say(
    governed: Governed, shell: Shell, connect: Connect
) -> None:
    governed.observe(LOG)

    printed = shell.json("task", "t1")
    folder = Path(shell.env["CLAUDE_PROJECT_DIR"])
    async with connect("ada", database=shell.database, folder=folder) as call:
        status = await call("osiris_plan", task="t1", mode="status")
        resource = await call.client.read_resource("osiris://task/t1/status")
        manifest = await call.client.read_resource("osiris://task/t1/manifest")
        resumed = await call("osiris_plan", task="t1", mode="resume")

    assert printed["status"] == json.loads(resource.contents[0].text)  # type: ignore[union-attr]
    assert printed["status"] == {name: status[name] for name in printed["status"]}
    sealed = json.loads(manifest.contents[0].text)  # type: ignore[union-attr]
    assert printed["manifest"] == sealed["manifest"]
    for name in ("plan", "decisions", "lessons", "failures", "refs", "flags"):
        assert printed[name] == resumed[name]


# --- recall


def test_recall_gives_the_bytes_as_they_were_kept_one_behind_the_other(
    governed: Governed, shell: Shell
) -> None:
    binary = bytes(range(256)) * 20
    first, second = governed.observe(LOG), governed.observe(binary)

    result = shell("recall", second, first)

    assert result.exit_code == 0
    assert result.stdout_bytes == binary + LOG.encode()


def test_recall_as_json_says_what_a_payload_is(governed: Governed, shell: Shell) -> None:
    binary = bytes(range(256)) * 20
    text, raw = governed.observe(LOG), governed.observe(binary)

    both = shell.json("recall", text, raw)["refs"]
    one = shell.json("recall", text)

    assert both[0] == one
    assert (one["ref"], one["text"], one["size_bytes"]) == (text, LOG, len(LOG))
    assert base64.b64decode(both[1]["base64"]) == binary
    assert both[1]["kept_by"] == "builder"
    assert shell("recall", one["sha256"][:8]).stdout_bytes == LOG.encode()


@pytest.mark.parametrize(
    ("args", "op", "options"),
    [
        (("--pattern", "line 39"), "grep", {"pattern": "line 39"}),
        (
            ("--pattern", "LINE 7:", "--ignore-case", "--context", "1"),
            "grep",
            {"pattern": "LINE 7:", "ignore_case": True, "context": 1},
        ),
        (("--lines", "3"), "head", {"lines": 3}),
        (("--op", "tail", "--lines", "2"), "tail", {"lines": 2}),
        (("--lines", "10-12"), "range", {"first": 10, "last": 12}),
        (("--bytes", "0-9"), "range", {"unit": "bytes", "first": 0, "last": 9}),
    ],
)
async def test_a_part_is_what_the_tool_gives(
    governed: Governed,
    shell: Shell,
    connect: Connect,
    args: tuple[str, ...],
    op: str,
    options: dict[str, Any],
) -> None:
    ref = governed.observe(LOG)

    printed, text = shell.json("recall", ref, *args), shell("recall", ref, *args)
    async with connect("ada", database=shell.database) as call:
        replied = await call("osiris_recall", ref=ref, op=op, args=options)

    assert printed == {name: replied[name] for name in printed}
    assert text.exit_code == 0
    assert text.stdout.startswith(printed["text"].rstrip("\n"))


@pytest.mark.parametrize(
    "args",
    [
        ("r9",),
        ("r1", "r9"),
        ("r1", "--op", "grep"),
        ("r1", "--where", "x"),
        ("r1", "--lines", "many"),
        ("r1", "--lines", "1-x"),
        ("r1", "--bytes", "5"),
        ("r1", "--pattern", "(", "--regex"),
        ("r1", "--op", "head", "--cursor", "made-up"),
        ("r1", "r1", "--op", "head", "--cursor", "x"),
    ],
)
def test_a_recall_that_cannot_be_exits_2_and_prints_nothing(
    governed: Governed, shell: Shell, args: tuple[str, ...]
) -> None:
    governed.observe(LOG)

    result = shell("recall", *args)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")


def test_a_part_is_shown_with_how_to_go_on_and_obeys_no_escape(
    governed: Governed, shell: Shell
) -> None:
    ref = governed.observe(LOG.replace("nothing", HOSTILE))

    result = shell("recall", ref, "--pattern", "line", "--max-matches", "5")

    assert "\x1b" not in result.stdout
    assert "more: --cursor " in result.stdout
    cursor = result.stdout.split("more: --cursor ")[1].strip()
    again = shell("recall", ref, "--pattern", "line", "--max-matches", "5", "--cursor", cursor)
    assert "line 6:" in again.stdout


def test_altered_bytes_are_never_printed(governed: Governed, shell: Shell) -> None:
    ref = governed.observe(LOG)
    shell.tamper(
        "DROP TRIGGER payload_parts_keep_values",
        "UPDATE payload_parts SET codec = 'plain', bytes = CAST('forged' AS BLOB)",
    )

    result = shell("recall", ref, "--json")

    assert result.exit_code == 2
    assert json.loads(result.stdout)["code"] == "ref_corrupt"
    assert shell("recall", ref).stdout_bytes == b""


# --- health


def test_health_is_told_in_short(governed: Governed, rules: Path, shell: Shell) -> None:
    governed.observe(LOG)

    text = shell("health", OSIRIS_ROOTS=str(rules.parent))
    reply = shell.json("health", OSIRIS_ROOTS=str(rules.parent))

    assert text.exit_code == 0
    found = {check["name"]: check["found"] for check in reply["checks"]}
    assert "1 task in this project" in found["tasks"]
    assert found["payloads"].startswith("1 payload, ")
    assert found["rules"] == f"2 rules in {rules}"
    assert found["roots"] == str(rules.parent)
    assert reply["ok"] is True
    assert (
        len(
            {
                line.index(check["found"][:8])
                for line, check in zip(text.stdout.splitlines(), reply["checks"], strict=True)
            }
        )
        == 1
    )


def test_health_before_anything_is_there_is_no_problem(shell: Shell) -> None:
    result = shell("health")

    assert result.exit_code == 0
    assert "The first write makes it." in result.stdout
    assert not shell.database.exists()


def test_health_names_bad_rules_missing_roots_and_a_broken_file(rules: Path, shell: Shell) -> None:
    rules.write_text('[[invariant]]\nid = "x"\nmesage = "typo"\n')
    shell.database.write_bytes(b"no database at all" * 100)

    result = shell("health", "--json", OSIRIS_ROOTS="/no/such/folder")

    assert result.exit_code == 1
    checks = json.loads(result.stdout)["checks"]
    problems = {check["name"] for check in checks if check["status"] == "problem"}
    assert problems == {"database", "rules", "roots"}


# --- invariants


def test_rules_without_a_mistake_are_listed(rules: Path, shell: Shell) -> None:
    text, reply = shell("invariants", "check"), shell.json("invariants", "check")

    assert text.exit_code == 0
    assert text.stdout.splitlines()[-1] == "ok  2 rules"
    assert (reply["ok"], reply["file"], reply["problems"]) == (True, str(rules), [])
    assert [rule["id"] for rule in reply["rules"]] == ["tests-before-commit", "no-test-edit"]


def test_each_mistake_is_named_with_file_line_and_field(rules: Path, shell: Shell) -> None:
    rules.write_text(RULES + '\n[[invariant]]\nid = "no-test-edit"\nwhen = { tol = "x" }\n')

    text, document = (
        shell("invariants", "check", str(rules)),
        shell("invariants", "check", "--json"),
    )

    assert (text.exit_code, document.exit_code) == (1, 1)
    reply = json.loads(document.stdout)
    assert reply["problems"]
    for one in reply["problems"]:
        said = f"{one['file']}:{one['line']}: {one['field']}: {one['message']}"
        assert said in text.stdout.splitlines()
    assert {rule["id"] for rule in reply["rules"]} >= {"tests-before-commit"}


def test_a_file_that_is_no_text_is_a_mistake_and_a_missing_one_is_not_checked(
    rules: Path, shell: Shell
) -> None:
    rules.write_bytes(b'\xff\xfe[[invariant]]\nid = "x"')

    assert shell("invariants", "check").exit_code == 1
    assert shell("invariants", "check", "nowhere.toml").exit_code == 2
    rules.unlink()
    assert shell("invariants", "check").exit_code == 2
    assert shell("invariants").exit_code == 2


# --- approve


def test_a_persons_approval_is_journaled_as_theirs(
    governed: Governed, rules: Path, shell: Shell
) -> None:
    reply = json.loads(
        shell("approve", "no-test-edit", "--for", "10m", "--yes", "--json", LOGNAME="Ada").stdout
    )

    assert (reply["task"], reply["rule"]) == ("t1", "no-test-edit")
    line = json.loads(shell("log", "--limit", "1", "--json").stdout)
    assert (line["agent"], line["action"], line["subject"]) == ("cli-ada", "approved", "t1")


async def test_what_was_approved_may_be_done(
    governed: Governed, rules: Path, shell: Shell, connect: Connect
) -> None:
    folder = Path(shell.env["CLAUDE_PROJECT_DIR"])
    action = {"task": "t1", "tool": "edit_file", "args": {"path": "tests/test_a.py"}}

    async with connect("builder", database=shell.database, folder=folder) as call:
        before = await call("osiris_precheck", **action)
        text = shell("approve", "no-test-edit", "--for", "10m", "--task", "t1", "--yes")
        after = await call("osiris_precheck", **action)

    assert before["verdict"] == "ask"
    assert text.stdout.startswith("task t1 may break no-test-edit until ")
    assert after["verdict"] == "allow"


@pytest.mark.parametrize(
    "args",
    [
        ("no-test-edit", "--for", "10m"),  # no terminal
        ("no-test-edit",),
        ("no-test-edit", "--for", "10", "--yes"),
        ("no-test-edit", "--for", "0m", "--yes"),
        ("no-test-edit", "--for", "25h", "--yes"),
        ("no-such-rule", "--for", "10m", "--yes"),
        ("no-test-edit", "--for", "10m", "--task", "t9", "--yes"),
    ],
)
def test_an_approval_that_cannot_be_exits_2_and_writes_nothing(
    governed: Governed, rules: Path, shell: Shell, args: tuple[str, ...]
) -> None:
    before = shell.json("stats")["head"]

    result = shell("approve", *args, given="y\n")

    assert result.exit_code == 2
    assert shell.json("stats")["head"] == before


def test_no_task_at_all_can_be_approved_nothing(rules: Path, shell: Shell) -> None:
    shell.json("write", "s/k", "1")

    assert shell("approve", "no-test-edit", "--for", "10m", "--yes").exit_code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(("answer", "status"), [("y", 0), ("n", 1)])
def test_a_person_is_asked_on_a_terminal(
    governed: Governed, rules: Path, shell: Shell, answer: str, status: int
) -> None:
    governed.plan("t2", objective=HOSTILE)

    output, code = on_a_terminal(shell, answer, "approve", "no-test-edit", "--for", "10m")

    assert "Modifying test suites requires explicit approval" in output
    assert "task t2: fix \\x1b[31mred" in output
    assert "\x1b" not in output
    assert code == status
    action = json.loads(shell("log", "--limit", "1", "--json").stdout)["action"]
    assert (action == "approved") is (status == 0)


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_payload_on_a_terminal_is_shown_and_not_obeyed(governed: Governed, shell: Shell) -> None:
    text = governed.observe(LOG.replace("nothing", HOSTILE))
    binary = governed.observe(bytes(range(256)) * 20)

    shown, code = on_a_terminal(shell, "", "recall", text, "--no-color")
    refused, status = on_a_terminal(shell, "", "recall", binary, "--no-color")

    assert (code, status) == (0, 2)
    assert "\\x1b[31mred" in shown
    assert "\x1b" not in shown
    assert "is binary" in refused


def on_a_terminal(shell: Shell, answer: str, *args: str) -> tuple[str, int]:
    """What a verb shows on a terminal where that is typed, and its exit status."""
    import pty  # noqa: PLC0415 - not on Windows

    terminal, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "handoff_memory", *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=shell.environ(NO_COLOR="1"),
    ) as running:
        os.close(theirs)
        os.write(terminal, f"{answer}\n".encode())
        found = b""
        try:
            while part := os.read(terminal, 65536):
                found += part
        except OSError:
            pass  # how Linux says that the other end is closed
    os.close(terminal)
    return found.decode(), running.returncode


# --- osiris


def test_osiris_has_the_governors_verbs_and_no_others(governed: Governed, shell: Shell) -> None:
    governed.observe(LOG)

    alone = shell.script("osiris")
    audit = shell.script("osiris", "audit", "--task", "t1", "--json")
    health = shell.script("osiris", "health")

    assert alone.returncode == 0
    for verb in ("health", "tasks", "task", "recall", "audit", "invariants", "approve", "serve"):
        assert f"\n  {verb} " in alone.stdout
    assert json.loads(audit.stdout) == shell.json("audit", "--task", "t1")
    assert (audit.returncode, health.returncode) == (0, 0)
    assert shell.script("osiris", "write", "s/k", "1").returncode == 2


def test_osiris_serve_serves(shell: Shell) -> None:
    served = shell.script("osiris", "serve")  # stdin is empty: the client left at once

    assert served.returncode == 0, served.stderr
