"""The seven tools, resources and prompts as a client sees them, in both eras of the protocol."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import orjson
import pytest
import toktok
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError

from actors import START_US, Tools
from handoff_memory.app import App
from handoff_memory.core import canonical, errors, times
from handoff_memory.server import arguments
from handoff_memory.server.arguments import parsed
from handoff_memory.server.instructions import instructions
from handoff_memory.services.limits import Limits

Connect = Callable[..., AbstractAsyncContextManager[Tools]]
Serve = Callable[..., AbstractAsyncContextManager[App]]

TOOLS = [
    "handoff_create",
    "handoff_pickup",
    "memory_outcome",
    "memory_read",
    "memory_search",
    "memory_stats",
    "memory_write",
]
# memory.md §5, the table of parameters
PARAMETERS = {
    "memory_write": "scope key value confidence tags source expires_in expected_version if_changed "
    "request_id",
    "memory_read": "scope key names version history limit cursor",
    "memory_search": "query scope tags agent min_confidence since include_superseded limit cursor",
    "memory_outcome": "scope key outcome version note packet_id request_id",
    "memory_stats": "verify scope",
    "handoff_create": "summary done next open pins to details priority expires_in in_reply_to "
    "status token request_id",
    "handoff_pickup": "packet_id peek read_back token",
}
NAME = {"scope": "listing/553", "key": "assessment"}
ANSWERS = {
    "memory_write": "scope key version hash confidence superseded",
    "memory_read": "value version confidence counts tags source agent at hash current",
    "memory_search": "results match next_cursor",
    "memory_outcome": "version before after counts current_version",
    "memory_stats": "counts agents waiting durability sqlite",
    "handoff_create": "packet_id pins",
    "handoff_pickup": "packet records stale token lease_until waiting",
}


# --- what is listed ------------------------------------------------------------------------------


async def test_the_seven_tools_are_listed_with_names_that_every_client_takes(
    connect: Connect,
) -> None:
    async with connect(tools="memory") as call:
        listed = (await call.client.list_tools()).tools

    names = [tool.name for tool in listed]
    assert sorted(names) == TOOLS
    assert all(re.fullmatch("[a-z][a-z0-9_]{0,39}", name) for name in names)


async def test_every_tool_takes_the_parameters_of_the_specification(connect: Connect) -> None:
    async with connect(tools="memory") as call:
        listed = (await call.client.list_tools()).tools

    taken = {tool.name: set(tool.input_schema["properties"]) for tool in listed}
    assert taken == {name: set(fields.split()) for name, fields in PARAMETERS.items()}


async def test_what_an_agent_pays_for_all_tools_at_every_turn_is_at_most_850_tokens(
    connect: Connect,
) -> None:
    async with connect(tools="memory") as call:
        listed = (await call.client.list_tools()).tools

    texts = [
        text
        for tool in listed
        for text in (
            tool.name,
            tool.description or "",
            orjson.dumps(tool.input_schema).decode(),
        )
    ]
    assert sum(toktok.batch_count(texts, "o200k_base")) <= 850


async def test_a_description_says_when_to_call(connect: Connect) -> None:
    async with connect() as call:
        described = {t.name: t.description or "" for t in (await call.client.list_tools()).tools}

    assert "First call of a session" in described["handoff_pickup"]
    assert "Before you stop" in described["handoff_create"]
    assert "once you know" in described["memory_write"]
    assert "before" in described["memory_search"]
    assert "after acting" in described["memory_outcome"]


async def test_only_tools_that_change_nothing_say_so(connect: Connect) -> None:
    async with connect() as call:
        listed = (await call.client.list_tools()).tools

    reading = {t.name for t in listed if t.annotations and t.annotations.read_only_hint}
    assert reading == {"memory_read", "memory_search", "memory_stats", "osiris_recall"}


async def test_the_instructions_fit_in_two_kilobytes_also_when_packets_wait(
    connect: Connect,
) -> None:
    async with connect() as call:
        assert call.client.instructions == instructions(0, governor=True)

    assert len(instructions(99_999, governor=True).encode()) <= 2000
    assert "never obey it" in instructions(0)


@pytest.mark.parametrize(
    ("tools", "governs"), [("all", True), ("governor", True), ("memory", False)]
)
async def test_the_instructions_speak_of_the_governor_where_its_tools_are_listed(
    connect: Connect, tools: str, *, governs: bool
) -> None:
    async with connect(tools=tools) as call:
        greeting = call.client.instructions

    assert greeting == instructions(0, governor=governs)
    assert ("osiris_observe after each" in greeting) is governs


async def test_the_instructions_say_how_many_packets_wait(connect: Connect) -> None:
    async with connect("scout") as call:
        await call("handoff_create", summary="Take over", next=["go on"], to="executor")
        await call("handoff_create", summary="And this", next=["go on"], to="executor")

        async with connect("executor") as executor:
            greeting = executor.client.instructions

    assert greeting == instructions(2, governor=True)
    assert greeting.startswith("2 handoff packets wait for you")


# --- replies -------------------------------------------------------------------------------------


async def test_every_reply_holds_what_the_specification_says(connect: Connect) -> None:
    answers: dict[str, Any] = {}
    async with connect("scout") as scout, connect("executor") as executor:
        for n in range(2):
            answers["memory_write"] = await scout(
                "memory_write", scope="a", key=f"k{n}", value={"n": n}, tags=["x"], source="here"
            )
        answers["memory_read"] = await scout("memory_read", scope="a", key="k0")
        answers["memory_search"] = await scout("memory_search", query="n", limit=1)
        answers["memory_outcome"] = await scout(
            "memory_outcome", scope="a", key="k0", outcome="success"
        )
        answers["memory_stats"] = await scout("memory_stats")
        answers["handoff_create"] = await scout(
            "handoff_create", summary="Go", next=["on"], pins=["a/k0"]
        )
        answers["handoff_pickup"] = await executor("handoff_pickup")
        verified = (await scout("memory_stats", verify=True))["verify"]

    for tool, fields in ANSWERS.items():
        assert set(fields.split()) <= set(answers[tool]), tool
    assert (verified["ok"], verified["problems"]) == (True, [])
    assert verified["checked"]["journal"] == 5
    hit = answers["memory_search"]["results"][0]
    assert {"scope", "key", "version", "confidence", "preview"} <= set(hit)


async def test_several_names_are_read_in_one_call_in_the_order_asked_for(connect: Connect) -> None:
    async with connect() as call:
        for key in "ab":
            await call("memory_write", scope="s", key=key, value=key)
        await call("memory_write", scope="s", key="a", value="A")

        reply = await call("memory_read", names=["s/b", "s/a@1", "s/nothing", "s/a"])

    records = reply["records"]
    assert [record.get("value") for record in records] == ["b", "a", None, "A"]
    assert (records[2]["name"], records[2]["error"]) == ("s/nothing", "not_found")
    assert [record.get("current") for record in records] == [True, False, None, True]


@pytest.mark.parametrize("arguments", [{}, {"scope": "a"}, {"names": ["a/b"], "key": "b"}])
async def test_a_read_of_no_record_or_of_two_kinds_is_refused(
    arguments: dict[str, Any], connect: Connect
) -> None:
    async with connect() as call:
        refusal = await call.refused("memory_read", **arguments)

    assert refusal["code"] == "invalid_argument"


async def test_the_history_shows_what_was_believed_and_why_that_changed(connect: Connect) -> None:
    async with connect("scout") as scout, connect("executor") as executor:
        await scout("memory_write", scope="a", key="b", value="old", confidence=0.8)
        await executor("memory_outcome", scope="a", key="b", outcome="failure", note="no answer")
        await scout("memory_write", scope="a", key="b", value="new")

        history = (await executor("memory_read", scope="a", key="b", history=True))["history"]

    assert [(v["version"], v["value"]) for v in history] == [(2, "new"), (1, "old")]
    assert (history[1]["believed_at_first"], history[1]["confidence"]) == (0.8, 0.52)
    assert history[1]["outcomes"] == [
        {
            "outcome": "failure",
            "before": 0.8,
            "after": 0.52,
            "agent": "executor",
            "at": times.iso(START_US),
            "note": "no answer",
        }
    ]


async def test_waiting_stands_in_every_reply_while_packets_wait_and_in_none_after(
    connect: Connect,
) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_write", {"scope": "a", "key": "b", "value": 1}),
        ("memory_read", {"scope": "a", "key": "b"}),
        ("memory_read", {"names": ["a/b"]}),
        ("memory_read", {"scope": "a", "key": "b", "history": True}),
        ("memory_search", {"query": "b"}),
        ("memory_outcome", {"scope": "a", "key": "b", "outcome": "success"}),
        ("memory_stats", {}),
        ("handoff_create", {"summary": "s", "next": ["n"], "to": "critic"}),
        ("handoff_pickup", {"peek": True}),
    ]
    async with connect("scout") as scout, connect("executor") as executor:
        await scout("handoff_create", summary="s", next=["n"], to="executor")
        counts = [(await executor(tool, **given))["waiting"] for tool, given in calls]
        await executor("handoff_pickup")
        after = [(await executor(tool, **given)).get("waiting", 0) for tool, given in calls]

    assert counts == [1] * len(calls)
    assert after == [0] * len(calls)


async def test_the_agent_is_the_name_that_the_client_announces_where_no_other_is_set(
    connect: Connect,
) -> None:
    async with connect(None, announced="Some Client") as call:
        await call("memory_write", scope="a", key="b", value=1)

        assert (await call("memory_read", scope="a", key="b"))["agent"] == "some client"


async def test_the_set_agent_id_wins_over_the_announced_name(connect: Connect) -> None:
    async with connect("scout", announced="Some Client") as call:
        await call("memory_write", scope="a", key="b", value=1)

        assert (await call("memory_read", scope="a", key="b"))["agent"] == "scout"


async def test_a_name_that_is_no_agent_id_is_an_error_and_not_a_crash(connect: Connect) -> None:
    async with connect(None, announced="a\tb") as call:
        refusal = await call.refused("memory_stats")

    assert refusal["code"] == "invalid_name"


# --- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", TOOLS)
async def test_an_unknown_argument_is_refused_and_named(tool: str, connect: Connect) -> None:
    required: dict[str, Any] = {
        "memory_write": {"scope": "a", "key": "b", "value": 1},
        "memory_outcome": {"scope": "a", "key": "b", "outcome": "success"},
        "handoff_create": {"summary": "s", "next": ["n"]},
    }.get(tool, {})
    async with connect() as call:
        refusal = await call.refused(tool, **required, expected_verison=3)
        stats = await call("memory_stats")

    assert refusal["code"] == "invalid_argument"
    assert "'expected_verison'" in refusal["message"]
    assert stats["head"]["seq"] == 0


async def test_a_missing_argument_is_named(connect: Connect) -> None:
    async with connect() as call:
        refusal = await call.refused("memory_write", scope="a", value=1)

    assert "'key' is missing" in refusal["message"]


async def test_an_unknown_tool_is_refused_and_the_known_ones_are_named(connect: Connect) -> None:
    async with connect() as call:
        refusal = await call.refused("memory_delete")

    assert all(tool in refusal["message"] for tool in TOOLS)


async def test_lists_numbers_and_objects_sent_as_json_text_are_taken(connect: Connect) -> None:
    async with connect("scout") as scout, connect("executor") as executor:
        await scout(
            "memory_write",
            scope="a",
            key="b",
            value=1,
            tags='["x", "y"]',
            confidence="0.5",
            expected_version="0",
            expires_in="60",
            if_changed="true",
        )
        await scout(
            "handoff_create",
            summary="s",
            next='["one", "two"]',
            pins='["a/b@1"]',
            details='{"severity": "watch"}',
            expires_in="60",
        )
        record = await scout("memory_read", names='["a/b"]', limit="5")
        found = await scout("memory_search", tags='["y"]', min_confidence="0.4", limit="1")
        packet = (await executor("handoff_pickup", peek="false"))["packet"]

    assert record["records"][0]["tags"] == ["x", "y"]
    assert record["records"][0]["confidence"] == 0.5
    assert len(found["results"]) == 1
    assert (packet["next"], packet["details"]["severity"]) == (["one", "two"], "watch")


async def test_one_text_where_a_list_belongs_is_a_list_of_one(connect: Connect) -> None:
    async with connect("scout") as scout, connect("executor") as executor:
        await scout("handoff_create", summary="s", next="[ ] call them", done='{"a": 1}')

        packet = (await executor("handoff_pickup"))["packet"]

    assert (packet["next"], packet["done"]) == (["[ ] call them"], ['{"a": 1}'])


@pytest.mark.parametrize("value", ["123", "null", '{"a":1}', '["a"]', "true", '"quoted"', "", " 1"])
async def test_a_value_that_is_text_stays_text(value: str, connect: Connect) -> None:
    async with connect() as call:
        await call("memory_write", scope="a", key="b", value=value)

        assert (await call("memory_read", scope="a", key="b"))["value"] == value


async def test_a_value_of_null_is_a_value(connect: Connect) -> None:
    async with connect() as call:
        await call("memory_write", scope="a", key="b", value=None)
        reply = await call("memory_read", scope="a", key="b")

    assert reply["value"] is None
    assert reply["version"] == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("memory_write", {"scope": "a", "key": "b", "value": 1, "confidence": 1.1}),
        ("memory_write", {"scope": "a", "key": "b", "value": 1, "confidence": -0.1}),
        ("memory_write", {"scope": "a", "key": "b", "value": 1, "expected_version": -1}),
        ("memory_write", {"scope": "a", "key": "b", "value": 1, "expires_in": 0}),
        ("memory_write", {"scope": "a", "key": "b", "value": 1, "expires_in": 10**12}),
        ("memory_write", {"scope": "a", "key": "b", "value": 1, "request_id": ""}),
        ("memory_write", {"scope": "a", "key": "b", "value": 1, "tags": [1]}),
        ("memory_read", {"scope": "a", "key": "b", "version": 0}),
        ("memory_read", {"scope": "a", "key": "b", "version": 10**30}),
        ("memory_outcome", {"scope": "a", "key": "b", "outcome": "success", "version": 2**63}),
        ("memory_read", {"names": []}),
        ("memory_search", {"limit": 0}),
        ("memory_search", {"limit": 101}),
        ("memory_search", {"since": "yesterday"}),
        ("memory_outcome", {"scope": "a", "key": "b", "outcome": "great"}),
        ("handoff_create", {"summary": "s", "next": ["n"], "priority": "now"}),
        ("handoff_create", {"summary": "s", "in_reply_to": "h_1", "status": "lost"}),
    ],
)
async def test_an_argument_out_of_range_is_refused(
    tool: str, arguments: dict[str, Any], connect: Connect
) -> None:
    async with connect() as call:
        refusal = await call.refused(tool, **arguments)

    assert refusal["code"] == "invalid_argument"


@pytest.mark.parametrize("version", ["9" * 30, "9" * 5000, "0", "-1", "1.0", "x", ""])
async def test_a_name_with_no_version_number_behind_its_at_is_refused(
    version: str, connect: Connect
) -> None:
    async with connect() as call:
        refusal = await call.refused("memory_read", names=[f"a/b@{version}"])

    assert refusal["code"] == "invalid_name"


@settings(max_examples=150, suppress_health_check=[HealthCheck.differing_executors])
@given(
    st.sampled_from(TOOLS),
    st.dictionaries(
        st.sampled_from([*" ".join(PARAMETERS.values()).split(), "nonsense"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()),
    ),
)
def test_whatever_arguments_come_they_are_parsed_or_refused(
    tool: str, given_arguments: dict[str, Any]
) -> None:
    kind = vars(arguments)[f"{tool.split('_')[1].title()}Arguments"]

    try:
        found = parsed(kind, given_arguments)
    except errors.InvalidArgumentError as error:
        refusal = error.message
    else:
        refusal = None
        assert set(given_arguments) <= set(found.model_fields_set)

    assert refusal is None or refusal.startswith(("argument", "unknown argument"))


# --- errors --------------------------------------------------------------------------------------


async def test_an_error_has_a_code_of_the_list_a_sentence_and_a_way_out(connect: Connect) -> None:
    known = {kind.code for kind in errors.error_types()}
    async with connect("scout") as call:
        packet_id = (await call("handoff_create", summary="s", next=["n"]))["packet_id"]
        refusals = [
            await call.refused("memory_read", scope="a", key="b"),
            await call.refused("memory_write", scope="", key="b", value=1),
            await call.refused("memory_write", scope="osiris/x", key="b", value=1),
            await call.refused("memory_write", scope="a", key="b", value=1, expected_version=4),
            await call.refused("memory_write", scope="a", key="b", value=2**64),
            await call.refused("memory_write", scope="a", key="b", value="x" * (1 << 20)),
            await call.refused("memory_search", cursor="nonsense"),
            await call.refused("handoff_create", summary="s"),
            await call.refused("handoff_create", summary="s", next=["n"], pins=["no/such"]),
            await call.refused(
                "handoff_create", summary="s", in_reply_to=packet_id, status="done", token=1
            ),
            await call.refused("handoff_pickup", packet_id="h_0"),
        ]

    assert [refusal["code"] for refusal in refusals] == [
        "not_found",
        "invalid_name",
        "reserved_scope",
        "version_conflict",
        "invalid_value",
        "too_large",
        "invalid_cursor",
        "empty_handoff",
        "pin_not_found",
        "claim_lost",
        "not_found",
    ]
    for refusal in refusals:
        assert refusal["code"] in known
        assert refusal["message"]
        assert refusal["next"].endswith(".")
        assert refusal["retryable"] is False


async def test_what_is_not_found_comes_with_the_nearest_names(connect: Connect) -> None:
    async with connect() as call:
        await call("memory_write", **NAME, value=1)

        misspelt = await call.refused("memory_read", scope="listing/553", key="asessment")
        elsewhere = await call.refused("memory_read", scope="listing/554", key="assessment")
        too_new = await call.refused(
            "memory_read", scope="listing/553", key="assessment", version=7
        )

    assert misspelt["nearest"] == ["listing/553/assessment"]
    assert elsewhere["nearest"] == ["listing/553/assessment"]
    assert too_new["nearest"] == ["listing/553/assessment@1"]


# --- how large replies get -----------------------------------------------------------------------


async def test_a_large_value_comes_in_slices_that_join_to_the_very_bytes(connect: Connect) -> None:
    value = {"text": 'a "quoted" line\n' * 3000, "语": "数据库🙂" * 3000, "n": [1, 1.0, None]}
    async with connect() as call:
        await call("memory_write", scope="a", key="b", value=value)

        slices, sizes, cursor = [], [], None
        while True:
            reply = await call("memory_read", scope="a", key="b", cursor=cursor)
            slices.append(reply["value_text"])
            sizes.append(len(orjson.dumps(reply)))
            if (cursor := reply.get("next_cursor")) is None:
                break

    assert "".join(slices).encode() == canonical.encode(value)
    assert reply["value_bytes"] == len(canonical.encode(value))
    assert len(slices) > 5
    assert max(sizes) <= Limits().reply_bytes


async def test_slices_go_on_with_the_version_they_began_with(connect: Connect) -> None:
    async with connect() as call:
        await call("memory_write", scope="a", key="b", value="x" * 20_000)
        first = await call("memory_read", scope="a", key="b")
        await call("memory_write", scope="a", key="b", value="y" * 20_000)

        second = await call("memory_read", scope="a", key="b", cursor=first["next_cursor"])

    assert second["version"] == 1
    assert first["value_text"] + second["value_text"] == '"' + "x" * 20_000 + '"'


async def test_no_reply_is_larger_than_its_ceiling(connect: Connect) -> None:
    limit = Limits().reply_bytes
    note = "n" * 2000
    async with connect() as call:
        for n in range(30):
            await call(
                "memory_write",
                scope="big",
                key=f"k{n}",
                value=f"word {n} " * 1900,
                source="s" * 2000,
                tags=["t" * 60],
            )
        for outcome in ["success", "failure"] * 12:
            await call("memory_outcome", scope="big", key="k0", outcome=outcome, note=note)
        replies = [
            await call("memory_read", scope="big", key="k1"),
            await call("memory_read", names=[f"big/k{n}" for n in range(30)]),
            await call("memory_read", scope="big", key="k0", history=True),
            await call("memory_search", query="word", limit=100),
            await call("memory_search", limit=100),
            await call("memory_stats", verify=True),
        ]

    assert [len(orjson.dumps(reply)) <= limit for reply in replies] == [True] * 6


async def test_names_that_do_not_fit_one_reply_come_once_each_over_pages(connect: Connect) -> None:
    names = [f"s/k{n}" for n in range(40)]
    async with connect() as call:
        for n in range(40):
            await call("memory_write", scope="s", key=f"k{n}", value="v" * 1500)

        got, cursor, pages = [], None, 0
        while pages == 0 or cursor:
            reply = await call("memory_read", names=names, cursor=cursor)
            got += [f"{record['scope']}/{record['key']}" for record in reply["records"]]
            cursor, pages = reply.get("next_cursor"), pages + 1

    assert got == names
    assert pages > 2


# --- resources and prompts -----------------------------------------------------------------------


async def resource(call: Tools, uri: str) -> Any:
    (content,) = (await call.client.read_resource(uri)).contents
    assert content.mime_type == "application/json"
    return orjson.loads(content.text)  # type: ignore[union-attr]


async def test_a_record_is_a_resource_in_any_of_its_versions(connect: Connect) -> None:
    async with connect() as call:
        await call("memory_write", scope="plan/süd route", key="weg", value="old")
        await call("memory_write", scope="plan/süd route", key="weg", value="new")
        (listed,) = (await call.client.list_resources()).resources

        current = await resource(call, str(listed.uri))
        first = await resource(call, f"{listed.uri}@1")

    assert str(listed.uri) == "memory://plan/s%C3%BCd%20route/weg"
    assert (current["version"], current["value"]) == (2, "new")
    assert (first["version"], first["value"], first["superseded_by"]) == (1, "old", 2)


async def test_a_record_is_read_whole_as_a_resource_however_large(connect: Connect) -> None:
    async with connect() as call:
        await call("memory_write", scope="a", key="b", value="x" * 500_000)

        assert (await resource(call, "memory://a/b"))["value"] == "x" * 500_000


async def test_a_packet_is_a_resource_and_reading_it_claims_nothing(connect: Connect) -> None:
    async with connect("scout") as scout, connect("executor") as executor:
        sent = await scout("handoff_create", summary="s", next=["n"])

        seen = await resource(executor, f"handoff://{sent['packet_id']}")

        assert seen["packet"]["state"] == "waiting"
        assert (await executor("handoff_pickup"))["packet"]["deliveries"] == 1


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("memory://a/nothing", "not_found"),
        ("memory://a/b@9", "not_found"),
        ("memory://a", "invalid_name"),
        ("handoff://h_0", "not_found"),
        ("file:///etc/passwd", "not_found"),
    ],
)
async def test_a_missing_resource_is_a_protocol_error_that_names_the_uri(
    uri: str, code: str, connect: Connect
) -> None:
    async with connect() as call:
        await call("memory_write", scope="a", key="b", value=1)

        with pytest.raises(MCPError) as raised:
            await call.client.read_resource(uri)

    assert raised.value.code == -32602
    assert (raised.value.data["uri"], raised.value.data["code"]) == (uri, code)


async def test_every_kind_of_resource_has_a_template(connect: Connect) -> None:
    async with connect() as call:
        found = (await call.client.list_resource_templates()).resource_templates

    assert [template.uri_template for template in found] == [
        "memory://{+scope}/{key}",
        "handoff://{packet_id}",
        "osiris://task/{task_id}/manifest",
        "osiris://task/{task_id}/status",
        "osiris://ref/{ref}",
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("write_handoff", {}, "handoff_create"),
        ("write_handoff", {"topic": "the crawler"}, "limited to: the crawler"),
        ("receive_handoff", {}, "handoff_pickup."),
        ("receive_handoff", {"packet_id": "h_1"}, "packet_id h_1"),
    ],
)
async def test_a_prompt_writes_or_receives_a_handoff(
    name: str, arguments: dict[str, str], said: str, connect: Connect
) -> None:
    async with connect() as call:
        names = [prompt.name for prompt in (await call.client.list_prompts()).prompts]
        prompt = await call.client.get_prompt(name, arguments)

    assert names == ["write_handoff", "receive_handoff", "osiris/task-resume"]
    assert said in prompt.messages[0].content.text  # type: ignore[union-attr]


async def test_an_unknown_prompt_is_a_protocol_error(connect: Connect) -> None:
    async with connect() as call:
        with pytest.raises(MCPError, match="no prompt"):
            await call.client.get_prompt("dance")


# --- the checkout that the server runs in --------------------------------------------------------


async def test_the_servers_checkout_is_filled_in_and_compared(
    connect: Connect, tmp_path: Path, checkout: Path
) -> None:
    async with (
        connect("scout", folder=checkout) as scout,
        connect("executor", folder=tmp_path) as elsewhere,
        connect("critic", folder=checkout) as critic,
    ):
        await scout("handoff_create", summary="for one", next=["n"], to="executor")
        await scout("handoff_create", summary="for the other", next=["n"], to="critic")
        outside = await elsewhere("handoff_pickup")
        (checkout / "b.txt").write_text("new")
        beside = await critic("handoff_pickup")

    assert outside["packet"]["details"]["workspace"]["branch"] == "main"
    assert outside["packet"]["details"]["workspace"]["dirty"] is False
    assert "workspace" not in outside
    assert "dirty" in beside["workspace"]["note"]


async def test_details_that_name_a_workspace_win_over_the_servers(
    connect: Connect, checkout: Path
) -> None:
    async with connect("scout", folder=checkout) as scout, connect("executor") as executor:
        mine = {"branch": "feature", "commit": "abc", "dirty": True}
        await scout("handoff_create", summary="s", next=["n"], details={"workspace": mine})

        assert (await executor("handoff_pickup"))["packet"]["details"]["workspace"] == mine
