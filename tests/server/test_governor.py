"""The governor's six tools, one promise a test: over stdio, or in memory where time must move."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import orjson
import pytest

import secrets_corpus
from actors import Clock, Reply, Tools
from handoff_memory.app import Local
from handoff_memory.core.author import Author
from handoff_memory.services import declaring
from handoff_memory.services.limits import Governing, Limits
from handoff_memory.settings import Settings
from processes import big, counted, served

Connect = Callable[..., AbstractAsyncContextManager[Tools]]
START = {"task": "t1", "objective": "mend the importer"}
TOOLS = ["plan", "precheck", "observe", "recall", "checkpoint", "handoff"]


@pytest.fixture
def era() -> str:
    """The governor's replies are the same in both eras; test_tools.py holds both."""
    return "auto"


async def kept(call: Tools, text: str, tool: str = "Bash", **args: Any) -> Reply:
    """The reply to a big result of a call."""
    return await call("osiris_observe", tool=tool, args=args or {"command": text[:9]}, result=text)


def status_of(reply: Reply) -> Reply:
    found: Reply = reply["ledger"]
    return found


# --- what it costs -------------------------------------------------------------------------------


def cost_of(tools: list[Any]) -> int:
    return sum(counted(tool.name, tool.description or "", tool.input_schema) for tool in tools)


@pytest.mark.parametrize(
    ("settings_changed", "names", "most"),
    [
        ({"tools": "governor"}, 6, 500),
        ({"tools": "all"}, 13, 1350),
        ({"dispatch_only": True}, 1, 120),
    ],
)
async def test_what_a_model_pays_for_the_listed_tools_is_bounded(
    settings_changed: dict[str, Any], names: int, most: int, connect: Connect
) -> None:
    async with connect(**settings_changed) as call:
        listed = (await call.client.list_tools()).tools

    assert len(listed) == names
    assert cost_of(listed) <= most


async def test_a_typical_reply_is_short(connect: Connect) -> None:
    async with connect() as call:
        costs: dict[str, int] = {}

        async def cost(name: str, operation: str, **arguments: Any) -> Reply:
            reply = await call(operation, **arguments)
            costs[name] = counted(reply)
            return reply

        started = await cost(
            "plan",
            "osiris_plan",
            task="migrate-sessions",
            objective="move the sessions table to the new schema without losing a login",
            constraints=["no downtime", "no new dependency"],
            decisions=["write to both tables first"],
            plan=["write both", "backfill", "read new", "drop old"],
        )
        edit = {"file_path": "a.py", "old_string": "a"}
        await cost("precheck, allowed", "osiris_precheck", tool="Edit", args=edit)
        small = {"tool": "Bash", "args": {"command": "ls"}, "result": "a.py"}
        await cost("observe, small", "osiris_observe", **small)
        make = {"tool": "Bash", "args": {"command": "make"}}
        await cost("observe, big", "osiris_observe", **make, result=big("make"))
        await cost("precheck, suggested", "osiris_precheck", **make)
        await cost("checkpoint", "osiris_checkpoint")
        checks = [{"command": "pytest", "exit": 0}]
        await cost(
            "handoff",
            "osiris_handoff",
            objective="backfill",
            to="executor",
            inputs=["r1", "osiris/task/migrate-sessions/plan"],
            contract={"tools": ["Bash"], "checks": checks},
        )

    assert counted(started["manifest"]) <= 120
    assert costs["plan"] <= 160
    assert costs["precheck, allowed"] <= 70
    assert costs["precheck, suggested"] <= 70
    assert costs["observe, small"] <= 15
    assert costs["observe, big"] <= 30
    assert costs["checkpoint"] <= 80
    assert costs["handoff"] <= 200


async def test_the_longest_manifest_is_within_its_tokens(connect: Connect) -> None:
    async with connect() as call:
        reply = await call(
            "osiris_plan",
            task="x9_" * 13,
            objective="数据库迁移🙂" * 200,
            plan=[f"step {n}" for n in range(999)],
        )

    assert counted(reply["manifest"]) <= 120


# --- drop receipts, the ledger -------------------------------------------------------------------


@pytest.mark.processes
async def test_a_drop_receipt_proves_a_saving_and_is_credited_once(tmp_path: Path) -> None:
    async with served(tmp_path) as call:
        await call("osiris_plan", **START)
        log = await kept(call, big("make"))
        before = await call("osiris_plan", mode="status")
        first = await call("osiris_observe", kind="dropped", result=log["ref"])
        after = await call("osiris_plan", mode="status")
        again = await call("osiris_observe", kind="dropped", result=log["ref"])
        unchanged = await call("osiris_plan", mode="status")
        strange = await call.refused("osiris_observe", kind="dropped", result="r99")

    assert first["credited"] == log["tokens"] > 200
    assert (again["credited"], again["note"]) == (0, "r1 was credited before")
    assert status_of(before)["saved_proven"] == 0
    assert status_of(after)["saved_proven"] == log["tokens"]
    assert status_of(unchanged) == status_of(after)
    assert strange["code"] == "not_found"


async def test_the_ref_of_another_task_is_no_saving_of_this_one(connect: Connect) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        await kept(call, big("make"))
        await call("osiris_plan", task="t2", objective="another")

        refusal = await call.refused("osiris_observe", kind="dropped", result="r1")

    assert refusal["code"] == "invalid_argument"
    assert "no result of task t2" in refusal["message"]


@pytest.mark.processes
async def test_the_parts_of_the_ledger_equal_the_whole(tmp_path: Path) -> None:
    async with served(tmp_path) as call:
        await call("osiris_plan", **START)
        one, two = await kept(call, big("one")), await kept(call, big("two", 300))
        await call("osiris_observe", kind="dropped", result=two["ref"])
        status = status_of(await call("osiris_plan", mode="status"))
        await call("osiris_checkpoint", mode="report")
    report = json.loads((tmp_path / "home" / "reports" / "t1.json").read_text())

    rows = {name: int(count.replace(",", "")) for name, count, _ in report["ledger"]}
    assert rows["echoed"] == one["tokens"] + two["tokens"]
    assert rows["saved, proven"] == two["tokens"] == status["saved_proven"]
    assert rows["saved, claimed"] == 0 == status["saved_claimed"]
    assert rows["overhead"] == rows["echoed"] + rows["arguments"] + rows["replies"]
    assert rows["raw"] - two["tokens"] + rows["overhead"] == rows["entered"]
    assert rows["net"] == two["tokens"] - rows["overhead"] == status["net"] < 0


