"""Work goes from agent to agent; what each agent's model was sent is what counts."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from agents.clients import CLAUDE_CODE, CODEX, GEMINI, OPENCODE, OURS, AgentClient, Desk
from agents.model import Copied, Script, Use
from agents.wires import Sent

pytestmark = pytest.mark.agents

BROKEN = Path(__file__).with_name("broken_server.py")
SETTINGS = (".claude.json", ".codex/config.toml")
BRIEF = {"goal": "halve the waiting time", "words": ["\U0001f600", "数据库", "half \u200f right"]}
NOTE = "measured again with a warm cache"
OUTCOMES = {
    "codex": ("success", 0.76),
    "gemini": ("partial", 0.715),
    "opencode": ("failure", 0.455),
}
DONE = "Handed back"


@dataclass(frozen=True)
class Leg:
    """One agent's part of the way."""

    agent: str
    before: tuple[str, ...]
    after: str | None
    sent: Sequence[Sent]

    def got(self, tool: str) -> list[dict[str, Any]]:
        """Replies of a tool, as the model was sent them."""
        return [result.reply for result in self.sent[-1].results if result.tool.endswith(tool)]

    @property
    def thread(self) -> str:
        """The thread that its work belongs to."""
        found: str = self.got("handoff_create")[0]["thread"]
        return found


def finding(agent: str, version: int) -> dict[str, Any]:
    return {"by": agent, "seconds": 40 + version}


def script(before: Sequence[str], agent: str, after: str | None) -> Script:
    """Pick up and act, where somebody went before; hand over, where somebody comes after."""
    steps: list[Use] = []
    if before:
        steps += _act(before[-1], OUTCOMES[agent][0])
    else:
        steps.append(_write("brief", "goal", BRIEF))
    if after:
        steps += _hand_over([*before, agent], after)
    return steps


def _write(scope: str, key: str, value: Any, **more: Any) -> Use:
    return Use("memory_write$", {"scope": f"relay/{scope}", "key": key, "value": value, **more})


def _act(sender: str, outcome: str) -> list[Use]:
    name = {"scope": f"relay/{sender}", "key": "finding"}
    packet_id, token = Copied(r'"packet_id":"(h_[0-9a-f]+)"'), Copied(r'"token":(\d+)')
    reported = {**name, "version": 1, "outcome": outcome, "packet_id": packet_id}
    back = {"summary": DONE, "in_reply_to": packet_id, "status": "done", "token": token}
    return [
        Use("handoff_pickup$"),
        Use("memory_read$", name),
        Use("memory_outcome$", reported),
        Use("handoff_create$", back),
    ]


def _hand_over(agents: Sequence[str], to: str) -> list[Use]:
    agent = agents[-1]
    packet: dict[str, Any] = {
        "summary": f"Take over from {agent}",
        "done": [f"{agent} measured"],
        "next": [f"{to}: measure again"],
        "pins": ["relay/brief/goal", *(f"relay/{name}/finding@1" for name in agents)],
        "to": to,
    }
    if len(agents) > 1:
        packet["in_reply_to"] = Copied(r'"closed":\{"packet_id":"(h_[0-9a-f]+)"')
    return [
        _write(agent, "finding", finding(agent, 1)),
        Use("handoff_create$", packet),
        _write(agent, "finding", finding(agent, 2), source=NOTE),
    ]


def relay(
    desks: Callable[[str], Desk],
    clients: Sequence[AgentClient],
    prepare: Callable[[Desk], None] = lambda _: None,
) -> list[Leg]:
    """Each client in turn, in a process of its own."""
    names = [client.name for client in clients]
    legs = []
    for index, client in enumerate(clients):
        before = tuple(names[:index])
        after = names[index + 1] if index + 1 < len(names) else None
        desk = desks(client.name)
        client.set_up(desk)
        prepare(desk)
        desk.model.play(script(before, client.name, after))
        client.ask(desk, "Go on with what waits.")
        legs.append(Leg(client.name, before, after, desk.model.sent))
    return legs


def assert_packet(leg: Leg, sender: Leg) -> None:
    """The model was told of the packet that the one before wrote, and claimed it."""
    created = sender.got("handoff_create")[-1]
    (picked,) = leg.got("handoff_pickup")
    packet = picked["packet"]
    assert "1 handoff packet waits for you: call handoff_pickup first." in leg.sent[0].everything
    assert packet["packet_id"] == created["packet_id"]
    assert packet["thread"] == sender.thread
    assert (packet["from"], packet["to"]) == (sender.agent, leg.agent)
    assert (packet["state"], packet["holder"]) == ("claimed", leg.agent)
    assert packet["next"] == [f"{leg.agent}: measure again"]


