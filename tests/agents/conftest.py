"""Desks for agents that nobody here wrote, and the scripted model that they think with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actors import git
from agents.clients import PROGRAMS, Desk
from agents.model import Model, scripted_model
from agents.payload import LOG

RULES = """\
[[invariant]]
id = "tests-before-commit"
when = { tool = "git.commit" }
require = { state = "tests_passed" }
message = "Cannot commit while tests are failing"
"""
FAILING = """\
echo run >> "$HOME/runs"
echo "no such column: price" >&2
exit 3
"""


@pytest.fixture(scope="session", autouse=True)
def _installed() -> None:
    """The clients stand at the versions that the tests know."""
    wanted = json.loads(Path(__file__).with_name("package.json").read_text("utf-8"))
    for package, version in wanted["dependencies"].items():
        manifest = PROGRAMS.parent / package / "package.json"
        found = json.loads(manifest.read_text("utf-8"))["version"] if manifest.exists() else "none"
        if found != version:
            pytest.fail(f"{package} {version} is wanted, {found} is there: run `make test-agents`")


@pytest.fixture
def model() -> Iterator[Model]:
    with scripted_model() as listening:
        yield listening


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "shared.db"


@pytest.fixture
def desk(tmp_path: Path, database: Path, model: Model) -> Callable[..., Desk]:
    """A desk with a home of its own for an agent; its database and model are shared."""

    def furnished(agent: str) -> Desk:
        home, project = tmp_path / agent / "home", tmp_path / agent / "project"
        for folder in (home, project):
            folder.mkdir(parents=True)
        return Desk(agent, home, project, database, model)

    return furnished


@pytest.fixture
def checkout(desk: Callable[..., Desk]) -> Callable[..., Desk]:
    """A desk whose project is a checkout with a rule, tests, work to commit and a big log."""

    def furnished(agent: str) -> Desk:
        found = desk(agent)
        project = found.project
        (project / ".osiris").mkdir()
        (project / ".osiris" / "invariants.toml").write_text(RULES, "utf-8")
        (project / "Makefile").write_text("test:\n\t@echo 3 passed\n", "utf-8")
        (project / "fails.sh").write_text(FAILING, "utf-8")
        (project / "big.log").write_text(LOG, "utf-8")
        git(project, "init", "-q", "-b", "main")
        git(project, "config", "user.name", "t")
        git(project, "config", "user.email", "t@example.org")
        git(project, "add", "Makefile")
        return found

    return furnished
