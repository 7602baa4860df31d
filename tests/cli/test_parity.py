"""What --json prints is what the tool of the same operation replies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from actors import Tools
from handoff_memory.settings import read_settings
from shell import Shell

Connect = Callable[..., AbstractAsyncContextManager[Tools]]

Pair = tuple[str, tuple[str, ...], str, dict[str, Any]]

PAIRS: list[Pair] = [
    ("read", ("s/k",), "memory_read", {"scope": "s", "key": "k"}),
    ("read", ("s/k", "s/n@1"), "memory_read", {"names": ["s/k", "s/n@1"]}),
    ("read", ("s/k", "--version", "1"), "memory_read", {"scope": "s", "key": "k", "version": 1}),
    ("history", ("s/k",), "memory_read", {"scope": "s", "key": "k", "history": True}),
    ("search", ("word",), "memory_search", {"query": "word"}),
    ("search", ("--tag", "t"), "memory_search", {"tags": ["t"]}),
    ("pickup", ("--peek",), "handoff_pickup", {"peek": True}),
    ("stats", (), "memory_stats", {}),
    ("stats", ("--verify",), "memory_stats", {"verify": True}),
]


@pytest.fixture
def era() -> str:
    return "auto"


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: " ".join([pair[0], *pair[1]]))
async def test_a_verb_and_its_tool_give_one_reply(
    shell: Shell,
    hand_over: Callable[..., str],
    connect: Connect,
    pair: Pair,
    *,
    waits: bool,
) -> None:
    verb, args, tool, arguments = pair
    shell.json("write", "s/k", '"a word"', "--tag", "t")
    shell.json("write", "s/k", '"another word"', "--tag", "t")
    shell.json("write", "s/n", "1")
    shell.json("outcome", "s/k", "success", "--note", "it held")
    if waits:
        hand_over(pins=["s/k@1"])

    printed = shell.json(verb, *args)
    folder = read_settings(shell.env).folder
    async with connect("ada", database=shell.database, folder=folder) as call:
        replied = await call(tool, **arguments)

    assert steady(printed) == steady(replied)


def steady(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply without what a server changes by being there."""
    return {name: fact for name, fact in reply.items() if name not in {"agents", "wal_bytes"}}
