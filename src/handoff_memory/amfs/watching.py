"""Watching a path: the journal is asked for what is new, and a thread calls back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from amfs_core.abc import WatchHandle
from amfs_core.exceptions import AMFSError
from amfs_core.models import MemoryEntry
from amfs_core.scope import covers

from handoff_memory.store.engine import Row

_POLL_S: Final = 0.1

logger = logging.getLogger(__name__)


def watch(
    path: str,
    callback: Callable[[MemoryEntry], None],
    *,
    after: int,
    since: Callable[[int], Sequence[Row]],
    version: Callable[[str, str, int], MemoryEntry | None],
) -> WatchHandle:
    """Call back for each version that is written below a path, in the order of the journal.

    Args:
        path: An entity path; those below it are watched, too.
        callback: Called from a thread of this watch; its errors are logged and end nothing.
        after: Seq after which what is written is new.
        since: What was written after a seq.
        version: One version of an entry.
    """
    stopped = threading.Event()

    def look(last: int) -> int:
        for row in since(last):
            last = row["seq"]
            if not stopped.is_set() and covers(path, row["path"]):
                entry = version(row["path"], row["key"], row["version"])
                if entry is not None:
                    _call(callback, entry)
        return last

    def poll() -> None:
        last = after
        while not stopped.wait(_POLL_S):
            try:
                last = look(last)
            except AMFSError:
                logger.warning("watch of %s: the database cannot be read", path, exc_info=True)

    threading.Thread(target=poll, name=f"amfs-watch {path}", daemon=True).start()
    return WatchHandle(stopped.set)


def _call(callback: Callable[[MemoryEntry], None], entry: MemoryEntry) -> None:
    try:
        callback(entry)
    except Exception:  # the caller's own code, on our thread
        logger.exception("the callback of a watch failed")
