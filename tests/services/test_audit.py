"""The audit: everything that left a prompt is there to the byte, or the audit says what is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from handoff_memory.app import Local, open_local
from handoff_memory.core.author import Author
from handoff_memory.core.errors import NotFoundError
from handoff_memory.services import audit, observing, planning
from handoff_memory.services.limits import Governing, Limits
from handoff_memory.settings import Settings
from processes import big, served

GOVERNING = Governing(Limits())
SCOUT = Author("scout", "s_1")
# One process that externalises a thousand payloads, each another one.
WORKER = """
import sys
from handoff_memory.app import open_local
from handoff_memory.core.author import Author
from handoff_memory.services import observing
from handoff_memory.services.limits import Limits
from handoff_memory.services.limits import Governing
from handoff_memory.settings import read_settings

name, count = sys.argv[1], int(sys.argv[2])
settings, limits = read_settings(), Limits()
with open_local(settings) as local:
    for n in range(count):
        text = "".join(f"{name} {n} line {k}: it was done\\n" for k in range(40))
        seen = observing.see(limits, "Bash", {"command": f"{name} {n}"}, data=text.encode())
        who = Author(name, "s_" + name)
        local.write(
            lambda tx: observing.observe(tx, who, Governing(limits), seen, task_id="t1")
        )
"""

# Another process flips one byte of the first payload.
FLIP = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1])
conn.execute("DROP TRIGGER payload_parts_keep_values")
(data,) = conn.execute("SELECT bytes FROM payload_parts WHERE rowid = 1").fetchone()
flipped = bytes([*data[:-9], data[-9] ^ 1, *data[-8:]])
conn.execute("UPDATE payload_parts SET bytes = ? WHERE rowid = 1", (flipped,))
conn.commit()
"""


def begun(local: Local) -> None:
    asked = planning.PlanRequest(task="t1", objective="x")
    local.write(lambda tx: planning.plan(tx, SCOUT, GOVERNING, asked))


def see(local: Local, text: str, *, task: str = "t1") -> Any:
    seen = observing.see(Limits(), "Bash", {"command": text[:20]}, data=text.encode())
    return local.write(lambda tx: observing.observe(tx, SCOUT, GOVERNING, seen, task_id=task))


def audited(local: Local) -> dict[str, Any]:
    return local.read(lambda tx: audit.audit(tx, SCOUT, "t1"))


def altered(local: Local, statement: str) -> None:
    """An edit in the file with its triggers out of the way."""
    for trigger in ("payload_parts_keep_values", "payloads_keep_rows"):
        local.write(lambda tx, trigger=trigger: tx.run(f"DROP TRIGGER {trigger}"))
    local.write(lambda tx: tx.run(statement))


def test_a_task_that_externalised_nothing_lost_nothing(local: Local) -> None:
    begun(local)
    see(local, "small")

    assert audited(local) == {
        "lossless": True,
        "items_externalized": 0,
        "items_verified": 0,
        "items_missing": 0,
        "integrity_violations": [],
        "redacted_bytes": 0,
    }


def test_only_what_the_task_itself_moved_is_counted_and_each_ref_once(local: Local) -> None:
    begun(local)
    asked = planning.PlanRequest(task="t2", objective="y")
    local.write(lambda tx: planning.plan(tx, SCOUT, GOVERNING, asked))
    for text, task in (("a", "t1"), ("a", "t1"), ("b", "t1"), ("c", "t2")):
        see(local, big(text), task=task)

    found = audited(local)

    assert (found["items_externalized"], found["items_verified"]) == (2, 2)


def test_lossless_means_the_redacted_bytes_and_says_how_many_were_secrets(local: Local) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    begun(local)
    see(local, big("a") + f"token: {secret}\n")

    found = audited(local)

    assert found["lossless"]
    assert found["redacted_bytes"] == len(secret)


@pytest.mark.parametrize(
    ("statement", "missing", "violations"),
    [
        ("UPDATE payload_parts SET bytes = zeroblob(3) WHERE rowid = 2", 0, 1),
        ("DELETE FROM payload_parts WHERE rowid = 2", 0, 1),
        ("DELETE FROM payloads WHERE alias = 2", 1, 0),
    ],
)
def test_what_is_altered_or_gone_is_named(
    statement: str, missing: int, violations: int, local: Local
) -> None:
    begun(local)
    for word in ("a", "b", "c"):
        see(local, big(word))
    altered(local, statement)

    found = audited(local)

    assert not found["lossless"]
    assert (found["items_externalized"], found["items_verified"]) == (3, 2)
    assert (found["items_missing"], len(found["integrity_violations"])) == (missing, violations)
    assert all(said.startswith("mem://sha256:") for said in found["integrity_violations"])


def test_a_task_that_does_not_exist_cannot_be_audited(local: Local) -> None:
    begun(local)

    with pytest.raises(NotFoundError):
        local.read(lambda tx: audit.audit(tx, SCOUT, "t9"))


async def test_a_flipped_byte_is_a_violation_and_the_read_of_that_ref_an_error(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as call:
        await call("osiris_plan", task="t1", objective="x")
        for word in ("one", "two"):
            await call("osiris_observe", tool="Bash", args={"command": word}, result=big(word, 200))
        subprocess.run([sys.executable, "-c", FLIP, str(tmp_path / "memory.db")], check=True)  # noqa: ASYNC221
        refusal = await call.refused("osiris_recall", ref="r1")
        fine = await call("osiris_recall", ref="r2", args={"lines": 1})
        with pytest.raises(MCPError, match=r"altered|unpacked"):
            await call.client.read_resource("osiris://ref/r1")
        report = await call("osiris_checkpoint", mode="report")
        verified = await call("memory_stats", verify=True)

    assert refusal["code"] == "ref_corrupt"
    assert fine["text"].startswith("two line 1:")
    assert report["lossless"] is False
    assert ("payload", "r1") in {
        (found["kind"], found["name"].split()[0]) for found in verified["verify"]["problems"]
    }


@pytest.mark.processes
def test_two_processes_that_externalise_at_once_lose_nothing(
    local: Local, settings: Settings
) -> None:
    begun(local)
    env = {
        "MEMORY_DB": str(settings.database),
        "OSIRIS_HOME": str(settings.home),
        "MEMORY_DURABILITY": "relaxed",
    }
    working = [
        subprocess.Popen([sys.executable, "-c", WORKER, name, "1000"], env=env)
        for name in ("scout", "executor")
    ]
    assert [process.wait(120) for process in working] == [0, 0]

    with open_local(settings) as fresh:
        found = audited(fresh)
        (aliases,) = fresh.read(
            lambda tx: tx.all("SELECT count(*) AS n, max(alias) AS top FROM payloads")
        )

    assert found["lossless"]
    assert (found["items_externalized"], found["items_verified"]) == (2000, 2000)
    assert (aliases["n"], aliases["top"]) == (2000, 2000)
