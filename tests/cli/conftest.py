"""What the tests of the command line share: a shell, and packets, which no verb writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handoff_memory.app import open_local
from handoff_memory.core.author import Author
from handoff_memory.services import handoff, packet_drafts
from handoff_memory.settings import read_settings
from shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    database = tmp_path / "memory.db"
    home = str(tmp_path / "home")
    env = {"MEMORY_DB": str(database), "AGENT_ID": "ada", "MEMORY_DURABILITY": "relaxed"}
    # The clients of whoever runs the tests are none of theirs.
    person = {"HOME": home, "USERPROFILE": home, "PATH": os.defpath}
    return Shell(database, {**env, **person, "OSIRIS_HOME": home})


@pytest.fixture
def hand_over(shell: Shell) -> Callable[..., str]:
    """Write a packet as another agent; gives its id."""

    def create(summary: str = "two listings to apply for", **more: Any) -> str:
        with open_local(read_settings(shell.env)) as memory:
            who = Author("scout", "s_scout")
            more.setdefault("next_steps", ["draft the application"])
            limits = memory.settings.limits
            draft = packet_drafts.draft_packet(limits, summary=summary, **more)
            reply = memory.write(lambda tx: handoff.create(tx, who, draft))
        packet_id: str = reply["packet_id"]
        return packet_id

    return create