async def test_where_nothing_happened_nothing_is_saved(connect: Connect) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)

        status = status_of(await call("osiris_plan", mode="status"))

    assert status == {"overhead": 0, "saved_proven": 0, "saved_claimed": 0, "net": 0}


# --- what breaks a prompt cache ------------------------------------------------------------------


@pytest.mark.processes
async def test_what_would_break_a_prompt_cache_is_named_with_its_place(tmp_path: Path) -> None:
    head = "You are careful.\nToday is 2026-11-30.\nSession 17, pid 4711"
    contract = [
        {"name": "Read", "description": "Reads a file."},
        {"name": "Run", "description": "id 123e4567-e89b-12d3-a456-426614174000"},
    ]
    async with served(tmp_path) as call:
        await call("osiris_plan", **START)
        in_head = await call("osiris_observe", kind="head", result=head)
        in_contract = await call("osiris_observe", kind="contract", result=contract)
        clean = await call("osiris_observe", kind="head", result="You are careful.")
        many = await call(
            "osiris_observe", kind="head", result="\n".join(f"turn {n}" for n in range(9))
        )

    column = orjson.dumps(contract).decode().index("123e4567") + 1
    assert in_head["volatile"] == [
        "timestamp at line 2, column 10",
        "counter at line 3, column 1",
        "pid at line 3, column 13",
    ]
    assert in_contract["volatile"] == [f"uuid at line 1, column {column}"]
    assert "volatile" not in clean
    assert (len(many["volatile"]), many["volatile_total"]) == (5, 9)


# --- pruning -------------------------------------------------------------------------------------


async def test_nothing_leaves_a_live_cache_and_everything_one_that_expired(
    connect: Connect, clock: Clock
) -> None:
    async with connect(cache_ttl_s=300) as call:
        await call("osiris_plan", **START)
        sizes = [(await kept(call, big(word)))["tokens"] for word in ("one", "two")]
        clock.forward(300)
        alive = await call("osiris_observe", tool="Read", args={"path": "a"})
        clock.forward(301)
        expired = await call("osiris_observe", tool="Read", args={"path": "b"})
        after = await call("osiris_observe", tool="Read", args={"path": "c"})
        status = status_of(await call("osiris_plan", mode="status"))

    assert "prune" not in alive
    assert expired["prune"] == {"drop": ["r1", "r2"], "saves": sum(sizes)}
    assert "prune" not in after
    assert (status["saved_claimed"], status["saved_proven"]) == (sum(sizes), 0)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("mode", "logs", "moved"),
    [
        # Over 2, 1 and a quarter of 1,500 tokens; down to half of that, and none too many.
        ("conservative", 3, ["r1", "r2"]),
        ("balanced", 2, ["r1", "r2"]),
        ("aggressive", 1, ["r1"]),
    ],
)
async def test_a_prune_mode_begins_at_its_multiple_of_the_threshold_and_takes_the_oldest(
    mode: str, logs: int, moved: list[str], tmp_path: Path
) -> None:
    env = {"OSIRIS_PRUNE_MODE": mode, "OSIRIS_PRUNE_THRESHOLD_TOKENS": "1500"}
    async with served(tmp_path, **env) as call:
        await call("osiris_plan", **START)
        pruned = []
        for n in range(logs):
            log = await kept(call, big(f"log{n}", 110))
            pruned += [reply for reply in [log] if "prune" in reply]
        assert 1000 < log["tokens"] < 1500
        last = await call("osiris_observe", tool="Read", args={"path": "a"})

    assert pruned == []
    assert last["prune"]["drop"] == moved


async def test_a_drop_that_was_pruned_is_proven_by_its_receipt(
    connect: Connect, clock: Clock
) -> None:
    async with connect(cache_ttl_s=60) as call:
        await call("osiris_plan", **START)
        size = (await kept(call, big("one")))["tokens"]
        clock.forward(61)
        pruned = await call("osiris_observe", tool="Read", args={"path": "a"})
        receipt = await call("osiris_observe", kind="dropped", result="r1")
        status = status_of(await call("osiris_plan", mode="status"))
        back = await call("osiris_recall", ref="r1", args={"lines": 1})

    assert pruned["prune"]["drop"] == ["r1"]
    assert receipt["credited"] == size
    assert (status["saved_claimed"], status["saved_proven"]) == (0, size)
    assert back["text"].startswith("one line 1:")


# --- compaction ----------------------------------------------------------------------------------

SESSION = [
    {"id": "o", "kind": "objective", "text": "mend the importer", "turn": 0},
    {"id": "d", "kind": "decision", "text": "read \u00fcber one pass\r\n\ttwice", "turn": 1},
    {"id": "log", "kind": "payload", "text": big("make"), "turn": 2},
    {"id": "f", "kind": "failure", "text": "pytest: 1 failed", "turn": 3},
    {"id": "m", "kind": "message", "text": "语🙂 " * 900, "turn": 4},
    {"id": "last", "kind": "message", "text": "go on", "turn": 9},
]


@pytest.mark.processes
@pytest.mark.parametrize("mode", ["trim", "compact", "clear"])
async def test_a_compacted_session_is_smaller_and_comes_back_exactly(
    mode: str, tmp_path: Path
) -> None:
    async with served(tmp_path) as call:
        await call("osiris_plan", **START)
        made = await call("osiris_checkpoint", mode=mode, items=SESSION)
        restored = await call("osiris_checkpoint", mode="undo")
        nothing = await call.refused("osiris_checkpoint", mode="undo")

    found = [{key: item[key] for key in SESSION[0]} for item in restored["items"]]
    assert found == SESSION
    assert made["moved"] > 0
    assert made["freed"] > 1000
    assert counted(made["text"]) < sum(counted(item["text"]) for item in SESSION) // 2
    assert re.fullmatch(r"r\d+", made["undo"])
    assert nothing["code"] == "not_found"


