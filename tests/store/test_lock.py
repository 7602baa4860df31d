from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from handoff_memory.store.lock import POLL_S, ProcessLock

pytestmark = pytest.mark.processes

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX files")
linux_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can mount"
)

# A process that says when it holds the lock, and gives it back at the next line or when it ends.
HOLDER = """
import sys
from pathlib import Path
from handoff_memory.store.lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
print("started", flush=True)
print(lock.acquire(30), flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.readline()
"""
# Takes turns until it had its share; each turn is a line in the log, forced to the disk.
TURNS = """
import os, sys
from pathlib import Path
from handoff_memory.store.lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND)
print("started", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[3])):
    with lock.held(30) as is_held:
        assert is_held
        os.write(log, sys.argv[4].encode())
        os.fsync(log)
"""
# Acquires and starts a program that stays until its input ends.
STARTER = """
import subprocess, sys
from pathlib import Path
from handoff_memory.store.lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
assert lock.acquire(0)
program = "import sys; print('started', flush=True); sys.stdin.read()"
subprocess.run([sys.executable, "-c", program], close_fds=False)
"""
FORK = """
import os, sys
from pathlib import Path
from handoff_memory.store.lock import ProcessLock
path = Path(sys.argv[1])
lock = ProcessLock(path)
assert lock.acquire(0)
child = os.fork()
if child == 0:
    lock.release()
    print(lock.acquire(0), ProcessLock(path).acquire(0), flush=True)
    lock.close()
    os._exit(0)
os.waitpid(child, 0)
print(ProcessLock(path).acquire(0))
lock.release()
print(ProcessLock(path).acquire(0))
"""


