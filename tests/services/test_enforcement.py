from __future__ import annotations

from typing import Any

import pytest

from handoff_memory.app import Local
from handoff_memory.core.author import Author
from handoff_memory.core.names import Name
from handoff_memory.rules import tokens
from handoff_memory.services import enforcement, planning, reading
from handoff_memory.services.limits import Governing, Limits

LIMITS = Limits()
DOCTOR = Author("cli-ada", "s_1")


def keep(local: Local, client: str, *proof: Any) -> None:
    proven = enforcement.proof(*proof)
    local.write(lambda tx: enforcement.keep(tx, DOCTOR, LIMITS, client, proven))


def status(local: Local, agent: str) -> Any:
    who = Author(agent, f"s_{agent}")
    governing = Governing(LIMITS)

    def plan(tx: Any) -> Any:
        planning.plan(tx, who, governing, planning.PlanRequest(mode="start", objective="mend"))
        return planning.plan(tx, who, governing, planning.PlanRequest(mode="status"))

    return local.write(plan)


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        (("codex", "enforced", "0.171.0"), "hooks enforced, codex 0.171.0"),
        (("codex", "advisory", None), "hooks advisory, codex"),
    ],
)
def test_the_status_of_a_task_repeats_what_was_proved_of_its_client(
    local: Local, proof: tuple[Any, ...], said: str
) -> None:
    keep(local, "codex", *proof)

    told = status(local, "codex")["enforcement"]

    assert told == said
    assert tokens.estimate(told) < 12


def test_an_agent_of_another_name_is_found_by_its_settings(local: Local) -> None:
    keep(local, "gemini", "gemini", "enforced", "0.61.0")
    keep(local, "codex", "reviewer", "advisory", "0.171.0")

    assert status(local, "reviewer")["enforcement"] == "hooks advisory, codex 0.171.0"
    assert "enforcement" not in status(local, "scout")


def test_the_same_proof_is_kept_once(local: Local) -> None:
    proven = enforcement.proof("codex", "enforced", "1")

    keep(local, "codex", "codex", "enforced", "1")
    keep(local, "codex", "codex", "enforced", "1")

    name = Name("osiris/enforcement", "codex")
    row = local.read(lambda tx: reading.get(tx, "", name))
    assert row["version"] == 1
    assert not local.read(lambda tx: enforcement.differs(tx, DOCTOR, "codex", proven))
    newer = {**proven, "version": "2"}
    assert local.read(lambda tx: enforcement.differs(tx, DOCTOR, "codex", newer))
