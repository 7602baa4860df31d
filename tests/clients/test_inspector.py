"""The MCP Inspector's command line, in both protocol eras."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from clients.conftest import SERVER
from handoff_memory.server.resources import TEMPLATES

pytestmark = [pytest.mark.clients, pytest.mark.parametrize("era", ["legacy", "modern"])]

Run = Callable[..., subprocess.CompletedProcess[str]]
REFUSED_BY_TOOL = 5


def inspect(run: Run, era: str, method: str, *more: str) -> subprocess.CompletedProcess[str]:
    options = ["--protocol-era", era, "--method", method, "--format", "json", "-q", *more]
    return run("mcp-inspector", "--cli", *SERVER, *options)


def call(run: Run, era: str, tool: str, arguments: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    done = inspect(
        *(run, era, "tools/call"),
        *("--tool-name", tool, "--tool-args-json", json.dumps(arguments)),
    )
    return done.returncode, json.loads(done.stdout)["result"]


def test_the_schemas_pass_its_strict_lint(run: Run, era: str) -> None:
    done = inspect(run, era, "tools/list", "--strict")

    assert done.returncode == 0, done.stderr
    tools = json.loads(done.stdout)["result"]["tools"]
    assert len(tools) == 13
    assert "0 errors" in done.stderr  # "any JSON" is a warning, and what is meant


def test_a_record_written_by_one_process_is_read_by_the_next(run: Run, era: str) -> None:
    value = {"text": "half a pair: \U0001f600, 数据库", "n": [1, 1.5, None, True]}

    status, written = call(run, era, "memory_write", {"scope": "a/b", "key": "k", "value": value})
    _, read = call(run, era, "memory_read", {"scope": "a/b", "key": "k"})

    assert status == 0
    assert read["structuredContent"]["value"] == value
    assert read["structuredContent"]["hash"] == written["structuredContent"]["hash"]
    assert json.loads(read["content"][0]["text"]) == read["structuredContent"]


def test_an_error_comes_as_a_tool_error_with_a_way_out(run: Run, era: str) -> None:
    status, refused = call(run, era, "memory_read", {"scope": "a", "key": "missing"})

    assert status == REFUSED_BY_TOOL
    assert refused["isError"] is True
    assert refused["structuredContent"]["code"] == "not_found"
    assert refused["structuredContent"]["next"]


def test_a_packet_goes_from_one_session_to_the_next(run: Run, era: str) -> None:
    packet = {"summary": "carry on", "next": ["first step"]}
    _, created = call(run, era, "handoff_create", packet)

    _, taken = call(run, era, "handoff_pickup", {})

    found = taken["structuredContent"]["packet"]
    assert found["packet_id"] == created["structuredContent"]["packet_id"]
    assert found["next"] == ["first step"]


def test_resources_and_prompts_are_served(run: Run, era: str) -> None:
    call(run, era, "memory_write", {"scope": "a/b", "key": "k", "value": 7})

    listed = json.loads(inspect(run, era, "resources/list").stdout)["result"]["resources"]
    templates = inspect(run, era, "resources/templates/list")
    read = inspect(run, era, "resources/read", "--uri", "memory://a/b/k")
    prompt = inspect(run, era, "prompts/get", "--prompt-name", "receive_handoff")

    assert [resource["uri"] for resource in listed] == ["memory://a/b/k"]
    assert len(json.loads(templates.stdout)["result"]["resourceTemplates"]) == len(TEMPLATES)
    contents = json.loads(read.stdout)["result"]["contents"]
    assert json.loads(contents[0]["text"])["value"] == 7
    assert "handoff_pickup" in json.loads(prompt.stdout)["result"]["messages"][0]["content"]["text"]


def test_many_calls_at_once_all_succeed(run: Run, era: str) -> None:
    load = ["--load", "--load-requests", "100", "--load-concurrency", "8"]
    written = ["--tool-name", "memory_search", "--tool-arg", "query=anything"]

    done = inspect(run, era, "tools/call", *written, *load)

    assert done.returncode == 0, done.stdout + done.stderr
