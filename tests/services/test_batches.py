"""Operations that share a transaction, beside the same ones each in a transaction of its own."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import given
from hypothesis import strategies as st

from actors import START_US, Clock
from handoff_memory.core.author import Author
from handoff_memory.core.errors import MemoryFault
from handoff_memory.core.names import Name
from handoff_memory.services import memory, outcomes, reading, search, verify
from handoff_memory.services.limits import Limits
from handoff_memory.services.search import Search
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation
from handoff_memory.store.sqlite import Writer

WHO = Author("scout", "s_1")
LIMITS = Limits()
KEYS = st.sampled_from(["route", "budget", "limit"])


def write(key: str, value: str, version: int | None, request_id: str | None) -> Operation[Any]:
    draft = memory.draft_record(LIMITS, scope="plan", key=key, value=value)
    return lambda tx: memory.write(
        tx, WHO, draft, expected_version=version, if_changed=value == "same", op=request_id
    )


def outcome(key: str, version: int) -> Operation[Any]:
    draft = outcomes.draft_outcome(LIMITS, name=Name("plan", key, version), outcome="success")
    return lambda tx: outcomes.report(tx, WHO, draft)


def read(key: str) -> Operation[Any]:
    return lambda tx: reading.get(tx, WHO.project, Name("plan", key))


def find(word: str) -> Operation[Any]:
    return lambda tx: search.search(tx, WHO, LIMITS, Search(word), limit=5)


OPERATIONS = st.one_of(
    st.builds(
        write,
        KEYS,
        st.sampled_from(["same", "north gate", "south gate", "gate 渡口"]),
        st.none() | st.integers(0, 3),
        st.none() | st.sampled_from(["q1", "q2"]),
    ),
    st.builds(outcome, KEYS, st.integers(1, 3)),
    st.builds(read, KEYS),
    st.builds(find, st.sampled_from(["north", "gate", "渡口", "route"])),
)


def told(found: Any) -> Any:
    if isinstance(found, MemoryFault):
        return found.code, found.message
    assert not isinstance(found, Exception), found
    return found


def run(batches: list[list[Operation[Any]]]) -> tuple[list[Any], Any]:
    """What the operations returned, and what a verification says of the file."""
    with tempfile.TemporaryDirectory() as folder:
        source = Source(Path(folder) / "memory.db", False, Clock(START_US), bytes)
        writer = Writer(source, deadline_s=5)
        found = [
            told(result)
            for batch in batches
            for result in writer.write(batch, until=time.monotonic() + 5)
        ]
        report = writer.read(verify.verify)
        writer.close()
    return found, report


@hypothesis.settings(max_examples=50)
@given(st.lists(OPERATIONS, min_size=1, max_size=12))
def test_a_batch_returns_and_leaves_what_the_same_calls_one_by_one_do(
    operations: list[Operation[Any]],
) -> None:
    together, report = run([operations])
    apart, expected = run([[operation] for operation in operations])

    assert together == apart
    assert report == expected
    assert report["ok"], report["problems"]
