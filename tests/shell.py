"""The command line on a database of its own, in this process and in others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from handoff_memory.cli.main import cli

OURS = ("AGENT_ID", "MEMORY_", "OSIRIS_", "CLAUDE_", "NO_COLOR")
OURS += ("CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME", "APPDATA")  # where clients keep files


@dataclass(frozen=True)
class Shell:
    """Runs verbs with an environment that says no more than the test does."""

    database: Path
    env: dict[str, str]

    def __call__(self, *args: str, given: str | bytes = "", **env: str) -> Result:
        """Run a verb in this process."""
        foreign = {name: None for name in os.environ if name.startswith(OURS)}
        return CliRunner().invoke(cli, args, input=given, env={**foreign, **self.env, **env})

    def json(self, *args: str, **env: str) -> Any:
        """What a verb prints with --json, where it is done."""
        result = self(*args, "--json", **env)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def environ(self, **env: str) -> dict[str, str]:
        """The environment of another process."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        return {**kept, **self.env, **env}

    def start(self, *args: str, **env: str) -> subprocess.Popen[str]:
        """Start `python -m handoff_memory` with pipes."""
        return subprocess.Popen(
            [sys.executable, "-m", "handoff_memory", *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=self.environ(**env),
        )

    def script(self, name: str, *args: str) -> subprocess.CompletedProcess[str]:
        """Run an installed console script to its end."""
        return subprocess.run(
            [Path(sys.executable).with_name(name), *args],
            capture_output=True,
            encoding="utf-8",
            env=self.environ(),
            timeout=60,
            check=False,
        )

    def tamper(self, *statements: str) -> None:
        """Edit the file as somebody with another program would: from another process."""
        code = (
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
            "[c.execute(s) for s in sys.argv[2:]]; c.commit(); c.close()"
        )
        subprocess.run([sys.executable, "-c", code, self.database, *statements], check=True)
