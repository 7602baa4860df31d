import asyncio
import io
import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters

from handoff_memory.server.lines import MAX_LINE_BYTES, outline, parse

pytestmark = pytest.mark.processes

ECHO_SERVER = [sys.executable, "-W", "error", str(Path(__file__).with_name("echo_server.py"))]
LAUNCHER = "import subprocess, sys; subprocess.run(sys.argv[1:])"
WAIT_S = 20.0
LEAVE_S = 3.0
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and parents of POSIX")

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Wire:
    """Both ends of a server process, with every wait bounded."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        self.stdin = present(self.process.stdin)
        self.stdout = self._follow(present(self.process.stdout))
        self.stderr = self._follow(present(self.process.stderr))

    def _follow(self, stream: IO[bytes]) -> queue.SimpleQueue[bytes]:
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

        def follow() -> None:
            with io.BufferedReader(stream) as buffered:  # type: ignore[type-var]
                for line in buffered:
                    lines.put(line)
            lines.put(b"")

        threading.Thread(target=follow, daemon=True).start()
        return lines

    def send(self, *messages: bytes | dict[str, Any]) -> None:
        lines = (m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages)
        text = memoryview(b"".join(line + b"\n" for line in lines))
        while text:
            text = text[self.stdin.write(text) :]

    def reply(self) -> Any:
        return json.loads(self.stdout.get(timeout=WAIT_S))

    def log(self, expected: bytes) -> None:
        assert self.stderr.get(timeout=WAIT_S).strip() == expected

    def ask(self, *messages: bytes | dict[str, Any]) -> Any:
        self.send(*messages)
        return self.reply()

    def rest(self, lines: queue.SimpleQueue[bytes]) -> list[bytes]:
        return list(iter(lambda: lines.get(timeout=WAIT_S), b""))

    def ends(self) -> list[bytes]:
        """What it still logs; it has left by itself, in time and in good order."""
        assert self.process.wait(LEAVE_S) == 0
        return [line.strip() for line in self.rest(self.stderr)]


def present(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def call(request_id: int | str, name: str, **arguments: object) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, "_meta": ENVELOPE}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def text(reply: dict[str, Any]) -> str:
    return str(reply["result"]["content"][0]["text"])


def error(reply: dict[str, Any]) -> tuple[object, int]:
    return reply["id"], reply["error"]["code"]


def start(*arguments: str, launcher: tuple[str, ...] = ()) -> Wire:
    wire = Wire([*launcher, *ECHO_SERVER, *arguments])
    assert text(wire.ask(call("first", "echo", text="hello"))) == "hello"
    return wire


@pytest.fixture
def begin() -> Iterator[Callable[..., Wire]]:
    wires: list[Wire] = []

    def begin(*arguments: str, **options: Any) -> Wire:
        wires.append(start(*arguments, **options))
        return wires[-1]

    yield begin
    for wire in wires:
        wire.process.kill()
        wire.process.wait(WAIT_S)
        wire.stdin.close()


@pytest.fixture
def wire(begin: Callable[..., Wire]) -> Wire:
    return begin()


@pytest.fixture(scope="module")
def shared() -> Iterator[Wire]:
    """One server for the tests that leave it as it was: that they can share it is the point."""
    wire = start()
    yield wire
    wire.process.kill()
    wire.process.wait(WAIT_S)
    wire.stdin.close()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdk_client_is_served_in_both_eras(mode: Any) -> None:
    parameters = StdioServerParameters(command=ECHO_SERVER[0], args=ECHO_SERVER[1:])

    async with asyncio.timeout(WAIT_S), Client(parameters, mode=mode) as client:
        tools = (await client.list_tools()).tools
        replies = await asyncio.gather(
            *(client.call_tool("echo", {"text": f"n° {n} 🦉\u2028"}) for n in range(50))
        )

    assert [tool.name for tool in tools] == ["echo"]
    assert [r.content[0].text for r in replies] == [f"n° {n} 🦉\u2028" for n in range(50)]  # type: ignore[union-attr]


def test_a_reply_is_one_line_of_utf_8_json(shared: Wire) -> None:
    shared.send(call(1, "echo", text="two\nlines, é 🦉 \u2028"))

    line = shared.stdout.get(timeout=WAIT_S)

    assert line.endswith(b"\n")
    assert "é 🦉 \u2028".encode() in line
    assert text(json.loads(line)) == "two\nlines, é 🦉 \u2028"


def test_prints_and_children_miss_the_wire(wire: Wire) -> None:
    assert text(wire.ask(call(1, "litter"))) == "child read 0 bytes"
    assert text(wire.ask(call(2, "echo", text="still clean"))) == "still clean"
    wire.stdin.close()
    assert wire.ends() == [b"stray print", b"stray child", b"closed"]


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b'{"jsonrpc":"2.0","id":5,"method":',
        b'{"jsonrpc":"2.0","id":5,"method":"ping"} trailing',
        b'{"jsonrpc":"2.0","id":5,"method":"p\xffing"}',
        b'{"jsonrpc":"2.0","id":5,"method":"\xed\xa0\xbd"}',
        b"\x00",
    ],
)
def test_what_is_not_json_in_utf_8_is_a_parse_error(shared: Wire, line: bytes) -> None:
    assert error(shared.ask(line)) == (None, -32700)
    assert text(shared.ask(call(1, "echo", text="on"))) == "on"


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b"[]", None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None),
        (b"123", None),
        (b'"id"', None),
        (b"null", None),
        (b"{}", None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', None),
        (b'{"id":7,"method":"ping"}', 7),
        (b'{"jsonrpc":"1.0","id":"seven","method":"ping"}', "seven"),
        (b'{"jsonrpc":"2.0","id":-7}', -7),
        (b'{"jsonrpc":"2.0","method":{"id":1},"id":9}', 9),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}', 3),
        (b'{"jsonrpc":"2.0","id":3,"result":5}', None),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(
    shared: Wire, line: bytes, request_id: object
) -> None:
    assert error(shared.ask(line)) == (request_id, -32600)
    assert text(shared.ask(call(1, "echo", text="on"))) == "on"


@pytest.mark.parametrize(
    "value", [b'"\\ud83d"', b'"\\ude00\\ud83d"', b"[" * 5000 + b"]" * 5000, b"1" * 5000]
)
def test_json_that_the_parser_refuses_is_answered_by_its_id(shared: Wire, value: bytes) -> None:
    nested = b'{"id":1,"deep":{"id":"two"},"text":"\\"id\\":3,","of":%s,"end":{"id":4}}' % value
    before = b'{"jsonrpc":"2.0","id":"it \\"is\\" me","method":"tools/call","params":%s}' % nested
    after = b'{"params":%s,"method":"id","jsonrpc":"2.0", "id" : 42 }' % nested

    assert error(shared.ask(before)) == ('it "is" me', -32600)
    assert error(shared.ask(after)) == (42, -32600)


def test_the_refusal_of_a_lone_surrogate_and_of_depth_says_what_to_do(shared: Wire) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":%s}}'

    lone = shared.ask(line % b'"\\ud83d"')["error"]["message"]
    deep = shared.ask(line % (b"[" * 5000 + b"]" * 5000))["error"]["message"]

    assert "send whole characters" in lone
    assert "flatten it" in deep


def test_an_id_that_is_half_a_character_is_answered_with_null(shared: Wire) -> None:
    assert error(shared.ask(b'{"jsonrpc":"2.0","id":"\\ud83d","method":"x"}')) == (None, -32600)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"1.0","method":"notifications/x"}',
        b'{"jsonrpc":"2.0","method":5}',
        b'{"jsonrpc":"2.0","method":"notifications/x","params":[]}',
        b'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\\ud83d"}}',
        b'{"jsonrpc":"2.0","method":"notifications/x","params":{"id":5}}',
        b"",
        b" \t\r",
    ],
)
def test_bad_notifications_and_blank_lines_get_no_reply(shared: Wire, line: bytes) -> None:
    assert text(shared.ask(line, call(1, "echo", text="next"))) == "next"


def test_lines_may_end_in_crlf(shared: Wire) -> None:
    assert text(shared.ask(json.dumps(call(1, "echo", text="dos")).encode() + b"\r")) == "dos"


def test_a_line_may_come_in_pieces_and_the_last_without_its_newline(wire: Wire) -> None:
    whole = json.dumps(call(1, "echo", text="joined")).encode()

    wire.stdin.write(whole[:20])
    wire.stdin.write(whole[20:])
    wire.stdin.close()

    assert text(wire.reply()) == "joined"
    assert wire.ends() == [b"closed"]


@POSIX
def test_a_line_over_the_limit_is_refused_unread_and_the_next_one_served(wire: Wire) -> None:
    before = int(text(wire.ask(call(1, "peak memory"))))
    wire.send(b"x" * (5 * MAX_LINE_BYTES))
    assert error(wire.reply()) == (None, -32600)
    after = int(text(wire.ask(call(2, "peak memory"))))

    assert after - before < 3 * MAX_LINE_BYTES


def test_a_line_just_under_the_limit_is_served(wire: Wire) -> None:
    empty = len(json.dumps(call(1, "echo", text="")))
    longest = "x" * (MAX_LINE_BYTES - empty)

    assert len(text(wire.ask(call(1, "echo", text=longest)))) == len(longest)
    assert error(wire.ask(call(2, "echo", text=longest + "x"))) == (None, -32600)


def test_a_result_that_is_no_utf_8_fails_alone(wire: Wire) -> None:
    reply = wire.ask(call(1, "half a character"))

    assert reply["id"] == 1
    assert "error" in reply
    assert text(wire.ask(call(2, "echo", text="on"))) == "on"


def test_a_client_that_reads_late_gets_every_reply_and_blocks_nobody(wire: Wire) -> None:
    size = 300_000
    wire.send(*(call(n, "long", size_bytes=size) for n in range(100)))
    replies = [wire.reply() for _ in range(100)]

    assert {reply["id"] for reply in replies} == set(range(100))
    assert all(len(text(reply)) == size for reply in replies)


def test_a_client_that_reads_nothing_does_not_keep_the_server_alive(
    begin: Callable[..., Wire],
) -> None:
    wire = begin()
    unread = subprocess.Popen(ECHO_SERVER, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL)
    stdin = present(unread.stdin)
    for n in range(100):
        stdin.write(json.dumps(call(n, "long", size_bytes=300_000)).encode() + b"\n")
    stdin.close()

    assert unread.wait(WAIT_S) == 0
    present(unread.stdout).close()
    assert text(wire.ask(call(1, "echo", text="other"))) == "other"


def test_at_the_end_of_input_the_requests_received_are_finished_first(wire: Wire) -> None:
    wire.send(call(1, "work"), call(2, "work"), call(3, "echo", text="quick"))
    wire.stdin.close()

    replies = {reply["id"]: text(reply) for reply in (wire.reply(), wire.reply(), wire.reply())}

    assert replies == {1: "worked", 2: "worked", 3: "quick"}
    assert wire.ends() == [b"closed"]


def test_at_the_end_of_input_a_request_that_hangs_is_given_up(wire: Wire) -> None:
    wire.send(call(1, "hold"))
    wire.log(b"holding")
    wire.stdin.close()

    assert wire.process.wait(LEAVE_S) == 0
    assert error(wire.reply()) == (1, -32000)
    assert wire.ends() == [b"cancelled", b"closed"]


def test_a_cancelled_request_is_not_waited_for(wire: Wire) -> None:
    cancel = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 1, "_meta": ENVELOPE},
    }
    wire.send(call(1, "hold"), call(2, "hold"))
    wire.log(b"holding")
    wire.log(b"holding")
    wire.send(cancel)
    wire.log(b"cancelled")
    wire.send(call(3, "release"))
    wire.stdin.close()

    assert {wire.reply()["id"], wire.reply()["id"]} == {2, 3}
    assert wire.process.wait(1.5) == 0
    assert wire.rest(wire.stdout) == []
    assert wire.ends() == [b"closed"]


def test_an_open_subscription_is_not_waited_for(wire: Wire) -> None:
    wire.send(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "subscriptions/listen",
            "params": {"notifications": {}, "_meta": ENVELOPE},
        }
    )
    assert text(wire.ask(call(2, "echo", text="on"))) == "on"
    wire.stdin.close()

    assert wire.process.wait(1.5) == 0
    assert wire.ends() == [b"closed"]


def test_input_from_a_file_is_answered_to_its_end(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    lines = [json.dumps(call(n, "echo", text=str(n))) for n in range(3)]
    asked.write_text("\n".join(lines), "utf-8")
    with asked.open("rb") as given:
        ended = subprocess.run(
            ECHO_SERVER, stdin=given, capture_output=True, check=True, timeout=WAIT_S
        )
    replies = [json.loads(line) for line in ended.stdout.splitlines()]
    assert sorted(text(reply) for reply in replies) == ["0", "1", "2"]


def test_much_that_comes_at_once_is_answered_whole(wire: Wire) -> None:
    padding = "x" * 300_000  # five of them are more than is read ahead
    sending = threading.Thread(
        target=wire.send, args=[call(n, "echo", text=padding) for n in range(20)], daemon=True
    )
    sending.start()
    replies = [wire.reply() for _ in range(20)]
    sending.join(WAIT_S)
    assert sorted(reply["id"] for reply in replies) == list(range(20))


def test_a_client_that_says_nothing_may_leave() -> None:
    done = subprocess.run(ECHO_SERVER, input=b"", capture_output=True, timeout=WAIT_S, check=False)

    assert (done.returncode, done.stdout, done.stderr.split()) == (0, b"", [b"closed"])


@POSIX
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_an_idle_server_quietly(wire: Wire, name: str) -> None:
    wire.process.send_signal(getattr(signal, name))

    assert wire.ends() == [b"closed"]
    assert wire.rest(wire.stdout) == []


@POSIX
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_answers_what_is_running_and_stops(wire: Wire, name: str) -> None:
    wire.send(call(1, "hold"))
    wire.log(b"holding")
    wire.process.send_signal(getattr(signal, name))

    assert error(wire.reply()) == (1, -32000)
    assert wire.ends() == [b"cancelled", b"closed"]


@POSIX
def test_more_signals_change_nothing_and_a_stuck_closing_is_given_up(
    begin: Callable[..., Wire],
) -> None:
    wire = begin("hang")
    wire.process.send_signal(signal.SIGTERM)
    wire.log(b"closed")
    for again in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        wire.process.send_signal(again)

    assert wire.ends() == []


@POSIX
def test_a_signal_while_the_last_requests_finish_stops_at_once(wire: Wire) -> None:
    wire.send(call(1, "hold"))
    wire.log(b"holding")
    wire.stdin.close()
    wire.process.send_signal(signal.SIGTERM)

    assert wire.process.wait(1.5) == 0
    assert wire.ends() == [b"cancelled", b"closed"]


@POSIX
def test_a_dead_parent_stops_the_server_though_its_input_stays_open(
    begin: Callable[..., Wire],
) -> None:
    wire = begin(launcher=(sys.executable, "-c", LAUNCHER))
    wire.process.kill()

    wire.log(b"closed")
    assert wire.rest(wire.stdout) == []
    assert wire.rest(wire.stderr) == []


def test_a_client_that_closed_its_end_of_the_output_stops_the_server() -> None:
    process = subprocess.Popen(ECHO_SERVER, stdin=-1, stdout=-1, stderr=-1, bufsize=0)
    stdin, stdout = present(process.stdin), present(process.stdout)
    stdin.write(json.dumps(call(1, "echo", text="hello")).encode() + b"\n")
    assert b"hello" in stdout.readline()
    stdout.close()
    stdin.write(json.dumps(call(2, "echo", text="gone")).encode() + b"\n")

    assert process.wait(LEAVE_S) == 0
    assert present(process.stderr).read() == b"closed\n"
    stdin.close()
    present(process.stderr).close()


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_answered(line: bytes) -> None:
    outline(line)
    parse(line)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.just("id"), inner),
    max_leaves=20,
)


@given(json_values, st.integers() | st.text(), st.permutations(["id", "params", "method"]))
def test_the_outline_finds_the_id_the_parser_would(
    params: object, request_id: int | str, order: list[str]
) -> None:
    fields = {"id": request_id, "params": params, "method": "id"}
    envelope = {name: fields[name] for name in order}

    assert outline(json.dumps(envelope).encode())[0] == request_id


@pytest.mark.parametrize("unit", [b'\\"', b'"', b"[", b"\\", b'"id":'])
def test_the_outline_of_hostile_bytes_takes_linear_time(unit: bytes) -> None:
    outline(b'{"' + unit * 500_000)