async def test_compacting_again_and_again_with_nothing_done_between_is_stopped(
    connect: Connect,
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        for _ in range(3):
            await call("osiris_checkpoint", mode="compact", items=SESSION)
        refused = await call.refused("osiris_checkpoint", mode="clear", items=SESSION)
        await call("osiris_observe", tool="Bash", args={"command": "make"}, result="done")
        after = await call("osiris_checkpoint", mode="clear", items=SESSION)

    assert refused["code"] == "no_progress"
    assert "report" in refused["next"]
    assert after["moved"] > 0


async def test_compactions_are_undone_last_first(connect: Connect) -> None:
    other = [{"id": "x", "kind": "message", "text": big("other"), "turn": 0}]
    async with connect() as call:
        await call("osiris_plan", **START)
        await call("osiris_checkpoint", mode="clear", items=SESSION)
        await call("osiris_checkpoint", mode="clear", items=other)
        second = await call("osiris_checkpoint", mode="undo")
        first = await call("osiris_checkpoint", mode="undo")

    assert [item["text"] for item in second["items"]] == [other[0]["text"]]
    assert [item["text"] for item in first["items"]] == [item["text"] for item in SESSION]


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], "items holds 1 to"),
        (["text"], "items[0] is an object with a text"),
        ([{"text": "a"}, {"text": "b", "colour": 1}], "items[1] has no field 'colour'"),
        ([{"text": "a", "kind": "rumour"}], "items[0].kind is one of"),
        ([{"text": "a", "turn": "1"}], "items[0].turn is a number"),
    ],
)
async def test_an_item_that_is_not_as_it_should_be_is_named(
    items: list[Any], said: str, connect: Connect
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)

        refusal = await call.refused("osiris_checkpoint", mode="trim", items=items)

    assert refusal["code"] == "invalid_argument"
    assert said in refusal["message"]


# --- the compass, budgets ------------------------------------------------------------------------


@pytest.mark.processes
async def test_a_tool_that_failed_is_recommended_after_one_that_did_not(tmp_path: Path) -> None:
    contract = [
        {"name": "importer_fast", "description": "run the importer"},
        {"name": "importer_safe", "description": "run the importer"},
        {"name": "weather", "description": "tells the weather"},
    ]
    async with served(tmp_path) as call:
        await call("osiris_plan", **START, plan=["run the importer"])
        silent = await call("osiris_plan", mode="status")
        await call("osiris_observe", kind="contract", result=contract)
        before = await call("osiris_plan", mode="status")
        for n in range(3):
            await call("osiris_observe", tool="importer_fast", args={"n": n}, error=f"no {n}")
        await call("osiris_observe", tool="importer_safe", args={}, result="ok")
        after = await call("osiris_plan", mode="status")

    assert "tools" not in silent
    assert before["tools"] == ["importer_fast", "importer_safe"]
    assert sorted(before["never_used"]) == ["importer_fast", "importer_safe", "weather"]
    assert after["tools"][0] == "importer_safe"
    assert after["never_used"] == ["weather"]


@pytest.mark.processes
async def test_a_budget_is_ok_then_low_then_exhausted_and_then_refuses_new_work(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as call:
        states, verdicts = [], []
        await call("osiris_plan", **START, budget={"calls": 10})
        for n in range(10):
            if n in {1, 8}:
                states.append(
                    (await call("osiris_plan"))["manifest"].split("budget=")[1].split()[0]
                )
                verdicts.append(await call("osiris_precheck", tool="Edit", args={"path": "a"}))
            await call("osiris_observe", tool="Edit", args={"path": "a", "n": n})
        states.append((await call("osiris_plan", mode="status"))["budget"])
        verdicts.append(await call("osiris_precheck", tool="Edit", args={"path": "a"}))
        reading = await call("osiris_precheck", tool="Read", args={"path": "a"})
        await call("osiris_plan", budget={"calls": 100})
        raised = await call("osiris_precheck", tool="Edit", args={"path": "a"})

    assert states == ["ok", "low", "exhausted"]
    assert [verdict["verdict"] for verdict in verdicts] == ["allow", "allow", "block"]
    assert "notes" not in verdicts[0]
    assert verdicts[1]["notes"] == ["budget low: calls 90 %"]
    assert verdicts[2]["why"] == "calls exhausted: 10 of 10"
    assert "Checkpoint" in verdicts[2]["next"]
    assert reading["verdict"] == "allow"
    assert raised["verdict"] == "allow"


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ({"tokens": 500}, {"spent_tokens": 500}),
        ({"cost_usd": 1.5}, {"spent_micro_usd": 1_500_000}),
        ({"time_s": 60}, {"spent_s": 61}),
    ],
)
async def test_what_the_client_says_it_spent_counts_against_the_budget(
    budget: dict[str, Any], told: dict[str, int], connect: Connect
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START, budget=budget)
        before = await call("osiris_precheck", tool="Edit", args={"path": "a"})
        await call("osiris_observe", kind="pressure", args=told)
        after = await call("osiris_precheck", tool="Edit", args={"path": "a"})

    assert before["verdict"] == "allow"
    assert after["verdict"] == "block"
    assert next(iter(budget)) in after["why"]


@pytest.mark.parametrize("budget", [{"euros": 1}, {"calls": -1}, {"calls": True}, {"calls": "9"}])
async def test_a_budget_of_something_else_is_refused(
    budget: dict[str, Any], connect: Connect
) -> None:
    async with connect() as call:
        refusal = await call.refused("osiris_plan", **START, budget=budget)

    assert refusal["code"] == "invalid_argument"


