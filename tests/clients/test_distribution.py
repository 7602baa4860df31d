"""What `python scripts/build_packages.py` builds, as people install it."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from clients.conftest import empty_environment, install
from handoff_memory import __version__

pytestmark = pytest.mark.clients

ROOT = Path(__file__).parents[2]
NAME = "handoff-memory-mcp"


@pytest.fixture(scope="module")
def built(npm_bin: Path) -> Path:
    """The folder of packages, built anew."""
    path = os.pathsep.join([str(npm_bin), os.environ["PATH"]])
    command = [sys.executable, str(ROOT / "scripts" / "build_packages.py")]
    subprocess.run(command, env={**os.environ, "PATH": path}, check=True, timeout=300)
    return ROOT / "build" / "packages"


def test_one_command_builds_every_package(built: Path) -> None:
    wheel_name = NAME.replace("-", "_")

    assert {path.name for path in built.iterdir()} == {
        f"{wheel_name}-{__version__}-py3-none-any.whl",
        f"{wheel_name}-{__version__}.tar.gz",
        f"{NAME}-{__version__}.tgz",
        "marketplace",
        "server.json",
    }


def test_the_wheel_runs_where_nothing_else_is_installed(built: Path, tmp_path: Path) -> None:
    python = empty_environment(tmp_path / "fresh")
    (wheel,) = built.glob("*.whl")
    install(python, "--no-compile", "-c", str(ROOT / "constraints.txt"), str(wheel))

    for command in ([python.with_name("handoff-memory")], [python, "-m", "handoff_memory"]):
        done = subprocess.run(
            [*command, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert __version__ in done.stdout


def test_the_npm_package_holds_its_script_and_licence(built: Path) -> None:
    with tarfile.open(built / f"{NAME}-{__version__}.tgz") as packed:
        files = set(packed.getnames())
        manifest = packed.extractfile("package/package.json")
        assert manifest is not None
        script = json.loads(manifest.read())["bin"][NAME]

    assert files == {
        f"package/{script}",
        *(f"package/{name}" for name in ("LICENSE", "README.md", "package.json")),
    }
