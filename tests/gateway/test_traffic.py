from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from gateway.conftest import Line
from handoff_memory.app import open_local
from handoff_memory.gateway.watch import Watch
from handoff_memory.server.governor_tools import GovernorTools
from handoff_memory.services import verify
from handoff_memory.settings import Settings
from processes import big

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def texts(*said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in said], **more}


def shown(answer: dict[str, Any]) -> str:
    return "\n".join(block.get("text", "") for block in answer["result"]["content"])


def forbid(settings: Settings, rule: str) -> None:
    place = settings.folder / ".osiris"
    place.mkdir()
    (place / "invariants.toml").write_text(rule)


NO_TESTS = """
[[invariant]]
id = "tests-stay"
when = { path_glob = "tests/**" }
message = "tests are not changed"
"""


# --- what passes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        b'{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"x:y"}}\n',
        b'  {"id" : 9 ,"method":"no/such", "jsonrpc":"2.0", "extra": 1e2}  \r\n',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a"}]}}\n',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"progressToken":1}}}\n',
        b'{"jsonrpc":"2.0","id":6,"method":"ping","params":{"big":123456789012345678901234567890}}',
    ],
)
def test_what_a_client_writes_reaches_the_server_to_the_byte(line: Line, sent: bytes) -> None:
    line.traffic.from_client(sent)

    assert line.to_server == [sent]
    assert line.to_client == []


@pytest.mark.parametrize(
    "sent",
    [
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[]}}\n',
        b'{"jsonrpc":"2.0","id":77,"result":{"anything":[1.0,2e0,"\\u0041"]}}\n',
        b"no message at all\n",
        b'[{"jsonrpc":"2.0","method":"notifications/message"}]\n',
    ],
)
@pytest.mark.parametrize("awaits", [False, True])
def test_what_a_server_writes_reaches_the_client_to_the_byte(
    line: Line, sent: bytes, awaits: bool
) -> None:
    if awaits:
        line.request("tools/call", name="echo")

    line.traffic.from_server(sent)

    assert line.to_client == [sent]


@pytest.mark.parametrize(
    "result",
    [
        b'{"content":[{"type":"text","text":"h\\u00e9 \\ud83d"}],"isError":false,"x":1e400}',
        b'{"content":[],"structuredContent":{"n":123456789012345678901234567890}}',
        b'{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}',
        b'{"resultType":"input_required","inputRequests":{},"requestState":"s"}',
        b'{"task":{"taskId":"t1","status":"working"}}',
    ],
)
def test_a_small_result_passes_to_the_byte(line: Line, result: bytes) -> None:
    request_id = line.request("tools/call", name="echo", arguments={})
    answered = b'{ "jsonrpc":"2.0", "result":%b,"id":%d }\n' % (result, request_id)

    line.traffic.from_server(answered)

    assert line.to_client == [answered]


def test_an_error_passes_with_its_code_and_data(line: Line) -> None:
    request_id = line.request("tools/call", name="echo", arguments={})

    sent = line.answer(request_id, error={"code": -32001, "message": "m", "data": {"a": [1]}})

    assert line.to_client == [sent]


def test_a_result_is_matched_by_the_type_of_its_id_too(line: Line) -> None:
    line.traffic.from_client(
        b'{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"echo"}}\n'
    )
    twin = orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": texts(big("a", 900))}) + b"\n"

    line.traffic.from_server(twin)

    assert line.to_client == [twin]


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"nonsense\n", -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}]\n', -32600),
        (b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}\n', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"tools/call","params":{"name":"a"}}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["a"]}}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["a"]}\n', -32600),
    ],
)
def test_no_call_slips_by_unjudged(line: Line, sent: bytes, code: int) -> None:
    line.traffic.from_client(sent)

    assert line.to_server == []
    assert line.received()["error"]["code"] == code


def test_a_rule_blocks_a_call_and_the_server_never_hears_of_it(
    settings: Settings, line: Line
) -> None:
    forbid(settings, NO_TESTS)

    answer = line.call("write_file", {"path": "tests/test_a.py", "content": "x"}, texts("done"))

    assert line.to_server == []
    assert answer["result"]["isError"] is True
    assert "tests-stay" in shown(answer)
    assert "resultType" not in answer["result"]


def test_a_refusal_of_2026_says_that_it_is_complete(settings: Settings, line: Line) -> None:
    forbid(settings, NO_TESTS)

    answer = line.call("write_file", {"path": "tests/a.py"}, texts("done"), **MODERN)

    assert answer["result"]["resultType"] == "complete"


def test_a_rule_may_name_the_tools_of_a_named_server(settings: Settings, watch: Watch) -> None:
    forbid(
        settings,
        '[[invariant]]\nid = "no-moves"\nwhen = { tool = "mcp__files__move*" }\nmessage = "no"\n',
    )
    named, plain = Line(watch, "files"), Line(watch)

    assert named.call("move_file", {}, texts("moved"))["result"]["isError"] is True
    assert plain.call("move_file", {}, texts("moved"))["result"] == texts("moved")


