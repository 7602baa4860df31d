"""Integrity: what a verification and the audits found."""

from __future__ import annotations

from typing import Any, Final

from handoff_memory.services import presence, tasks, verify_since
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx
from handoff_memory.web import rendering
from handoff_memory.web.page import Asked, Page

_TASKS: Final = 50
_SHOWN: Final = 500


def integrity(tx: Tx, asked: Asked) -> Page:
    """The latest verification, the latest audits, and what can be run."""
    check = asked.checks.verification
    values = {
        "head": presence.stats(tx, asked.who)["head"],
        "good": verify_since.last_good(tx),
        "check": check,
        "findings": _findings(check.report) if check and check.report else [],
        "most": _SHOWN,
        "audits": asked.checks.audits,
        "tasks": tasks.overview(tx, asked.who.project, _TASKS),
    }
    return Page("integrity.html", "Integrity", values, live=("check",))


def _findings(report: Reply) -> list[dict[str, Any]]:
    return [{**one, "url": _url(one)} for one in report["problems"][:_SHOWN]]


def _url(finding: Reply) -> str | None:
    kind, name = finding["kind"], finding["name"]
    at = f"@{finding['version']}" if "version" in finding else ""
    return rendering.subject_url(kind, f"{name}{at}")
