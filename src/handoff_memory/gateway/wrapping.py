"""Another stdio MCP server behind the governor: its process, and the threads that carry lines."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import IO, Final, NoReturn

from handoff_memory.app import Makers
from handoff_memory.gateway import process
from handoff_memory.gateway.traffic import Lane, Traffic
from handoff_memory.gateway.watch import Watch
from handoff_memory.settings import Settings

LEAVE_S: Final = 3.0  # for the server to end by itself, once its client has left
END_S: Final = 10.0  # for results that are still being kept
DRAIN_S: Final = 2.0  # for what a server wrote before it ended


def wrap(
    settings: Settings, command: Sequence[str], *, task_id: str | None, name: str | None
) -> NoReturn:
    """Run a server between this process's stdin and stdout, and end with its exit status.

    Raises:
        NotFoundError: There is no such task.
        NotStartedError: The command cannot be run.
    """
    if task_id is not None:
        asked = Watch(settings, task_id=task_id)
        try:
            asked.check_task()
        finally:
            asked.close()
    child = process.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.forward_signals(child)
    carrier = _Carrier(child, _lanes(settings, task_id), name)
    carrier.start()
    status = process.status_of(child)
    carrier.finish()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)  # a thread may wait for the client's next line, without end


class _Carrier:
    """Two threads that carry lines; what they meet is judged and kept on the lanes' own."""

    def __init__(
        self, child: subprocess.Popen[bytes], lanes: tuple[_Thread, _Thread], name: str | None
    ) -> None:
        assert child.stdin is not None  # noqa: S101 - both are pipes
        assert child.stdout is not None  # noqa: S101 - likewise
        self._child, self._lanes = child, lanes
        self._wire_in, self._wire_out = _wire()
        self._child_in, self._child_out = child.stdin, child.stdout
        lane, heavy = (Lane(thread.watch, thread.later) for thread in lanes)
        to_client, to_server = _sender(self._wire_out), _sender(self._child_in)
        self._traffic = Traffic(lane, heavy, to_client, to_server, name)
        self._answers = threading.Thread(target=self._carry_answers, name="server", daemon=True)

    def start(self) -> None:
        """Begin to carry."""
        quick = self._lanes[0]
        quick.later(quick.watch.prepare)  # while the server starts
        self._answers.start()
        threading.Thread(target=self._carry_requests, name="client", daemon=True).start()

    def finish(self) -> None:
        """Hand over to the client what the server wrote before it ended."""
        self._answers.join(DRAIN_S)
        for thread in self._lanes:
            thread.end()

    def _carry_requests(self) -> None:
        with suppress(OSError):
            for line in self._wire_in:
                self._traffic.from_client(line)
        self._lanes[0].later(self._close_child_in)  # behind the calls that are still judged
        process.end(self._child, LEAVE_S)

    def _carry_answers(self) -> None:
        with suppress(OSError):
            for line in self._child_out:
                self._traffic.from_server(line)
        process.end(self._child, LEAVE_S)

    def _close_child_in(self) -> None:
        with suppress(OSError):
            self._child_in.close()


class _Thread:
    """A guard on a thread of its own, where its database stays."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="governor")

    def later(self, work: Callable[[], object]) -> None:
        """Run work behind what waits already."""
        with suppress(RuntimeError):  # ended: the server is gone
            self._executor.submit(work)

    def end(self) -> None:
        """Finish what waits, and close; a client that does not read is not waited for."""
        wait([self._executor.submit(self.watch.close)], timeout=END_S)
        self._executor.shutdown(wait=False)


def _lanes(settings: Settings, task_id: str | None) -> tuple[_Thread, _Thread]:
    """Two guards of one session: for what is quick, and for what is big."""
    own = settings.session is None
    settings = settings._replace(session=settings.session or Makers().session())
    one, other = (_Thread(Watch(settings, task_id=task_id, steps_back=own)) for _ in range(2))
    return one, other


def _wire() -> tuple[IO[bytes], IO[bytes]]:
    """This process's stdin and stdout for the protocol alone; whoever prints meets stderr."""
    wire_in = os.fdopen(os.dup(0), "rb")
    wire_out = os.fdopen(os.dup(1), "wb")
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(silence, 1)
    os.close(silence)
    return wire_in, wire_out


def _sender(stream: IO[bytes]) -> Callable[[bytes], None]:
    lock = threading.Lock()

    def send(line: bytes) -> None:
        with lock, suppress(OSError, ValueError):  # who is gone reads nothing
            stream.write(line)
            stream.flush()

    return send
