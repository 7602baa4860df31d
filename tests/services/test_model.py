"""The memory against a plain-Python model of it: any calls in any order, the chain stays whole."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from actors import Agent, Clock
from handoff_memory.app import Local, Makers
from handoff_memory.core import times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import (
    ClaimLostError,
    NotFoundError,
    PacketClosedError,
    PinNotFoundError,
    VersionConflictError,
)
from handoff_memory.services import verify
from handoff_memory.settings import Settings

LEASE_US = 3600 * 1_000_000
NAMES = ["plan/route", "plan/budget", "site/limit"]
AGENTS = ["scout", "executor"]
PRIORITIES = ["low", "normal", "high", "urgent"]
# Old confidence in millionths -> new, as exact fractions: memory.md §3.
MOVES = {
    "success": lambda c: (80 * c + 20_000_000 + 50) // 100,
    "partial": lambda c: (95 * c + 5_000_000 + 50) // 100,
    "failure": lambda c: (65 * c + 50) // 100,
    "critical_failure": lambda c: (40 * c + 50) // 100,
}


@dataclass
class Version:
    value: Any
    agent: str
    confidence: int = 700_000
    counts: dict[str, int] = field(default_factory=dict)


@dataclass
class Packet:
    id: str
    sender: str
    sender_session: str
    recipient: str | None
    priority: int
    expires_at: int | None
    is_answer: bool
    state: str = "waiting"
    holder: Agent | None = None
    token: int = 0
    renewed_at: int = 0
    deliveries: int = 0

    def held(self, now: int) -> bool:
        return self.state == "claimed" and -LEASE_US <= now - self.renewed_at < LEASE_US

    def seen_at(self, now: int) -> str:
        if self.state not in {"waiting", "claimed"} or self.held(now):
            return self.state
        over = self.expires_at is not None and self.expires_at <= now
        return "expired" if over else "waiting"


class Memory(RuleBasedStateMachine):
    """Every rule calls the memory and the model, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        home = Path(self.folder.name)
        self.settings = Settings(home, home / "memory.db", home, durable=False)
        self.clock = Clock()
        self.makers = Makers(self.clock, random.Random(5).randbytes)
        self.sessions: list[Agent] = []
        self.records: dict[str, list[Version]] = {}
        self.packets: list[Packet] = []
        self.seq = 0
        self.local = Local(self.settings, self.makers)

    def teardown(self) -> None:
        if self.seq:
            report = self.local.read(verify.verify)
            assert report["ok"], report["problems"]
            assert report["head"]["seq"] == self.seq
        self.local.close()
        self.folder.cleanup()

    def somebody(self, data: st.DataObject, *, eager: bool = False) -> Agent:
        """One of the newest sessions; rather one that holds a packet, or for whom one waits."""
        likely = [p.holder for p in self.packets if p.holder and p.held(self.clock.now)]
        if eager:
            likely = [session for session in self.sessions[-3:] if self.waiting_for(session)]
        return data.draw(st.sampled_from([*likely[-2:] * 3, *self.sessions[-3:]]))

    # --- what the model knows ----------------------------------------------------------------

    def wrote(self, by: Agent, entries: int = 1) -> None:
        self.seq += entries
        for packet in self.packets:
            if packet.holder is by and packet.held(self.clock.now):
                packet.renewed_at = self.clock.now

    def waiting_for(self, who: Agent) -> list[Packet]:
        found = [
            packet
            for packet in self.packets
            if packet.recipient in {None, who.who.agent}
            and packet.seen_at(self.clock.now) == "waiting"
            and not (packet.recipient is None and packet.sender_session == who.who.session)
        ]
        return sorted(found, key=lambda packet: -packet.priority)

    # --- calls -------------------------------------------------------------------------------

    @initialize()
    def two_agents(self) -> None:
        for agent in AGENTS:
            self.enter(agent)

    @rule(agent=st.sampled_from(AGENTS))
    def enter(self, agent: str) -> None:
        author = Author(agent, f"s_{len(self.sessions)}")
        self.sessions.append(Agent(self.local, author))

    @rule(
        data=st.data(),
        name=st.sampled_from(NAMES),
        value=st.none() | st.integers(-9, 9) | st.text(max_size=5) | st.lists(st.booleans()),
        expected=st.sampled_from(["any", "right", "wrong"]),
    )
    def write(self, data: st.DataObject, name: str, value: Any, expected: str) -> None:
        who = self.somebody(data)
        versions = self.records.get(name, [])
        given = {"any": None, "right": len(versions), "wrong": len(versions) + 1}[expected]

        try:
            reply = who.write(name, value, expected_version=given)
        except VersionConflictError:
            assert expected == "wrong"
            return

        assert expected != "wrong"
        assert reply["version"] == len(versions) + 1
        assert reply["superseded"] == (len(versions) or None)
        self.records.setdefault(name, []).append(Version(value, who.who.agent))
        self.wrote(who)

    @precondition(lambda self: self.records)
    @rule(data=st.data(), outcome=st.sampled_from(sorted(MOVES)))
    def report(self, data: st.DataObject, outcome: str) -> None:
        who = self.somebody(data)
        name = data.draw(st.sampled_from(sorted(self.records)))
        number = data.draw(st.integers(1, len(self.records[name])))
        version = self.records[name][number - 1]
        before, after = version.confidence, MOVES[outcome](version.confidence)

        reply = who.report(f"{name}@{number}", outcome)

        version.confidence = after
        version.counts[outcome] = version.counts.get(outcome, 0) + 1
        assert (reply["before"], reply["after"]) == (before / 10**6, after / 10**6)
        assert reply["counts"] == version.counts
        assert reply["current_version"] == len(self.records[name])
        self.wrote(who)

    @rule(
        data=st.data(),
        to=st.none() | st.sampled_from(AGENTS),
        priority=st.integers(0, 3),
        expires_in=st.none() | st.sampled_from([60, 7200]),
    )
    def create(
        self, data: st.DataObject, to: str | None, priority: int, expires_in: int | None
    ) -> None:
        who = self.somebody(data)
        pins = data.draw(st.lists(st.sampled_from(NAMES), unique=True))

        try:
            reply = who.create(
                to=to, priority=PRIORITIES[priority], expires_in=expires_in, pins=pins
            )
        except PinNotFoundError:
            assert not set(pins) <= set(self.records)
            return

        assert reply["pins"] == [f"{name}@{len(self.records[name])}" for name in pins]
        until = None if expires_in is None else self.clock.now + expires_in * 1_000_000
        author = who.who
        self.packets.append(
            Packet(reply["packet_id"], author.agent, author.session, to, priority, until, False)
        )
        self.wrote(who)

    @precondition(lambda self: self.packets)
    @rule(data=st.data())
    def pick_up(self, data: st.DataObject) -> None:
        who = self.somebody(data, eager=True)
        now = self.clock.now
        held = [packet for packet in self.packets if packet.holder is who and packet.held(now)]
        held.sort(key=lambda packet: -packet.priority)
        expected = next(iter(held or self.waiting_for(who)), None)

        assert who.waiting == len(self.waiting_for(who))
        got = who.pickup()

        if expected is None:
            assert got["packet"] is None
            return
        assert got["packet"]["packet_id"] == expected.id
        self.wrote(who)
        if expected.is_answer:
            expected.state, expected.deliveries = "done", expected.deliveries + 1
        elif held:
            assert got["token"] == expected.token
            expected.renewed_at = now
        else:
            assert got["token"] == self.seq
            expected.state, expected.holder, expected.token = "claimed", who, self.seq
            expected.renewed_at, expected.deliveries = now, expected.deliveries + 1
        assert got["packet"]["deliveries"] == expected.deliveries

    @precondition(lambda self: self.packets)
    @rule(
        data=st.data(),
        status=st.sampled_from(["done", "returned", "released", "withdrawn"]),
        with_token=st.booleans(),
    )
    def hand_back(self, data: st.DataObject, status: str, *, with_token: bool) -> None:
        claimed = [packet for packet in self.packets if packet.state == "claimed"]
        packet = data.draw(st.sampled_from([*claimed * 3, *self.packets]))
        who = data.draw(st.sampled_from([*self.sessions[-2:], packet.holder or self.sessions[0]]))
        now, state = self.clock.now, packet.seen_at(self.clock.now)
        token = packet.token if with_token and packet.holder else None
        same_agent = packet.holder is not None and packet.holder.who.agent == who.who.agent
        mine = state == "claimed" and (packet.holder is who or (same_agent and token is not None))
        may = mine if status != "withdrawn" else packet.sender == who.who.agent
        told = packet.sender
        if status == "withdrawn" and packet.holder and packet.held(now):
            told = packet.holder.who.agent

        try:
            reply = who.hand_back(packet.id, status, token=token)
        except PacketClosedError:
            assert state in {"done", "returned", "withdrawn"}
            return
        except ClaimLostError:
            assert not may
            return

        assert may
        assert state not in {"done", "returned", "withdrawn"}
        assert reply["to"] == told
        self.wrote(who, 2)
        packet.state, packet.holder = ("waiting", None) if status == "released" else (status, None)
        answer = Packet(reply["packet_id"], who.who.agent, who.who.session, told, 1, None, True)
        if status == "withdrawn" and told == who.who.agent:
            answer.state = "done"
        self.packets.append(answer)

    @rule(seconds=st.sampled_from([1800, 60, 3599, 3600, 1, 7200, -1, -1800, -10_000]))
    def the_clock_jumps(self, seconds: int) -> None:
        self.clock.forward(seconds)

    @rule()
    def the_file_is_closed_and_opened_again(self) -> None:
        self.local.close()
        self.local = Local(self.settings, self.makers)
        for session in self.sessions:
            session.local = self.local

    # --- what is seen ------------------------------------------------------------------------

    @precondition(lambda self: self.seq)
    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def look_at_a_record(self, data: st.DataObject, name: str) -> None:
        who = self.somebody(data)
        versions = self.records.get(name, [])

        try:
            history = who.history(name)
        except NotFoundError:
            history = []

        assert [
            (v["version"], v["value"], v["agent"], v["confidence"], v["counts"], v["current"])
            for v in history
        ] == [
            (n, v.value, v.agent, v.confidence / 10**6, v.counts, n == len(versions))
            for n, v in reversed(list(enumerate(versions, 1))[-20:])
        ]

    @precondition(lambda self: self.packets)
    @rule(data=st.data())
    def look_at_a_packet(self, data: st.DataObject) -> None:
        claimed = [packet for packet in self.packets if packet.state == "claimed"]
        packet = data.draw(st.sampled_from([*claimed * 3, *self.packets]))

        seen = self.sessions[0].peek(packet.id)["packet"]

        assert seen["state"] == packet.seen_at(self.clock.now)
        assert seen["deliveries"] == packet.deliveries
        if packet.held(self.clock.now) and packet.holder:
            assert seen["holder"] == packet.holder.who.agent
            assert seen["lease_until"] == times.iso(packet.renewed_at + LEASE_US)


Memory.TestCase.settings = settings(max_examples=60, stateful_step_count=50)
TestMemory = Memory.TestCase
