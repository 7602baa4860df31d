"""The replay of a verification: opinions and packet states, as the journal makes them.

What is kept of them are caches; here they are made anew from outcomes and claims, and compared.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from handoff_memory.core import confidence, packet
from handoff_memory.core.packet import Claim, PacketState
from handoff_memory.services import findings, writing
from handoff_memory.services.findings import Finding
from handoff_memory.services.writing import Reply
from handoff_memory.store import health, packets, sealed
from handoff_memory.store.engine import Row, Tx

# A write first renews what its session holds, and then does what it is for.
_SIGN: Final = 0
_MOVE: Final = 1


@dataclass(slots=True)
class _Opinion:
    confidence: int
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(confidence.OUTCOMES, 0))


class Replay:
    """Opinions and packet states as far as they were replayed, and what was wrong on the way."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.found: list[Finding] = []
        self._opinions: dict[int, _Opinion] = {}
        self._states: dict[str, PacketState] = {}
        self._offers: dict[str, tuple[Any, ...]] = {}
        self._held: dict[str, set[str]] = defaultdict(set)

    def everything(self) -> None:
        """Replay all that the journal names."""
        signs = ((row["seq"], _SIGN, "", row) for row in sealed.signs_of_life(self._tx))
        for _, turn, kind, row in heapq.merge(signs, *_moves(self._tx), key=lambda one: one[:2]):
            if turn == _SIGN:
                self._renew(row)
            elif kind == "outcome":
                self.outcome(row)
            elif kind == "packet":
                self._packet(row)
            else:
                self._claim(row)

    def outcome(self, row: Row) -> None:
        """Take in the next outcome of a version."""
        about = health.initial(self._tx, row["record"])
        if about is None:
            what = "it is about a record that is missing"
            self._add(row, "outcome", f"seq {row['seq']}", what)
            return
        opinion = self._opinions.setdefault(row["record"], _Opinion(about["confidence"]))
        name, version = f"{about['scope']}/{about['key']}", about["version"]
        if row["outcome"] not in opinion.counts:
            what = f"unknown outcome {row['outcome']!r}"
            self._add(row, "outcome", name, what, version=version)
            return
        expected = (opinion.confidence, confidence.moved(opinion.confidence, row["outcome"]))
        if (row["before"], row["after"]) != expected:
            what = f"before and after should be {expected[0]} and {expected[1]}"
            self._add(row, "outcome", name, what, version=version, seq=row["seq"])
        # A row that is right in itself is believed, or one edit would blame every later outcome.
        consistent = row["after"] == confidence.moved(row["before"], row["outcome"])
        opinion.confidence = row["after"] if consistent else expected[1]
        opinion.counts[row["outcome"]] += 1

    def opinion_problems(self, kept: Iterable[Row]) -> Iterator[Reply]:
        """What is wrong with kept opinions, and with those that are not kept."""
        seen = set()
        for row in kept:
            seen.add(row["seq"])
            yield from self._opinion_problems(row, self._opinions.get(row["seq"]))
        for seq in sorted(self._opinions.keys() - seen):
            yield self._of_opinion(seq, "its confidence and counts are missing")

    def state_problems(self) -> Iterator[Reply]:
        """What is wrong with the kept states of packets."""
        left = dict(self._states)
        for row in packets.states(self._tx):
            expected = left.pop(row["packet"], None)
            if expected is None:
                yield findings.problem("packet", row["packet"], "a state without a packet")
            elif writing.state_of(row) != expected:
                what = f"its claim state is {row['state']!r}, its claims give {expected.state!r}"
                yield findings.problem("packet", row["packet"], what)
            elif _offer(row) != self._offers[row["packet"]]:
                what = "it is not offered as it was written"
                yield findings.problem("packet", row["packet"], what)
        for packet_id in left:
            yield findings.problem("packet", packet_id, "its claim state is missing")

    def _renew(self, row: Row) -> None:
        for packet_id in self._held.get(row["session"], ()):
            state = self._states[packet_id]
            self._states[packet_id] = packet.renewed(state, row["session"], row["at"])

    def _packet(self, row: Row) -> None:
        self._states[row["packet"]] = packet.first_state(
            status=row["status"], author=row["agent"], recipient=row["recipient"]
        )
        self._offers[row["packet"]] = _offer(row)

    def _claim(self, row: Row) -> None:
        name = row["packet"]
        state = self._states.get(name)
        if state is None:
            what = "it is about a packet that is missing"
            self._add(row, "claim", name, what, seq=row["seq"])
            return
        if row["action"] not in packet.ACTIONS:
            self._add(row, "claim", name, f"unknown action {row['action']!r}", seq=row["seq"])
            return
        claim = Claim(
            row["action"], row["seq"], row["lease_us"], row["agent"], row["session"], row["at"]
        )
        after = self._states[name] = packet.applied(state, claim)
        if state.holder_session:
            self._held[state.holder_session].discard(name)
        if after.state == "claimed" and after.holder_session:
            self._held[after.holder_session].add(name)

    def _opinion_problems(self, row: Row, opinion: _Opinion | None) -> Iterator[Reply]:
        if opinion is None:
            yield self._of_opinion(row["seq"], "confidence moved without an outcome")
            return
        if row["confidence"] != opinion.confidence:
            what = f"confidence is {row['confidence']}, its outcomes give {opinion.confidence}"
            yield self._of_opinion(row["seq"], what)
        if {outcome: row[outcome] for outcome in confidence.OUTCOMES} != opinion.counts:
            what = "the outcome counts are not those of its outcomes"
            yield self._of_opinion(row["seq"], what)

    def _of_opinion(self, seq: int, what: str) -> Reply:
        about = health.initial(self._tx, seq)
        if about is None:
            return findings.problem("record", f"seq {seq}", what)
        name = f"{about['scope']}/{about['key']}"
        return findings.problem("record", name, what, version=about["version"])

    def _add(self, row: Row, kind: str, name: str, what: str, **more: Any) -> None:
        self.found.append(Finding(row["seq"], findings.problem(kind, name, what, **more)))


def _moves(tx: Tx) -> list[Iterator[tuple[int, int, str, Row]]]:
    def of(kind: str) -> Iterator[tuple[int, int, str, Row]]:
        return ((row["seq"], _MOVE, kind, row) for row in sealed.moves(tx, kind))

    return [of("outcome"), of("packet"), of("claim")]


def _offer(row: Row) -> tuple[Any, ...]:
    """What `packet_states` repeats of a packet, so that whoever picks up finds it by index."""
    return tuple(row[field] for field in ("seq", "project", "recipient", "priority", "expires_at"))
