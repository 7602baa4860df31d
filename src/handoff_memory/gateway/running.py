"""A shell command behind the governor, for clients whose shell output no hook can replace."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Final

from handoff_memory.gateway import process
from handoff_memory.gateway.watch import Watch
from handoff_memory.guard import Call, Outcome
from handoff_memory.settings import Settings

TOOL: Final = "Bash"  # what rules and hooks call a shell
RECALL: Final = "handoff-memory recall"
STDERR_HEAD: Final = b"--- stderr ---\n"
# What is written to stderr passes up to this size; a longer text is kept below the output.
_STDERR_BYTES: Final = 2_000
_ERROR_BYTES: Final = 4_000

Command = Sequence[str] | str


def run(settings: Settings, command: Command, *, agent: str, task_id: str | None) -> int:
    """Run a command, or a text of the shell, to its end.

    Args:
        settings: Which memory, and as whom.
        command: Program and arguments, or the text.
        agent: Who runs it, where the settings do not say.
        task_id: A task by name, else the one that the agent works at.

    Returns:
        The command's exit status; 128 and the signal's number where one ended it; 125 where it
        was refused.

    Raises:
        NotFoundError: There is no such task.
        NotStartedError: The command cannot be run.
    """
    # One session for all that an agent runs so: what it was shown before, it has in its prompt.
    session = settings.session or f"run-{settings.agent or agent}"
    settings = settings._replace(session=session)
    watch = Watch(settings, task_id=task_id, announced=agent, recall=RECALL)
    call = Call(TOOL, {"command": command if isinstance(command, str) else _joined(command)})
    try:
        watch.check_task()
        verdict = watch.before(call)
        if verdict.decision in {"block", "ask"}:
            _tell(verdict.reason)
            return process.REFUSED
        if verdict.decision == "warn":
            _tell(verdict.reason)
        if sys.stdout.isatty():
            return _live(watch, call, command)
        limit = settings.limits.payload_bytes
        return _collected(watch, call, command, limit)
    finally:
        watch.close()


def _live(watch: Watch, call: Call, command: Command) -> int:
    """A person looks on: everything passes as it comes, and nothing is kept."""
    child = process.start(command)
    process.forward_signals(child)
    status = process.status_of(child)
    _tell(watch.after(call, Outcome(exit_status=status)).note)
    return status


def _collected(watch: Watch, call: Call, command: Command, limit: int) -> int:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        both = _lead_to_the_same(1, 2)
        child = process.start(command, stdout=out, stderr=subprocess.STDOUT if both else err)
        process.forward_signals(child)
        status = process.status_of(child)
        is_long = _size_of(err) > _STDERR_BYTES
        data = _read(out, limit)
        if is_long:
            data = b"\n".join(
                filter(None, (data.removesuffix(b"\n"), STDERR_HEAD + _read(err, limit)))
            )
        error = None
        if status:
            said = _read(err, limit) or data
            told = said[-_ERROR_BYTES:].decode("utf-8", "replace")
            error = f"exit status {status}\n{told}"
        kept = watch.after(call, Outcome(data or None, error, status))
        if kept.stub is None:
            _pass(out, sys.stdout.buffer)
        else:
            _print(kept.stub)
        if kept.stub is None or not is_long:
            _pass(err, sys.stderr.buffer)
        _tell(kept.note)
    return status


def _joined(command: Sequence[str]) -> str:
    return subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command)


def _lead_to_the_same(one: int, other: int) -> bool:
    """Whether two descriptors are one file, so that the order of what is written to both counts."""
    with suppress(OSError):
        return os.path.sameopenfile(one, other)
    return False


def _size_of(file: IO[bytes]) -> int:
    return file.seek(0, os.SEEK_END)


def _read(file: IO[bytes], limit: int) -> bytes:
    """What a file holds; of one beyond the limit both ends, and a line that says so."""
    size = _size_of(file)
    file.seek(0)
    if size <= limit:
        return file.read()
    head = file.read(limit // 2)
    file.seek(size - limit // 2)
    return head + f"\n--- {size - limit:,} bytes left out ---\n".encode() + file.read()


def _pass(file: IO[bytes], stream: IO[bytes]) -> None:
    file.seek(0)
    with suppress(BrokenPipeError):  # nobody reads it; the command ended as it did
        shutil.copyfileobj(file, stream)
        stream.flush()


def _print(text: str) -> None:
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()


def _tell(text: str | None) -> None:
    if text:
        lead = "" if text.startswith("handoff-memory") else "handoff-memory: "
        sys.stderr.write(f"{lead}{text}\n")
        sys.stderr.flush()
