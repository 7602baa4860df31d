"""What users of such memories complain about elsewhere, promised here: one test a complaint.

The numbers are those of the visible list in the notes on shared memories, §2.1.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import orjson
import pytest

import secrets_corpus
from actors import Agent, Clock, Tools
from handoff_memory.app import Makers
from handoff_memory.core.errors import ClaimLostError, VersionConflictError
from handoff_memory.server.instructions import INSTRUCTIONS
from handoff_memory.services.limits import Limits
from handoff_memory.settings import Settings

Connect = Callable[..., AbstractAsyncContextManager[Tools]]
Enter = Callable[..., Agent]
Head = Callable[[], tuple[int, bytes]]


@pytest.fixture
def era() -> str:
    return "auto"


# --- concurrency ---------------------------------------------------------------------------------


async def test_two_servers_on_one_file_lose_none_of_each_others_writes(connect: Connect) -> None:
    """V03."""
    async with connect("scout") as scout, connect("executor") as executor:
        await asyncio.gather(
            *(
                call("memory_write", scope="s", key=f"{n}-{who}", value=n)
                for n in range(20)
                for who, call in (("scout", scout), ("executor", executor))
            )
        )

        counts = (await scout("memory_stats"))["counts"]
        verified = (await executor("memory_stats", verify=True))["verify"]

    assert (counts["records"], counts["versions"]) == (40, 40)
    assert verified["ok"]


def test_of_two_edits_of_one_version_the_second_is_refused_and_says_why(
    scout: Agent, executor: Agent, head: Head
) -> None:
    """V05."""
    for _ in range(3):
        scout.write("a/b", "read by both")
    fourth = scout.write("a/b", "scout's edit", expected_version=3)
    before = head()

    with pytest.raises(VersionConflictError) as error:
        executor.write("a/b", "executor's edit", expected_version=3)

    facts = error.value.facts
    assert (facts["current_version"], facts["hash"]) == (4, fourth["hash"])
    assert facts["agent"] == "scout"
    assert head() == before
    assert executor.read("a/b")["value"] == "scout's edit"


async def test_a_retry_after_a_lost_reply_is_answered_and_writes_nothing(connect: Connect) -> None:
    """V06."""
    async with connect() as call:
        request = {"scope": "a", "key": "b", "value": 1, "request_id": "r1"}
        first = await call("memory_write", **request)
        again = await call("memory_write", **request)
        other = await call.refused("memory_write", **{**request, "value": 2})

        assert again == {**first, "replayed": True}
        assert other["code"] == "request_mismatch"
        assert (await call("memory_stats"))["head"]["seq"] == 1


async def test_fifty_reads_at_once_succeed_under_constant_writes(connect: Connect) -> None:
    """V07."""
    async with connect("scout") as scout, connect("executor") as executor:
        await scout("memory_write", scope="a", key="b", value="needle 0")
        writes = [
            scout("memory_write", scope="a", key="b", value=f"needle {n}") for n in range(1, 40)
        ]
        reads = [executor("memory_read", scope="a", key="b") for _ in range(25)]
        searches = [executor("memory_search", query="needle") for _ in range(25)]

        replies = await asyncio.gather(*writes, *reads, *searches)

    found = replies[39:]
    assert all(reply["value"].startswith("needle") for reply in found[:25])
    assert [len(reply["results"]) for reply in found[25:]] == [1] * 25


# --- clients -------------------------------------------------------------------------------------

NOISE = """
import logging, sys, warnings
print("a dependency prints as it is imported")
logging.basicConfig(stream=sys.stdout, level=logging.DEBUG)
warnings.warn("and warns")
"""
NOISY_SERVER = """
import asyncio, sys
import handoff_memory.server.main as main
noise, serve_stdio = sys.argv.pop(), main.serve_stdio
async def loud(server, **more):
    asyncio.get_running_loop().call_soon(exec, noise)
    await serve_stdio(server, **more)
