"""The write-ahead log beside the database: how large it is, and when the disk has it.

`synchronous=FULL` syncs the log within COMMIT, while every other process waits for its turn. A sync
is of the whole file, so it may as well come after the turn was given back (docs/adr/0019).
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

# Elsewhere SQLite syncs within COMMIT: macOS has no fdatasync, and there only F_FULLFSYNC reaches
# the drive.
SYNCS_APART: Final = hasattr(os, "fdatasync")
_FLAGS: Final = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
_CHUNK_BYTES: Final = 1 << 20


class WriteAheadLog:
    """The log of a database that stays open meanwhile: so long nobody deletes it.

    Attributes:
        is_in_doubt: Whether the disk failed to take some of it.
    """

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + "-wal")
        self._fd: int | None = None
        self.is_in_doubt = False

    def open(self) -> None:
        """Open it if it is there: who has it open is told of a sync that fails."""
        if self._fd is None:
            with suppress(FileNotFoundError):
                self._fd = os.open(self._path, _FLAGS)

    def size_bytes(self) -> int:
        """How large it is, 0 if there is none."""
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def reaches_disk(self) -> bool:
        """Wait until the disk has all that any process wrote before; False where it may not have.

        After that it is in doubt: another sync could pass although what failed was dropped.
        """
        try:
            self._fd = os.open(self._path, _FLAGS) if self._fd is None else self._fd
            if not self.is_in_doubt:
                os.fdatasync(self._fd)  # type: ignore[attr-defined, unused-ignore]
        except OSError:
            self.is_in_doubt = True
        return not self.is_in_doubt

    def write_anew(self) -> None:
        """Give the disk all of it once more, from what the system still has in memory.

        Whoever calls keeps others from writing to it. If this fails, it stays in doubt.
        """
        if self._fd is None:
            return
        with suppress(OSError):
            for at in range(0, self.size_bytes(), _CHUNK_BYTES):
                os.pwrite(self._fd, os.pread(self._fd, _CHUNK_BYTES, at), at)  # type: ignore[attr-defined, unused-ignore]
            os.fdatasync(self._fd)  # type: ignore[attr-defined, unused-ignore]
            self.is_in_doubt = False

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
