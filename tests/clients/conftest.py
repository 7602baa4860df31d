"""Clients from npm and PyPI: installed beside our own environment, without a lock file."""

import os
import shutil
import subprocess
import sys
import venv
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


@pytest.fixture(scope="session")
def python_of() -> Callable[[str], Path]:
    """The Python of an environment that holds what `requirements-NAME.txt` pins, and only that."""

    def prepared(name: str) -> Path:
        wanted = (HERE / f"requirements-{name}.txt").read_text("utf-8")
        folder = HERE / ".venv" / name
        python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        stamp = folder / "installed.txt"
        if stamp.exists() and stamp.read_text("utf-8") == wanted:
            return python
        venv.create(folder, clear=True, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *wanted.split()], check=True, timeout=600)
        stamp.write_text(wanted, "utf-8")
        return python

    return prepared


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
