"""MCP over this process's stdin and stdout, one client, one JSON object a line.

The SDK's own loop takes three worker-thread hops a message, drops what it cannot parse without a
word and dies of a signal. Here a short message takes none, every line that asks for an answer
gets one, and the client leaving, a signal or a dead parent all end in the same quiet exit.
What the messages mean is the SDK's business.
"""

import asyncio
import os
import select
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, NoReturn, Self

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import JSONRPCError as Error
from mcp_types import JSONRPCMessage as Message
from mcp_types import JSONRPCRequest as Request
from mcp_types import JSONRPCResponse as Response
from mcp_types import RequestId
from typing_extensions import override

from handoff_memory.server.chunks import chunks
from handoff_memory.server.lines import Lines, parse

MAX_UNSERVED_BYTES: Final = 1 << 20  # read, and not yet taken by the SDK
MAX_UNWRITTEN_BYTES: Final = 8 << 20  # answered, and not yet taken by the client
LINE_OVERHEAD_BYTES: Final = 200

FINISH_S: Final = 2.0
CANCEL_S: Final = 0.3
DRAIN_S: Final = 0.2
CLOSING_S: Final = 2.0
GIVING_UP_S: Final = 0.05
LEAVE_S: Final = 2.8
PARENT_POLL_S: Final = 1.0

OPEN_ENDED: Final = frozenset({"subscriptions/listen"})  # ends when the client does


