"""Clients whose hooks the tests run."""

from __future__ import annotations

from pathlib import Path

import pytest

from hook_runs import NAMES, Client, made


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return made("claude-code", tmp_path)


@pytest.fixture(params=sorted(NAMES))
def any_client(request: pytest.FixtureRequest, tmp_path: Path) -> Client:
    return made(request.param, tmp_path)
