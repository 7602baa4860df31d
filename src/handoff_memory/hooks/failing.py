"""What a hook does when it fails by itself: refuses what must not go by unjudged, keeps the gap.

Nothing here needs the database, which may be what failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from handoff_memory.core.author import Author
from handoff_memory.core.errors import MemoryFault
from handoff_memory.hooks import gaps
from handoff_memory.hooks.event import Event
from handoff_memory.hooks.options import Options
from handoff_memory.settings import Settings, read_home, read_settings


def refusal(options: Options, event: Event | None, why: str) -> str | None:
    """Why a call that could not be judged must not be made, or None where it may."""
    if event is None or event.kind != "before-tool":
        return None
    settings = _settings(options)
    who = Author(_agent(options, settings), event.session or "")
    return unjudged(_folder(options, event, settings), who, event.tool, event.args, why)


def unjudged(folder: Path, who: Author, tool: str, args: Mapping[str, Any], why: str) -> str | None:
    """Why a call must not be made that could not be judged, or None where it may.

    It may unless a rule with `fail_closed` is about it: a flag or an approval that would let it
    pass cannot be looked up.
    """
    from handoff_memory.action import action_of  # noqa: PLC0415 - only where a call waits
    from handoff_memory.rulebook import RuleBook  # noqa: PLC0415
    from handoff_memory.rules import invariants  # noqa: PLC0415
    from handoff_memory.services import observing  # noqa: PLC0415
    from handoff_memory.services.limits import Limits  # noqa: PLC0415

    found = RuleBook(folder).read().rules
    book = invariants.Book(tuple(rule for rule in found if rule.fail_closed))
    if not book.rules:
        return None
    seen = observing.see(Limits(), tool, args, root=str(folder))
    action = action_of(folder, who, tool, args, seen, book)
    judged = invariants.judge(book.rules, action, {}, {}, 0)
    if judged.verdict not in {"block", "ask"}:
        return None
    worst = judged.findings[0]
    return (
        f"handoff-memory: {worst.rule_id}: {worst.message}. Whether this call keeps the rule could "
        f"not be looked up ({why}), and the rule says fail_closed. Try again; where it stays so, "
        "tell the person: `handoff-memory doctor` says what is wrong."
    )


def note(options: Options, event: Event | None, why: str) -> None:
    """Keep what went by unwatched for the next hook that can write."""
    what = options.kind if event is None or not event.tool else f"{options.kind} of {event.tool}"
    settings = _settings(options)
    if settings is None:
        gaps.note(read_home(), None, None, f"{what}: {why}")
    else:
        agent = _agent(options, settings)
        gaps.note(settings.home, settings.database, agent, f"{what}: {why}")


def _settings(options: Options) -> Settings | None:
    with suppress(MemoryFault):
        return read_settings(flags=options.flags())
    return None


def _agent(options: Options, settings: Settings | None) -> str:
    return (settings and settings.agent) or options.client


def _folder(options: Options, event: Event, settings: Settings | None) -> Path:
    return options.folder(event) or (settings.folder if settings else Path.cwd())
