from __future__ import annotations

import pytest

from handoff_memory.app import Local
from handoff_memory.core.author import Author
from handoff_memory.services import tasks, verify, writing
from handoff_memory.services.tasks import Stable, Task
from handoff_memory.store import tasks as rows
from handoff_memory.store.engine import Tx

WHO = Author("builder", "s_builder")


@pytest.mark.parametrize("between", [0, 1, 2, 15])
def test_a_state_is_kept_every_sixteen_events_whatever_is_written_between(
    local: Local, between: int
) -> None:
    limits = local.settings.limits
    local.write(lambda tx: tasks.start(tx, WHO, limits, "t1", Stable("mend it")))

    for _ in range(50):
        unkept = local.write(lambda tx: happen(local, tx, between))
        assert unkept < 16

    kept = local.read(lambda tx: rows.state(tx, "t1"))
    assert kept is not None
    assert local.read(lambda tx: tasks.load_state(tx, "t1")).checkpoints == 50
    assert local.read(verify.verify)["ok"] is True


def happen(local: Local, tx: Tx, between: int) -> int:
    """One event, and other entries of the journal; gives how many events are not kept."""
    for number in range(between):
        other = {"project": "", "task": f"other-{tx.now}-{number}-{tx.random(4).hex()}"}
        writing.append(tx, WHO, "task", other)
    task: Task = tasks.get(tx, WHO, "t1")
    tasks.happened(tx, WHO, local.settings.limits, task, "checkpointed", {"seal": ""})
    return rows.unkept(tx, "t1")
