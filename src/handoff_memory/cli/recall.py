"""`recall`: payloads that left a prompt, whole or in part."""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from handoff_memory.cli import output
from handoff_memory.cli import rendering as r
from handoff_memory.cli.command import Call, Number, verb
from handoff_memory.core import media
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.services import recalling, refs
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Row

_OPS: Final = ("grep", "range", "head", "tail", "outline", "aggregate", "jsonl")
_SPAN: Final = re.compile(r"([0-9]{1,15})-([0-9]{1,15})?")


@verb(
    "recall",
    examples=(
        "handoff-memory recall r12 > build.log",
        "handoff-memory recall r12 --pattern error: --context 2",
        "handoff-memory recall r12 --lines 100-150",
        "handoff-memory recall r12 --op tail --lines 20",
        "handoff-memory recall r12 --op jsonl --where \"level == 'error'\" --select message",
        "handoff-memory recall r12 --op aggregate --measure count --by user.id",
    ),
)
@click.argument("names", nargs=-1, required=True, metavar="REF...")
@click.option("--op", type=click.Choice(_OPS), help="A part instead of all of it.")
@click.option("--pattern", help="grep: what its lines hold.")
@click.option("--regex", is_flag=True, default=None, help="grep: an expression (RE2's syntax).")
@click.option("--ignore-case", is_flag=True, default=None, help="grep: upper and lower alike.")
@click.option("--context", type=Number(0, 20), help="grep: lines around each.")
@click.option("--max-matches", type=Number(1, 1000), help="grep: how many at most.")
@click.option("--lines", metavar="N|A-B", help="head, tail: how many; range: from A to B.")
@click.option("--bytes", "span", metavar="A-B", help="range: bytes from A to B, from 0.")
@click.option("--measure", help="aggregate: count, sum, min, max or avg.")
@click.option("--field", help="aggregate: of what.")
@click.option("--by", help="aggregate: grouped by what.")
@click.option("--where", help="jsonl: which rows (JMESPath).")
@click.option("--select", help="jsonl: what of each (JMESPath).")
@click.option("--limit", type=Number(1, 1000), help="jsonl: how many rows.")
@click.option("--cursor", help="The next_cursor of the part before.")
def recall(call: Call, *, names: Sequence[str], cursor: str | None, **given: Any) -> None:
    """Payloads that were kept out of a prompt, checked against their hash.

    A REF is r12, sha256:<hex>, or at least 8 of its digits. Without --op the bytes as they were
    kept, one payload behind the other.
    """
    if names[-1] in _OPS:  # as a stub says it: r12 outline
        names, given["op"] = names[:-1], given["op"] or names[-1]
    rows = call.memory.read(lambda tx: [refs.find(tx, name) for name in names])
    op, options = _question(given)
    if cursor and len(rows) > 1:
        raise InvalidArgumentError("--cursor goes with one REF")
    if op is None:
        _print_whole(call, names)
        return
    replies = [_answer(call, row["ref"], op, options, cursor) for row in rows]
    if call.as_json:
        output.print_json(replies[0] if len(replies) == 1 else {"refs": replies})
    else:
        output.print_lines(line for reply in replies for line in _lines(reply))


def _print_whole(call: Call, names: Sequence[str]) -> None:
    if call.as_json:
        replies = [_described(call, name) for name in names]
        output.print_json(replies[0] if len(replies) == 1 else {"refs": replies})
        return
    for name in names:
        data = _payload(call, name)[1]
        if not sys.stdout.isatty():
            sys.stdout.buffer.write(data)
        elif media.is_binary(data):
            raise InvalidArgumentError(
                f"{name} is binary", way_out="Send it into a file: add > FILE."
            )
        else:
            output.print_lines(r.block(data.decode("utf-8", "replace"), indent=""))


def _described(call: Call, name: str) -> Reply:
    row, data = _payload(call, name)
    about = recalling.about(row, call.who)
    try:
        text = None if media.is_binary(data) else data.decode()
    except UnicodeDecodeError:
        text = None
    if text is None:
        return {**about, "base64": base64.b64encode(data).decode()}
    return {**about, "text": text}


def _answer(call: Call, ref: str, op: str, options: Mapping[str, Any], cursor: str | None) -> Reply:
    row, data = _payload(call, ref)
    return recalling.answer(call.limits, row, data, op=op, options=options, after=cursor)


def _payload(call: Call, name: str) -> tuple[Row, bytes]:
    return call.memory.read(lambda tx: recalling.payload(tx, name))


def _question(given: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The operation that the options name or imply, and its arguments."""
    options = {name: value for name, value in given.items() if value is not None}
    op, lines, span = (options.pop(name, None) for name in ("op", "lines", "span"))
    if span is not None:
        options |= {"unit": "bytes", **_ends("--bytes", span)}
    elif lines is not None and (op == "range" or "-" in lines):
        options |= _ends("--lines", lines)
    elif lines is not None:
        options["lines"] = _count(lines)
    if op is None and options:
        op = "grep" if "pattern" in options else "range" if "first" in options else None
        op = op or ("head" if "lines" in options else None)
        if op is None:
            raise InvalidArgumentError(f"these options need --op, one of {', '.join(_OPS)}")
    return op, options


def _ends(option: str, text: str) -> dict[str, int]:
    found = _SPAN.fullmatch(text)
    if found is None:
        raise InvalidArgumentError(f"{option} is a span such as 100-150 or 100-, not {text!r}")
    ends = {"first": int(found[1])}
    return {**ends, "last": int(found[2])} if found[2] else ends


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise InvalidArgumentError(f"--lines is a number or a span such as 100-150, not {text!r}")
    return int(text)


def _lines(reply: Reply) -> Iterator[str]:
    yield from r.block(reply["text"].rstrip("\n"), indent="")
    for note in reply.get("notes", ()):
        yield r.doubtful(f"note: {r.clean(note)}")
    if "left" in reply:
        yield f"left: {reply['left']}"
    if "next_cursor" in reply:
        yield f"more: --cursor {reply['next_cursor']}"
