"""What leaves the command line: one JSON document, or text that no terminal obeys.

Recalled text was written by an agent. A terminal would obey escape sequences in it, so none gets
there: text is cleaned in `rendering`, and what JSON leaves unescaped (DEL, C1, bidi overrides) is
escaped here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

import click
import orjson

_UNSEEN: Final = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def print_json(document: Mapping[str, Any], *, indented: bool = True) -> None:
    """Print one JSON document, indented where a person looks."""
    wide = indented and sys.stdout.isatty()
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2 if wide else 0).decode()
    # These stand only inside strings: it stays the same document. Bytes, as JSON is UTF-8 anywhere.
    click.echo(_UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode())


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text."""
    for line in lines:
        click.echo(line)


def print_error(message: str, next_step: str) -> None:
    """Say on stderr what is wrong and what to do."""
    click.echo(f"error: {message}", err=True)
    click.echo(f"next: {next_step}", err=True)


def make_streams_whole() -> None:
    """Let every character through: UTF-8 on Windows, else escaped where the locale lacks it."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            encoding = "utf-8" if sys.platform == "win32" else None
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def give_up_stdout() -> None:
    """Nobody reads any more: what is still buffered goes nowhere, without a complaint at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
