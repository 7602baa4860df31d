"""The walk of a verification: every hash and the chain, over the whole journal or a span of it.

The lines and the rows of each kind are met in step, in the order of their seq, so nothing is held.
A row that is sound is passed by in a few steps; only another is looked at closely enough to name
what is wrong with it. A break does not hide what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from handoff_memory.core import entry
from handoff_memory.services import findings
from handoff_memory.services.findings import Finding
from handoff_memory.store import amfs, health, sealed
from handoff_memory.store.engine import Tx
from handoff_memory.store.sealed import Span

Progress = Callable[[int], None]

_STEP: Final = 1000
_STRAY: Final = "the row stands in no journal line: inserted"
_OF_ROW: Final = 4  # seq, salt, body and its commitment stand before what the entry is made of


class Walked(NamedTuple):
    """What a walk found, in the order of seq, and how many lines and rows of each kind it met."""

    found: list[Finding]
    checked: dict[str, int]


class _Line(NamedTuple):
    seq: int
    kind: str
    v: int
    entry_hash: bytes
    chain: bytes


class _Rows:
    """The rows of a kind, met in step with the journal.

    Attributes:
        next: The row that is met next.
        count: How many were met in a line.
    """

    __slots__ = ("_kind", "_rows", "count", "hashes", "next")

    def __init__(self, tx: Tx, kind: str, span: Span) -> None:
        self.hashes = entry.hasher(kind, 1)
        self.count = 0
        self._kind = kind
        self._rows: Iterator[tuple[Any, ...]] = sealed.rows(tx, kind, span)
        self.next = next(self._rows, None)

    def is_sound(self, line: tuple[Any, ...], chain: bytes) -> bool:
        """Whether the next row is of that line, and everything about both holds; it is met then."""
        row = self.next
        if row is None or row[0] != line[0]:
            return False
        try:
            expected = self.hashes(row[1], row[2], row[_OF_ROW:], chain)
        except (TypeError, ValueError, AttributeError):
            return False
        if expected != (row[3], line[3], line[4]) or line[2] != 1:
            return False
        self.next = next(self._rows, None)
        self.count += 1
        return True

    def take(self, seq: int, found: list[Finding]) -> tuple[Any, ...] | None:
        """The row with that seq; rows before it, that no journal line named, are findings."""
        row = self.next
        while row is not None and row[0] < seq:
            found.append(findings.of_row(self._kind, named(self._kind, row), _STRAY))
            row = next(self._rows, None)
        if row is None or row[0] != seq:
            self.next = row
            return None
        self.next = next(self._rows, None)
        self.count += 1
        return row


def named(kind: str, row: tuple[Any, ...]) -> Mapping[str, Any]:
    """The columns of a row by name."""
    return dict(zip(sealed.columns(kind), row, strict=True))


def walk(tx: Tx, span: Span, *, chain: bytes, progress: Progress = lambda _: None) -> Walked:
    """Recompute the hashes and the chain of a span.

    Args:
        tx: One read transaction.
        span: Which lines.
        chain: The chain before the first of them.
        progress: Told the seq that was reached.
    """
    found: list[Finding] = []
    rows = {kind: _Rows(tx, kind, span) for kind in sealed.KINDS}
    unlinked = sealed.unlinked(tx, span)
    expected, met = max(0, span.after) + 1, 0
    for line in sealed.lines(tx, span):
        seq, of_kind = line[0], rows.get(line[1])
        if not (
            of_kind is not None
            and seq == expected
            and seq not in unlinked
            and of_kind.is_sound(line, chain)
        ):
            known = chain if seq == expected else None
            found += _of_broken(tx, _Line(*line), of_kind, known, is_linked=seq not in unlinked)
            if seq != expected:
                found.append(_of_line(expected, f"lines {expected} to {seq - 1} are missing"))
        expected, chain, met = seq + 1, line[4], met + 1
        if seq % _STEP == 0:
            progress(seq)
    for of_kind in rows.values():
        of_kind.take(sealed.END + 1, found)
    checked = {"journal": met, **{kind: of_kind.count for kind, of_kind in rows.items()}}
    return Walked(sorted(found, key=lambda one: one.seq), checked)


def _of_broken(
    tx: Tx, line: _Line, rows: _Rows | None, chain: bytes | None, *, is_linked: bool
) -> list[Finding]:
    """What is wrong with a line, its row, and rows before it."""
    if rows is None:
        return [_of_line(line.seq, f"unknown kind {line.kind!r}")]
    found: list[Finding] = []
    if (row := rows.take(line.seq, found)) is None:
        return [*found, _missing(tx, line)]
    return [*found, *_problems(line, row, chain, is_linked=is_linked)]


def _problems(
    line: _Line, row: tuple[Any, ...], chain: bytes | None, *, is_linked: bool
) -> Iterator[Finding]:
    known = named(line.kind, row)
    if what := _body_problem(known):
        yield findings.of_row(line.kind, known, what)
    try:
        data = entry.entry_bytes(line.kind, line.v, known)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        yield findings.of_row(line.kind, known, f"the row cannot be hashed: {error!r}")
        return
    if entry.entry_hash(data) != line.entry_hash:
        what = "a field was altered: the row's hash differs"
        yield findings.of_row(line.kind, known, what)
    elif chain is not None and entry.next_chain(chain, data) != line.chain:
        yield _of_line(line.seq, "the chain breaks here")
    if line.kind == "record" and not is_linked:
        what = "it does not follow the version before it"
        yield findings.of_row(line.kind, known, what)


def _body_problem(row: Mapping[str, Any]) -> str | None:
    commit, salt, body = row["body_commit"], row["salt"], row["body"]
    if commit is None:
        return None if body is None and salt is None else "a body without its commitment"
    if body is None or salt is None:
        return "the value was erased without a journaled redaction"
    if entry.commit_body(salt, body) != commit:
        return "the value was altered: its commitment differs"
    return None


def _of_line(seq: int, what: str) -> Finding:
    return Finding(seq, findings.problem("journal", f"seq {seq}", what))


def _missing(tx: Tx, line: _Line) -> Finding:
    name, version = _name_of_missing(tx, line)
    what = "the row is missing: deleted"
    return Finding(line.seq, findings.problem(line.kind, name, what, version=version, seq=line.seq))


def _name_of_missing(tx: Tx, line: _Line) -> tuple[str, int | None]:
    kind, seq = line.kind, line.seq
    if kind == "record" and (found := health.name_of_missing(tx, seq, line.entry_hash)):
        return f"{found['scope']}/{found['key']}", found["version"]
    if kind == "amfs_entry" and (found := amfs.name_of_missing(tx, seq)):
        return f"{found['path']}/{found['key']}", found["version"]
    lost = health.packet_of_missing(tx, seq) if kind == "packet" else None
    return lost or f"seq {seq}", None
