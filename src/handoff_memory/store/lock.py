"""A lock between processes on a file beside the database, so that each gets its turn.

SQLite's own wait is not fair: who commits in a loop keeps the database, others wait for seconds.
The lock is advisory: who does not get it may still try `BEGIN IMMEDIATE`, which excludes by itself.

No platform waits for a file lock with a time limit, so waiting is trying again every `POLL_S`. That
alone starves others as well (measured: 4 s and more, once a commit takes 8 ms), because the lock is
free for microseconds only. So a waiter leaves a mark in the file, and a holder who finds one on
release stays away for one interval. Who is alone finds none and never waits.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

POLL_S: Final = 0.001
_MARK_AT: Final = 1  # byte 0 is what Windows locks, against reading too
_WAITING: Final = b"w"
_NOBODY: Final = b"-"
_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

if sys.platform == "win32":  # pragma: no cover - Windows only
    import msvcrt

    def _lock(fd: int) -> bool:
        os.lseek(fd, 0, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

    def _is_at(_fd: int, _path: str) -> bool:
        return True  # Windows deletes no file that is open like this
else:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - WASI only
        fcntl = None  # type: ignore[assignment]

    def _lock(fd: int) -> bool:
        if fcntl is None:  # pragma: no cover - WASI only
            raise OSError(errno.ENOSYS, "no file locks on this platform")
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)

    def _is_at(fd: int, path: str) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), os.lstat(path))
        except FileNotFoundError:
            return False


class ProcessLock:
    """Held by one process at a time; for one thread at a time, and not to be acquired twice.

    Attributes:
        unavailable: Why the file could not be used at the last `acquire`, None if it could.
    """

    def __init__(self, path: Path) -> None:
        self.unavailable: str | None = None
        self._path = str(path.absolute())
        self._fd: int | None = None
        self._opener = 0
        self._stay_away_until = 0.0

    def acquire(self, timeout_s: float) -> bool:
        """Whether the lock is held now. A file that cannot be used gives False at once."""
        deadline = time.monotonic() + timeout_s
        _sleep_until(min(self._stay_away_until, deadline))
        try:
            while not self._try():
                now = time.monotonic()
                if now >= deadline:
                    return False
                _sleep_until(min(now + POLL_S, deadline))
        except OSError as error:
            self.unavailable = f"{self._path}: {error.strerror}"
            self.close()
            return False
        self.unavailable = None
        return True

    def release(self) -> None:
        """Give the lock back; does nothing where this process does not hold it."""
        if self._fd is None or self._opener != os.getpid():
            return
        if _read_mark(self._fd) == _WAITING:
            _write_mark(self._fd, _NOBODY)
            self._stay_away_until = time.monotonic() + POLL_S
        with suppress(OSError):  # Windows, where it was not held
            _unlock(self._fd)

    def close(self) -> None:
        """Release the lock and close its file; it may be acquired again."""
        if self._fd is not None:
            self.release()  # a program being started keeps the descriptor for a moment still
            os.close(self._fd)
            self._fd = None

    @contextmanager
    def held(self, timeout_s: float) -> Iterator[bool]:
        """Acquire, give whether that succeeded, and release."""
        is_held = self.acquire(timeout_s)
        try:
            yield is_held
        finally:
            if is_held:
                self.release()

    def _try(self) -> bool:
        fd = self._opened()
        is_held = _lock(fd)
        if not _is_at(fd, self._path):
            self.close()  # the file was deleted, and who comes now locks a new one: so next time
            return False
        if not is_held:
            _write_mark(fd, _WAITING)
        return is_held

    def _opened(self) -> int:
        if self._fd is None or self._opener != os.getpid():
            self.close()  # in a forked child the descriptor, and its lock, are the parent's
            self._fd = os.open(self._path, _FLAGS, 0o600)
            self._opener = os.getpid()
        return self._fd


def _read_mark(fd: int) -> bytes:
    try:
        os.lseek(fd, _MARK_AT, os.SEEK_SET)
        return os.read(fd, 1)
    except OSError:
        return b""


def _write_mark(fd: int, mark: bytes) -> None:
    with suppress(OSError):  # a full disk, say: without marks turns are only less fair
        os.lseek(fd, _MARK_AT, os.SEEK_SET)
        os.write(fd, mark)


def _sleep_until(moment: float) -> None:
    remaining = moment - time.monotonic()
    if remaining > 0:
        time.sleep(remaining)