class Program:
    """A Python process that is talked to by lines."""

    def __init__(self, code: str, *arguments: object) -> None:
        command = [sys.executable, "-c", code, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@pytest.fixture
def start() -> Iterator[Callable[..., Program]]:
    with ExitStack() as stack:

        def started(code: str, *arguments: object) -> Program:
            program = Program(code, *arguments)
            stack.enter_context(program.process)
            stack.callback(program.process.kill)
            return program

        yield started


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db.lock"


@pytest.fixture
def lock(path: Path) -> Iterator[ProcessLock]:
    lock = ProcessLock(path)
    yield lock
    lock.close()


@pytest.fixture
def other(path: Path) -> Iterator[ProcessLock]:
    other = ProcessLock(path)
    yield other
    other.close()


def test_a_lock_that_another_process_holds_is_not_had_in_time(
    path: Path, lock: ProcessLock, start: Callable[..., Program]
) -> None:
    holder = start(HOLDER, path)
    assert [holder.says(), holder.says()] == ["started", "True"]

    began = time.monotonic()

    assert not lock.acquire(0)
    assert not lock.acquire(0.05)
    assert time.monotonic() - began >= 0.05
    assert lock.unavailable is None


def test_a_waiting_process_gets_the_lock_when_it_is_released(
    path: Path, lock: ProcessLock, start: Callable[..., Program]
) -> None:
    holder = start(HOLDER, path)
    assert [holder.says(), holder.says()] == ["started", "True"]

    holder.go_on()

    assert lock.acquire(30)
    assert holder.says() == "released"


def test_the_lock_of_a_killed_process_is_free(
    path: Path, lock: ProcessLock, start: Callable[..., Program]
) -> None:
    holder = start(HOLDER, path)
    assert [holder.says(), holder.says()] == ["started", "True"]

    holder.process.kill()
    holder.process.wait()

    assert lock.acquire(0)


def test_two_locks_in_one_process_exclude_each_other(lock: ProcessLock, other: ProcessLock) -> None:
    assert lock.acquire(0)
    assert not other.acquire(0)

    lock.release()

    assert other.acquire(0)
    assert not lock.acquire(0)


def test_held_says_whether_and_gives_back_only_what_it_had(
    lock: ProcessLock, other: ProcessLock
) -> None:
    with lock.held(0) as is_held:
        assert is_held
        with other.held(0) as is_held_too:
            assert not is_held_too
        assert not other.acquire(0)

    assert other.acquire(0)


def test_held_gives_back_after_an_error(lock: ProcessLock, other: ProcessLock) -> None:
    with pytest.raises(ZeroDivisionError), lock.held(0):
        raise ZeroDivisionError

    assert other.acquire(0)


def test_releasing_and_closing_what_is_not_held_does_nothing(
    lock: ProcessLock, other: ProcessLock
) -> None:
    lock.release()
    lock.close()
    assert lock.acquire(0)
    lock.close()
    lock.close()
    assert other.acquire(0)

    lock.release()

    assert not lock.acquire(0)


def test_nothing_is_made_before_the_first_acquire(path: Path, lock: ProcessLock) -> None:
    lock.release()

    assert not path.exists()


@posix
def test_the_file_is_for_its_owner_only(path: Path, lock: ProcessLock) -> None:
    lock.acquire(0)

    assert path.stat().st_mode & 0o777 == 0o600


@posix
def test_a_lock_file_that_was_deleted_is_made_again(
    path: Path, lock: ProcessLock, other: ProcessLock
) -> None:
    assert lock.acquire(0)
    assert not other.acquire(0)

    path.unlink()
    assert other.acquire(30)  # nothing excludes it from the one that holds the old file
    lock.release()

    assert not lock.acquire(0.05)  # but from now on both lock the same file
    other.release()
    assert lock.acquire(0)


@posix
def test_a_lock_file_that_was_replaced_is_opened_again(
    path: Path, lock: ProcessLock, other: ProcessLock
) -> None:
    assert lock.acquire(0)
    lock.release()
    path.rename(path.with_name("aside"))
    assert other.acquire(0)

    assert not lock.acquire(0.05)
    other.release()
    assert lock.acquire(0)


@posix
def test_a_program_that_the_holder_started_does_not_keep_the_lock(
    path: Path, lock: ProcessLock, start: Callable[..., Program]
) -> None:
    holder = start(STARTER, path)
    assert holder.says() == "started"

    holder.process.kill()
    holder.process.wait()

    assert lock.acquire(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_neither_shares_nor_releases_the_lock(
    path: Path, start: Callable[..., Program]
) -> None:
    forking = start(FORK, path)

    assert forking.says() == "False False"  # in the child
    assert forking.says() == "False"  # in the parent, while it holds the lock
    assert forking.says() == "True"


def test_without_its_folder_the_lock_is_unavailable_and_says_why(
    path: Path, lock: ProcessLock
) -> None:
    missing = path.parent / "missing"
    astray = ProcessLock(missing / path.name)
    began = time.monotonic()

    assert not astray.acquire(30)
    assert time.monotonic() - began < 10
    assert astray.unavailable == f"{missing / path.name}: No such file or directory"

    missing.mkdir()
    assert astray.acquire(0)
    assert astray.unavailable is None
    astray.close()


@posix
def test_a_symlink_in_the_place_of_the_lock_file_is_not_followed(
    path: Path, lock: ProcessLock
) -> None:
    path.symlink_to("elsewhere")

    with lock.held(30) as is_held:
        assert not is_held

    assert lock.unavailable is not None
    assert not path.with_name("elsewhere").exists()


@posix
def test_a_folder_removed_while_the_lock_is_held_makes_it_unavailable(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    lock = ProcessLock(folder / "memory.db.lock")
    with lock.held(0) as is_held:
        assert is_held
        (folder / "memory.db.lock").unlink()
        folder.rmdir()

    assert not lock.acquire(30)
    assert lock.unavailable is not None


@linux_root
def test_a_read_only_file_system_makes_the_lock_unavailable() -> None:
    with tempfile.TemporaryDirectory() as point:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "none", point],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"cannot mount here: {done.stderr.strip()}")
        try:
            lock = ProcessLock(Path(point) / "memory.db.lock")

            assert not lock.acquire(30)
            assert lock.unavailable is not None
            assert lock.unavailable.endswith("Read-only file system")
        finally:
            subprocess.run(["umount", "-l", point], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="opens a pipe for reading and writing")
def test_a_file_that_holds_no_marks_still_locks(
    path: Path, lock: ProcessLock, other: ProcessLock
) -> None:
    os.mkfifo(path)  # as on a full disk, no mark can be left in it

    assert lock.acquire(0)
    assert not other.acquire(0.01)
    lock.release()

    assert other.acquire(0)


@posix
def test_a_holder_that_is_waited_for_stays_away_for_a_moment(
    path: Path, lock: ProcessLock, other: ProcessLock
) -> None:
    assert lock.acquire(0)
    assert not other.acquire(0)

    began = time.monotonic()
    lock.release()
    assert path.read_bytes()[1:] == b"-"
    assert lock.acquire(30)

    assert time.monotonic() - began >= POLL_S


def test_four_processes_in_a_loop_get_about_the_same_number_of_turns(
    path: Path, tmp_path: Path, start: Callable[..., Program]
) -> None:
    log = tmp_path / "log"
    log.touch()
    turns = 200
    programs = [start(TURNS, path, log, turns, name) for name in "abcd"]
    assert [program.says() for program in programs] == ["started"] * 4

    for program in programs:
        program.go_on()
    assert [program.process.wait() for program in programs] == [0] * 4

    order = log.read_text()
    assert Counter(order) == dict.fromkeys("abcd", turns)
    first_to_finish = min(order.rindex(name) for name in "abcd")
    so_far = Counter(order[: first_to_finish + 1])
    assert min(so_far[name] for name in "abcd") >= turns // 4