def assert_pins(leg: Leg) -> None:
    """The model got the records at the versions that were pinned."""
    (picked,) = leg.got("handoff_pickup")
    assert [_pinned(record) for record in picked["records"]] == [
        ("relay/brief", "goal", 1, BRIEF),
        *((f"relay/{name}", "finding", 1, finding(name, 1)) for name in leg.before),
    ]


def assert_warned(leg: Leg) -> None:
    """The model was told which pins have moved since, by whom and why."""
    (picked,) = leg.got("handoff_pickup")
    assert picked["pins_moved"] == f"{len(leg.before)} of {len(leg.before) + 1} pins moved"
    stale = [
        (item["name"], item["pinned"], item["current"], item["by"]) for item in picked["stale"]
    ]
    assert stale == [(f"relay/{name}/finding", 1, 2, name) for name in leg.before]
    assert {item["source"] for item in picked["stale"]} == {NOTE}


def _pinned(record: dict[str, Any]) -> tuple[Any, ...]:
    return record["scope"], record["key"], record["version"], record["value"]


def assert_acted(leg: Leg) -> None:
    """What the model read anew is the newer version, and its outcome moved the older one."""
    (read,) = leg.got("memory_read")
    (reported,) = leg.got("memory_outcome")
    assert (read["version"], read["value"]) == (2, finding(leg.before[-1], 2))
    assert (reported["version"], reported["current_version"]) == (1, 2)
    assert (reported["before"], reported["after"]) == (0.7, OUTCOMES[leg.agent][1])


def verified(desk: Desk) -> dict[str, Any]:
    """What `memory_stats --verify` says of the shared file; its exit status is 0."""
    program = OURS.with_name("memory_stats")
    done = desk.run(str(program), "--verify", "--json", MEMORY_DB=str(desk.database))
    found: dict[str, Any] = orjson.loads(done.stdout)
    return found


def test_claude_code_hands_work_to_codex(desk: Callable[[str], Desk]) -> None:
    claude, codex = relay(desk, [CLAUDE_CODE, CODEX])

    assert_packet(codex, claude)
    assert_pins(codex)
    assert_warned(codex)
    assert_acted(codex)
    assert verified(desk("reader"))["verify"]["ok"]


def test_work_goes_through_four_agents(desk: Callable[[str], Desk]) -> None:
    legs = relay(desk, [CLAUDE_CODE, CODEX, GEMINI, OPENCODE])

    for sender, leg in itertools.pairwise(legs):
        assert_packet(leg, sender)
        assert_pins(leg)
        assert_warned(leg)
        assert_acted(leg)
    stats = verified(desk("reader"))
    assert stats["verify"]["ok"]
    assert stats["counts"] == {"records": 4, "versions": 7, "outcomes": 3, "packets": 6}
    assert stats["packets"] == {"done": 3, "waiting": 3}
    assert {agent["agent"] for agent in stats["agents"]} == {leg.agent for leg in legs}


@pytest.mark.parametrize(
    ("fault", "caught_by", "blind"),
    [
        ("forgets-what-moved", assert_warned, assert_pins),
        ("gives-the-current-version", assert_pins, assert_warned),
    ],
)
def test_a_server_that_lies_is_found_out(
    desk: Callable[[str], Desk],
    fault: str,
    caught_by: Callable[[Leg], None],
    blind: Callable[[Leg], None],
) -> None:
    def break_server(desk: Desk) -> None:
        """Have the client start the broken server in place of ours."""
        broken = desk.keep("broken", f"#!/bin/sh\nexec {sys.executable} {BROKEN} {fault}\n")
        broken.chmod(0o755)
        for path in filter(Path.exists, map(desk.home.joinpath, SETTINGS)):
            text = path.read_text("utf-8")
            assert str(OURS) in text
            path.write_text(text.replace(str(OURS), str(broken)), "utf-8")

    claude, codex = relay(desk, [CLAUDE_CODE, CODEX], break_server)

    assert_packet(codex, claude)
    blind(codex)
    with pytest.raises(AssertionError):
        caught_by(codex)
