"""The sealed manifest: the small block an agent carries, and the seal it hands back.

Deterministic: no clock, no random id, no order of a dictionary. What the seal covers is decided in
`prefix`; here it is only shown and recognised.
"""

import re
from typing import Final, NamedTuple

from handoff_memory.core import lazy

_SEAL: Final = lazy.pattern(
    r"\s*(?:SEAL\s*=\s*)?(?:sha256:)?(?:([0-9a-f]{64})|([0-9a-f]{6})(?:…|\.{2,3})([0-9a-f]{4}))\s*",
    re.IGNORECASE,
)
_UNSAFE: Final = lazy.pattern(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
# A token is at least one byte, so bounds in bytes hold for every vocabulary and every script.
# The objective gets what the task's id leaves of the room: at least 16 bytes.
TASK_BYTES: Final = 40
_ROOM_BYTES: Final = 56


class Glance(NamedTuple):
    """What the manifest shows of a task.

    Attributes:
        task: Its id; whole where it has at most 40 bytes.
        objective: In full; the manifest shortens it.
        done: Completed steps.
        steps: All steps.
        invariants: Active rules.
        files: Files known.
        refs: Payloads kept outside.
        decisions: Pinned ones.
        budget: `ok`, `low` or `exhausted`.
        seal: 64 hex digits.
    """

    task: str
    objective: str
    done: int
    steps: int
    invariants: int
    files: int
    refs: int
    decisions: int
    budget: str
    seal: str


def short(digest: str) -> str:
    """The shown form of a seal: `sha256:3f9a1c…c21b`."""
    return f"sha256:{digest[:6]}…{digest[-4:]}"


def matches(given: str, digest: str) -> bool:
    """Whether an agent handed this seal back, in its short form or whole."""
    found = _SEAL.fullmatch(given)
    if found is None:
        return False
    whole, first, last = (part and part.lower() for part in found.groups())
    return digest == whole if whole else digest.startswith(first) and digest.endswith(last)


def render(glance: Glance) -> str:
    """The block an agent keeps at a fixed place: at most 120 tokens, same state, same bytes."""
    task = _cut(_safe(glance.task, "_").replace('"', "_"), TASK_BYTES)
    room = _ROOM_BYTES - len(task.encode())
    objective = _cut(_safe(glance.objective, " ").replace('"', "'").strip(), room)
    return (
        f'OSIRIS/1 task={task} obj="{objective}" plan={glance.done}/{glance.steps}\n'
        f"inv={glance.invariants} files={glance.files} refs={glance.refs}"
        f" dec={glance.decisions} budget={glance.budget}\n"
        f"SEAL={short(glance.seal)}"
    )


def _cut(text: str, size_bytes: int) -> str:
    raw = text.encode()
    if len(raw) <= size_bytes:
        return text
    return raw[: size_bytes - len("…".encode())].decode("utf-8", "ignore").rstrip() + "…"


def _safe(text: str, between: str) -> str:
    if text.isprintable() and "  " not in text and (between == " " or " " not in text):
        return text
    return _UNSAFE.sub(between, text)
