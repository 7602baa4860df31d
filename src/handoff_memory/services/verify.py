"""Verification: everything that is mutable is recomputed from the hashed rows.

The journal and the rows of each kind are walked together in the order of their seq, so nothing has
to be held but opinions and states. Every broken row is named; a break does not hide what follows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from handoff_memory.core import confidence, entry, packet
from handoff_memory.core.errors import MemoryFault
from handoff_memory.core.packet import Claim, PacketState
from handoff_memory.services import verify_amfs, verify_tasks, writing
from handoff_memory.services.writing import Reply
from handoff_memory.store import amfs, health, journal, packets
from handoff_memory.store.engine import Row, Tx

Progress = Callable[[int, int], None]

_KINDS: Final = (
    *("record", "outcome", "packet", "claim", "task", "event", "payload"),
    *("amfs_entry", "amfs_document"),
)
_OPTIONAL: Final = ("amfs_entry", "amfs_document")  # not counted where there is none
_STEP: Final = 1000


@dataclass(slots=True)
class _Findings:
    problems: list[Reply] = field(default_factory=list)

    def add(
        self, kind: str, name: str, what: str, *, version: int | None = None, **more: Any
    ) -> None:
        found: Reply = {"kind": kind, "name": name}
        if version is not None:
            found["version"] = version
        self.problems.append({**found, "what": what, **more})


@dataclass(slots=True)
class _Opinion:
    confidence: int
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(confidence.OUTCOMES, 0))


@dataclass(slots=True)
class _Replay:
    """Opinions and packet states as the journal makes them, and to whom a packet is offered."""

    opinions: dict[int, _Opinion] = field(default_factory=dict)
    states: dict[str, PacketState] = field(default_factory=dict)
    offers: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    held: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class _Rows:
    """The rows of a kind, met in step with the journal."""

    def __init__(self, tx: Tx, kind: str) -> None:
        self._rows: Iterator[Row] = journal.rows(tx, kind)
        self._next: Row | None = next(self._rows, None)

    def take(self, seq: int) -> tuple[list[Row], Row | None]:
        """Rows that no journal line named so far, and the row with that seq."""
        strays: list[Row] = []
        while self._next is not None and self._next["seq"] < seq:
            strays.append(self._next)
            self._next = next(self._rows, None)
        if self._next is None or self._next["seq"] != seq:
            return strays, None
        found, self._next = self._next, next(self._rows, None)
        return strays, found


def verify(tx: Tx, *, progress: Progress = lambda done, total: None) -> Reply:
    """Recompute every hash, the chain, and every cache; name each broken row.

    Args:
        tx: One read transaction.
        progress: Told how many of how many journal lines are checked.
    """
    findings = _Findings()
    replay = _Replay()
    head = journal.head(tx)
    checked = _walk(tx, findings, replay, head.seq, progress)
    _check_caches(tx, findings, replay)
    for kind, name, what in verify_tasks.problems(tx):
        findings.add(kind, name, what)
    for name, version, what in verify_amfs.problems(tx):
        findings.add("amfs_entry", name, what, version=version)
    for what in health.schema_problems(tx):
        findings.add("schema", what.split(" is ")[0], what)
    for what in health.file_problems(tx):
        findings.add("file", "database", what)
    return {
        "ok": not findings.problems,
        "checked": checked,
        "problems": findings.problems,
        "head": {"seq": head.seq, "chain": head.chain.hex()},
    }


def damaged(fault: MemoryFault) -> Reply:
    """The report on a file that SQLite itself cannot read to its end."""
    problem = {"kind": "file", "name": "database", "what": fault.message}
    return {"ok": False, "checked": {}, "problems": [problem]}


def shortened(report: Reply, limit: int = 50) -> Reply:
    """A report whose list of problems fits a reply, and how many there are in all."""
    problems = report["problems"]
    if len(problems) <= limit:
        return report
    return {**report, "problems": problems[:limit], "problems_total": len(problems)}


def _walk(
    tx: Tx, findings: _Findings, replay: _Replay, total: int, progress: Progress
) -> dict[str, int]:
    rows = {kind: _Rows(tx, kind) for kind in _KINDS}
    checked = dict.fromkeys(("journal", *_KINDS), 0)
    expected, chain = 1, entry.GENESIS
    for line in journal.lines(tx):
        seq, kind = line["seq"], line["kind"]
        if seq != expected:
            findings.add("journal", f"seq {expected}", f"lines {expected} to {seq - 1} are missing")
        if kind not in rows:
            findings.add("journal", f"seq {seq}", f"unknown kind {kind!r}")
        else:
            row = _taken(tx, findings, rows[kind], line)
            if row is not None:
                _check_row(findings, line, row, chain if seq == expected else None)
                _replay_row(tx, findings, replay, kind, row)
                checked[kind] += 1
        expected, chain = seq + 1, bytes(line["chain"])
        checked["journal"] += 1
        if seq % _STEP == 0 or seq == total:
            progress(seq, total)
    for kind in _KINDS:
        for stray in rows[kind].take(2**62)[0]:
            _name_row(findings, kind, stray, "the row stands in no journal line: inserted")
    return {kind: count for kind, count in checked.items() if count or kind not in _OPTIONAL}


def _taken(tx: Tx, findings: _Findings, rows: _Rows, line: Row) -> Row | None:
    kind, seq = line["kind"], line["seq"]
    strays, row = rows.take(seq)
    for stray in strays:
        _name_row(findings, kind, stray, "the row stands in no journal line: inserted")
    if row is None:
        name, version = _name_of_missing(tx, kind, seq, bytes(line["entry_hash"]))
        findings.add(kind, name, "the row is missing: deleted", version=version, seq=seq)
    return row


def _name_of_missing(tx: Tx, kind: str, seq: int, entry_hash: bytes) -> tuple[str, int | None]:
    if kind == "record" and (found := health.name_of_missing(tx, seq, entry_hash)):
        return f"{found['scope']}/{found['key']}", found["version"]
    if kind == "amfs_entry" and (found := amfs.name_of_missing(tx, seq)):
        return f"{found['path']}/{found['key']}", found["version"]
    lost = health.packet_of_missing(tx, seq) if kind == "packet" else None
    return lost or f"seq {seq}", None


def _check_row(findings: _Findings, line: Row, row: Row, chain: bytes | None) -> None:
    kind = line["kind"]
    if what := _body_problem(row):
        _name_row(findings, kind, row, what)
    try:
        data = entry.entry_bytes(kind, line["v"], row)
    except (KeyError, ValueError, AttributeError) as error:
        _name_row(findings, kind, row, f"the row cannot be hashed: {error!r}")
        return
    if entry.entry_hash(data) != bytes(line["entry_hash"]):
        _name_row(findings, kind, row, "a field was altered: the row's hash differs")
    elif chain is not None and entry.next_chain(chain, data) != bytes(line["chain"]):
        findings.add("journal", f"seq {line['seq']}", "the chain breaks here")
    if kind == "record" and _digest(row["prev"]) != _digest(row["before_hash"]):
        _name_row(findings, kind, row, "it does not follow the version before it")


def _body_problem(row: Row) -> str | None:
    commit, salt, body = row["body_commit"], row["salt"], row["body"]
    if commit is None:
        return None if body is None and salt is None else "a body without its commitment"
    if body is None or salt is None:
        return "the value was erased without a journaled redaction"
    if entry.commit_body(bytes(salt), bytes(body)) != bytes(commit):
        return "the value was altered: its commitment differs"
    return None


def _replay_row(tx: Tx, findings: _Findings, replay: _Replay, kind: str, row: Row) -> None:
    for packet_id in list(replay.held.get(row["session"], ())):
        replay.states[packet_id] = packet.renewed(
            replay.states[packet_id], row["session"], row["at"]
        )
    if kind == "outcome":
        _replay_outcome(tx, findings, replay, row)
    elif kind == "packet":
        replay.states[row["packet"]] = packet.first_state(
            status=row["status"], author=row["agent"], recipient=row["recipient"]
        )
        replay.offers[row["packet"]] = _offer(row)
    elif kind == "claim":
        _replay_claim(findings, replay, row)


def _replay_outcome(tx: Tx, findings: _Findings, replay: _Replay, row: Row) -> None:
    about = health.initial(tx, row["record"])
    if about is None:
        findings.add("outcome", f"seq {row['seq']}", "it is about a record that is missing")
        return
    opinion = replay.opinions.setdefault(row["record"], _Opinion(about["confidence"]))
    name = f"{about['scope']}/{about['key']}"
    if row["outcome"] not in opinion.counts:
        findings.add(
            "outcome", name, f"unknown outcome {row['outcome']!r}", version=about["version"]
        )
        return
    expected = (opinion.confidence, confidence.moved(opinion.confidence, row["outcome"]))
    if (row["before"], row["after"]) != expected:
        what = f"before and after should be {expected[0]} and {expected[1]}"
        findings.add("outcome", name, what, version=about["version"], seq=row["seq"])
    # A row that is right in itself is believed, or one edit would blame every later outcome.
    consistent = row["after"] == confidence.moved(row["before"], row["outcome"])
    opinion.confidence = row["after"] if consistent else expected[1]
    opinion.counts[row["outcome"]] += 1


def _replay_claim(findings: _Findings, replay: _Replay, row: Row) -> None:
    state = replay.states.get(row["packet"])
    if state is None:
        findings.add("claim", row["packet"], "it is about a packet that is missing", seq=row["seq"])
        return
    if row["action"] not in packet.ACTIONS:
        what = f"unknown action {row['action']!r}"
        findings.add("claim", row["packet"], what, seq=row["seq"])
        return
    claim = Claim(
        row["action"], row["seq"], row["lease_us"], row["agent"], row["session"], row["at"]
    )
    after = packet.applied(state, claim)
    replay.states[row["packet"]] = after
    if state.holder_session:
        replay.held[state.holder_session].discard(row["packet"])
    if after.state == "claimed" and after.holder_session:
        replay.held[after.holder_session].add(row["packet"])


def _check_caches(tx: Tx, findings: _Findings, replay: _Replay) -> None:
    for row in health.wrong_heads(tx):
        what = "the current version is not the newest"
        findings.add("record", f"{row['scope']}/{row['key']}", what, version=row["version"])
    cached = set()
    for row in health.opinions(tx):
        cached.add(row["seq"])
        _check_opinion(tx, findings, row, replay.opinions.get(row["seq"]))
    for seq in sorted(replay.opinions.keys() - cached):
        _name_opinion(tx, findings, seq, "its confidence and counts are missing")
    _check_states(tx, findings, replay)
    for row in health.unsearchable(tx):
        what = "it is missing from the full-text index"
        findings.add("record", f"{row['scope']}/{row['key']}", what, version=row["version"])


def _check_opinion(tx: Tx, findings: _Findings, row: Row, opinion: _Opinion | None) -> None:
    if opinion is None:
        _name_opinion(tx, findings, row["seq"], "confidence moved without an outcome")
        return
    if row["confidence"] != opinion.confidence:
        what = f"confidence is {row['confidence']}, its outcomes give {opinion.confidence}"
        _name_opinion(tx, findings, row["seq"], what)
    counts = {outcome: row[outcome] for outcome in confidence.OUTCOMES}
    if counts != opinion.counts:
        _name_opinion(tx, findings, row["seq"], "the outcome counts are not those of its outcomes")


def _check_states(tx: Tx, findings: _Findings, replay: _Replay) -> None:
    left = dict(replay.states)
    for row in packets.states(tx):
        expected = left.pop(row["packet"], None)
        if expected is None:
            findings.add("packet", row["packet"], "a state without a packet")
        elif writing.state_of(row) != expected:
            what = f"its claim state is {row['state']!r}, its claims give {expected.state!r}"
            findings.add("packet", row["packet"], what)
        elif _offer(row) != replay.offers[row["packet"]]:
            findings.add("packet", row["packet"], "it is not offered as it was written")
    for packet_id in left:
        findings.add("packet", packet_id, "its claim state is missing")


def _offer(row: Row) -> tuple[Any, ...]:
    """What `packet_states` repeats of a packet, so that whoever picks up finds it by index."""
    return tuple(row[field] for field in ("seq", "project", "recipient", "priority", "expires_at"))


def _name_opinion(tx: Tx, findings: _Findings, seq: int, what: str) -> None:
    about = health.initial(tx, seq)
    if about is None:
        findings.add("record", f"seq {seq}", what)
        return
    findings.add("record", f"{about['scope']}/{about['key']}", what, version=about["version"])


def _name_row(findings: _Findings, kind: str, row: Row, what: str) -> None:
    if kind == "record":
        name = f"{row['scope']}/{row['key']}"
        findings.add(kind, name, what, version=row["version"], seq=row["seq"])
    elif kind == "outcome":
        findings.add(kind, f"seq {row['seq']}", what, record_seq=row["record"])
    elif kind == "amfs_entry":
        name = f"{row['path']}/{row['key']}"
        findings.add(kind, name, what, version=row["version"], seq=row["seq"])
    elif kind == "amfs_document":
        findings.add(kind, f"{row['type']} {row['name']}", what, seq=row["seq"])
    elif kind == "payload":
        findings.add(kind, f"r{row['alias']} mem://sha256:{row['ref']}", what, seq=row["seq"])
    else:
        name = row["packet"] if kind in {"packet", "claim"} else row["task"]
        findings.add(kind, str(name), what, seq=row["seq"])


def _digest(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
