"""Chunks of a descriptor: one for each that is asked for, whoever reads them."""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from handoff_memory.server.chunks import CHUNK_BYTES, chunks

WAIT_S = 20.0
A_MOMENT_S = 0.1

Ends = tuple[int, Callable[[bytes], object], Callable[[], object]]  # to read, to write, to close


def a_pipe() -> Ends:
    reading, writing = os.pipe()
    return reading, lambda text: os.write(writing, text), lambda: os.close(writing)


def a_socket() -> Ends:
    reading, writing = socket.socketpair()
    return reading.detach(), writing.sendall, writing.close


KINDS = [a_pipe, pytest.param(a_socket, marks=pytest.mark.skipif(os.name == "nt", reason="POSIX"))]


@pytest.fixture
def closed_later() -> Iterator[list[int]]:
    fds: list[int] = []
    yield fds
    for fd in fds:
        with suppress(OSError):
            os.close(fd)


class Sink:
    def __init__(self) -> None:
        self.got: asyncio.Queue[bytes] = asyncio.Queue()

    async def next(self) -> bytes:
        return await asyncio.wait_for(self.got.get(), WAIT_S)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_chunk_comes_for_each_that_is_asked_for(
    kind: Callable[[], Ends], closed_later: list[int]
) -> None:
    reading, write, close = kind()
    closed_later.append(reading)
    sink = Sink()
    read = chunks(reading, sink.got.put_nowait)
    write(b"one")
    await asyncio.sleep(A_MOMENT_S)
    assert sink.got.empty()  # nobody asked
    read.ask()
    assert await sink.next() == b"one"
    write(b"two")
    await asyncio.sleep(A_MOMENT_S)
    assert sink.got.empty()
    read.ask()
    assert await sink.next() == b"two"
    close()
    read.ask()
    assert await sink.next() == b""


@pytest.mark.parametrize("kind", KINDS)
async def test_who_asks_while_it_is_given_one_gets_the_next_until_the_end(
    kind: Callable[[], Ends], closed_later: list[int]
) -> None:
    reading, write, close = kind()
    closed_later.append(reading)
    sink = Sink()

    def deliver(chunk: bytes) -> None:
        sink.got.put_nowait(chunk)
        if chunk:
            read.ask()

    read = chunks(reading, deliver)
    read.ask()
    whole = bytes(range(256)) * 1000
    sending = asyncio.get_running_loop().run_in_executor(None, write_all, write, whole)
    met = b""
    while len(met) < len(whole):
        chunk = await sink.next()
        assert 0 < len(chunk) <= CHUNK_BYTES
        met += chunk
    await sending
    close()
    assert await sink.next() == b""
    assert met == whole


def write_all(write: Callable[[bytes], object], text: bytes) -> None:
    for at in range(0, len(text), 4096):
        write(text[at : at + 4096])


async def test_a_file_is_read_to_its_end(tmp_path: Path, closed_later: list[int]) -> None:
    path = tmp_path / "lines"
    whole = bytes(CHUNK_BYTES) + b"rest"
    path.write_bytes(whole)
    reading = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    closed_later.append(reading)
    sink = Sink()
    read = chunks(reading, sink.got.put_nowait)
    met = []
    for _ in range(3):
        read.ask()
        met.append(await sink.next())
    assert met == [whole[:CHUNK_BYTES], whole[CHUNK_BYTES:], b""]


@pytest.mark.skipif(os.name == "nt", reason="a terminal of POSIX")
async def test_a_terminal_that_hangs_up_has_ended(closed_later: list[int]) -> None:
    master, slave = os.openpty()
    closed_later.append(slave)
    sink = Sink()
    read = chunks(slave, sink.got.put_nowait)
    os.write(master, b"a line\n")
    read.ask()
    assert await sink.next() == b"a line\n"
    read.ask()
    os.close(master)
    assert await sink.next() == b""


async def test_a_descriptor_that_cannot_be_read_has_ended(
    tmp_path: Path, closed_later: list[int]
) -> None:
    reading = os.open(tmp_path / "written", os.O_WRONLY | os.O_CREAT)
    closed_later.append(reading)
    sink = Sink()
    chunks(reading, sink.got.put_nowait).ask()
    assert await sink.next() == b""
