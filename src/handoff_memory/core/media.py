"""What kind of content some bytes are, from the bytes first and from a file name second."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import orjson

from handoff_memory.core import lazy

_SNIFFED: Final = 8192
_WHOLE_JSON: Final = 32 << 20  # larger documents are judged by their ends

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"%PDF-", "application/pdf"),
)
_ARCHIVES: Final = (b"\x1f\x8b", b"PK\x03\x04", b"\x7fELF", b"\x28\xb5\x2f\xfd", b"BZh")
_BY_NAME: Final = {
    ending: kind
    for kind, endings in (
        ("text/x-python", "py pyi"),
        ("text/markdown", "md markdown"),
        ("text/x-diff", "diff patch"),
        ("text/csv", "csv tsv"),
        ("application/x-ndjson", "jsonl ndjson"),
        ("text/x-typescript", "ts tsx mts cts"),
        ("text/x-javascript", "js jsx mjs cjs"),
        ("text/x-rust", "rs"),
        ("text/x-go", "go"),
        ("text/x-java", "java kt scala cs"),
        ("text/x-c", "c h cc cpp cxx hpp"),
        ("text/x-ruby", "rb"),
        ("text/x-shellscript", "sh bash zsh"),
        ("text/x-sql", "sql"),
        ("text/plain", "txt log"),
    )
    for ending in endings.split()
}
_CONTROL: Final = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_DIFF: Final = lazy.pattern(r"^(?:diff --git |Index: |--- .+\n\+\+\+ .+\n@@ )", re.MULTILINE)
_PYTHON_WORDS: Final = ("def ", "class ", "import ")
_PYTHON: Final = lazy.pattern(
    r"^(?:(?:async )?def \w+\(|class \w+[(:]|from [\w.]+ import |import [\w.]+(?: as \w+)?$)",
    re.MULTILINE,
)
_MARKDOWN: Final = lazy.pattern(r"^(?:#{1,6} \S|```|[-*] \[.+\]\(.+\))", re.MULTILINE)


def sniff(data: bytes, name: str | None = None) -> str:
    """The media type; what the bytes show goes before what the name claims."""
    if (magic := _magic(data)) is not None:
        return magic
    if is_binary(data):
        return "application/octet-stream"
    text = _start(data)
    if (structured := _json(data, text)) is not None:
        return structured
    ending = name.rpartition(".")[2].lower() if name and "." in name else ""
    return _BY_NAME.get(ending) or _by_look(text)


def is_binary(data: bytes) -> bool:
    """Whether the bytes are no text in UTF-8, UTF-16 with its mark, or an 8-bit encoding."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    head = data[:_SNIFFED]
    if b"\0" in head or _magic(data) is not None or head.startswith(_ARCHIVES):
        return True
    return len(head) - len(head.translate(None, _CONTROL)) > len(head) // 10


def _magic(data: bytes) -> str | None:
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)


def _start(data: bytes) -> str:
    """The first lines, whole as far as there is more than one."""
    coded = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    text = data[:_SNIFFED].decode(coded, "replace").replace("\r\n", "\n")
    if len(data) > _SNIFFED and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    return text


def _json(data: bytes, text: str) -> str | None:
    start = text.lstrip()[:1]
    if start not in ("{", "["):
        return None
    lines = [line for line in text.split("\n") if line.strip()]
    if start == "{" and len(lines) > 1 and all(map(_is_json, lines[:20])):
        return "application/x-ndjson"
    if len(data) > _WHOLE_JSON:
        ends = {"{": b"}", "[": b"]"}
        return "application/json" if data[-64:].rstrip().endswith(ends[start]) else None
    return "application/json" if _is_json(data) else None


def _is_json(data: bytes | str) -> bool:
    try:
        orjson.loads(data)
    except ValueError:
        return False
    return True


def _by_look(text: str) -> str:
    # The words go first: most outputs hold none, and need no pattern.
    if any(mark in text for mark in ("diff --git ", "Index: ", "+++ ")) and _DIFF.search(text):
        return "text/x-diff"
    if any(word in text for word in _PYTHON_WORDS) and len(_PYTHON.findall(text)) >= 2:
        return "text/x-python"
    if delimiter(text) is not None:
        return "text/csv"
    if (
        "# " in text
        and re.search(r"^#{1,6} \S", text, re.MULTILINE)
        and len(_MARKDOWN.findall(text)) >= 2
    ):
        return "text/markdown"
    return "text/plain"


def delimiter(text: str) -> str | None:
    """What separates the columns of CSV whose first lines these are; None where it is no CSV."""
    lines = [line for line in text.split("\n")[:20] if line]
    counts = {one: [_columns(line, one) for line in lines] for one in ",\t;|"}
    best = max(counts, key=lambda one: counts[one][0] if lines else 0)
    columns = counts[best]
    if len(lines) < 2 or columns[0] < 2:
        return None
    usual, times = Counter(columns).most_common(1)[0]
    return best if usual == columns[0] and times >= 0.9 * len(columns) else None


def _columns(line: str, separator: str) -> int:
    if separator not in line:
        return 1
    import csv  # noqa: PLC0415 - only for what may be a table

    try:
        return len(next(csv.reader([line], delimiter=separator), ()))
    except csv.Error:  # a field beyond the limit of the csv module
        return 0
