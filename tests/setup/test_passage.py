"""A canary through the gateway and through `run`: refused, or said to have passed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from handoff_memory.setup import canary

pytestmark = pytest.mark.processes


def test_the_gateway_and_run_refuse_a_canary(tmp_path: Path) -> None:
    assert canary.sing_to_gateway(tmp_path) == canary.Sung(enforced=True)
    assert canary.sing_to_run(tmp_path) == canary.Sung(enforced=True)
    assert list(tmp_path.iterdir()) == []


def test_what_lets_it_pass_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "_PROGRAM", (sys.executable, "-c", "print(input())"))

    passed = canary.sing_to_gateway(tmp_path)
    ran = canary.sing_to_run(tmp_path)

    assert (passed.enforced, ran.enforced) == (False, False)
    assert "let a canary pass" in passed.reason
    assert "let a canary pass" in ran.reason


def test_what_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "_PROGRAM", (sys.executable, "-c", "import time; time.sleep(60)"))

    assert "deadline" in canary.sing_to_gateway(tmp_path, deadline_s=0.5).reason
    assert "deadline" in canary.sing_to_run(tmp_path, deadline_s=0.5).reason
