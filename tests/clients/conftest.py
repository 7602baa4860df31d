"""Clients from npm: installed once a run of this tier, without a lock file."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SERVER = [sys.executable, "-m", "handoff_memory"]


@pytest.fixture(scope="session")
def npm_bin() -> Path:
    """The folder with the clients' programs, among them the Node that they need."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.fail("this tier needs npm: install Node.js")
    subprocess.run(
        [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=HERE,
        check=True,
        timeout=600,
    )
    return HERE / "node_modules" / ".bin"


@pytest.fixture
def environment(npm_bin: Path, tmp_path: Path) -> Mapping[str, str]:
    """A client's environment: a home of its own, one shared database, one agent id."""
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(npm_bin), os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "OSIRIS_HOME": str(tmp_path),
        "MEMORY_DB": str(tmp_path / "shared.db"),
        "AGENT_ID": "stranger",
    }


@pytest.fixture
def run(environment: Mapping[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a client's program to its end."""

    def start(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env={**environment, **more},
            cwd=HERE,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return start
