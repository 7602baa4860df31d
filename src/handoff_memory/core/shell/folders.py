"""The directories that a command line may be in while its commands run."""

import posixpath
from typing import Final

from handoff_memory.core.shell.words import Word

_MAX_FOLDERS: Final = 8
_MAX_PATH: Final = 4096


class Folders:
    """The directories that may be in effect; None where they cannot be known.

    After `cd x &&` only x is; after `cd x;` the old one may still be, since x may not exist.
    """

    def __init__(self, now: tuple[str, ...] | None = ("",), before: tuple[str, ...] = ()) -> None:
        self.now = now
        self.before = before

    def copy(self) -> "Folders":
        """The same directories, for what a subshell does with them."""
        return Folders(self.now, self.before)

    def enter(self, target: Word | None) -> None:
        """A `cd` ran; to the home directory where it has no target."""
        if self.now is None:
            return
        self.before = tuple(dict.fromkeys((*self.before, *self.now)))
        if target is None or not target.exact or target.stem is not None or target.text == "-":
            self.now = None
        else:
            found = tuple(dict.fromkeys(posixpath.join(at, target.text) for at in self.now))
            is_sane = len(self.before) <= _MAX_FOLDERS and all(len(at) <= _MAX_PATH for at in found)
            self.now = found if is_sane else None

    def end(self, operator: str) -> None:
        """A command ended in this operator."""
        if operator == "&&" or self.now is None:
            return
        both = tuple(dict.fromkeys((*self.now, *self.before)))
        self.now = both if len(both) <= _MAX_FOLDERS else None
        self.before = ()