async def serve_stdio(
    server: Server[Any], *, on_closing: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Serve one client on this process's stdin and stdout until it leaves or a signal asks to stop.

    Once in a process: the wire and the signals stay taken. Follow it with `leave()`.

    Args:
        server: Whose handlers answer.
        on_closing: Awaited on every way out, after the last request, for `CLOSING_S` at most.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    _stop_on_signals(loop, stop)
    wire_in, wire_out = divert()
    outbox = _Outbox(wire_out, stop)
    inbox = _Inbox(wire_in, outbox, stop)

    async def converse() -> None:
        try:
            await server.run(inbox, outbox, server.create_initialization_options())
        except Exception:
            if not stop.is_set():  # cancelled in a backlog, the SDK trips over its own streams
                raise
        await outbox.finished.wait()

    tasks = [asyncio.create_task(work) for work in (converse(), stop.wait(), _watch_parent(stop))]
    conversation, stopping, _ = tasks
    await asyncio.wait({conversation, stopping}, return_when=asyncio.FIRST_COMPLETED)
    leave_at = (inbox.ended_at or loop.time()) + LEAVE_S
    for task in tasks:
        task.cancel()
    outbox.hurry()
    await asyncio.wait({conversation}, timeout=CANCEL_S)
    await outbox.aclose()
    with suppress(TimeoutError):
        await asyncio.wait_for(outbox.finished.wait(), DRAIN_S)
    last = [conversation]
    if on_closing is not None:
        last.append(asyncio.ensure_future(on_closing()))
        await asyncio.wait(last[1:], timeout=min(CLOSING_S, leave_at - loop.time()))
        last[1].cancel()  # does nothing to one that is done
        await asyncio.wait(last[1:], timeout=GIVING_UP_S)
    for task in last:
        if task.done() and not task.cancelled():
            task.result()


def leave() -> NoReturn:
    """End the process with status 0, whatever its threads are blocked in.

    Call it inside the coroutine that `asyncio.run` runs: past that, asyncio waits for every
    executor thread and lets the next signal kill.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or there was none
            stream.flush()
    os._exit(0)


def divert() -> tuple[int, int]:
    """Take the wire: private copies of fd 0 and 1, which from here on are nothing and stderr."""
    wire_in, wire_out = os.dup(0), os.dup(1)  # not inherited by children
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(silence, 1)
    os.close(silence)
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - exists on Windows only

        from mcp.os.win32.utilities import rebind_std_handle_to_fd  # noqa: PLC0415 - likewise

        for fd in (0, 1):
            rebind_std_handle_to_fd(fd)
        for fd in (wire_in, wire_out):
            msvcrt.setmode(fd, os.O_BINARY)
    else:
        for fd in (wire_in, wire_out):
            os.set_blocking(fd, True)
    return wire_in, wire_out


def _stop_on_signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is None or (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):
            continue  # nohup asked for the second
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))


async def _watch_parent(stop: asyncio.Event) -> None:
    if sys.platform != "win32":  # there process ids tell nothing; the pipes do
        parent = os.getppid()
        while os.getppid() == parent:  # noqa: ASYNC110 - the kernel sends no word of it
            await asyncio.sleep(PARENT_POLL_S)
        stop.set()


def _takes_at_once(fd: int) -> Callable[[bytes], bool]:
    """Whether the kernel has room for a text now, so that writing it cannot block."""
    if sys.platform == "win32":
        return lambda _: False
    else:  # noqa: RET505 - mypy follows the platform only so
        poll = select.poll()
        poll.register(fd, select.POLLOUT)
        room = [(fd, select.POLLOUT)]
        return lambda text: len(text) <= select.PIPE_BUF and poll.poll(0) == room


class _Calls:
    """The requests that the SDK has taken and not yet settled."""

    def __init__(self) -> None:
        self._open: Counter[RequestId] = Counter()
        self.idle = asyncio.Event()
        self.idle.set()

    def begin(self, request: Request) -> SessionMessage:
        if request.method in OPEN_ENDED:
            return SessionMessage(request)

        async def unanswered() -> None:  # the SDK runs it for a request the client cancelled
            self.settle(request.id)

        self._open[request.id] += 1
        self.idle.clear()
        return SessionMessage(request, ServerMessageMetadata(on_request_unanswered=unanswered))

    def settle(self, request_id: RequestId | None) -> None:
        if request_id is None or request_id not in self._open:
            return
        self._open[request_id] -= 1
        if not self._open[request_id]:
            del self._open[request_id]
        if not self._open:
            self.idle.set()


class _Stream:
    """What the SDK asks of both its streams besides the messages."""

    async def aclose(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class _Outbox(_Stream):
    """The SDK's write stream: messages wait here for a thread that may block on a slow client."""

    def __init__(self, fd: int, stop: asyncio.Event) -> None:
        self._fd, self._stop, self._loop = fd, stop, asyncio.get_running_loop()
        self._takes_at_once = _takes_at_once(fd)
        self.calls = _Calls()
        self._changed = threading.Condition()
        self._texts: list[bytes] = []
        self._unwritten_bytes = 0
        self._closed = self._hurried = False
        self._room = asyncio.Event()
        self._room.set()
        self.finished = asyncio.Event()
        threading.Thread(target=self._write, name="stdout", daemon=True).start()

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        line = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        try:
            await self.post(line)
        finally:
            if isinstance(message, Response | Error):
                self.calls.settle(message.id)

    async def post(self, line: bytes) -> None:
        await self.room()
        with self._changed:
            if self._closed:
                raise anyio.ClosedResourceError
            text = self._write_at_once(line + b"\n")
            if not text:
                return
            self._texts.append(text)
            self._unwritten_bytes += len(text)
            if self._unwritten_bytes > MAX_UNWRITTEN_BYTES and not self._hurried:
                self._room.clear()
            self._changed.notify()

    def _write_at_once(self, text: bytes) -> bytes:
        """Spare the thread's wake-up, a third of a short call; what is left goes to the thread."""
        if not self._unwritten_bytes and self._takes_at_once(text):
            with suppress(OSError):  # the thread will meet it again
                return text[os.write(self._fd, text) :]
        return text

    async def room(self) -> None:
        """Wait until the client has read enough of what was written to it."""
        await self._room.wait()

    def hurry(self) -> None:
        """Let nothing wait for the client any more."""
        self._hurried = True
        self._room.set()

    @override
    async def aclose(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _write(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits for this thread
            try:
                while texts := self._take():
                    self._write_all(b"".join(texts))
            except OSError:  # the client stopped reading
                self._loop.call_soon_threadsafe(self._stop.set)
            self._loop.call_soon_threadsafe(self.finished.set)

    def _take(self) -> list[bytes]:
        with self._changed:
            self._changed.wait_for(lambda: self._texts or self._closed)
            texts, self._texts = self._texts, []
        return texts

    def _write_all(self, text: bytes) -> None:
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        with self._changed:
            was_full = self._unwritten_bytes > MAX_UNWRITTEN_BYTES
            self._unwritten_bytes -= len(text)
        if was_full:
            self._loop.call_soon_threadsafe(self._look_for_room)

    def _look_for_room(self) -> None:
        with self._changed:
            if self._unwritten_bytes <= MAX_UNWRITTEN_BYTES:
                self._room.set()


class _Inbox(_Stream):
    """The SDK's read stream: lines are read and parsed a bounded number of bytes ahead."""

    ended_at: float | None = None

    def __init__(self, fd: int, outbox: _Outbox, stop: asyncio.Event) -> None:
        self._stop, self._loop = stop, asyncio.get_running_loop()
        self._outbox, self._calls = outbox, outbox.calls
        self._unserved_bytes = 0
        self._waiting: deque[tuple[int, Message | bytes]] = deque()
        self._arrived = asyncio.Event()
        self._lines = Lines()
        self._chunks = chunks(fd, self._accept)
        self._chunks.ask()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> SessionMessage:
        while True:
            await self._outbox.room()  # who reads no answers gets no more work done
            if self._waiting:
                match self._next():
                    case bytes() as answer:
                        await self._outbox.post(answer)
                    case Request() as request:
                        return self._calls.begin(request)
                    case message:
                        return SessionMessage(message)
            elif self.ended_at is None:
                self._arrived.clear()
                await self._arrived.wait()
            else:  # the SDK cancels what is still running once it hears of the end
                await self._calls.idle.wait()
                raise anyio.EndOfStream

    def _next(self) -> Message | bytes:
        size_bytes, message = self._waiting.popleft()
        was_full = self._unserved_bytes >= MAX_UNSERVED_BYTES
        self._unserved_bytes -= size_bytes
        if was_full:
            self._ask()
        return message

    def _accept(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk):
            message = parse(line)
            if message is not None:
                size_bytes = len(line or b"") + LINE_OVERHEAD_BYTES
                self._unserved_bytes += size_bytes
                self._waiting.append((size_bytes, message))
        if chunk:
            self._ask()
        else:
            self.ended_at = self._loop.time()
            self._loop.call_later(FINISH_S, self._stop.set)
        self._arrived.set()

    def _ask(self) -> None:
        if self._unserved_bytes < MAX_UNSERVED_BYTES and self.ended_at is None:
            self._chunks.ask()
