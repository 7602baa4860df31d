"""What strace saw a program do to files: each call when it was entered and when it returned.

What the calls leave on a disk is for `disk` to say.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

# All that can alter a file or its name, so that what nobody expected is seen as well.
_CALLS: Final = (
    "write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,copy_file_range,sendfile,"
    "fsync,fdatasync,sync_file_range,msync,unlink,unlinkat,rename,renameat,renameat2"
)
STRACE: Final = (
    *("strace", "--follow-forks", "--seccomp-bpf", "--quiet=all", "--signal=none"),
    *("--decode-fds=path", "--strings-in-hex=all", "--string-limit=16777216", f"--trace={_CALLS}"),
)
_RESUMED: Final = "<... "
_UNFINISHED: Final = " <unfinished ...>"
_RESULT = re.compile(r"= (-?\d+)")
_DESCRIPTOR = re.compile(r"(-?\w+)<(.*)>(\(deleted\))?")


class Call(NamedTuple):
    """A system call.

    Attributes:
        pid: The thread that made it.
        name: Of the call.
        fd: The first descriptor, as written: a number, or AT_FDCWD.
        path: What that descriptor was open on; empty once nobody can find it by that name.
        texts: Its strings.
        numbers: Its numbers.
    """

    pid: int
    name: str
    fd: str
    path: str
    texts: tuple[bytes, ...]
    numbers: tuple[int, ...]


class Step(NamedTuple):
    """A call that was entered, or that returned.

    Attributes:
        call: Equal in both steps of a call.
        result: What it returned, -1 for an error; None while it has not returned.
    """

    call: Call
    result: int | None = None


def why_not() -> str | None:
    """Why nothing can be traced here, None where it can."""
    if shutil.which(STRACE[0]) is None:
        return "strace is not installed"
    probe = subprocess.run(
        [*STRACE, "--output=/dev/null", "true"], capture_output=True, text=True, check=False
    )
    return f"strace may not trace here: {probe.stderr.strip()}" if probe.returncode else None


def steps(trace: Iterable[str]) -> Iterator[Step]:
    """Each step in its order, of the lines that `STRACE` wrote to its output."""
    begun: dict[str, Call] = {}
    for line in trace:
        pid, _, text = line.strip().partition(" ")
        text = text.lstrip()
        if text.startswith(_RESUMED):
            call, returned = begun.pop(pid), text
        else:
            name, _, text = text.partition("(")
            # In hex no string and no path holds a bracket, a comma or a quote.
            arguments, _, returned = text.removesuffix(_UNFINISHED).partition(") ")
            call = _call(int(pid), name, arguments)
            yield Step(call)
        if text.endswith(_UNFINISHED):
            begun[pid] = call
        elif result := _RESULT.search(returned):
            yield Step(call, int(result[1]))


def _call(pid: int, name: str, arguments: str) -> Call:
    fd = path = ""
    texts, numbers = [], []
    for argument in arguments.split(", "):
        if argument.startswith('"'):
            texts.append(_unhexed(argument))
        elif descriptor := _DESCRIPTOR.fullmatch(argument):
            if not fd:
                fd, path, is_gone = descriptor.groups()
                path = "" if is_gone else _unhexed(path).decode()
        elif argument.lstrip("-").isdecimal():
            numbers.append(int(argument))
    return Call(pid, name, fd, path, tuple(texts), tuple(numbers))


def _unhexed(text: str) -> bytes:
    assert not text.endswith("..."), "the trace was cut short"
    return bytes.fromhex(text.strip('"').replace("\\x", ""))
