import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handoff_memory.app import open_local
from handoff_memory.services import verify
from handoff_memory.settings import read_settings

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[1]
TRANSCRIPT = ROOT / "docs" / "demo-transcript.md"
PATIENCE_S = 60

# memory.md §6; the packet's id is masked.
PROMISED = """\
--- 1. pick up whatever is waiting --------------------------------
  . packet h_00000001 from scout-agent: Two listings worth an application, one source caveat
  . next: Draft an application for listing/482 (supplier catalogue scrape, $900)
  . next: Draft an application for listing/553 (price monitor, $600)
  . open: Is the 60s backoff enough, or does the board keep a longer penalty window?
  . 4 pinned record versions arrived with the packet
  . stale: listing/553/assessment was pinned at v1, now at v2
--- 3. re-read anything the warning touched -----------------------
  . listing/553 v2 now says "maybe" (budget edited down to $400 and 17 more applicants arrived)
  . dropping listing/553 - acting on the pinned v1 would be wrong
--- 5. report what actually happened ------------------------------
  . success on listing/482/assessment: confidence 80% -> 84%
  . failure on source/boards-example/rate-limit: confidence 60% -> 39%
"""


def script(name: str, *arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "demo" / name), *arguments]


def run(name: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "MEMORY_DB"}
    return subprocess.run(
        script(name, *arguments),
        env=kept | environ,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def missing(output: str) -> list[str]:
    """The promised lines that an output lacks; packet ids do not count."""
    lines = output.splitlines()
    return [
        line
        for line in PROMISED.splitlines()
        if line not in lines and not line.startswith("  . packet h_")
    ]


def verified(database: Path) -> dict[str, object]:
    with open_local(read_settings({"MEMORY_DB": str(database)})) as local:
        found: dict[str, object] = local.read(verify.verify)
    return found


@pytest.fixture(scope="module")
def transcript() -> str:
    done = run("run.py", "--transcript")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_transcript_in_the_docs_is_what_the_demo_prints(transcript: str) -> None:
    assert TRANSCRIPT.read_text("utf-8") == transcript, "run: python scripts/generate_docs.py"


def test_the_demo_prints_every_promised_line_in_order(transcript: str) -> None:
    executor = transcript.split("=== executor-agent", 1)[1]

    found: Iterator[str] = iter(executor.splitlines())

    assert [line for line in PROMISED.splitlines() if line not in found] == []


def test_the_scout_corrects_itself_before_it_hands_over(transcript: str) -> None:
    corrected = transcript.index('listing/482/assessment v2: "apply", confidence 80%')

    assert corrected < transcript.index("pinned listing/482/assessment@2")
    assert "pinned listing/553/assessment@1" in transcript


def test_the_next_session_reads_what_came_back_and_verifies(transcript: str) -> None:
    last = transcript.split("=== scout-agent, next session", 1)[1]

    assert "from executor-agent" in last
    assert "h_00000001 is done" in last
    assert "believed at 60%, 39% after a failure" in last
    assert "no problem" in last


def test_two_terminals_share_one_database_and_the_executor_may_come_first(tmp_path: Path) -> None:
    database = tmp_path / "shared.db"
    environ = os.environ | {"MEMORY_DB": str(database)}
    with subprocess.Popen(
        script("executor.py", "--wait", str(PATIENCE_S)),
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as executor:
        assert executor.stdout is not None
        heard: list[str] = []
        for line in executor.stdout:
            heard.append(line)
            if "nothing waits yet" in line:
                break

        scout = run("scout.py", "--wait", str(PATIENCE_S), MEMORY_DB=str(database))
        heard += executor.stdout

    assert (scout.returncode, executor.returncode) == (0, 0), scout.stderr
    assert missing("".join(heard)) == []
    assert "  . every hash recomputed" in scout.stdout
    assert verified(database)["problems"] == []


def test_a_kept_database_verifies(tmp_path: Path) -> None:
    database = tmp_path / "kept.db"

    done = run("run.py", "--db", str(database))

    assert done.returncode == 0, done.stderr
    assert str(database) in done.stdout
    found = verified(database)
    assert found["ok"] is True
    assert found["problems"] == []


def test_an_executor_that_waits_in_vain_says_so(tmp_path: Path) -> None:
    done = run("executor.py", "--wait", "0", MEMORY_DB=str(tmp_path / "empty.db"))

    assert done.returncode == 1
    assert done.stderr == "Nothing came in time: run demo/scout.py on the same MEMORY_DB.\n"


def test_a_script_without_a_database_says_what_it_needs() -> None:
    done = run("scout.py")

    assert done.returncode == 2
    assert "set MEMORY_DB" in done.stderr


def test_the_demo_leaves_a_file_that_is_there_alone(tmp_path: Path) -> None:
    there = tmp_path / "mine.db"
    there.write_text("mine")

    done = run("run.py", "--db", str(there))

    assert done.returncode == 2
    assert there.read_text() == "mine"
