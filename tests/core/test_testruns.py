"""Runs of test suites are known, and a success counts only where the status is theirs."""

from __future__ import annotations

import pytest

from handoff_memory.core import shell
from handoff_memory.core.testruns import proven


def judged(text: str, *, ok: bool = True) -> bool | None:
    return proven([one.argv for one in shell.take_apart(text).commands], text, ok=ok)


@pytest.mark.parametrize(
    "text",
    [
        "pytest",
        "pytest -q tests/a.py",
        "pytest -k 'a or b' > out.txt 2>&1",
        ".venv/bin/pytest -x",
        "python -m pytest -q",
        "python3.12 -m unittest discover",
        "cd sub && pytest",
        "make build && make test",
        "CI=1 npm test",
        "npm run test:unit",
        "cargo test --all",
        "go test ./...",
        "uv run pytest",
        "poetry run pytest -q",
        "npx vitest run",
        "coverage run -m pytest",
        "./gradlew test",
        "timeout 60 pytest",
        "pytest -k 'a|b;c'",
    ],
)
def test_a_run_whose_status_is_that_of_the_tests_proves_both(text: str) -> None:
    assert judged(text) is True
    assert judged(text, ok=False) is False


@pytest.mark.parametrize(
    "text",
    [
        "pytest | tail -5",
        "pytest; true",
        "pytest || true",
        "pytest &",
        "pytest\ntrue",
        "(pytest; echo done)",
        "echo `pytest`",
    ],
)
def test_a_success_of_something_else_proves_nothing_but_a_failure_is_believed(text: str) -> None:
    assert judged(text) is None
    assert judged(text, ok=False) is False


@pytest.mark.parametrize(
    "text",
    ["ls", "pytest --version", "pytest --collect-only", "git commit -m pytest", "npm install", ""],
)
def test_what_runs_no_tests_says_nothing_of_them(text: str) -> None:
    assert judged(text) is None
    assert judged(text, ok=False) is None
