"""Replies about records as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handoff_memory.cli import rendering as r
from handoff_memory.services.writing import Reply


def record(item: Reply) -> Iterator[str]:
    """A version: its name, what is known of it, its value."""
    yield r.strong(_name(item)) + _standing(item)
    yield from r.table([(f"  {label}", fact) for label, fact in _facts(item)])
    yield ""
    yield from r.value_lines(item)


def records(reply: Reply) -> Iterator[str]:
    """Several versions; the missing ones are told elsewhere."""
    for position, item in enumerate(found for found in reply["records"] if "error" not in found):
        if position:
            yield ""
        yield from record(item)


def missing(items: Sequence[Reply]) -> tuple[str, str]:
    """What is missing among several names, and what to do."""
    names = ", ".join(r.clean(item["name"]) for item in items)
    nearest = [r.clean(name) for item in items for name in item["nearest"]]
    hint = f"Nearest: {', '.join(nearest)}." if nearest else "handoff-memory search finds names."
    return f"no record {names}", hint


def receipt(reply: Reply) -> Iterator[str]:
    """What a write did."""
    if reply.get("unchanged"):
        yield f"{_name(reply)} is unchanged"
        return
    replaced = f", supersedes version {reply['superseded']}" if reply["superseded"] else ""
    yield f"{r.good('written')} {_name(reply)}{replaced}"
    yield f"confidence {r.percent(reply['confidence'])}  hash {reply['hash']}"


def hits(reply: Reply) -> Iterator[str]:
    """Search results, a line each."""
    if not reply["results"]:
        yield "nothing found"
        return
    if reply["match"] == "any":
        yield r.doubtful("no record has every word; these have some")
    for note in filter(None, [reply.get("ranked")]):
        yield r.doubtful(note)
    yield from r.table([_hit(item) for item in reply["results"]])
    yield from _more(reply)


def history(reply: Reply) -> Iterator[str]:
    """What was believed, newest first."""
    for position, item in enumerate(reply["history"]):
        if position:
            yield ""
        yield from record(item)
        if item["outcomes"]:
            yield ""
            yield f"  believed {r.percent(item['believed_at_first'])} at first, then"
            yield from r.table([_outcome(found) for found in item["outcomes"]])
    yield from _more(reply)


def moved(reply: Reply, outcome: str) -> Iterator[str]:
    """How an outcome moved a confidence."""
    before, after = r.percent(reply["before"]), r.percent(reply["after"])
    yield f"{outcome} on {_name(reply)}: confidence {before} -> {after}"
    if "note" in reply:
        yield r.doubtful(reply["note"])


def _facts(item: Reply) -> Iterator[tuple[str, str]]:
    counts = ", ".join(f"{count} {outcome}" for outcome, count in item["counts"].items())
    confirmed = item.get("confirmed_by")
    agents = f", confirmed by {r.counted(confirmed, 'agent')}" if confirmed else ""
    yield "confidence", f"{r.percent(item['confidence'])}{f' ({counts}{agents})' if counts else ''}"
    yield "by", f"{r.clean(item['agent'])}, {r.age(item['at'])} ({item['at']})"
    if item["source"]:
        yield "source", r.clean(item["source"])
    if item["tags"]:
        yield "tags", r.clean(", ".join(item["tags"]))
    if "expires_at" in item:
        yield "expires", f"{r.age(item['expires_at'])} ({item['expires_at']})"
    yield "hash", item["hash"]


def _standing(item: Reply) -> str:
    if item.get("expired"):
        return r.doubtful("  expired")
    if "superseded_by" in item:
        return r.doubtful(f"  superseded: version {item['superseded_by']} is current")
    return "  current"


def _hit(item: Reply) -> tuple[str, ...]:
    mark = " (expired)" if item.get("expired") else " (old)" if "superseded_by" in item else ""
    return (
        r.strong(_name(item)) + mark,
        f"{r.percent(item['confidence']):>4}",
        r.clean(item["agent"]),
        r.age(item["at"]),
        r.clean(item["preview"]),
    )


def _outcome(found: Reply) -> tuple[str, ...]:
    steps = f"{r.percent(found['before'])} -> {r.percent(found['after'])}"
    who = f"{r.clean(found['agent'])}, {r.age(found['at'])}"
    return f"    {found['outcome']}", steps, who, r.clean(found.get("note", ""))


def _name(item: Reply) -> str:
    return r.clean(f"{item['scope']}/{item['key']}@{item['version']}")


def _more(reply: Reply) -> Iterator[str]:
    if "next_cursor" in reply:
        yield f"more: --cursor {reply['next_cursor']}"
