"""A coding task from its plan to a lost process and back, through real servers over stdio."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from actors import Reply, Tools
from handoff_memory.app import open_local
from handoff_memory.settings import Settings
from processes import big, counted, served

pytestmark = pytest.mark.processes

TASK = "fix-profile"
OBJECTIVE = "fix the PowerShell profile bug"
PLAN = ["reproduce it", "fix the loader", "run the tests"]
FAILING = {"command": "pytest tests/test_profile.py -q"}


def seal_of(reply: Reply) -> str:
    return re.search(r"SEAL=(\S+)", reply["manifest"])[1]  # type: ignore[index]


async def planned(call: Tools, **more: Any) -> Reply:
    return await call(
        "osiris_plan",
        task=TASK,
        objective=OBJECTIVE,
        constraints=["never touch the registry"],
        decisions=["the loader reads $PROFILE once"],
        plan=PLAN,
        **more,
    )


async def worked(call: Tools, folder: Path) -> tuple[list[Reply], str]:
    """Twenty actions of a coding task; the replies to them, and the last seal."""
    seal = seal_of(await planned(call))
    replies: list[Reply] = []

    async def did(tool: str, args: dict[str, Any], **more: Any) -> None:
        replies.append(await call("osiris_observe", tool=tool, args=args, seal=seal, **more))

    for n, name in enumerate(("loader.ps1", "profile.ps1", "main.ps1")):
        await did("Read", {"file_path": name}, result=f"# {name}\n$x = {n}")
    await did("Bash", {"command": "make build"}, result=big("build"))
    await did("Bash", {"command": "make install"}, result=big("install"))
    for n in range(3):
        error = f"[12:0{n}:01] pid {4000 + n}: /tmp/pytest-{n}/x.py:{10 + n}: AssertionError: $x"
        await did("Bash", FAILING, error=error)
    seal = seal_of(await call("osiris_plan", step=1))
    await did("Edit", {"file_path": "loader.ps1", "old_string": "a", "new_string": "b"})
    for _ in range(2):
        await did("Grep", {"pattern": "PROFILE"}, result="loader.ps1:3")
        await did("Grep", {"pattern": "LOADER"}, result="main.ps1:9")
    await did("Edit", {"file_path": "loader.ps1", "old_string": "b", "new_string": "c"})
    await did("Bash", FAILING, result="1 passed", flags={"tests_passed": True})
    for n in range(5):
        await did("Read", {"file_path": f"docs/{n}.md"}, result=f"page {n}")
    assert len(replies) == 20
    return replies, seal


async def test_twenty_actions_are_logged_the_loops_in_them_told_and_the_logs_kept(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as call:
        replies, _ = await worked(call, tmp_path)
        denied = await call("osiris_precheck", tool="Bash", args=FAILING)
        log = await call("osiris_recall", ref=replies[3]["ref"], op="tail", args={"lines": 1})

    patterns = {n: reply["loop"]["pattern"] for n, reply in enumerate(replies) if "loop" in reply}
    assert [reply["ref"] for reply in replies if "ref" in reply] == ["r1", "r2"]
    assert patterns[7] == "repeated_failure"
    assert replies[7]["loop"]["verdict"] == "block"
    assert (patterns[12], replies[12]["loop"]["verdict"]) == ("oscillation", "warn")
    assert set(patterns) <= {7, 11, 12}
    assert not any("drift" in reply for reply in replies)
    assert log["text"].strip() == "build line 120: module 1 did its work"
    assert denied["verdict"] == "suggest_alternative"  # they passed, and no file was edited since


async def test_every_kind_of_drift_is_told_by_the_very_next_observation(tmp_path: Path) -> None:
    async with served(tmp_path) as call:
        old = seal_of(await planned(call))

        async def drift(seal: str) -> Any:
            return (await call("osiris_observe", tool="Read", args={}, seal=seal)).get("drift")

        same = await drift(old)
        grown = await call("osiris_plan", decisions=["use UTF-8"])
        growth = await drift(old)
        contract = await call("osiris_observe", kind="contract", result=[{"name": "Read"}])
        minor = await drift(seal_of(grown))
        now = seal_of(await call("osiris_plan"))
        head = await call("osiris_observe", kind="head", result="You are a careful engineer.")
        major = await drift(now)
        now = seal_of(await call("osiris_plan"))
        rewritten = await call("osiris_plan", mode="rewrite", decisions=["use UTF-16"])
        semantic = await drift(now)
        unheard = await drift("sha256:aaaaaa…bbbb")

    assert same is None
    assert (growth["verdict"], growth["cause"]) == ("growth", "tail_appended")
    assert "semantic_break" not in growth
    assert growth["prefill"] > 0
    assert (minor["verdict"], minor["cause"]) == ("minor", "zone_b_changed")
    assert (major["verdict"], major["cause"]) == ("major", "head_changed")
    assert major["prefill"] > minor["prefill"] > 0
    assert semantic["semantic_break"] is True
    assert (semantic["verdict"], semantic["cause"]) == ("semantic", "pinned_rewrite")
    assert (semantic["item"], semantic["prefill"]) == ("decision 1", 0)
    assert unheard["verdict"] == "unknown"
    assert [reply["drift"]["verdict"] for reply in (grown, contract, head, rewritten)] == [
        *("growth", "minor", "major", "semantic"),
    ]


async def test_a_step_that_is_done_changes_the_manifest_but_is_no_drift(tmp_path: Path) -> None:
    async with served(tmp_path) as call:
        before = await planned(call)
        after = await call("osiris_plan", step=1)
        seen = await call("osiris_observe", tool="Read", args={}, seal=seal_of(before))

    assert "plan=0/3" in before["manifest"]
    assert "plan=1/3" in after["manifest"]
    assert seal_of(before) == seal_of(after)
    assert "drift" not in after
    assert "drift" not in seen


async def test_the_whole_seal_is_taken_as_the_short_one_is(tmp_path: Path) -> None:
    async with served(tmp_path) as call:
        await planned(call)
        (content,) = (await call.client.read_resource(f"osiris://task/{TASK}/manifest")).contents
        whole = re.search(r'"seal":"([0-9a-f]{64})"', content.text)[1]  # type: ignore[index,union-attr]
        good = await call("osiris_observe", tool="Read", args={}, seal=whole)
        bad = await call("osiris_observe", tool="Read", args={}, seal="0" * 64)

    assert "drift" not in good
    assert bad["drift"]["verdict"] == "unknown"


async def test_the_same_state_gives_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    async def run(seed: str) -> tuple[list[Reply], str]:
        folder = tmp_path / seed
        async with served(folder, PYTHONHASHSEED=seed) as call:
            replies, _ = await worked(call, folder)
            return replies, (await call("osiris_plan"))["manifest"]

    first, second = await asyncio.gather(run("0"), run("1"))

    assert first == second
    assert counted(first[1]) <= 120


async def test_two_processes_show_the_same_manifest_of_one_task(tmp_path: Path) -> None:
    async with served(tmp_path) as one, served(tmp_path, AGENT_ID="executor") as other:
        _, seal = await worked(one, tmp_path)

        here = await one("osiris_plan", task=TASK)
        there = await other("osiris_plan", task=TASK)
        seen = await other("osiris_observe", task=TASK, tool="Read", args={}, seal=seal)

    assert here["manifest"] == there["manifest"]
    assert "plan=1/3" in here["manifest"]
    assert "drift" not in seen


@pytest.mark.skipif(os.name == "nt", reason="a process is killed by a signal")
async def test_after_a_process_is_killed_another_takes_the_task_up_whole(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "home", tmp_path / "memory.db", tmp_path / "work")
    async with served(tmp_path) as call:
        await worked(call, tmp_path)
        await call("osiris_plan", lesson="the profile is read twice")
        manifest = (await call("osiris_plan"))["manifest"]
        with open_local(settings) as local:
            (row,) = local.read(lambda tx: tx.all("SELECT pid FROM sessions"))
        os.kill(row["pid"], signal.SIGKILL)
        with pytest.raises(MCPError, match="closed"):
            await call("osiris_plan")

    async with served(tmp_path) as call:
        prompt = await call.client.get_prompt("osiris/task-resume", {})
        text = prompt.messages[0].content.text  # type: ignore[union-attr]
        resumed = await call("osiris_plan", mode="resume")
        stats = await call("memory_stats", verify=True)

    assert manifest in text
    for kept in (
        OBJECTIVE,
        "never touch the registry",
        "the loader reads $PROFILE once",
        "reproduce it [completed]",
        "fix the loader [active]",
        "run the tests [pending]",
        "Bash failed 3 times",
        "the profile is read twice",
        "r1, r2",
    ):
        assert kept in text
    assert resumed["manifest"] == manifest
    assert resumed["flags"] == {"tests_passed": "True (claimed)"}
    assert stats["verify"]["ok"]
