"""The official conformance suite, against a baseline in which every failure has its reason.

The suite speaks HTTP only, so it meets the product's server behind `http_shim.py`.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from clients.conftest import HERE

pytestmark = pytest.mark.clients

Run = Callable[..., subprocess.CompletedProcess[str]]
Suite = Callable[..., subprocess.CompletedProcess[str]]

FROZEN = tomllib.loads((HERE / "conformance.toml").read_text("utf-8"))["expected"]
REVISIONS = {"2025-11-25": 45, "2026-07-28": 112}  # and how many checks pass at least


def expected(revision: str) -> list[str]:
    return [
        check for entry in FROZEN if revision in entry["revisions"] for check in entry["checks"]
    ]


@pytest.fixture
def address(environment: Mapping[str, str]) -> Iterator[str]:
    """Where the product's server listens."""
    command = [sys.executable, str(HERE / "http_shim.py")]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as serving:
        assert serving.stdout is not None
        yield serving.stdout.readline().strip()
        serving.terminate()


@pytest.fixture
def suite(run: Run, address: str, tmp_path: Path) -> Suite:
    """Run a part of the suite with these failures expected."""

    def judge(failures: Iterable[str], *part: str) -> subprocess.CompletedProcess[str]:
        baseline = tmp_path / "baseline.yml"
        baseline.write_text("server:\n" + "".join(f'  - "{check}"\n' for check in failures))
        options = ["--expected-failures", str(baseline), "-o", str(tmp_path / "results"), *part]
        return run("conformance", "server", "--url", address, *options)

    return judge


def test_every_expected_failure_is_listed_once_with_its_reason() -> None:
    assert all(entry["reason"] and entry["checks"] for entry in FROZEN)
    for revision in REVISIONS:
        assert len(set(expected(revision))) == len(expected(revision))


@pytest.mark.parametrize("revision", REVISIONS)
def test_nothing_fails_but_what_is_expected_to(suite: Suite, revision: str) -> None:
    done = suite(expected(revision), "--requirements", revision)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    passed = re.search(r"^Total: (\d+) passed", done.stdout, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) >= REVISIONS[revision]


def test_a_failure_nobody_expects_fails_the_run(suite: Suite) -> None:
    done = suite([], "--scenario", "tools-call-image")

    assert done.returncode == 1


def test_an_expected_failure_that_passes_fails_the_run(suite: Suite) -> None:
    done = suite(["tools-list:tools-list"], "--scenario", "tools-list")

    assert done.returncode == 1
    assert "stale" in (done.stdout + done.stderr).lower()
