"""Templates and what they say things with; nothing that was recalled can act in a page.

Every value that a template prints is escaped, and its control characters and marks that turn the
reading direction round are shown by their numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from handoff_memory.core import times, visible
from handoff_memory.web import charts

HERE: Final = Path(__file__).parent
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_KIB: Final = 1024


def environment() -> Environment:
    """The templates, with the words that they use."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_seen,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        ago=ago, percent=percent, size=size, number=number, pretty=pretty, named=counted
    )
    made.globals.update(
        record_url=record_url,
        packet_url=packet_url,
        task_url=task_url,
        ref_url=ref_url,
        subject_url=subject_url,
        url=url,
        chart=charts,
    )
    return made


@pass_context
def ago(context: Context, at: str | None) -> Markup | str:
    """An ISO time as `3 min ago`, with the exact one on hover."""
    if at is None:
        return "?"
    seconds = (context["now"] - times.parse(at, 0)) // times.SECOND
    exact = f"{at[:-1].replace('T', ' ')} UTC"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at, exact, age(seconds))


def age(seconds: int) -> str:
    """Seconds as `3 min ago` or `in 58 min`."""
    for unit_s, unit in _UNITS:
        if abs(seconds) >= unit_s:
            count = abs(seconds) // unit_s
            return f"{count} {unit} ago" if seconds > 0 else f"in {count} {unit}"
    return "now"


def percent(share: float) -> str:
    """A confidence as `84%`."""
    return f"{round(share * 100, 1):g}%"


def number(count: int) -> str:
    """A count with its thousands apart."""
    return f"{count:,}"


def counted(count: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """Bytes as `1.4 MiB`."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < _KIB:
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _KIB
    return f"{amount:.1f} GiB"


def pretty(value: Any) -> str:
    """A value as people read it: text as it is, anything else as indented JSON."""
    if isinstance(value, str):
        return value
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def url(path: str, **fields: Any) -> str:
    """A path of ours with the fields that say something."""
    given = {name: value for name, value in fields.items() if value not in {None, ""}}
    return f"{path}?{urlencode(given)}" if given else path


def record_url(scope: str, key: str, version: int | None = None) -> str:
    """Where a record is shown, or one of its versions."""
    at = "" if version is None else f"@{version}"
    return url("/memory/record", name=f"{scope}/{key}{at}")


def packet_url(packet: str) -> str:
    """Where a packet is shown."""
    return f"/handoffs/{quote(packet, safe='')}"


def task_url(task: str) -> str:
    """Where a task is shown."""
    return f"/tasks/{quote(task, safe='')}"


def ref_url(ref: str) -> str:
    """Where a payload is shown."""
    return f"/refs/{quote(ref, safe='')}"


def subject_url(kind: str, subject: str | None) -> str | None:
    """Where the subject of a journal entry, or of a finding, is shown."""
    if not subject:
        return None
    if kind in {"record", "outcome"}:
        return url("/memory/record", name=subject) if "/" in subject else None
    if kind in {"packet", "claim"}:
        return packet_url(subject)
    if kind in {"task", "event"}:
        return task_url(subject)
    return ref_url(subject.split(" ")[0]) if kind == "payload" else None


def _seen(value: Any) -> Any:
    """What is printed of a value: markup of ours as it is, text made harmless."""
    if isinstance(value, Markup):
        return value
    return visible.block(value) if isinstance(value, str) else value
