"""Reads files for the governor: only below the allowed roots, whole or not at all, never blocking.

A path is resolved first and compared with the roots; then the file is reached from its root
component by component without following links, so that a link swapped in meanwhile leads nowhere.
A hard link cannot be told from its file. What a file's bytes mean is for others.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handoff_memory.core.errors import (
    FileChangedError,
    FileTooLargeError,
    FileUnreadableError,
    MemoryFault,
    NotAFileError,
    PathOutsideRootsError,
)

_CHUNK: Final = 1 << 20
_KERNEL: Final = ("/proc", "/sys", "/dev")
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
# COM¹, COM² and COM³ too. Source: "Naming Files, Paths, and Namespaces", learn.microsoft.com
_RESERVED: Final = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\..*)?", re.I
)
_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_FOLDER: Final = (
    getattr(os, "O_PATH", os.O_RDONLY)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file's whole content at one moment.

    Attributes:
        data: All its bytes.
        sha256: Their hash, 64 lowercase hex digits.
        mtime_ns: When it was last changed.
        path: Where it really is, links resolved.
    """

    data: bytes
    sha256: str
    mtime_ns: int
    path: str


@dataclass(frozen=True, slots=True)
class Place:
    """A path below a root, links resolved; `parts` lead from the root to the file."""

    root: str
    parts: tuple[str, ...]

    @property
    def path(self) -> str:
        """The whole path."""
        return str(Path(self.root, *self.parts))


def read_file(path: str, roots: Sequence[Path], limit_bytes: int) -> FileRead:
    """A file's content; a relative path is looked for below each root in turn.

    Raises:
        PathOutsideRootsError, NotAFileError, FileTooLargeError, FileChangedError,
        FileUnreadableError
    """
    place = locate(path, roots)
    with opened(place) as file:
        return file.read(limit_bytes)


def locate(path: str, roots: Sequence[Path]) -> Place:
    """Where a path leads, which is below a root; whether a file is there is not looked at.

    Raises:
        PathOutsideRootsError, NotAFileError, FileUnreadableError
    """
    _refuse_name(path)
    if not roots:
        raise PathOutsideRootsError("no folder may be read: OSIRIS_ROOTS is empty")
    places = [place for root in roots if (place := _below(path, root)) is not None]
    found = next((place for place in places if os.path.lexists(place.path)), None)
    place = found or next(iter(places), None)
    if place is None:
        raise PathOutsideRootsError(f"{_shown(path)} is below none of the allowed folders")
    if _shown(place.path) != place.path:
        raise FileUnreadableError(f"{_shown(path)} leads to a name that is no UTF-8")
    if any(place.path == top or place.path.startswith(f"{top}/") for top in _KERNEL):
        raise NotAFileError(f"{_shown(path)} belongs to the kernel")
    return place


def _refuse_name(path: str) -> None:
    if not path or "\0" in path:
        raise FileUnreadableError(f"{_shown(path)!r} can name no file")
    if _shown(path) != path:
        raise FileUnreadableError(f"{_shown(path)} is no UTF-8")
    if sys.platform == "win32" and (fault := windows_fault(path)):  # pragma: no cover
        raise NotAFileError(f"{path} {fault}")


def windows_fault(path: str) -> str | None:
    """What makes a path dangerous on Windows, where some names are no files; None if nothing."""
    plain = path.replace("/", "\\")
    if plain.startswith("\\\\"):
        return "is a device path or a network share"
    for part in re.sub(r"^[A-Za-z]:", "", plain).split("\\"):
        if ":" in part:
            return "names a stream of a file"
        if _RESERVED.fullmatch(part.rstrip(" .")):
            return "has a reserved name"
        if part not in (".", "..") and part != part.rstrip(" ."):
            return "has a name that ends in a dot or a space"
    return None


def _below(path: str, root: Path) -> Place | None:
    try:
        top = os.path.realpath(root)
        real = os.path.realpath(Path(top, path))
    except OSError as error:
        raise _fault(path, error) from error
    parts = Path(os.path.normcase(real)).parts
    tops = Path(os.path.normcase(top)).parts
    if parts[: len(tops)] != tops:
        return None
    return Place(top, Path(real).parts[len(tops) :])


@contextmanager
def opened(place: Place) -> Iterator[OpenFile]:
    """The regular file at a place, reached without following a link.

    Raises:
        NotAFileError, FileChangedError, FileUnreadableError
    """
    try:
        before = os.lstat(place.path)
        if not stat.S_ISREG(before.st_mode):  # opening a device can have effects
            kind = _KINDS.get(stat.S_IFMT(before.st_mode), "no regular file")
            raise NotAFileError(f"{_shown(place.path)} is {kind}")
        descriptor = _open(place)
    except OSError as error:
        raise _fault(place.path, error) from error
    try:
        file = OpenFile(descriptor, place.path, os.fstat(descriptor))
        if not (os.path.samestat(before, file.before) and stat.S_ISREG(file.before.st_mode)):
            raise FileChangedError(f"{_shown(place.path)} was replaced while it was opened")
        yield file
    finally:
        os.close(descriptor)


def _open(place: Place) -> int:
    if sys.platform == "win32":  # pragma: no cover - no descriptors of folders there
        descriptor = os.open(place.path, _FLAGS)
        if os.path.realpath(place.path) != place.path:
            os.close(descriptor)
            raise FileChangedError(f"{place.path} was replaced while it was opened")
        return descriptor
    folder = os.open(place.root, _FOLDER)
    try:
        for part in place.parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(place.parts[-1], _FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A regular file that is open for reading, and how it was when it was opened."""

    descriptor: int
    path: str
    before: os.stat_result

    def read(self, limit_bytes: int) -> FileRead:
        """All its bytes.

        Raises:
            FileTooLargeError, FileChangedError, FileUnreadableError
        """
        size = self.before.st_size
        if size > limit_bytes:
            message = f"{_shown(self.path)} has {size:,} bytes, more than {limit_bytes:,}"
            raise FileTooLargeError(message, size_bytes=size, limit_bytes=limit_bytes)
        try:
            data = self._all(size + 1)
            after = os.fstat(self.descriptor)
        except OSError as error:
            raise _fault(self.path, error) from error
        was = (size, self.before.st_mtime_ns)
        if len(data) != size or (after.st_size, after.st_mtime_ns) != was:
            raise FileChangedError(f"{_shown(self.path)} changed while it was read")
        return FileRead(data, hashlib.sha256(data).hexdigest(), after.st_mtime_ns, self.path)

    def _all(self, most: int) -> bytes:
        pieces = []
        while most > 0 and (piece := os.read(self.descriptor, min(most, _CHUNK))):
            pieces.append(piece)
            most -= len(piece)
        return b"".join(pieces)


def _fault(path: str, error: OSError) -> MemoryFault:
    shown = _shown(path)
    if error.errno in (errno.ELOOP, errno.EMLINK):  # EMLINK: what FreeBSD says to O_NOFOLLOW
        return FileChangedError(f"{shown} became a link while it was opened, or its links loop")
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return NotAFileError(f"{shown} is a device, a pipe or a socket")
    if error.errno == errno.ENOENT:
        return FileUnreadableError(f"{shown} does not exist")
    return FileUnreadableError(f"{shown}: {error.strerror or error}")


def _shown(path: str) -> str:
    # A name that is no UTF-8 arrives with lone surrogates, which no JSON reply can carry.
    return path.encode("utf-8", "backslashreplace").decode()