main.serve_stdio = loud
from handoff_memory.__main__ import main as run
run()
"""


@pytest.mark.processes
def test_standard_output_holds_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    """V12."""
    packet = {"summary": "s", "next": ["n"]}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_write", {"scope": "a", "key": "b", "value": 1}),
        ("memory_read", {"scope": "a", "key": "b"}),
        ("memory_search", {"query": "b"}),
        ("memory_outcome", {"scope": "a", "key": "b", "outcome": "success"}),
        ("memory_stats", {"verify": True}),
        ("handoff_create", packet),
        ("handoff_pickup", {}),
    ]
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    lines = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": tool, "arguments": arguments},
            }
            for number, (tool, arguments) in enumerate(calls, 1)
        ),
    ]

    done = subprocess.run(
        [sys.executable, "-c", NOISY_SERVER, NOISE],
        input=b"".join(json.dumps(line).encode() + b"\n" for line in lines),
        capture_output=True,
        timeout=60,
        check=True,
        env={"MEMORY_DB": str(tmp_path / "m.db"), "PATH": "", "OSIRIS_HOME": str(tmp_path)},
    )

    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(reply["id"] for reply in replies) == list(range(8))
    assert all("result" in reply for reply in replies)
    assert b"a dependency prints" in done.stderr
    assert b"DEBUG" in done.stderr


async def test_large_records_come_in_pages_below_the_ceiling_each_of_them_once(
    connect: Connect,
) -> None:
    """V14."""
    limit = Limits().reply_bytes
    async with connect() as call:
        await asyncio.gather(
            *(
                call("memory_write", scope="s", key=f"k{n}", value=f"needle {n} " * 1000)
                for n in range(150)
            )
        )
        for query in ("needle", ""):
            seen, cursor, sizes = [], None, []
            while not sizes or cursor:
                reply = await call("memory_search", query=query, limit=100, cursor=cursor)
                seen += [hit["key"] for hit in reply["results"]]
                sizes.append(len(orjson.dumps(reply)))
                cursor = reply.get("next_cursor")

            assert sorted(seen) == sorted(f"k{n}" for n in range(150))
            assert max(sizes) <= limit
            assert len(sizes) > 2


async def test_every_schema_is_one_that_no_client_drops(connect: Connect) -> None:
    """V15."""
    async with connect() as call:
        schemas = [tool.input_schema for tool in (await call.client.list_tools()).tools]

    assert len(schemas) == 13
    for schema in schemas:
        assert schema["type"] == "object"
        assert isinstance(schema.get("required", []), list)
        assert set(schema.get("required", [])) <= set(schema["properties"])
        assert not {"anyOf", "oneOf", "allOf", "$ref", "$defs"} & set(schema)
        assert not any(
            "anyOf" in given or "$ref" in given for given in schema["properties"].values()
        )


async def test_arguments_that_come_as_json_text_are_taken_and_a_value_is_left_alone(
    connect: Connect,
) -> None:
    """V16."""
    async with connect() as call:
        await call("memory_write", scope="a", key="b", value=0)
        reply = await call(
            "memory_write",
            scope="a",
            key="b",
            value="123",
            tags='["a","b"]',
            expected_version="1",
        )
        record = await call("memory_read", scope="a", key="b")
        packet = await call("handoff_create", summary="s", next=["n"], pins='["a/b"]')

    assert reply["version"] == 2
    assert (record["value"], record["tags"]) == ("123", ["a", "b"])
    assert packet["pins"] == ["a/b@2"]


async def test_what_every_turn_costs_is_small(connect: Connect) -> None:
    """V17."""
    async with connect() as call:
        listed = await call.client.list_tools()

    size = len(listed.model_dump_json(by_alias=True, exclude_none=True))
    assert size / 4 <= 4000
    assert len(INSTRUCTIONS.encode()) <= 2000


# --- content and search --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2001, 64 << 10, (1 << 20) - 2])
def test_a_text_comes_back_whole_whatever_its_size(size: int, scout: Agent) -> None:
    """V20."""
    text = "ab" * (size // 2) + "c" * (size % 2)

    scout.write("a/b", text)

    got, cursor = "", None
    while not got or cursor:
        reply = scout.read("a/b", cursor)
        got += reply["value_text"] if "value_text" in reply else json.dumps(reply["value"])
        cursor = reply.get("next_cursor")
    assert json.loads(got) == text


async def test_a_value_too_large_is_refused_whole_with_the_limit(connect: Connect) -> None:
    """V20."""
    async with connect() as call:
        refusal = await call.refused("memory_write", scope="a", key="b", value="x" * (1 << 20))

        assert (await call("memory_stats"))["counts"]["versions"] == 0
    assert refusal["code"] == "too_large"
    assert (refusal["size_bytes"], refusal["limit_bytes"]) == ((1 << 20) + 2, 1 << 20)
    assert "osiris_observe" in refusal["next"]


QUERIES = ["multi-agent", "src/auth/login.py", "don't", "C++", "20.04"]
HOSTILE = ['"', "", "*", "a*", "NEAR(", "a OR", "AND", "NOT", "(", ")", "^x", "a:b", "-", "'", "\\"]


def test_any_query_is_answered_and_paths_versions_and_contractions_are_found(scout: Agent) -> None:
    """V21."""
    for n, words in enumerate(QUERIES):
        scout.write(f"s/k{n}", f"about {words} and more")

    answers = [scout.search(query) for query in HOSTILE]

    assert [scout.found(query)[0] for query in QUERIES] == [f"s/k{n}@1" for n in range(5)]
    assert {answer["match"] for answer in answers} <= {"all", "any", "listed", "none"}


def test_a_question_finds_what_it_is_about_though_not_every_word_stands_there(
    scout: Agent,
) -> None:
    """V22."""
    scout.write("notes/checkout", "checkout retry: the gateway answers 502")
    scout.write("notes/colours", "the logo is blue")

    reply = scout.search("why does the checkout retry fail after deploy")

    assert reply["match"] == "any"
    assert [hit["key"] for hit in reply["results"]] == ["checkout"]
    assert scout.search("checkout retry")["match"] == "all"


@pytest.mark.parametrize("query", ["连接池", "配置", "数据库", "池", "数据库连接池配置已更新"])
def test_chinese_is_found_by_any_run_of_its_characters(query: str, scout: Agent) -> None:
    """V23."""
    scout.write("notes/pool", "数据库连接池配置已更新")
    scout.write("notes/other", "English words only")

    assert scout.found(query) == ["notes/pool@1"]
    assert scout.search(query)["match"] == "all"


def test_two_values_that_differ_in_one_digit_are_two_values(scout: Agent) -> None:
    """V25."""
    texts = [f"The limit of the board is 6{n} requests a minute" for n in range(10)]
    for n, text in enumerate(texts):
        scout.write(f"s/k{n}", text, if_changed=True)
        scout.write("s/same", text, if_changed=True)

    assert [scout.read(f"s/k{n}")["value"] for n in range(10)] == texts
    assert scout.read("s/same")["version"] == 10


async def test_a_search_gives_previews_and_names_instead_of_large_values(connect: Connect) -> None:
    """V27."""
    async with connect() as call:
        for n in range(12):
            value = "filler " * 3500 + f"needle {n} " + "filler " * 3500
            await call("memory_write", scope="s", key=f"k{n}", value=value)

        results = (await call("memory_search", query="needle", limit=10))["results"]

    assert len(results) == 10
    assert all("needle" in hit["preview"] for hit in results)
    assert max(len(hit["preview"]) for hit in results) <= 400


# --- staleness, trust, handoff -------------------------------------------------------------------


def test_the_current_version_alone_is_found_and_an_old_one_is_marked(scout: Agent) -> None:
    """V29."""
    scout.write("host/ssh", "ssh port 22")
    scout.write("host/ssh", "ssh port 49222")

    current = scout.search("ssh port")["results"]
    past = scout.search("ssh port", include_superseded=True)["results"]

    assert [hit["version"] for hit in current] == [2]
    assert [(hit["version"], hit.get("superseded_by")) for hit in past] == [(2, None), (1, 2)]
    assert scout.read("host/ssh@1")["superseded_by"] == 2


def test_what_has_expired_or_failed_does_not_stand_in_the_way(scout: Agent, clock: Clock) -> None:
    """V30."""
    scout.write("tool/failed", "deploy is blocked today")
    scout.report("tool/failed", "failure")
    scout.report("tool/failed", "failure")
    scout.write("tool/expires", "deploy is blocked today", expires_in=60)
    scout.write("tool/fresh", "deploy is blocked today")
    clock.forward(60)

    assert scout.found("deploy blocked") == ["tool/fresh@1", "tool/failed@1"]
    assert scout.read("tool/expires@1")["expired"] is True


def test_a_session_start_that_looks_consumes_nothing_and_an_unfinished_claim_returns(
    scout: Agent, executor: Agent, agent: Enter, clock: Clock
) -> None:
    """V31."""
    scout.create()
    looks = [executor.peek()["packet"]["state"] for _ in range(5)]
    executor.pickup()
    clock.forward(3600)

    again = agent("critic").pickup()["packet"]

    assert looks == ["waiting"] * 5
    assert again["deliveries"] == 2


def test_a_second_packet_does_not_overwrite_the_first(
    scout: Agent, executor: Agent, agent: Enter
) -> None:
    """V32."""
    sent = {scout.create("A")["packet_id"], executor.create("B")["packet_id"]}
    reader = agent("reader")

    taken = set()
    for _ in range(2):
        taken.add(packet_id := reader.pickup()["packet"]["packet_id"])
        reader.hand_back(packet_id, "done")

    assert taken == sent


async def test_a_packet_that_nobody_picks_up_is_mentioned_in_every_session_until_it_is(
    connect: Connect,
) -> None:
    """V33."""
    async with connect("scout") as scout:
        await scout("handoff_create", summary="s", next=["n"], to="executor")
    seen = []
    for _ in range(4):
        async with connect("executor") as session:
            seen.append((await session("memory_stats"))["waiting"])
            assert "1 handoff packet waits for you" in (session.client.instructions or "")
    async with connect("executor") as session:
        await session("handoff_pickup")

        assert seen == [1] * 4
        assert (await session("memory_stats"))["waiting"] == 0


async def test_an_empty_packet_is_refused_and_an_unwanted_one_withdrawn(connect: Connect) -> None:
    """V34."""
    async with connect("scout") as scout, connect("executor") as executor:
        empty = await scout.refused("handoff_create", summary="s")
        packet_id = (await scout("handoff_create", summary="s", next=["n"]))["packet_id"]
        await scout("handoff_create", summary="no", in_reply_to=packet_id, status="withdrawn")

        assert empty["code"] == "empty_handoff"
        assert (await executor("handoff_pickup"))["packet"] is None
        kept = await executor("handoff_pickup", packet_id=packet_id, peek=True)
        assert kept["packet"]["state"] == "withdrawn"


async def test_done_without_evidence_is_doubted_and_the_check_reaches_the_sender(
    connect: Connect,
) -> None:
    """V35."""
    async with connect("scout") as scout, connect("executor") as executor:
        sent = await scout(
            "handoff_create",
            summary="s",
            done=["PR merged", "CI green"],
            details={"evidence": [{"grade": "observed", "ref": "run 7"}]},
        )
        got = await executor("handoff_pickup")
        await executor("handoff_pickup", token=got["token"], read_back="CI green: failed")
        seen = await scout("handoff_pickup", packet_id=sent["packet_id"], peek=True)

    assert got["warnings"] == ["1 of 2 done items are declared, not observed: check first"]
    assert [note["text"] for note in seen["read_back"]] == ["CI green: failed"]


def test_what_became_of_a_packet_is_recorded_and_never_guessed(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    """V36."""
    sent = scout.create()
    states = [scout.peek(sent["packet_id"])["packet"]["state"]]
    executor.pickup()
    states.append(scout.peek(sent["packet_id"])["packet"]["state"])
    clock.forward(10**6)
    states.append(scout.peek(sent["packet_id"])["packet"]["state"])

    seen = scout.peek(sent["packet_id"])["packet"]

    assert states == ["waiting", "claimed", "waiting"]
    assert (seen["hash"], seen["at"]) == (sent["hash"], "2026-11-30T16:00:00.000Z")


def test_a_dead_holder_loses_the_packet_and_a_working_one_keeps_it(
    settings: Settings, makers: Makers, clock: Clock, agent: Enter, local: Any
) -> None:
    """V37."""
    scout, executor, critic = agent("scout"), agent("executor"), agent("critic")
    packet_id = scout.create()["packet_id"]
    token = executor.pickup()["token"]
    for n in range(5):
        clock.forward(3599)
        executor.write("log/step", n)
        assert critic.pickup()["packet"] is None

    clock.forward(3600)

    assert critic.pickup()["packet"]["packet_id"] == packet_id
    with pytest.raises(ClaimLostError):
        executor.hand_back(packet_id, "done", token=token)


async def test_after_a_restart_an_agent_finds_what_it_did_newest_first(
    connect: Connect, clock: Clock
) -> None:
    """V38."""
    async with connect("scout") as before, connect("other") as other:
        for n in range(3):
            await before("memory_write", scope="work", key=f"k{n}", value=n)
            await other("memory_write", scope="play", key=f"k{n}", value=n)
            clock.forward(1)
    async with connect("scout") as after:
        mine = (await after("memory_search", agent="scout"))["results"]
        agents = {a["agent"]: a for a in (await after("memory_stats"))["agents"]}

    assert [hit["key"] for hit in mine] == ["k2", "k1", "k0"]
    assert {hit["agent"] for hit in mine} == {"scout"}
    assert agents["scout"]["last_write"] == "written work/k2@1"


async def test_a_second_live_session_under_one_name_is_told_of_the_first(connect: Connect) -> None:
    """V40."""
    async with connect("claude") as first:
        quiet = await first("memory_write", scope="a", key="b", value=1)
        async with connect("claude") as second:
            warned = await second("memory_write", scope="a", key="c", value=1)
            later = await second("memory_write", scope="a", key="d", value=1)

    assert "twins" not in quiet
    assert "another live session writes as 'claude'" in warned["warnings"][0]
    assert len(warned["twins"]) == 1
    assert "twins" not in later


# --- secrets -------------------------------------------------------------------------------------


def _calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """A text in every field of every tool."""
    record = {"scope": "a", "key": "b"}
    write = {**record, "value": 1}
    packet = {"summary": "s", "next": ["n"]}
    details = ("objective", "last_request", "workspace")
    return [
        *(("memory_write", {**write, field: text}) for field in ("scope", "key", "value")),
        ("memory_write", {**record, "value": {"deep": [{text: text}]}}),
        *(("memory_write", {**write, field: text}) for field in ("source", "request_id")),
        ("memory_write", {**write, "tags": [text]}),
        *(("memory_read", {**record, field: text}) for field in ("scope", "key", "cursor")),
        ("memory_read", {"names": [f"{text}/b", f"a/{text}"]}),
        ("memory_read", {"names": [text]}),
        *(
            ("memory_search", {field: text})
            for field in ("query", "scope", "agent", "since", "cursor")
        ),
        ("memory_search", {"tags": [text]}),
        *(
            ("memory_outcome", {**record, "outcome": "success", field: text})
            for field in ("note", "packet_id", "request_id")
        ),
        ("memory_outcome", {**record, "outcome": text}),
        ("memory_stats", {"scope": text}),
        *(
            ("handoff_create", {**packet, field: text})
            for field in ("summary", "to", "in_reply_to", "request_id", "priority", "status")
        ),
        *(("handoff_create", {**packet, field: [text]}) for field in ("done", "next", "open")),
        ("handoff_create", {**packet, "pins": [text]}),
        ("handoff_create", {**packet, "pins": [f"{text}/b"]}),
        *(("handoff_create", {**packet, "details": {field: text}}) for field in details),
        ("handoff_create", {**packet, "details": {text: "x"}}),
        *(("handoff_pickup", {field: text}) for field in ("packet_id", "read_back")),
    ]


def in_another_process(path: str) -> bytes:
    """A file's bytes, read by a process that holds no locks on it to lose."""
    program = "import sys, pathlib; sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"
    return subprocess.run(
        [sys.executable, "-c", program, path], check=True, capture_output=True
    ).stdout


