"""The project's rules on disk: found, read anew when they change, and never executed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from handoff_memory.rules.invariants.contents import Book, Problem

PLACE: Final = Path(".osiris") / "invariants.toml"
_MAX_BYTES: Final = 1 << 20


class RuleBook:
    """The rules of the project that a folder belongs to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: tuple[Path, int, int] | None = None
        self._book = Book()

    def read(self) -> Book:
        """The rules as they are now; a file that cannot be read is a problem, not an absence."""
        path = find(self._folder)
        if path is None:
            self._seen, self._book = None, Book()
            return self._book
        try:
            facts = path.stat()
            seen = (path, facts.st_mtime_ns, facts.st_size)
            if facts.st_size > _MAX_BYTES:
                return _unreadable(f"larger than {_MAX_BYTES} bytes")
            if seen != self._seen:
                from handoff_memory.rules.invariants import parse  # noqa: PLC0415 - where rules are

                text = path.read_text("utf-8")
                self._seen, self._book = seen, parse(text, file=str(PLACE))
        except (OSError, UnicodeDecodeError) as error:
            return _unreadable(str(error))
        return self._book


def _unreadable(why: str) -> Book:
    return Book(problems=(Problem(str(PLACE), 1, "file", f"cannot be read: {why}"),))


def find(folder: Path) -> Path | None:
    """The file of rules of a folder: its own, else that of the nearest folder above."""
    for place in (folder, *folder.parents):
        if (place / PLACE).is_file():
            return place / PLACE
    return None
