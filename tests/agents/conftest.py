"""Desks for agents that nobody here wrote, and the scripted model that they think with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents.clients import PROGRAMS, Desk
from agents.model import Model, scripted_model


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