REFUSED = {("memory_write", "scope"), ("memory_write", "key"), ("memory_write", "tags")} | {
    ("handoff_create", "to"),
    ("memory_write", "request_id"),
}
CANARIES = [c for c in secrets_corpus.CANARIES if "\n" not in c.text and len(c.text) < 120][::2]


async def test_no_secret_reaches_the_file_its_log_a_reply_or_standard_error(
    connect: Connect, settings: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
    """V43."""
    assert len(CANARIES) >= 30
    leaks = []
    async with connect("scout") as scout, connect("executor") as executor:
        await scout("memory_write", scope="a", key="b", value=1)
        for n, canary in enumerate(CANARIES):
            every = _calls(canary.text)
            for tool, arguments in every if n == 0 else every[n % 7 :: 7]:
                call = executor if tool == "handoff_pickup" else scout
                reply = await call.client.call_tool(tool, arguments)
                if canary.secret in reply.content[0].text:  # type: ignore[union-attr]
                    leaks.append((tool, arguments))
        log = await asyncio.to_thread(in_another_process, f"{settings.database}-wal")
    kept = await asyncio.to_thread(settings.database.read_bytes)

    assert leaks == []
    assert b"[redacted:" in log
    assert [c.kind for c in CANARIES if c.secret.encode() in log] == []
    assert [c.kind for c in CANARIES if c.secret.encode() in kept] == []
    assert [c.kind for c in CANARIES if c.secret in capfd.readouterr().err] == []


@pytest.mark.parametrize(("tool", "field"), sorted(REFUSED))
async def test_a_secret_in_a_name_is_refused_without_being_repeated(
    tool: str, field: str, connect: Connect
) -> None:
    """V43."""
    canary = next(c for c in CANARIES if c.kind == "github-token")
    arguments: dict[str, Any] = (
        {"scope": "a", "key": "b", "value": 1}
        if tool == "memory_write"
        else {"summary": "s", "next": ["n"]}
    )
    async with connect() as call:
        refusal = await call.refused(
            tool, **{**arguments, field: [canary.text] if field == "tags" else canary.text}
        )

        assert (await call("memory_stats"))["head"]["seq"] == 0
    assert refusal["code"] == "secret_refused"
    assert "github-token" in refusal["message"]
    assert canary.secret not in json.dumps(refusal)


async def test_a_secret_as_an_agent_id_is_refused(connect: Connect) -> None:
    """V43."""
    canary = next(c for c in CANARIES if c.kind == "github-token")
    async with connect(None, announced=canary.text) as call:
        refusal = await call.refused("memory_write", scope="a", key="b", value=1)

    assert refusal["code"] == "secret_refused"
    assert canary.secret.casefold() not in json.dumps(refusal).casefold()


async def test_the_prose_around_a_secret_survives_and_the_reply_names_its_kind(
    connect: Connect,
) -> None:
    """V43."""
    canary = next(c for c in CANARIES if c.kind == "github-token")
    async with connect() as call:
        value = {"log": f"pushed with {canary.text} at noon"}
        reply = await call("memory_write", scope="a", key="b", value=value, source=canary.text)
        record = await call("memory_read", scope="a", key="b")

    assert reply["redacted"] == ["github-token"]
    assert record["value"] == {"log": "pushed with [redacted:github-token] at noon"}
    assert record["source"] == "[redacted:github-token]"


@pytest.mark.parametrize(
    "text",
    [
        "123e4567-e89b-12d3-a456-426614174000",
        "9c81a59e3f0b7d6c5a4e3f2b1c0d9e8f7a6b5c4d",
        "5ddd32413ecb85fc56b921392d386ac9d73992d070c4c3aa0ffada71d12e2b45",
        "mem://sha256/5ddd32413ecb85fc56b921392d386ac9d73992d070c4c3aa0ffada71d12e2b45",
    ],
)
def test_ids_and_hashes_are_no_secrets(text: str, scout: Agent) -> None:
    """V43."""
    reply = scout.write(f"ids/{text.rpartition('/')[2]}", text, source=text)

    assert "redacted" not in reply
    assert scout.read(f"ids/{text.rpartition('/')[2]}")["value"] == text
