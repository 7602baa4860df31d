"""A client's file on disk: read whole, replaced at once with a copy beside it, or left alone."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from handoff_memory.core.errors import ClientFileError

_SUFFIX: Final = ".handoff-memory.bak"


def read(path: Path) -> bytes | None:
    """The bytes of a file, or None where there is none.

    Raises:
        ClientFileError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ClientFileError(f"{path} cannot be read: {error.strerror}") from error


def text_of(path: Path, content: bytes) -> str:
    """The text of a file; a byte order mark stays its first character.

    Raises:
        ClientFileError: It is no UTF-8.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ClientFileError(
            f"{path}, line {line}: no UTF-8; nothing was changed", way_out="Save it as UTF-8."
        ) from error


def backup_of(path: Path) -> Path:
    """Where the copy of a file lies: beside it, behind any link."""
    target = path.resolve()
    return target.with_name(target.name + _SUFFIX)


def keep(path: Path, content: bytes) -> Path | None:
    """Put a copy beside a file; gives where an older, different copy was moved to.

    Raises:
        ClientFileError: It cannot be written.
    """
    backup = backup_of(path)
    old = read(backup)
    if old == content:
        return None
    moved = None
    with _told(backup):
        if old is not None:
            moved = next(_numbered(backup))
            backup.rename(moved)
        _write(backup, content, like=path.resolve())
    return moved


def replace(path: Path, before: bytes | None, after: bytes) -> None:
    """Give a file other bytes, all at once, at the end of any link; its mode stays.

    Raises:
        ClientFileError: It cannot be written, or is not as it was when it was read.
    """
    target = path.resolve()
    with _told(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(target, after, like=target, expected=(before,))


def remove(path: Path, before: bytes, folder: str | None) -> None:
    """Take a file away that was made for our entry, and its folder if that is empty and so named.

    Raises:
        ClientFileError: It cannot be removed, or is not as it was when it was read.
    """
    target = path.resolve()
    with _told(path):
        _compare(target, before)
        target.unlink()
    if target.parent.name == folder:
        with suppress(OSError):  # others keep something there
            target.parent.rmdir()


def forget(path: Path, content: bytes) -> None:
    """Take the copy away where it says no more than the file itself."""
    backup = backup_of(path)
    if read(backup) == content:
        with suppress(OSError):
            backup.unlink()


def _write(
    target: Path, content: bytes, *, like: Path, expected: tuple[bytes | None, ...] = ()
) -> None:
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            found = like.stat()
            draft.chmod(found.st_mode & 0o7777)
            if hasattr(os, "chown"):
                with suppress(PermissionError):  # it is another person's file
                    os.chown(draft, found.st_uid, found.st_gid)
        for before in expected:
            _compare(target, before)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _compare(target: Path, before: bytes | None) -> None:
    if read(target) != before:
        raise ClientFileError(
            f"{target} was changed by another program meanwhile; it was left as it is",
            way_out="Run it again.",
        )


def _numbered(backup: Path) -> Iterator[Path]:
    number = 1
    while True:
        free = backup.with_name(f"{backup.name}.{number}")
        if not os.path.lexists(free):
            yield free
        number += 1


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ClientFileError(
            f"{path} cannot be written: {error.strerror}; it was left as it is",
            way_out="Correct its permissions and run it again.",
        ) from error
