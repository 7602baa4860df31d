"""What a command line comes apart into."""

from typing import NamedTuple


class Write(NamedTuple):
    """A path that a command writes.

    Attributes:
        path: Joined to the folder in effect; relative to where the shell began, or absolute.
        is_tree: All that lies below the path may be written too.
        ending: In what the paths of a tree end, where a wildcard tells: `rm build/*.pyc`.
    """

    path: str
    is_tree: bool = False
    ending: str = ""


class Command(NamedTuple):
    """One simple command.

    Attributes:
        argv: Its words, prefixes such as `sudo` taken off; an expansion stands as it was written.
        names: What a rule may call it: `git`, `git.commit`.
        writes: The paths that it writes.
        folders: The folders that may be in effect, relative to where the shell began, or absolute.
        writes_known: Whether `writes` is all that a rule could know.
        name_known: Whether `names` is; not so for `git $X`, or a git alias.
    """

    argv: tuple[str, ...]
    names: tuple[str, ...]
    writes: tuple[Write, ...] = ()
    folders: tuple[str, ...] = ("",)
    writes_known: bool = True
    name_known: bool = True


class Taken(NamedTuple):
    """What a command line came apart into; every command stands in the order of the text.

    Attributes:
        doubts: Why these may not be all commands that run, sorted.
    """

    commands: tuple[Command, ...]
    doubts: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the commands are all that may run."""
        return not self.doubts
