"""`read`, `write`, `search`, `history`, `outcome`: the records."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from handoff_memory.cli import output, record_text
from handoff_memory.cli.command import Call, Number, verb
from handoff_memory.core import canonical
from handoff_memory.core.confidence import OUTCOMES, Outcome
from handoff_memory.core.errors import InvalidArgumentError, InvalidValueError
from handoff_memory.core.names import Name, parse_name
from handoff_memory.services import memory, outcomes, reading
from handoff_memory.services import search as searching

_VERSION = Number(1)
_LIMIT = Number(1, 100)
_SHARE = click.FloatRange(0, 1)


@verb(
    "read",
    examples=(
        "handoff-memory read listing/553/assessment",
        "handoff-memory read listing/553/assessment@1 source/boards/rate-limit",
        "handoff-memory read listing/553/assessment --history",
    ),
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--version", type=_VERSION, help="That version instead of the current one.")
@click.option("--history", "all_versions", is_flag=True, help="Every version with its outcomes.")
def read(call: Call, *, names: Sequence[str], version: int | None, all_versions: bool) -> int:
    """Read records, each named scope/key or scope/key@2."""
    if len(names) > 1:
        if version or all_versions:
            raise InvalidArgumentError("--version and --history go with one name")
        return _read_many(call, names)
    name = _name(call, names[0], version)
    if all_versions:
        _show_history(call, name, limit=100, cursor=None)
    else:
        reply = call.read(lambda tx: reading.read(tx, call.who, call.limits, name))
        call.show(reply, record_text.record)
    return 0


@verb(
    "write",
    examples=(
        """handoff-memory write listing/553/assessment '{"verdict": "maybe"}' --confidence 0.6""",
        "handoff-memory write notes/today - --text < notes.txt",
        "handoff-memory write limits/backoff 60 --expected-version 0      only if new",
        "handoff-memory write limits/floor -- -5      a value that begins with a dash",
    ),
)
@click.argument("name")
@click.argument("value", required=False)
@click.option("--file", type=click.Path(path_type=Path), help="Take the value from this file.")
@click.option("--text", "is_text", is_flag=True, help="The value is plain text, not JSON.")
@click.option("--confidence", type=_SHARE, help="0 to 1; 0.7 where none is given.")
@click.option("--tag", "tags", multiple=True, help="A label; may be repeated.")
@click.option("--source", help="Where this comes from.")
@click.option("--expires-in", type=Number(1, 10**10 - 1), metavar="SECONDS", help="Lifetime.")
@click.option("--expected-version", type=Number(0), help="0: must be new.")
@click.option("--if-changed", is_flag=True, help="Write nothing where the value is current.")
def write(
    call: Call,
    *,
    name: str,
    value: str | None,
    file: Path | None,
    is_text: bool,
    **options: Any,
) -> None:
    """Append a version to NAME (scope/key). VALUE is JSON; - reads stdin."""
    expected, if_changed = options.pop("expected_version"), options.pop("if_changed")
    target = _name(call, name)
    if target.version is not None:
        raise InvalidArgumentError(f"{name!r} names a version: a write always appends the next")
    draft = memory.draft_record(
        call.limits,
        scope=target.scope,
        key=target.key,
        value=_value(value, file, is_text=is_text),
        confidence_share=options.pop("confidence"),
        condition=[expected, if_changed],
        **options,
    )
    reply = call.write(
        lambda tx: memory.write(
            tx, call.who, draft, expected_version=expected, if_changed=if_changed
        )
    )
    call.show(reply, record_text.receipt)


@verb(
    "search",
    examples=(
        "handoff-memory search rate limit",
        "handoff-memory search --scope listing/553 --since 2h",
        "handoff-memory search budget --by scout-agent --min-confidence 0.5",
    ),
)
@click.argument("query", nargs=-1)
@click.option("--scope", default="", help="This scope, or its first segments.")
@click.option("--tag", "tags", multiple=True, help="A record must have it; may be repeated.")
@click.option("--by", "agent", metavar="AGENT", help="Written by this agent.")
@click.option("--min-confidence", type=_SHARE, default=0.0, help="0 to 1.")
@click.option("--since", metavar="TIME", help="ISO 8601, or an age such as 2h.")
@click.option("--include-superseded", is_flag=True, help="Old versions too.")
@click.option("--limit", type=_LIMIT, default=10, show_default=True)
@click.option("--cursor", help="The next_cursor of the page before.")
def search(
    call: Call, *, query: Sequence[str], limit: int, cursor: str | None, **filters: Any
) -> None:
    """Find records by words, path or code.

    Without QUERY it lists the newest.
    """
    wanted = searching.Search(query=" ".join(query), **filters)
    canonical.encode(wanted.query)  # refuses half characters
    reply = call.read(
        lambda tx: searching.search(tx, call.who, call.limits, wanted, limit=limit, after=cursor)
    )
    call.show(reply, record_text.hits)


@verb("history", examples=("handoff-memory history listing/553/assessment",))
@click.argument("name")
@click.option("--limit", type=_LIMIT, default=20, show_default=True)
@click.option("--cursor", help="The next_cursor of the page before.")
def history(call: Call, *, name: str, limit: int, cursor: str | None) -> None:
    """What was believed of NAME.

    Every version with its outcomes, newest first.
    """
    _show_history(call, _name(call, name), limit=limit, cursor=cursor)


@verb(
    "outcome",
    examples=(
        "handoff-memory outcome listing/482/assessment success --note 'offer accepted'",
        "handoff-memory outcome source/boards/rate-limit@1 failure",
    ),
)
@click.argument("name")
@click.argument("outcome", type=click.Choice(OUTCOMES))
@click.option("--note", help="What happened.")
@click.option("--packet", metavar="PACKET_ID", help="The packet that led to it.")
def outcome(
    call: Call, *, name: str, outcome: Outcome, note: str | None, packet: str | None
) -> None:
    """Report what really happened with NAME.

    It moves the confidence of the current version, or of the version in NAME.
    """
    draft = outcomes.draft_outcome(
        call.limits, name=_name(call, name), outcome=outcome, note=note, packet=packet
    )
    reply = call.write(lambda tx: outcomes.report(tx, call.who, draft))
    call.show(reply, lambda shown: record_text.moved(shown, outcome))


def _read_many(call: Call, names: Sequence[str]) -> int:
    wanted = [_name(call, name) for name in names]
    reply = call.read(lambda tx: reading.read_many(tx, call.who, call.limits, wanted))
    call.show(reply, record_text.records)
    missing = [item for item in reply["records"] if "error" in item]
    if missing and not call.as_json:
        output.print_error(*record_text.missing(missing))
    return 2 if missing else 0


def _show_history(call: Call, name: Name, *, limit: int, cursor: str | None) -> None:
    reply = call.read(
        lambda tx: reading.history(tx, call.who, call.limits, name, limit=limit, after=cursor)
    )
    call.show(reply, record_text.history)


def _name(call: Call, text: str, version: int | None = None) -> Name:
    found = parse_name(text)
    if version is not None and found.version not in {None, version}:
        raise InvalidArgumentError(f"{text!r} and --version {version} name different versions")
    return memory.plain_name(call.limits, found.scope, found.key, version or found.version)


def _value(given: str | None, file: Path | None, *, is_text: bool) -> Any:
    if (given is None) == (file is None):
        raise InvalidArgumentError("give one of VALUE, - for stdin, or --file")
    if file is None and given != "-":
        text = given or ""
    else:
        text = _decoded(_bytes(file), "utf-8" if is_text else "utf-8-sig")
    return text if is_text else canonical.parse(text)


def _bytes(file: Path | None) -> bytes:
    if file is None:
        return sys.stdin.buffer.read()
    try:
        return file.read_bytes()
    except OSError as error:
        raise InvalidArgumentError(f"{str(file)!r}: {error.strerror}") from error


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidValueError(f"the value is not UTF-8 (byte {error.start})") from error
