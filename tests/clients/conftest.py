"""Clients from npm and PyPI: installed beside our own environment, without a lock file."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SERVER = [sys.executable, "-m", "handoff_memory"]


def install(python: Path, *wanted: str) -> None:
    """Install into the environment of another Python, which needs no pip of its own for it."""
    command = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    subprocess.run([*command, "install", "--quiet", *wanted], check=True, timeout=600)


def empty_environment(folder: Path) -> Path:
    """The Python of a new environment that holds nothing."""
    venv.create(folder, clear=True)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _npm() -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("this tier needs npm: install Node.js")
    subprocess.run(
        [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=HERE,
        check=True,
        timeout=600,
    )
    return HERE / "node_modules" / ".bin"


def _python(name: str) -> Path:
    wanted = (HERE / f"requirements-{name}.txt").read_text("utf-8")
    folder = HERE / ".venv" / name
    stamp = folder / "installed.txt"
    if stamp.exists():
        path, _, installed = stamp.read_text("utf-8").partition("\n")
        if installed == wanted:
            return Path(path)
    python = empty_environment(folder)
    install(python, *wanted.split())
    stamp.write_text(f"{python}\n{wanted}", "utf-8")
    return python


@pytest.fixture(scope="session")
def installing() -> Iterator[Mapping[str, Future[Path]]]:
    """All installs of this tier, begun at once: they wait for files more than they compute."""
    with ThreadPoolExecutor() as pool:
        pythons = {name: pool.submit(_python, name) for name in ("fastmcp", "sdk-v1")}
        yield {"npm": pool.submit(_npm), **pythons}


@pytest.fixture(scope="session")
def npm_bin(installing: Mapping[str, Future[Path]]) -> Path:
    """The folder with the clients' programs, among them the Node that they need."""
    return installing["npm"].result()


@pytest.fixture(scope="session")
def python_of(installing: Mapping[str, Future[Path]]) -> Callable[[str], Path]:
    """The Python of an environment that holds what `requirements-NAME.txt` pins, and only that."""
    return lambda name: installing[name].result()


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