def test_the_same_failing_call_is_refused_after_its_third_failure(line: Line) -> None:
    failed = texts("ENOENT: no such file", isError=True)
    answers = [line.call("read_file", {"path": "x"}, failed) for _ in range(4)]

    assert len(line.to_server) == 3
    assert all("ENOENT" in shown(answer) for answer in answers[:3])
    assert shown(answers[3]) != "ENOENT: no such file"
    assert answers[3]["result"]["isError"] is True


def test_a_loop_of_protocol_errors_ends_too(line: Line) -> None:
    for _ in range(3):
        request_id = line.request("tools/call", name="read", arguments={"path": "x"})
        line.answer(request_id, error={"code": -32602, "message": "unknown tool"})

    answer = line.call("read", {"path": "x"}, texts("never"))

    assert len(line.to_server) == 3
    assert answer["result"]["isError"] is True


def test_a_call_that_is_cancelled_while_it_is_judged_is_never_made(line: Line) -> None:
    line.held = []
    request_id = line.request("tools/call", name="echo", arguments={})
    told = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}\n'
    line.traffic.from_client(told % request_id)

    for work in line.held:
        work()

    assert line.to_server == [told % request_id]
    assert line.to_client == []


# --- what is kept ------------------------------------------------------------------------------


def test_a_big_result_becomes_a_stub_and_comes_back_whole(settings: Settings, line: Line) -> None:
    log = big("compile", 900)

    answer = line.call("build", {}, texts(log, _meta={"k": 1}))

    assert len(shown(answer)) < len(log) / 4
    assert "osiris_recall" in shown(answer)
    assert answer["result"]["_meta"] == {"k": 1}
    assert "".join(recalled(line, "r1")) == log
    with open_local(settings) as local:
        assert local.read(verify.verify)["ok"] is True


def recalled(line: Line, ref: str) -> list[str]:
    """All of a payload, page by page, as a client asks for it."""
    pages, cursor = [], None
    while True:
        args = {
            "unit": "bytes",
            "first": 0,
            "last": 1 << 30,
            **({"cursor": cursor} if cursor else {}),
        }
        answer = line.call("osiris_recall", {"ref": ref, "op": "range", "args": args}, {})
        reply = answer["result"]["structuredContent"]
        pages.append(reply["text"])
        cursor = reply.get("next_cursor")
        if cursor is None:
            return pages


def test_images_stay_beside_a_stub(line: Line) -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    link = {"type": "resource_link", "uri": "x:y", "name": "y"}
    result = texts(big("a", 500), big("b", 500))
    result["content"] += [image, link]

    answer = line.call("look", {}, result)

    stub, *others = answer["result"]["content"]
    assert stub["text"].startswith("[handoff-memory")
    assert others == [image, link]
    assert "".join(recalled(line, "r1")) == big("a", 500) + "\n" + big("b", 500)


@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: {"result": text}])
def test_what_text_and_structure_both_say_is_kept_once(line: Line, wrap: Any) -> None:
    rows = [{"n": n, "name": f"row {n}"} for n in range(900)]
    said = json.dumps(wrap(rows), indent=2)

    answer = line.call("query", {}, texts(said, structuredContent=wrap(rows)))

    assert "structuredContent" not in answer["result"]
    assert "".join(recalled(line, "r1")) == said


def test_structure_that_the_text_does_not_say_is_kept_below_it(line: Line) -> None:
    rows = {"rows": [{"n": n, "name": f"row {n}"} for n in range(900)]}

    answer = line.call("query", {}, texts("900 rows", structuredContent=rows))

    assert "structuredContent" not in answer["result"]
    assert "".join(recalled(line, "r1")) == "900 rows\n" + orjson.dumps(rows).decode()


def test_a_part_that_was_asked_for_arrives_as_it_is(line: Line) -> None:
    log = big("compile", 900)

    answer = line.call("read_text_file", {"path": "a.log", "head": 900}, texts(log))

    assert answer["result"] == texts(log)


def test_a_call_that_a_hook_tells_of_too_counts_once(settings: Settings, line: Line) -> None:
    failed = texts("no such file", isError=True)
    for _ in range(4):
        line.call("read", {"path": "x"}, failed, **{"claudecode/toolUseId": "toolu_1"})

    assert len(line.to_server) == 4  # one failure, told four times


@pytest.mark.parametrize("no_id", ["", 7, [], None])
def test_calls_whose_id_is_none_are_told_apart(line: Line, no_id: Any) -> None:
    failed = texts("no such file", isError=True)
    for _ in range(4):
        line.call("read", {"path": "x"}, failed, **{"claudecode/toolUseId": no_id})

    assert len(line.to_server) == 3  # the fourth is refused


# --- the list of tools -------------------------------------------------------------------------


def listed(line: Line, *names: str, **params: Any) -> list[dict[str, Any]]:
    request_id = line.request("tools/list", **params)
    tools = [{"name": name, "inputSchema": {}, "outputSchema": {}} for name in names]
    following = {"nextCursor": "2"} if "cursor" not in params and params.get("pages") else {}
    line.answer(request_id, result={"tools": tools, **following})
    found: list[dict[str, Any]] = line.received()["result"]["tools"]
    return found


