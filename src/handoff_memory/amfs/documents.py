"""What AMFS keeps beside entries: outcomes, commits and traces, all of them journaled."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Final

from amfs_core.evidence import cited_entries
from amfs_core.models import Commit, DecisionTrace, MemoryEntry, OutcomeRecord

from handoff_memory.amfs.base import Base, first, model, window
from handoff_memory.amfs.connections import promised
from handoff_memory.amfs.entries import microseconds
from handoff_memory.core import canonical
from handoff_memory.core.author import Author
from handoff_memory.services import amfs as service
from handoff_memory.store import amfs as rows
from handoff_memory.store.amfs import Window
from handoff_memory.store.engine import Tx

_MAIN: Final = service.BRANCH
_DEFAULT: Final = service.NAMESPACE
# In the trace of the same outcome, or of use to a server only.
_ELSEWHERE: Final = {"task_input", "response_text", "tool_calls", "trace_follows"}


class Documents(Base):
    """The part of the adapter that keeps documents; entries are the other."""

    # --- outcomes ----------------------------------------------------------------------------

    def list_outcomes(
        self,
        *,
        entity_path: str | None = None,
        since: datetime | None = None,
        limit: int = 1000,
        outcome_ref: str | None = None,
    ) -> list[OutcomeRecord]:
        """Outcomes, newest first."""

        def found(tx: Tx) -> Iterator[OutcomeRecord]:
            if outcome_ref is None:
                kept = rows.documents(tx, self._place(), "outcome", window(since=since))
            else:
                kept = iter(rows.named(tx, self._place(), "outcome", outcome_ref))
            for row in kept:
                record = OutcomeRecord.model_validate(canonical.decode(row["body"])["record"])
                if _is_about(record, entity_path) and _is_since(record, since):
                    yield record

        with promised():
            return self._connections.read(lambda tx: list(islice(found(tx), limit)))

    def count_outcomes(
        self, *, entity_path: str | None = None, since: datetime | None = None
    ) -> int:
        """How many outcomes there are."""
        return len(self.list_outcomes(entity_path=entity_path, since=since, limit=2**62))

    def _first_report(self, tx: Tx, record: OutcomeRecord) -> list[tuple[str, str, int]] | None:
        """The versions that an outcome made when it was reported first; None if it was not."""
        said = (record.agent_id, record.outcome_type.value)
        for row in rows.named(tx, self._place(), "outcome", record.outcome_ref):
            kept = canonical.decode(row["body"])
            if (kept["record"]["agent_id"], kept["record"]["outcome_type"]) == said:
                return [(path, key, version) for path, key, version in kept["versions"]]
        return None

    def _keep_outcome(
        self, tx: Tx, who: Author, record: OutcomeRecord, moved: list[MemoryEntry]
    ) -> None:
        body = {
            "record": record.model_dump(mode="json", exclude=_ELSEWHERE),
            "versions": [[entry.entity_path, entry.key, entry.version] for entry in moved],
        }
        self._keep(tx, who, self._place(), "outcome", record.outcome_ref, record.committed_at, body)

    # --- commits -----------------------------------------------------------------------------

    def save_commit(self, commit: Commit) -> None:
        """Keep a commit; one with a known id is kept already."""
        place = self._place(commit.branch, commit.namespace)
        with promised():
            who = self._author(commit.author_agent_id, commit.session_id)
            body = commit.model_dump(mode="json")

            def save(tx: Tx) -> None:
                if not rows.named(tx, place, "commit", commit.id):
                    self._keep(tx, who, place, "commit", commit.id, commit.created_at, body)

            self._connections.write(save)

    def get_commit(self, commit_id: str) -> Commit | None:
        """The commit with that id, or None."""
        with promised():
            return self._connections.read(
                lambda tx: first(Commit, rows.named(tx, self._place(), "commit", commit_id))
            )

    def list_commits(
        self, *, branch: str = _MAIN, limit: int = 50, namespace: str = _DEFAULT
    ) -> list[Commit]:
        """Commits of a branch, newest first."""

        def found(tx: Tx) -> list[Commit]:
            place = self._place(branch, namespace)
            kept = rows.documents(tx, place, "commit", Window(), branch=branch)
            return [model(Commit, row["body"]) for row in islice(kept, limit)]

        with promised():
            return self._connections.read(found)

    # --- traces ------------------------------------------------------------------------------

    def save_trace(self, trace: DecisionTrace) -> DecisionTrace:
        """Keep a trace; it gets an id where it has none."""
        trace = trace if trace.id else trace.model_copy(update={"id": self._minted()})
        with promised():
            who = self._author(trace.agent_id, trace.session_id)
            body = trace.model_dump(mode="json")
            self._connections.write(
                lambda tx: self._keep(
                    tx, who, self._place(), "trace", trace.id, trace.created_at, body
                )
            )
        return trace

    def get_trace(self, trace_id: str) -> DecisionTrace | None:
        """The trace with that id, or None."""
        with promised():
            return self._connections.read(
                lambda tx: first(DecisionTrace, rows.named(tx, self._place(), "trace", trace_id))
            )

    def list_traces(  # noqa: PLR0913 - the SDK's signature
        self,
        *,
        entity_path: str | None = None,
        agent_id: str | None = None,
        outcome_type: str | None = None,
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[DecisionTrace]:
        """Traces, newest first; with a cursor those that are older than what it names."""

        def wanted(trace: DecisionTrace) -> bool:
            return (
                (agent_id is None or trace.agent_id == agent_id)
                and (outcome_type is None or trace.outcome_type == outcome_type)
                and (
                    entity_path is None
                    or any(read.entity_path == entity_path for read in trace.causal_entries)
                )
            )

        def found(tx: Tx) -> list[DecisionTrace]:
            asked = window(since=since, until=until, cursor=cursor)
            kept = rows.documents(tx, self._place(), "trace", asked)
            traces = filter(wanted, (model(DecisionTrace, row["body"]) for row in kept))
            start = 0 if cursor else offset
            return list(islice(traces, start, start + limit))

        with promised():
            return self._connections.read(found)

    def count_traces(
        self,
        *,
        entity_path: str | None = None,
        agent_id: str | None = None,
        outcome_type: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> int:
        """How many traces there are."""
        found = self.list_traces(
            entity_path=entity_path,
            agent_id=agent_id,
            outcome_type=outcome_type,
            since=since,
            until=until,
            limit=2**62,
        )
        return len(found)


def _is_about(record: OutcomeRecord, path: str | None) -> bool:
    about = {*record.entity_paths, *(cited for cited, _ in cited_entries(record))}
    return path is None or path in about


def _is_since(record: OutcomeRecord, since: datetime | None) -> bool:
    return since is None or microseconds(record.committed_at) >= microseconds(since)
