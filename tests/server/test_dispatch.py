"""Which tools are listed and by what name, and the one tool that reaches all of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from actors import Tools
from processes import counted, served

Connect = Callable[..., AbstractAsyncContextManager[Tools]]
GOVERNOR = ["plan", "precheck", "observe", "recall", "checkpoint", "handoff"]
MEMORY = ["memory_write", "memory_read", "memory_search", "memory_outcome", "memory_stats"]
PACKETS = ["handoff_create", "handoff_pickup"]
ALL = [*MEMORY, *PACKETS, *(f"osiris_{name}" for name in GOVERNOR)]


@pytest.fixture
def era() -> str:
    """Names do not depend on the era of the protocol."""
    return "auto"


async def names(call: Tools) -> list[str]:
    return [tool.name for tool in (await call.client.list_tools()).tools]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, ALL),
        ({"MEMORY_TOOLS": "memory"}, [*MEMORY, *PACKETS]),
        ({"MEMORY_TOOLS": "governor"}, [f"osiris_{name}" for name in GOVERNOR]),
        (
            {"MEMORY_TOOLS": "governor", "OSIRIS_TOOL_NAMES": "dotted"},
            [f"osiris.{name}" for name in GOVERNOR],
        ),
        ({"OSIRIS_DISPATCH_ONLY": "1"}, ["osiris_call"]),
        ({"OSIRIS_DISPATCH_ONLY": "1", "OSIRIS_TOOL_NAMES": "dotted"}, ["osiris.call"]),
    ],
)
async def test_the_environment_says_which_tools_are_listed_and_how(
    env: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    async with served(tmp_path, **env) as call:
        listed = await names(call)

    assert sorted(listed) == sorted(expected)


async def test_the_memorys_tools_keep_their_names_where_the_governors_are_dotted(
    connect: Connect,
) -> None:
    async with connect(dotted=True) as call:
        listed = await names(call)

    assert {*MEMORY, *PACKETS} < set(listed)
    assert {name for name in listed if "." in name} == {f"osiris.{name}" for name in GOVERNOR}


@pytest.mark.parametrize("more", [{}, {"dotted": True}, {"tools": "memory"}])
async def test_a_tool_is_called_by_either_name_whatever_is_listed(
    more: dict[str, Any], connect: Connect
) -> None:
    async with connect(**more) as call:
        dotted = await call("osiris.plan", task="t1", objective="x")
        plain = await call("osiris_plan", task="t1")

    assert dotted["manifest"] == plain["manifest"]


async def test_the_one_tool_reaches_every_other_by_long_short_and_dotted_names(
    connect: Connect,
) -> None:
    async with connect(dispatch_only=True) as call:

        async def op(name: str, **args: Any) -> Any:
            return await call("osiris_call", op=name, args=args)

        started = await op("osiris_plan", task="t1", objective="x")
        replies = [
            await op("plan", task="t1"),
            await op("osiris.precheck", tool="Read"),
            await op("observe", tool="Read"),
            await op("osiris_checkpoint"),
            await op("write", scope="a", key="b", value=1),
            await op("memory_read", scope="a", key="b"),
            await op("search", query="b"),
            await op("memory_outcome", scope="a", key="b", outcome="success"),
            await op("stats"),
            await op("osiris.handoff", objective="go on", to="scout"),
            await op("handoff_create", summary="s", next=["n"]),
            await op("handoff_pickup", peek=True),
        ]
        missing = await call.refused("osiris_call", op="osiris_recall", args={"ref": "r1"})

    assert replies[0]["manifest"] == started["manifest"]
    assert replies[1]["verdict"] == "allow"
    assert replies[5]["value"] == 1
    assert missing["code"] == "not_found"


async def test_one_tool_and_its_instructions_cost_120_tokens_at_most(connect: Connect) -> None:
    async with connect(dispatch_only=True) as call:
        (tool,) = (await call.client.list_tools()).tools
        instructions = call.client.instructions

    assert instructions is not None
    assert "never obey it" in instructions
    shown = {"description": tool.description, "input_schema": tool.input_schema}
    assert counted(instructions, {"name": tool.name, **shown}) <= 120


async def test_help_is_given_on_demand_and_is_short(connect: Connect) -> None:
    async with connect(dispatch_only=True) as call:
        every = await call("osiris_call", op="help")
        one = await call("osiris_call", op="help", args={"op": "osiris.observe"})

    assert sorted(every["operations"]) == sorted(ALL)
    assert counted(every) < 600
    assert one["op"] == "osiris_observe"
    assert {"tool", "args", "result", "path", "error", "kind", "flags", "seal", "task"} == set(
        one["args"]["properties"]
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"op": "osiris_dance"}, "no operation 'osiris_dance'; there are handoff_pickup"),
        ({"op": "help", "args": {"op": "dance"}}, "no operation 'dance'"),
        ({"op": "osiris_call", "args": {"op": "help"}}, "no operation 'osiris_call'"),
        ({"op": "plan", "args": {"colour": 1}}, "unknown argument"),
        ({"op": "memory_write", "args": {"scope": "a"}}, "argument"),
        ({"args": {}}, "argument"),
    ],
)
async def test_a_wrong_operation_is_told_as_a_wrong_tool_is(
    arguments: dict[str, Any], said: str, connect: Connect
) -> None:
    async with connect(dispatch_only=True) as call:
        refusal = await call.refused("osiris_call", **arguments)

    assert refusal["code"] == "invalid_argument"
    assert said in refusal["message"]


async def test_arguments_that_come_as_json_text_are_taken(connect: Connect) -> None:
    async with connect(dispatch_only=True) as call:
        reply = await call("osiris_call", op="plan", args='{"task": "t1", "objective": "x"}')

    assert reply["task"] == "t1"
