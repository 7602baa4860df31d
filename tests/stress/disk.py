"""A disk that loses its power: what may be left of files whose writes were not all synced.

A write goes to the page cache. It is on the disk for certain once a sync that was entered after it
has returned; until then each of its sectors, and the size that the file got by it, may be there or
not, whatever became of the others and of later ones; a size without the bytes shows zeros. A sector
is never half there.

Where a sync fails, the kernel may drop what was pending: it stays in the page cache, as if it were
on the disk, and no later sync writes it. A sector that is written to again goes there whole.

Names are taken to be durable at once: who makes or deletes a file has that on the disk, and which
file a name means is never in doubt. That is more than every file system promises.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, NamedTuple

from stress.traced import Call, Step

SECTOR: Final = 512
_SYNCS: Final = frozenset({"fsync", "fdatasync"})


class Write(NamedTuple):
    """Bytes at a place; the file grows where they reach beyond its end."""

    at: int
    data: bytes

    def sectors(self) -> Iterator[slice]:
        for start in range(self.at - self.at % SECTOR, self.at + len(self.data), SECTOR):
            yield slice(start, start + SECTOR)


class Resize(NamedTuple):
    """The file ends there now."""

    size: int


class Image:
    """What is in a file, and what lies behind its end for lack of a size that was written."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        self.size = len(data)

    def take(self, change: Write | Resize) -> None:
        match change:
            case Write(at, data):
                self._reach(at + len(data))
                self.data[at : at + len(data)] = data
                self.size = max(self.size, at + len(data))
            case Resize(size):
                self.resize(size)

    def fetch(self, change: Write | Resize, cache: Image) -> None:
        """Have that as well, from a page cache that has it."""
        match change:
            case Write():
                for sector in change.sectors():
                    self.copy_sector(cache, sector)
                    self.size = max(self.size, min(sector.stop, cache.size))
            case Resize(size):
                self.resize(size)

    def resize(self, size: int) -> None:
        if size < self.size:
            del self.data[size:]
        self._reach(size)
        self.size = size

    def copy_sector(self, source: Image, sector: slice) -> None:
        self._reach(sector.stop)
        self.data[sector] = source.data[sector].ljust(SECTOR, b"\0")

    def content(self) -> bytes:
        return bytes(self.data[: self.size])

    def _reach(self, size: int) -> None:
        self.data.extend(bytes(max(0, size - len(self.data))))


class File:
    """A file: what is certainly on the disk, and the changes since.

    The page cache as it was before them is the same, but for what was dropped.
    """

    def __init__(self) -> None:
        self._durable = Image()
        self._cache = Image()
        self._pending: list[Write | Resize] = []
        self._settled = 0

    def change(self, change: Write | Resize) -> None:
        self._pending.append(change)

    def mark(self) -> int:
        """How many changes were made so far: a sync that is entered now covers them."""
        return self._settled + len(self._pending)

    def settle(self, mark: int) -> None:
        """A sync that was entered at the mark has returned."""
        count = max(0, mark - self._settled)
        for change in self._pending[:count]:
            self._cache.take(change)
            self._durable.fetch(change, self._cache)
        del self._pending[:count]
        self._settled += count

    def drop(self, chance: random.Random) -> None:
        """Of what is pending some has reached the disk, and the rest never will."""
        self._durable = Image(self.left(chance))
        for change in self._pending:
            self._cache.take(change)
        self._settled += len(self._pending)
        self._pending.clear()

    def left(self, chance: random.Random) -> bytes:
        """What may be found after a power cut: between nothing and all of what is pending."""
        share = chance.choice((0.0, 1.0, 0.5, chance.random()))
        is_torn = chance.random() < 0.5
        cached, left = (Image(image.content()) for image in (self._cache, self._durable))
        for change in self._pending:
            cached.take(change)
            is_whole = chance.random() < share
            for sector in change.sectors() if isinstance(change, Write) else ():
                if chance.random() < share if is_torn else is_whole:
                    left.copy_sector(cached, sector)
            if is_whole:
                left.resize(cached.size)
        return left.content()


class Disk:
    """Files by their paths, as a traced program leaves them."""

    def __init__(self, paths: set[str]) -> None:
        """Follow what happens to the files with those paths, empty or not there so far."""
        self._paths = paths
        self._files: dict[str, File] = {}
        self._syncing: dict[int, tuple[File, int]] = {}

    def take(self, step: Step) -> None:
        """Let that happen to the disk; a call that failed changes nothing."""
        call, result = step
        if call.name in {"unlink", "unlinkat"}:
            if result == 0:
                self._files.pop(call.texts[0].decode(), None)
        elif call.path in self._paths:
            file = self._files.setdefault(call.path, File())
            if call.name in _SYNCS:
                self._sync(file, step)
            elif result is not None and result >= 0:
                file.change(_changed(call, result))
        elif any(text.decode(errors="replace") in self._paths for text in call.texts):
            raise NotImplementedError(call)

    def drop(self, path: str, chance: random.Random) -> None:
        """A sync of that file fails; those that are in progress come before what it drops."""
        dropping = self._files[path]
        for file, mark in self._syncing.values():
            if file is dropping:
                file.settle(mark)
        dropping.drop(chance)

    def left(self, chance: random.Random) -> dict[str, bytes]:
        """What each file may hold after a power cut."""
        return {path: file.left(chance) for path, file in self._files.items()}

    def _sync(self, file: File, step: Step) -> None:
        if step.result is None:
            self._syncing[step.call.pid] = file, file.mark()
        else:
            file, mark = self._syncing.pop(step.call.pid)
            if step.result == 0:
                file.settle(mark)


def _changed(call: Call, result: int) -> Write | Resize:
    match call:
        case Call(name="pwrite64", texts=(data,), numbers=(_, at)):
            return Write(at, data[:result])
        case Call(name="ftruncate", numbers=(size,)):
            return Resize(size)
        case _:
            raise NotImplementedError(call)
