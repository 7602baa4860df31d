"""What a task's state costs: to keep, to load, and to replay from its events.

The state is as large as it gets: a full window, 256 files, results and failures. Run it with the
project's own Python: `python bench/tasks.py`.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import orjson

from handoff_memory.core import task_state
from handoff_memory.core.task_state import Event, TaskState

RUNS = 7


def event(seq: int) -> Event:
    """A call with a result, a file and every fourth time an error, as `osiris_observe` logs it."""
    digest = f"{seq:064x}"
    data: dict[str, Any] = {
        "tool": f"tool{seq % 12}",
        "args": digest,
        "result": digest,
        "raw": digest,
        "error": digest if seq % 4 == 0 else None,
        "tokens": 2400,
        "edit": seq % 5 == 0,
        "ref": f"r{seq}",
        "sha256": digest,
        "size": 9600,
        "new_ref": True,
        "file": {"path": f"src/module_{seq}.py", "sha256": digest, "mtime_ns": seq},
        "flags": {},
        "flag_source": "claimed",
        "cost": {"replies": 12, "arguments": 25, "payload_in": 2400},
    }
    return Event(seq, seq * 1_000_000, "builder", "called", data)


def milliseconds(call: Callable[[], object]) -> float:
    """Median time of a call."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def replayed(state: TaskState, bodies: list[tuple[int, bytes]]) -> TaskState:
    """The state after those events, parsed as they come from the database."""
    for seq, body in bodies:
        state = task_state.apply(
            state, Event(seq, seq * 1_000_000, "builder", "called", orjson.loads(body))
        )
    return state


def main() -> None:
    """Print what each part costs."""
    bodies = [(seq, orjson.dumps(event(seq).data)) for seq in range(1, 3001)]
    full = replayed(TaskState(), bodies[:2000])
    data = task_state.to_bytes(full)
    print(f"{platform.platform()}, Python {platform.python_version()}; medians of {RUNS} runs")
    print(f"state            {len(data):9,} bytes")
    print(f"serialise        {milliseconds(lambda: task_state.to_bytes(full)):9.3f} ms")
    print(f"parse            {milliseconds(lambda: task_state.from_bytes(data)):9.3f} ms")
    for count in (1, 16, 128, 1000):
        some = bodies[2000 : 2000 + count]
        took = milliseconds(lambda some=some: replayed(full, some))  # type: ignore[misc]
        print(f"replay {count:5}     {took:9.3f} ms")


if __name__ == "__main__":
    main()
