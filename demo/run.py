"""The whole demo in one terminal: the scout, the executor, and the scout's next session.

`python demo/run.py` uses a database of its own and removes it; `--keep` and `--db` leave it for a
look. `--transcript` prints docs/demo-transcript.md instead.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

if (_HERE := str(Path(__file__).parent)) not in sys.path:  # imported, not run as a script
    sys.path.insert(0, _HERE)

import agent
import executor
import scout

_HEADER: Final = """\
# The demo, whole

What `make demo` prints. Packet ids differ from run to run, so they are numbered here in the order
in which they appear. `python scripts/generate_docs.py` writes this file; a test runs the demo again
and compares.

"""


def main(given: Sequence[str] | None = None) -> int:
    """Run the demo; the exit status."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--db", type=Path, help="a file that does not exist yet; it is kept")
    where.add_argument("--keep", action="store_true", help="keep the temporary database")
    where.add_argument("--transcript", action="store_true", help="print it as Markdown, ids masked")
    found = parser.parse_args(given)
    if found.db and found.db.exists():
        parser.error(f"{found.db} exists already: choose a new file")
    if found.transcript:
        return _print_transcript()
    if found.keep or found.db:
        database = found.db or Path(tempfile.mkdtemp(prefix="handoff-memory-")) / "shared.db"
        status = tell(database.absolute())
        print(f"\nThe database is kept at {database.absolute()}")
        return status
    return _tell_and_forget()


def tell(database: Path) -> int:
    """Run all three sessions, one after the other, on one database."""
    return agent.run(_sessions(database))


def transcript(output: str) -> str:
    """An output as docs/demo-transcript.md shows it."""
    numbers: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"h_{len(numbers) + 1:08d}")

    masked = re.sub(r"\bh_[0-9a-f]{8,}\b", numbered, output)
    return f"{_HEADER}```text\n{masked.strip()}\n```\n"


async def _sessions(database: Path) -> None:
    await scout.hand_over(database)
    await executor.work(database, agent.WAIT_S)
    await scout.read_return(database, agent.WAIT_S)


def _tell_and_forget() -> int:
    with tempfile.TemporaryDirectory(prefix="handoff-memory-") as folder:
        return tell(Path(folder) / "shared.db")


def _print_transcript() -> int:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        status = _tell_and_forget()
    print(transcript(output.getvalue()), end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