def test_the_recall_tool_is_listed_last_as_the_server_lists_it(
    settings: Settings, line: Line
) -> None:
    *others, last = listed(line, "echo")

    assert others == [{"name": "echo", "inputSchema": {}}]
    with open_local(settings) as local:
        assert last == GovernorTools(local).table["osiris_recall"].described()  # type: ignore[arg-type]


def test_the_recall_tool_stands_on_the_last_page_only(line: Line) -> None:
    first = listed(line, "a", pages=2)
    second = listed(line, "b", cursor="2")

    assert [tool["name"] for tool in first] == ["a"]
    assert [tool["name"] for tool in second] == ["b", "osiris_recall"]


def test_a_server_with_a_tool_of_that_name_keeps_it(line: Line) -> None:
    names = [tool["name"] for tool in listed(line, "osiris_recall")]
    theirs = line.call("osiris_recall", {}, texts("theirs"))
    stub = line.call("build", {}, texts(big("a", 900)))
    ours = line.call("osiris_recall_2", {"ref": "r1"}, texts("not asked"))

    assert names == ["osiris_recall", "osiris_recall_2"]
    assert theirs["result"] == texts("theirs")
    assert 'osiris_recall_2 {"ref":"r1"' in shown(stub)
    assert ours["result"]["structuredContent"]["ref"] == "r1"


@pytest.mark.parametrize("meta", [{}, {"_meta": MODERN}])
def test_a_server_without_tools_gets_the_one(line: Line, meta: dict[str, Any]) -> None:
    request_id = line.request("initialize", **meta)
    line.answer(request_id, result={"capabilities": {"prompts": {}}, "instructions": "i"})
    greeting = line.received()["result"]
    request_id = line.request("tools/list", **meta)
    line.answer(request_id, error={"code": -32601, "message": "Method not found"})

    assert greeting == {"capabilities": {"prompts": {}, "tools": {}}, "instructions": "i"}
    answer = line.received()
    assert answer["id"] == request_id
    assert [tool["name"] for tool in answer["result"]["tools"]] == ["osiris_recall"]
    assert ("resultType" in answer["result"]) == bool(meta)


def test_a_greeting_that_knows_tools_passes_to_the_byte(line: Line) -> None:
    request_id = line.request("initialize")

    sent = line.answer(request_id, result={"capabilities": {"tools": {"listChanged": True}}})

    assert line.to_client == [sent]


# --- who it is, and what goes wrong ------------------------------------------------------------


@pytest.mark.parametrize(
    "hello",
    [
        ("initialize", {"clientInfo": {"name": "Some-Client"}}),
        (
            "server/discover",
            {"_meta": {"io.modelcontextprotocol/clientInfo": {"name": "some-client"}}},
        ),
    ],
)
def test_a_client_is_known_by_the_name_it_announces(
    settings: Settings, hello: tuple[str, dict[str, Any]]
) -> None:
    watch = Watch(settings, steps_back=True)
    line = Line(watch)
    line.request(hello[0], **hello[1])
    line.call("build", {}, texts(big("a", 900)))
    watch.close()

    with open_local(settings) as local:
        (row,) = local.read(lambda tx: tx.all("SELECT agent, ended_at FROM sessions"))
    assert row["agent"] == "some-client"
    assert row["ended_at"] is not None  # no second mind beside the session of its client


def test_a_wrong_question_to_recall_says_what_is_wrong(line: Line) -> None:
    answer = line.call("osiris_recall", {"ref": "r1", "rev": 1}, {})

    assert answer["result"]["isError"] is True
    assert "unknown argument 'rev'" in shown(answer)


def test_a_governor_that_cannot_work_stops_nobody(
    settings: Settings, line: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.database.write_bytes(b"no database at all" * 100)
    result = texts(big("a", 900))

    answer = line.call("build", {}, result)

    assert answer["result"] == result
    told = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in told] == [
        "build was not judged",
        "build was not observed",
    ]


def test_a_rule_that_fails_closed_holds_without_a_governor(settings: Settings, line: Line) -> None:
    forbid(settings, NO_TESTS + "fail_closed = true\n")
    settings.database.write_bytes(b"no database at all" * 100)

    refused = line.call("write_file", {"path": "tests/a.py"}, texts("done"))
    passed = line.call("write_file", {"path": "src/a.py"}, texts("done"))

    assert refused["result"]["isError"] is True
    assert "fail_closed" in shown(refused)
    assert passed["result"] == texts("done")


def test_what_went_by_unwatched_is_journaled_once_it_can_be(settings: Settings, line: Line) -> None:
    settings.database.write_bytes(b"no database at all" * 100)
    line.call("first", {}, texts("one"))
    settings.database.unlink()

    line.call("second", {}, texts("two"))

    with open_local(settings) as local:
        rows = local.read(lambda tx: tx.all("SELECT body FROM events WHERE event = 'gap'"))
    assert any(b"first was not judged" in bytes(row["body"]) for row in rows)