async def test_the_pressure_tells_what_the_client_said_from_what_is_estimated(
    connect: Connect,
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        await kept(call, big("make"))
        guessed = (await call("osiris_plan", mode="status"))["pressure"]
        await call("osiris_observe", kind="head", result="You are careful. " * 50)
        await call("osiris_observe", kind="pressure", args={"used": 90_000, "window": 100_000})
        told = (await call("osiris_plan", mode="status"))["pressure"]

    assert (guessed["basis"], guessed["unknown"], guessed["declared"]) == ("estimated", None, 0)
    assert (told["used_percent"], told["basis"]) == (90, "client")
    assert told["declared"] > 100
    assert told["unknown"] == 90_000 - told["measured"] - told["declared"] - told["estimated"]


# --- lessons -------------------------------------------------------------------------------------

LESSON = "The importer needs  UTF-8 input"


@pytest.mark.processes
async def test_a_lesson_that_proved_itself_is_promoted_and_the_nearest_level_is_found(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as call:
        await call("osiris_plan", **START, lesson=LESSON)
        unproven = await call.refused("osiris_plan", mode="promote", lesson=LESSON)
        for _ in range(2):
            await call("osiris_plan", lesson=LESSON)
        near = await call("osiris_recall", ref=f"lesson:{LESSON.lower()}")
        promoted = await call("osiris_plan", mode="promote", lesson=LESSON)
        still_near = await call("osiris_recall", ref=f"lesson:{LESSON}")
        await call("osiris_plan", task="t2", objective="another")
        far = await call("osiris_recall", ref=f"lesson:{LESSON}")
        unknown = await call.refused("osiris_recall", ref="lesson:never heard")
        resumed = await call("osiris_plan", mode="resume", task="t2")

    assert unproven["code"] == "not_proven"
    assert (near["level"], near["text"], near["confidence"]) == ("task", LESSON, 0.808)
    assert promoted["promoted"].startswith("osiris/project/lesson/l-")
    assert still_near["level"] == "task"
    assert (far["level"], far["promoted_from"]) == ("project", near["name"])
    assert unknown["code"] == "not_found"
    assert resumed["lessons"] == [LESSON]


# --- reports, resources --------------------------------------------------------------------------


@pytest.mark.processes
async def test_the_completion_report_is_written_for_people_and_for_machines(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as call:
        await call(
            *("osiris_plan",),
            **START,
            plan=["one", "two"],
            decisions=["in one pass"],
            lesson=LESSON,
        )
        await kept(call, big("make"))
        reply = await call("osiris_checkpoint", mode="report")
    reports = tmp_path / "home" / "reports"
    text, data = [(reports / name).read_text() for name in ("t1.md", "t1.json")]
    found = json.loads(data)

    assert reply["files"] == [str(reports / "t1.md"), str(reports / "t1.json")]
    assert (reply["lossless"], reply["externalized"], reply["calls"]) == (True, 1, 1)
    for part in ("# Task t1", "mend the importer", "one [active]", "in one pass", LESSON):
        assert part in text
    assert "| echoed |" in text
    assert found["audit"]["items_verified"] == 1
    assert found["decisions"] == ["in one pass"]


async def test_a_payload_is_a_resource_with_its_own_media_type(connect: Connect) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        log = await kept(call, big("make"))
        table = await kept(call, json.dumps([{"n": n, "name": f"row {n}"} for n in range(200)]))
        (text,) = (await call.client.read_resource("osiris://ref/r1")).contents
        (rows,) = (await call.client.read_resource("osiris://ref/r2")).contents
        (status,) = (await call.client.read_resource("osiris://task/t1/status")).contents

    assert (log["ref"], table["ref"]) == ("r1", "r2")
    assert (text.mime_type, text.text) == ("text/plain", big("make"))  # type: ignore[union-attr]
    assert rows.mime_type == "application/json"
    assert orjson.loads(status.text)["task"] == "t1"  # type: ignore[union-attr]


async def test_a_binary_file_is_a_resource_of_its_very_bytes(
    connect: Connect, tmp_path: Path
) -> None:
    data = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
    (tmp_path / "a.png").write_bytes(data)
    async with connect(roots=(tmp_path,)) as call:
        await call("osiris_plan", **START)
        reply = await call("osiris_observe", path=str(tmp_path / "a.png"))
        recalled = await call("osiris_recall", ref=reply["ref"])
        (blob,) = (await call.client.read_resource(f"osiris://ref/{reply['ref']}")).contents

    assert base64.b64decode(blob.blob) == data  # type: ignore[union-attr]
    assert blob.mime_type == "image/png"
    assert "binary" in recalled["text"] + str(recalled.get("notes"))


async def test_a_file_that_changed_since_is_said_to_be_stale_and_its_old_bytes_are_given(
    connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "a.log"
    file.write_text(big("make"))
    async with connect(roots=(tmp_path,)) as call:
        await call("osiris_plan", **START)
        ref = (await call("osiris_observe", path=str(file)))["ref"]
        fresh = await call("osiris_recall", ref=ref)
        file.write_text(big("made"))
        changed = await call("osiris_recall", ref=ref, op="grep", args={"pattern": "line 3:"})
        file.unlink()
        gone = await call("osiris_recall", ref=ref)

    assert "notes" not in fresh
    assert changed["notes"] == [f"stale: {file} has changed since; read it again"]
    assert "make line 3:" in changed["text"]
    assert gone["notes"][0].startswith(f"stale: {file} cannot be read any more")


async def test_a_task_that_lay_idle_for_weeks_still_has_its_refs(
    connect: Connect, clock: Clock
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        ref = (await kept(call, big("make")))["ref"]
    clock.forward(40 * 86_400)

    async with connect() as call:
        resumed = await call("osiris_plan", mode="resume")
        back = await call("osiris_recall", ref=ref, args={"lines": 1})

    assert resumed["refs"] == [ref]
    assert back["text"].startswith("make line 1:")


async def test_the_prefix_stays_the_same_over_fifty_turns(connect: Connect) -> None:
    async with connect() as call:
        manifest = (await call("osiris_plan", **START))["manifest"]
        seal = manifest.rpartition("SEAL=")[2]
        drifts = [
            (await call("osiris_observe", tool="t", args={"n": n}, result=f"{n}", seal=seal))
            for n in range(50)
        ]
        again = (await call("osiris_plan"))["manifest"]

    assert not any("drift" in reply for reply in drifts)
    assert again.rpartition("SEAL=")[2] == seal


# --- the loop guard ------------------------------------------------------------------------------


LETTERS = "abcdefghijklmnopqrstuvwx"


async def observed(call: Tools, command: str, **more: Any) -> Any:
    reply = await call("osiris_observe", tool="Bash", args={"command": command}, **more)
    return reply.get("loop", {"verdict": "allow", "pattern": None})


async def foreseen(call: Tools, command: str, **more: Any) -> Reply:
    return await call("osiris_precheck", tool="Bash", args={"command": command}, **more)


async def test_the_same_failure_in_other_words_of_the_day_is_denied_the_fourth_time(
    connect: Connect,
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        told, before = [], []
        for n in range(3):
            before.append((await foreseen(call, "pytest -q"))["verdict"])
            error = (
                f"2026-11-30T16:0{n}:0{n}Z [pid {900 + n}] /tmp/pytest-of-me/pytest-{n}/a.py:"
                f"{10 + n}: AssertionError at 0x7f{n}a2b3c4d in {n}.3{n}s"
            )
            told.append(await observed(call, "pytest -q", error=error))
        fourth = await foreseen(call, "pytest   -q")
        other = await foreseen(call, "pytest -q tests/test_a.py")

    assert before == ["allow"] * 3
    assert [one["verdict"] for one in told] == ["allow", "allow", "block"]
    assert (fourth["verdict"], fourth["pattern"]) == ("block", "repeated_failure")
    assert "Change the arguments" in fourth["required_action"]
    assert other["verdict"] == "allow"


async def test_an_override_is_logged_and_lets_a_denied_call_pass(
    connect: Connect, local: Local
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        for _ in range(3):
            await observed(call, "make", error="no rule")
        denied = await foreseen(call, "make")
        passed = await foreseen(call, "make", override="the disk was full, now it is not")
        free = await foreseen(call, "make")

    events = local.read(lambda tx: tx.all("SELECT event, body FROM events ORDER BY seq"))
    logged = [orjson.loads(row["body"]) for row in events if row["event"] == "overridden"]
    assert denied["verdict"] == "block"
    assert passed["verdict"] == "allow"
    assert passed["notes"][0].startswith("overridden: ")
    assert [one["reason"] for one in logged] == ["the disk was full, now it is not"]
    assert free["verdict"] == "allow"


async def test_a_suggestion_names_the_earlier_result_and_never_denies(connect: Connect) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        verdicts = []
        for _ in range(9):
            verdicts.append(await foreseen(call, "cat a.log"))
            await observed(call, "cat a.log", result=big("same"))

    assert verdicts[0]["verdict"] == "allow"
    assert {one["verdict"] for one in verdicts[1:]} == {"suggest_alternative"}
    assert {one["ref"] for one in verdicts[1:]} == {"r1"}
    assert "r1" in verdicts[1]["next"]


async def test_an_exact_duplicate_is_told_with_the_ref_then_warned_of_then_blocked(
    connect: Connect,
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        told = [await observed(call, "cat a.log", result=big("same")) for _ in range(5)]

    assert [one["verdict"] for one in told] == [
        *("allow", "suggest_alternative", "warn", "warn", "block"),
    ]
    assert {one["pattern"] for one in told[1:]} == {"duplicate"}
    assert {one["ref"] for one in told[1:]} == {"r1"}


async def test_other_arguments_with_the_same_error_are_warned_of(connect: Connect) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        told = [
            await observed(call, f"pip install pkg{n}x", error="no route to host") for n in "abc"
        ]

    assert [one["verdict"] for one in told] == ["allow", "allow", "warn"]
    assert told[2]["pattern"] == "loop"


async def test_a_and_b_in_turn_are_an_oscillation(connect: Connect) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        told = [await observed(call, one, result=f"is {one}") for one in ("a", "b", "a", "b")]

    assert (told[3]["verdict"], told[3]["pattern"]) == ("warn", "oscillation")


async def test_calls_without_progress_are_warned_of_and_then_denied_until_an_edit(
    connect: Connect,
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        told = [
            await observed(call, f"ls d{n}x", result="nothing") for n in map(chr, range(97, 121))
        ]
        denied = await foreseen(call, "ls elsewhere")
        edit = {"tool": "Edit", "args": {"file_path": "a.py"}}
        allowed = await call("osiris_precheck", **edit)
        await call("osiris_observe", **edit)
        after = await foreseen(call, "ls elsewhere")

    # The first call's result is new, so it is progress itself.
    first = next(n for n, one in enumerate(told, start=1) if one["pattern"] == "runaway")
    last = next(n for n, one in enumerate(told, start=1) if one["verdict"] == "block")
    assert (first, last) == (12, 24)
    assert (denied["verdict"], denied["pattern"]) == ("block", "runaway")
    assert "Edit a file" in denied["required_action"]
    assert (allowed["verdict"], after["verdict"]) == ("allow", "allow")


async def test_a_job_that_is_polled_is_never_a_loop_while_its_output_changes(
    connect: Connect,
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        told, before = [], []
        for n in range(30):
            before.append((await foreseen(call, "kubectl get job"))["verdict"])
            told.append(await observed(call, "kubectl get job", result=f"{n + 1} of 30 pods done"))

    assert {one["verdict"] for one in told} == {"allow"}
    assert not {"block", "warn"} & set(before)


async def test_tests_that_fail_again_after_each_edit_are_never_a_loop(connect: Connect) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)
        told, before = [], []
        for _ in range(8):
            before.append((await foreseen(call, "pytest"))["verdict"])
            told.append(await observed(call, "pytest", error="AssertionError: 1 != 2"))
            await call("osiris_observe", tool="Edit", args={"file_path": "a.py"})

    assert {one["verdict"] for one in told} == {"allow"}
    assert set(before) == {"allow"}


async def test_a_file_that_changed_on_disk_is_read_again_freely(
    connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "a.txt"
    async with connect(roots=(tmp_path,)) as call:
        await call("osiris_plan", **START)
        verdicts = []
        for n in range(8):
            file.write_text(f"version {n} of it\n" * 5)
            reply = await call("osiris_observe", path=str(file))
            verdicts.append(reply.get("loop", {}).get("verdict", "allow"))

    assert set(verdicts) == {"allow"}


async def test_two_agents_that_fail_at_the_same_thing_are_one_loop(connect: Connect) -> None:
    async with connect("scout") as scout, connect("executor") as executor:
        await scout("osiris_plan", **START)
        for agent in (scout, executor, scout):
            told = await observed(agent, "make", error="no rule", task="t1")
        denied = await foreseen(executor, "make", task="t1")

    assert (told["verdict"], denied["verdict"]) == ("block", "block")
    assert "by 2 agents" in denied["why"]


# --- invariants ----------------------------------------------------------------------------------

RULES = """
[[invariant]]
id = "tests-before-commit"
when = { tool = "git.commit" }
require = { state = "tests_passed" }
message = "Cannot commit while tests are failing"

[[invariant]]
id = "no-test-edit"
when = { path_glob = "tests/**" }
verdict = "block"
message = "Modifying test suites requires explicit approval"

[[invariant]]
id = "ask-before-deploy"
when = { tool = "deploy" }
verdict = "ask"
message = "A person says when"

[[invariant]]
id = "big-batches"
when = { tool = "load" }
verdict = "warn"
message = "Slowly"
"""


def ruled(settings: Settings, text: str = RULES) -> None:
    (settings.folder / ".osiris").mkdir(exist_ok=True)
    (settings.folder / ".osiris" / "invariants.toml").write_text(text)


async def asked(call: Tools, tool: str, **args: Any) -> Reply:
    return await call("osiris_precheck", tool=tool, args=args)


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git commit -m x", "tests-before-commit"),
        ("cd x && git commit -m y", "tests-before-commit"),
        ("env A=1 git commit", "tests-before-commit"),
        ('sh -c "git commit"', "tests-before-commit"),
        ("true | git commit -F -", "tests-before-commit"),
        ("echo $(git commit -m x)", "tests-before-commit"),
        ("sed -i s/a/b/ tests/test_a.py", "no-test-edit"),
        ("echo x > ./src/../tests/a.py", "no-test-edit"),
        ("rm -rf tests/a", "no-test-edit"),
    ],
)
async def test_a_shell_command_is_taken_apart(
    command: str, rule: str, connect: Connect, settings: Settings
) -> None:
    ruled(settings)
    async with connect() as call:
        await call("osiris_plan", **START)

        verdict = await asked(call, "Bash", command=command)
        innocent = await asked(call, "Bash", command="git status && ls src")

    assert (verdict["verdict"], verdict["rule"]) == ("block", rule)
    assert innocent["verdict"] == "allow"


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "./tests/../tests/a.py",
        "src/../tests/a.py",
        "linked/a.py",
        "{root}/tests/b.py",
    ],
)
async def test_a_path_is_what_it_leads_to(path: str, connect: Connect, settings: Settings) -> None:
    ruled(settings)
    (settings.folder / "tests").mkdir()
    (settings.folder / "linked").symlink_to(settings.folder / "tests")
    async with connect() as call:
        await call("osiris_plan", **START)

        given = path.format(root=settings.folder)
        verdict = await asked(call, "Edit", file_path=given, old_string="a")
        beside = await asked(call, "Edit", file_path="src/tests.py", old_string="a")

    assert (verdict["verdict"], verdict["rule"]) == ("block", "no-test-edit")
    assert verdict["why"] == "Modifying test suites requires explicit approval"
    assert beside["verdict"] == "allow"


async def test_a_flag_lets_a_commit_through_until_the_next_edit(
    connect: Connect, settings: Settings
) -> None:
    ruled(settings)
    async with connect() as call:
        await call("osiris_plan", **START)
        before = await asked(call, "git.commit")
        await call("osiris_observe", tool="Bash", args={}, flags={"tests_passed": True})
        passed = await asked(call, "git.commit")
        await call("osiris_observe", tool="Edit", args={"file_path": "a.py"})
        after = await asked(call, "git.commit")

    assert (before["verdict"], before["why"]) == ("block", "Cannot commit while tests are failing")
    assert passed["verdict"] == "allow"
    assert passed["notes"] == ["tests-before-commit: tests_passed is claimed"]
    assert after["verdict"] == "block"


async def test_a_person_approves_what_an_agent_must_ask_for_and_only_so_long(
    connect: Connect, settings: Settings, local: Local, clock: Clock
) -> None:
    ruled(settings)
    person = Author("a person", "s_p")
    async with connect() as call:
        await call("osiris_plan", **START)
        asking = await asked(call, "deploy")
        overridden = await call("osiris_precheck", tool="deploy", args={}, override="I must")
        until = clock.now + 600_000_000
        local.write(
            lambda tx: declaring.approve(
                *(tx, person, Governing(Limits()), "ask-before-deploy", until), task_id="t1"
            )
        )
        approved = await asked(call, "deploy")
        clock.forward(601)
        late = await asked(call, "deploy")

    assert (asking["verdict"], asking["rule"]) == ("ask", "ask-before-deploy")
    assert "approve ask-before-deploy --for 10m" in asking["next"]
    assert overridden["verdict"] == "ask"
    assert approved["verdict"] == "allow"
    assert late["verdict"] == "ask"


async def test_a_warning_does_not_deny(connect: Connect, settings: Settings) -> None:
    ruled(settings)
    async with connect() as call:
        await call("osiris_plan", **START)

        verdict = await asked(call, "load")

    assert verdict["verdict"] == "warn"
    assert verdict["notes"] == ["big-batches: Slowly"]


async def test_a_malformed_file_of_rules_says_where_and_the_readable_rules_still_hold(
    connect: Connect, settings: Settings
) -> None:
    broken = RULES.replace('verdict = "warn"', 'verdict = "shout"')
    line = broken.splitlines().index('verdict = "shout"') + 1
    ruled(settings, broken)
    async with connect() as call:
        await call("osiris_plan", **START)

        told = await asked(call, "Read", path="a")
        held = await asked(call, "git.commit")

    said = str(told["notes"])
    assert "rules could not all be read" in said
    assert "invariants.toml" in said
    assert f":{line}" in said or f"line {line}" in said
    assert "verdict" in said
    assert (held["verdict"], held["rule"]) == ("block", "tests-before-commit")


async def test_rules_stand_in_the_seal_and_a_change_of_them_is_major_drift(
    connect: Connect, settings: Settings
) -> None:
    async with connect() as call:
        started = await call("osiris_plan", **START)
        ruled(settings)
        seal = started["manifest"].rpartition("SEAL=")[2]
        seen = await call("osiris_observe", tool="Read", args={}, seal=seal)
        now = await call("osiris_plan")

    assert seen["drift"]["verdict"] == "major"
    assert "inv=0" in started["manifest"]
    assert "inv=4" in now["manifest"]


# --- paths ---------------------------------------------------------------------------------------


@pytest.mark.processes
async def test_a_file_is_taken_up_by_its_path_without_being_echoed(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "make.log"
    file.parent.mkdir()
    file.write_text(big("make"))
    async with served(tmp_path, OSIRIS_ROOTS=f"{tmp_path / 'other'};{file.parent}") as call:
        await call("osiris_plan", **START)
        reply = await call("osiris_observe", path=str(file))
        back = await call("osiris_recall", ref=reply["ref"], op="grep", args={"pattern": "line 7:"})

    assert reply["ref"] == "r1"
    assert "make line 7: module 0 did its work" in back["text"]


async def test_what_may_not_be_read_is_a_clear_error(connect: Connect, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.txt"
    root.mkdir()
    outside.write_text("secret plans")
    (root / "link.txt").symlink_to(outside)
    os.mkfifo(root / "pipe")
    async with connect(roots=(root,)) as call:
        await call("osiris_plan", **START)
        codes = {
            name: (await call.refused("osiris_observe", path=path))["code"]
            for name, path in {
                "outside": str(outside),
                "up": str(root / ".." / "outside.txt"),
                "link": str(root / "link.txt"),
                "fifo": str(root / "pipe"),
                "folder": str(root),
                "missing": str(root / "nothing"),
                "device": "/dev/zero",
            }.items()
        }
    async with connect() as call:
        none = await call.refused("osiris_observe", task="t1", path=str(root / "nothing"))
        told = await call.refused("osiris_observe", task="t1", path=str(outside))

    assert codes["outside"] == codes["up"] == codes["link"] == "path_outside_roots"
    assert (codes["fifo"], codes["folder"]) == ("not_a_file", "not_a_file")
    assert codes["missing"] in {"file_unreadable", "not_a_file"}
    assert codes["device"] in {"path_outside_roots", "not_a_file"}
    assert none["code"] == told["code"] == "path_outside_roots"


# --- delegation ----------------------------------------------------------------------------------

CONTRACT = {
    "tools": ["Bash", "Edit"],
    "paths": ["src/**"],
    "checks": [{"command": "pytest -q", "exit": 0}, {"command": "cat v", "pattern": "2"}],
    "budget": {"calls": 20},
    "deadline_s": 3600,
}


async def delegated(scout: Tools) -> Reply:
    await scout("osiris_plan", **START)
    await kept(scout, big("make"))
    await scout("memory_write", scope="plan", key="route", value="north")
    return await scout(
        "osiris_handoff",
        objective="mend the parser",
        to="executor",
        inputs=["plan/route", "r1"],
        contract=CONTRACT,
    )


async def test_a_delegation_carries_its_contract_there_and_its_result_back(
    connect: Connect,
) -> None:
    async with connect("scout") as scout, connect("executor") as executor:
        sent = await delegated(scout)
        got = await executor("osiris_handoff", accept=sent["packet_id"])
        result = {"summary": "mended", "evidence": ["r1", "plan/route@1"], "tests": 12}
        back = await executor("osiris_handoff", accept=sent["packet_id"], result=result)
        answer = await scout("osiris_handoff", accept="next")

    details = got["packet"]["details"]
    assert sent["pins"] == ["plan/route@1"]
    assert details["objective"] == "mend the parser"
    assert details["contract"] == {**CONTRACT, "refs": ["r1"]}
    assert got["records"][0]["value"] == "north"
    assert got["stale"] == []
    assert back["closed"] == {"packet_id": sent["packet_id"], "status": "done"}
    assert answer["packet"]["details"]["results"] == {**result, "evidence": result["evidence"]}
    assert answer["packet"]["done"] == ["mended"]


async def test_accepting_lists_the_pins_that_changed_since(connect: Connect) -> None:
    async with connect("scout") as scout, connect("executor") as executor:
        sent = await delegated(scout)
        await scout("memory_write", scope="plan", key="route", value="south")

        got = await executor("osiris_handoff", accept=sent["packet_id"])

    assert got["records"][0]["value"] == "north"
    assert "plan/route" in str(got["stale"])


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({"summary": "mended"}, "invalid_argument"),
        ({"summary": "mended", "evidence": []}, "invalid_argument"),
        ({"summary": "", "evidence": ["r1"]}, "invalid_argument"),
        ({"summary": "x", "status": "great", "evidence": ["r1"]}, "invalid_argument"),
        ({"summary": "mended", "evidence": ["r77"]}, "not_found"),
        ({"summary": "mended", "evidence": ["plan/nothing@1"]}, "pin_not_found"),
    ],
)
async def test_a_result_without_evidence_that_exists_is_refused_and_the_delegation_stays_open(
    result: dict[str, Any], code: str, connect: Connect
) -> None:
    async with connect("scout") as scout, connect("executor") as executor:
        sent = await delegated(scout)
        await executor("osiris_handoff", accept=sent["packet_id"])

        refusal = await executor.refused("osiris_handoff", accept=sent["packet_id"], result=result)
        good = {"summary": "mended", "evidence": ["r1"]}
        accepted = await executor("osiris_handoff", accept=sent["packet_id"], result=good)

    assert refusal["code"] == code
    assert accepted["closed"]["packet_id"] == sent["packet_id"]


@pytest.mark.parametrize(
    "contract",
    [
        {"colour": "red"},
        {"tools": "Bash"},
        {"deadline_s": True},
        {"checks": [{"command": "pytest"}]},
        {"checks": ["pytest"]},
    ],
)
async def test_a_contract_that_cannot_be_executed_is_refused(
    contract: dict[str, Any], connect: Connect
) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)

        refusal = await call.refused("osiris_handoff", objective="x", contract=contract)

    assert refusal["code"] == "invalid_argument"


async def test_a_delegation_from_a_ref_that_does_not_exist_is_refused(connect: Connect) -> None:
    async with connect() as call:
        await call("osiris_plan", **START)

        refusal = await call.refused("osiris_handoff", objective="x", inputs=["r55"])

    assert refusal["code"] == "not_found"


# --- secrets -------------------------------------------------------------------------------------

CANARIES = [c for c in secrets_corpus.CANARIES if "\n" not in c.text and len(c.text) < 120][::2]


def _everywhere(text: str) -> list[tuple[str, dict[str, Any]]]:
    """A text in every field of every one of the governor's tools."""
    start = {"task": "t1"}
    call = {"tool": "Bash", "args": {"command": "ls"}}
    return [
        *(
            ("osiris_plan", {**start, name: [text]})
            for name in ("constraints", "decisions", "plan")
        ),
        *(("osiris_plan", {**start, name: text}) for name in ("lesson", "mode", "objective")),
        ("osiris_plan", {"objective": text}),
        ("osiris_plan", {"task": text, "objective": "x"}),
        ("osiris_plan", {**start, "budget": {text: 1}}),
        ("osiris_plan", {"mode": "promote", "lesson": text}),
        ("osiris_precheck", {"tool": text}),
        ("osiris_precheck", {"tool": "Bash", "args": {"command": f"git commit -m {text}"}}),
        ("osiris_precheck", {"tool": "Edit", "args": {"file_path": f"tests/{text}", "x": text}}),
        ("osiris_precheck", {**call, "override": text}),
        ("osiris_precheck", {**call, "task": text}),
        ("osiris_observe", {"tool": text}),
        ("osiris_observe", {"tool": "Bash", "args": {"command": text, text: text}}),
        ("osiris_observe", {**call, "result": text}),
        ("osiris_observe", {**call, "result": f"{text}\n" + big(text[:4])}),
        ("osiris_observe", {**call, "result": [{"deep": {text: text}}]}),
        ("osiris_observe", {**call, "error": text}),
        ("osiris_observe", {**call, "flags": {text: True}}),
        ("osiris_observe", {**call, "seal": text}),
        ("osiris_observe", {**call, "kind": text}),
        ("osiris_observe", {"path": f"/{text}"}),
        ("osiris_observe", {"kind": "dropped", "result": text}),
        ("osiris_observe", {"kind": "head", "result": text}),
        ("osiris_observe", {"kind": "contract", "result": [{"name": text, "description": text}]}),
        ("osiris_observe", {"kind": "pressure", "args": {text: 1}}),
        ("osiris_plan", {**start, "mode": "status"}),
        ("osiris_recall", {"ref": text}),
        ("osiris_recall", {"ref": f"lesson:{text}"}),
        ("osiris_recall", {"ref": "r1", "op": "grep", "args": {"pattern": text}}),
        ("osiris_recall", {"ref": "r1", "args": {text: text, "cursor": text}}),
        ("osiris_recall", {"ref": "r1", "op": "jsonl", "args": {"where": text}}),
        ("osiris_checkpoint", {"mode": "clear", "items": [{"text": text, "id": text}]}),
        ("osiris_checkpoint", {"mode": "trim", "items": [{"text": text, "id": text}]}),
        ("osiris_checkpoint", {"mode": "undo"}),
        ("osiris_checkpoint", {"mode": "trim", "items": [{"text": "x", text: text}]}),
        ("osiris_checkpoint", {"mode": text}),
        ("osiris_checkpoint", {"mode": "report"}),
        ("osiris_handoff", {"objective": text}),
        ("osiris_handoff", {"objective": "x", "to": text}),
        ("osiris_handoff", {"objective": "x", "inputs": [text]}),
        ("osiris_handoff", {"objective": "x", "contract": {text: text}}),
        ("osiris_handoff", {"objective": "x", "contract": {"tools": [text], "paths": [text]}}),
        ("osiris_handoff", {"accept": text}),
        ("osiris_handoff", {"accept": text, "result": {"summary": text, "evidence": [text]}}),
        ("osiris_call", {"op": text}),
    ]


def in_another_process(path: str) -> bytes:
    """A file's bytes, read by a process that holds no locks on it to lose."""
    program = "import sys, pathlib; sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"
    return subprocess.run(
        [sys.executable, "-c", program, path], check=True, capture_output=True
    ).stdout


@pytest.mark.processes
async def test_no_secret_given_to_the_governor_reaches_the_file_its_log_a_reply_or_a_report(
    connect: Connect, settings: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
    """V43."""
    ruled(settings)
    assert len(CANARIES) >= 30
    leaks = []
    async with connect("scout") as call:
        await call("osiris_plan", **START)
        await kept(call, big("make"))
        for n, canary in enumerate(CANARIES):
            every = _everywhere(canary.text)
            for tool, arguments in every if n == 0 else every[n % 9 :: 9]:
                reply = await call.client.call_tool(tool, arguments)
                if canary.secret in reply.content[0].text:  # type: ignore[union-attr]
                    leaks.append((canary.kind, tool, arguments))
        await call("osiris_checkpoint", task="t1", mode="report")
        log = await asyncio.to_thread(in_another_process, f"{settings.database}-wal")
    kept_bytes = await asyncio.to_thread(settings.database.read_bytes)
    written = b"".join(file.read_bytes() for file in (settings.home / "reports").iterdir())

    assert leaks == []
    assert b"[redacted:" in log + kept_bytes
    assert b"[redacted:" in written
    for place in (log, kept_bytes, written, capfd.readouterr().err.encode()):
        assert [c.kind for c in CANARIES if c.secret.encode() in place] == []
