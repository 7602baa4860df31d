"""Tasks: what each is for, what it carries, what it cost, and the payloads that it moved out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from handoff_memory.app import governing
from handoff_memory.core import media
from handoff_memory.rulebook import RuleBook
from handoff_memory.services import (
    checkpointing,
    observing,
    planning,
    recalling,
    refs,
    sealing,
    tasks,
)
from handoff_memory.services.tasks import Task
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx
from handoff_memory.web import charts
from handoff_memory.web.page import Asked, Page

_LISTED: Final = 100
_EVENTS: Final = 60
_REFS: Final = 40
_PREVIEW_BYTES: Final = 16 << 10
_ROW: Final = 16
# What a person looks for among the events: where rules, loops and gaps played a part.
_TOLD: Final = frozenset({"overridden", "approved", "gap", "flag", "compacted", "restored"})


def board(tx: Tx, asked: Asked) -> Page:
    """The tasks of the project, the one where something happened last first."""
    found = tasks.overview(tx, asked.who.project, _LISTED)
    return Page("tasks.html", "Tasks", {"tasks": found, "most": _LISTED}, live=_live())


def task(tx: Tx, asked: Asked) -> Page:
    """One task whole.

    Raises:
        NotFoundError: There is no such task.
    """
    found = tasks.get(tx, asked.who, asked.named["task"])
    by = governing(asked.settings, RuleBook(asked.settings.folder).read())
    happened = tasks.happenings(tx, found.id, _EVENTS)
    values = {
        "told": planning.whole(tx, asked.who, found, by),
        "steps": found.stable.plan,
        "status": planning.status(found, by),
        "gauge": _gauge(found, planning.window_tokens(found, by), planning.status(found, by)),
        "drifts": sealing.drifts(found),
        "calls": found.state.calls,
        "edits": found.state.edits,
        "gaps": found.state.gaps,
        "finished": found.state.finished,
        "ledger": checkpointing.ledger_rows(found),
        "loops": observing.loops(found)[::-1],
        "ruled": [{**one, "told": _told(one["data"])} for one in happened if one["event"] in _TOLD],
        "events": [{**one, "said": _said(one["data"])} for one in happened],
        "refs": _refs(found),
        "check": asked.checks.audit(found.id),
    }
    return Page("task.html", f"Task {found.id}", values, live=_live())


def ref(tx: Tx, asked: Asked) -> Page:
    """A payload: what it is, and how it begins.

    Raises:
        NotFoundError: There is no such payload.
        CorruptRefError: Its bytes are not those that were kept.
    """
    row, data = recalling.payload(tx, asked.named["ref"])
    begins = data[:_PREVIEW_BYTES]
    is_binary = media.is_binary(data)
    values = {
        "ref": refs.short(row),
        "about": {**recalling.about(row, asked.who), "agent": row["agent"], "seq": row["seq"]},
        "redacted_bytes": row["redacted_bytes"],
        "is_binary": is_binary,
        "text": _hex(begins[:1024]) if is_binary else begins.decode("utf-8", "replace"),
        "is_whole": len(data) <= _PREVIEW_BYTES and not is_binary,
    }
    return Page("ref.html", f"Payload {refs.short(row)}", values)


def raw(tx: Tx, asked: Asked) -> Response:
    """The bytes of a payload, to be kept as a file: no browser shows what it might run.

    Raises:
        NotFoundError: There is no such payload.
        CorruptRefError: Its bytes are not those that were kept.
    """
    row, data = recalling.payload(tx, asked.named["ref"])
    name = f"{refs.short(row)}-{row['ref'][:12]}.bin"
    return Response(
        data,
        media_type="application/octet-stream",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


def _live() -> tuple[str, ...]:
    return ("task", "event", "record", "payload", "check")


def _gauge(found: Task, window: int, status: Reply) -> dict[str, Any]:
    pressure = status["pressure"]
    parts = [
        (kind, pressure[kind] or 0) for kind in ("measured", "declared", "estimated", "unknown")
    ]
    free = max(0, window - sum(tokens for _, tokens in parts))
    return {
        "parts": [*parts, ("free", free)],
        "segments": charts.pressure(parts, window),
        "window": window,
        "is_told": "window" in found.state.pressure,
    }


def _refs(found: Task) -> list[Reply]:
    results = sorted(found.state.results.items(), key=lambda pair: pair[1]["turn"], reverse=True)
    return [
        {
            **fact,
            "tool": key.split(" ")[0],
            "out": fact["ref"] in found.state.moved,
            "confirmed": fact["ref"] in found.state.dropped,
        }
        for key, fact in results[:_REFS]
    ]


def _told(data: Mapping[str, Any]) -> str:
    """What a rule, a person or a hook had to say."""
    fields = ("reason", "why", "rule", "name", "mode")
    return next((str(data[field]) for field in fields if data.get(field)), "")


def _said(data: Mapping[str, Any]) -> str:
    """An event in a line: the plain facts of it."""
    plain = (
        f"{name} {str(value)[:80]}"
        for name, value in data.items()
        if isinstance(value, str | int | float) and value not in {"", 0} and name != "args"
    )
    return ", ".join(plain)


def _hex(data: bytes) -> str:
    """Bytes as people look at them: offset, hexadecimal, and what is plain text."""
    lines = []
    for at in range(0, len(data), _ROW):
        row = data[at : at + _ROW]
        plain = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{at:06x}  {row.hex(' '):<{3 * _ROW}} {plain}")
    return "\n".join(lines)
