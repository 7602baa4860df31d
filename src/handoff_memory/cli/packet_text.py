"""Replies about handoff packets as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handoff_memory.cli import record_text
from handoff_memory.cli import rendering as r
from handoff_memory.services.writing import Reply

_LISTS: Final = (("done", "-"), ("next", ">"), ("open", "?"))


def overview(reply: Reply) -> Iterator[str]:
    """Packets, a line each."""
    if not reply["packets"]:
        yield "no packets"
        return
    yield from r.table([_line(item) for item in reply["packets"]])


def thread(reply: Reply) -> Iterator[str]:
    """The packets of a thread and what happened to each."""
    for position, item in enumerate(reply["packets"]):
        if position:
            yield ""
        yield from _packet(item)
        for event in item["events"]:
            yield f"  {event['action']} by {r.clean(event['agent'])}, {r.age(event['at'])}"


def delivery(reply: Reply) -> Iterator[str]:
    """What was picked up: the packet, its records as pinned, what moved since, the claim."""
    if reply["packet"] is None:
        yield r.clean(reply["note"])
        return
    yield from _packet(reply["packet"])
    for item in reply["records"]:
        yield ""
        yield from _pinned(item)
    yield ""
    yield reply["pins_moved"]
    for item in reply["stale"]:
        yield r.doubtful(_stale(item))
    for warning in reply.get("warnings", ()):
        yield r.doubtful(r.clean(warning))
    if "workspace" in reply:
        yield r.doubtful(r.clean(reply["workspace"]["note"]))
    for note in reply.get("read_back", ()):
        yield f"read back by {r.clean(note['by'])}, {r.age(note['at'])}:"
        yield from r.block(note["text"])
    yield from _claim(reply)


def _line(item: Reply) -> tuple[str, ...]:
    to = r.clean(item["to"] or "anyone")
    urgency = "" if item["priority"] == "normal" else f"[{item['priority']}] "
    return (
        r.strong(item["packet_id"]),
        item["state"],
        f"{r.clean(item['from'])} -> {to}",
        r.age(item["at"]),
        urgency + r.clean(item["summary"]),
    )


def _packet(item: Reply) -> Iterator[str]:
    summary = r.clean(item.get("summary", "[erased]"))
    yield f"{r.strong(item['packet_id'])}  {item['state']}  {summary}"
    parts = [
        f"from {r.clean(item['from'])} to {r.clean(item['to'] or 'anyone')}",
        r.age(item["at"]),
        f"{item['priority']} priority",
    ]
    if "in_reply_to" in item:
        parts.append(f"{item.get('status', 'reply')} in reply to {item['in_reply_to']}")
    if "holder" in item:
        parts.append(f"held by {r.clean(item['holder'])}, lease ends {r.age(item['lease_until'])}")
    yield f"  {', '.join(parts)}"
    for field, mark in _LISTS:
        for text in item.get(field, ()):
            yield f"  {field}: {mark} {r.clean(text)}"
    if details := item.get("details"):
        yield "  details:"
        yield from (f"  {line}" for line in r.value_lines({"value": details}))


def _pinned(item: Reply) -> Iterator[str]:
    if "error" in item:
        yield r.bad(f"{r.clean(item['name'])} is missing")
    elif "preview" in item:
        yield r.clean(f"{item['scope']}/{item['key']}@{item['version']}: {item['preview']}")
    else:
        yield from record_text.record(item)


def _stale(item: Reply) -> str:
    source = f": {item['source']}" if item["source"] else ""
    return r.clean(
        f"stale: {item['name']} was pinned at v{item['pinned']}, now at v{item['current']}, "
        f"by {item['by']}, {r.age(item['at'])}{source}"
    )


def _claim(reply: Reply) -> Iterator[str]:
    if before := reply.get("held_before"):
        yield f"held before by {r.clean(before['by'])}, whose lease ended {r.age(before['until'])}"
    if "token" in reply:
        taken = "resumed" if reply.get("resumed") else "claimed"
        until = f"lease ends {r.age(reply['lease_until'])} ({reply['lease_until']})"
        yield f"{r.good(taken)}, token {reply['token']}, {until}"
