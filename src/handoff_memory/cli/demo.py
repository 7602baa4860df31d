"""`demo`: two agents hand work over, played from a checkout of the repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import handoff_memory
from handoff_memory.cli import output
from handoff_memory.cli.command import Call, verb
from handoff_memory.core.errors import InvalidArgumentError

_CHECKOUT: Final = Path(handoff_memory.__file__).resolve().parents[2]


@verb("demo", examples=("handoff-memory demo",))
def demo(call: Call) -> int:
    """Play a handoff between two agents."""
    script = _CHECKOUT / "demo" / "run.py"
    # An installed package has some other folder there, and nothing in it may be run.
    if not (script.is_file() and (_CHECKOUT / "pyproject.toml").is_file()):
        raise InvalidArgumentError(
            "the demo's scripts are not part of the installed package",
            way_out="Clone the repository and run: make demo",
        )
    run = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(script)],
        check=False,
        stdout=subprocess.PIPE if call.as_json else None,
        encoding="utf-8",
    )
    if call.as_json:
        output.print_json({"ok": run.returncode == 0, "transcript": run.stdout})
    return 0 if run.returncode == 0 else 1
