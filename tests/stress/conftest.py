"""Shows what the stress tests measured, passed or not."""

from __future__ import annotations

import pytest

from stress.harness import MEASURED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MEASURED:
        terminalreporter.section("measured")
        for figures in MEASURED:
            terminalreporter.write_line(figures)
