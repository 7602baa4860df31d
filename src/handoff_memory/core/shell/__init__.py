"""A shell command taken apart: the simple commands that may run, and what each writes.

`take_apart` follows lists, pipes, subshells, substitutions, here-documents, prefixes such as
`sudo env X=1 timeout 5`, and the command lines in `sh -c "…"`; it keeps the directory that a `cd`
leaves for what follows. It runs nothing and looks at no file. What it cannot tell, such as a
variable as a command's name, `eval`, or Python code in an argument, is a doubt: for a rule that
blocks, a doubt counts as a match (governor §7).

What it leaves to others: links (the caller resolves the paths), and what a program does that is
started by its name (`make`, `./build.sh`), which only the observed edit shows.
"""

from __future__ import annotations

from typing import Final

from handoff_memory.core.shell.commands import Command, Taken, Write
from handoff_memory.core.shell.walk import Walk

__all__ = ["Command", "Taken", "Write", "take_apart"]

MAX_CHARS: Final = 1024 * 1024


def take_apart(text: str) -> Taken:
    """The simple commands of a POSIX shell's command line. Takes any text, in linear time."""
    if len(text) > MAX_CHARS:
        return Taken((), (f"longer than {MAX_CHARS} characters",))
    walk = Walk()
    if "\0" in text:
        walk.doubts.add("a NUL in the text")
    walk.text(text.replace("\0", "").replace("\r\n", "\n"))
    return Taken(tuple(walk.commands), tuple(sorted(walk.doubts)))
