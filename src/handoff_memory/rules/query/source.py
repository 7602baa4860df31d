"""A payload as text: UTF-8, else UTF-16 with its mark, else Latin-1, which takes any bytes."""

from typing import NamedTuple

from handoff_memory.core import media


class Source(NamedTuple):
    """Text in UTF-8 whatever it was written in; positions count its bytes.

    Attributes:
        text: Valid UTF-8; the payload itself where that is UTF-8.
        note: What a reader has to know about the encoding; empty where it is UTF-8.
    """

    text: bytes
    note: str = ""


def read(data: bytes) -> Source | None:
    """The payload as text; None where it is binary."""
    if media.is_binary(data):
        return None
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return _other(data, error.start)
    return Source(data)


def _other(data: bytes, first_bad: int) -> Source:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return Source(data.decode("utf-16").encode(), "the payload is UTF-16")
        except UnicodeDecodeError:
            pass
    note = f"no UTF-8 at byte {first_bad}, so read as Latin-1"
    return Source(data.decode("latin-1").encode(), note)


def line_end(text: bytes, at: int) -> int:
    """Where the line that holds `at` ends, its newline left out."""
    end = text.find(b"\n", at)
    return len(text) if end < 0 else end


def whole_characters(text: bytes, at: int) -> int:
    """The first character boundary at or after a position in UTF-8."""
    at = max(0, min(at, len(text)))
    while at < len(text) and text[at] & 0xC0 == 0x80:
        at += 1
    return at


def whole_before(text: bytes, at: int) -> int:
    """The last character boundary at or before a position in UTF-8."""
    at = max(0, min(at, len(text)))
    while 0 < at < len(text) and text[at] & 0xC0 == 0x80:
        at -= 1
    return at
