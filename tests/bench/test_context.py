"""The context benchmark holds what it promises, and would say so if it did not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from context import arms
from context.agent import Agent
from context.counting import count
from context.payloads import Payload, kinds, measured, payload
from context.rows import Row, rows_of, shortfalls
from context.sides import Shown, Side
from context.transcript import Transcript

PROGRAM = Path(__file__).parents[2] / "bench" / "run_bench.py"
NAMES = {
    *("payload", "arm", "surface", "mode", "baseline_tokens", "context_tokens"),
    *("overhead_tokens", "net_percent", "answerable"),
}


@pytest.mark.processes
def test_no_row_falls_short() -> None:
    # The sizes with the least to spare; `make bench-check` runs all of them.
    sizes_here = (200, 800)
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    command = [sys.executable, str(PROGRAM), "--quick", "--check", "--json", "--sizes"]
    command += map(str, sizes_here)
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    sizes: dict[str, list[int]] = {}
    for row in found["rows"]:
        sizes.setdefault(row["arm"], []).append(row["payload"])
    first, ten = sorted(found["sessions"], key=lambda row: int(row["tasks"]))

    assert all(row.keys() >= NAMES for row in found["rows"])
    assert set(sizes) == {"raw", "native", "fixed", "adaptive", "hooks", "gateway"}
    assert all(tuple(those) == sizes_here for those in sizes.values())
    assert all(
        row["baseline_tokens"] == 647 + 4 * row["payload"] and row["lossless"]
        for row in found["rows"]
    )
    assert first["first_need_net_tokens"] > 0
    assert ten["net_percent"] > first["net_percent"]


@pytest.fixture(scope="module")
def row() -> Row:
    """The row of hooks at 800 tokens, over one kind."""
    chosen = arms.arms_named(["raw", "native", "hooks"], ["dispatch"])
    runs = [arms.session(arm, surface, "log", 800, 3) for arm, surface in chosen]
    (found,) = (one for one in rows_of(runs) if one["arm"] == "hooks")
    return found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"net_percent": 10.0}, "asked for"),
        ({"worst_net_percent": -0.1}, "below 0"),
        ({"answerable": False}, "not found"),
        ({"lossless": False}, "came back otherwise"),
        ({"worst_cost_net_percent": -3.0}, "costs 3.0 % more"),
        ({"causes": {"schema": 121}}, "121 tokens of schema"),
    ],
)
def test_a_row_that_falls_short_is_named(row: Row, change: dict[str, Any], words: str) -> None:
    (told,) = shortfalls([{**row, **change}], [])

    assert not list(shortfalls([row], []))
    assert told.startswith("hooks, dispatch, 800: ")
    assert words in told


def test_a_first_payload_that_does_not_pay_is_named() -> None:
    name = {"arm": "hooks", "surface": "dispatch", "payload": 800, "tasks": 1}

    pays = {**name, "net_tokens": 5, "first_need_net_tokens": 1}
    assert not list(shortfalls([], [pays]))
    assert len(list(shortfalls([], [{**pays, "first_need_net_tokens": 0}]))) == 1


@pytest.mark.parametrize("kind", kinds())
def test_a_payload_is_exact_and_its_facts_can_be_read_off_it(kind: str) -> None:
    made = payload(kind, 800, seed=3)
    after = made.edited()

    assert count(made.text) == count(after.text) == 800
    for state in (made, after):
        for place in ("north", "centre", "south"):
            assert state.question(place).answer(state.text) == state.truth[place]
        assert measured(kind, state.text) == state.truth["whole"]
    assert made.truth["centre"] != after.truth["centre"]
    changed = zip(made.text.splitlines(), after.text.splitlines(), strict=True)
    assert sum(old != new for old, new in changed) == 1


async def test_an_agent_that_sees_too_little_is_found_out() -> None:
    class Blind(Side):
        async def deliver(self, transcript: Transcript, payload: Payload) -> Shown:
            return Shown(payload.text[:40])

    agent = Agent(Blind())
    await agent.work(payload("log", 800, seed=3))

    assert len(agent.missed) == 4


def test_each_token_is_booked_once_and_each_request_paid() -> None:
    one = Transcript()
    one.read("schema", "one two three")
    one.write("arguments", "four")
    one.read("replies", "five six")

    counted = one.count()

    assert counted.causes == {"schema": 3, "arguments": 1, "replies": 2}
    assert counted.total == 6
    assert one.cost() == pytest.approx(1.25 * 3 + 5 * 1)
    one.write("constant", "seven")
    assert one.cost() == pytest.approx(1.25 * 3 + 5 * 1 + 0.1 * 3 + 1.25 * 3 + 5 * 1)
