"""One session of a Python client: write, read, fail, hand over, pick up; prints what came back.

Usage: python session.py sdk-auto|sdk-legacy|sdk-v1|fastmcp COMMAND ARGS…
It is run by the Python of each client's own environment and knows nothing of the product.
"""

# ruff: noqa: PLC0415 - each environment has one of these libraries

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def sdk(mode: str, command: str, args: list[str]) -> AsyncIterator[Any]:
    """The SDK's client of the second generation."""
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        yield client, client.protocol_version, client.instructions


@asynccontextmanager
async def sdk_v1(command: str, args: list[str]) -> AsyncIterator[Any]:
    """The SDK's session of the first generation, which most frameworks still use."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        yield session, hello.protocolVersion, hello.instructions


@asynccontextmanager
async def fastmcp(command: str, args: list[str]) -> AsyncIterator[Any]:
    """FastMCP's client."""
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(StdioTransport(command, args, env=dict(os.environ))) as client:
        yield client, client.protocol_version, client.instructions


def connect(kind: str, command: str, args: list[str]) -> Any:
    """A connected client, the protocol it speaks and the server's instructions."""
    if kind == "fastmcp":
        return fastmcp(command, args)
    if kind == "sdk-v1":
        return sdk_v1(command, args)
    return sdk(kind.removeprefix("sdk-"), command, args)


async def converse(kind: str, command: str, args: list[str]) -> dict[str, Any]:
    """What came back, step by step."""
    async with connect(kind, command, args) as (client, protocol, instructions):
        as_sent = client.call_tool_mcp if kind == "fastmcp" else client.call_tool

        async def call(name: str, **given: Any) -> Any:
            answer = await as_sent(name, given)
            return answer.model_dump(mode="json", by_alias=True, exclude_none=True)

        async def listed(what: str) -> list[str]:
            answer = await getattr(client, f"list_{what}")()
            return [item.name for item in getattr(answer, what, answer)]

        record = {"scope": "session", "key": "k"}
        packet = {"summary": "go on", "next": ["start"], "pins": ["session/k"], "to": "stranger"}
        found = {
            "protocol": protocol,
            "instructions": instructions,
            "tools": await listed("tools"),
            "written": await call("memory_write", **record, value={"n": 1, "text": "héé"}),
            "read": await call("memory_read", **record),
            "refused": await call("memory_write", **record, value=2, expected_version=9),
            "created": await call("handoff_create", **packet),
            "taken": await call("handoff_pickup"),
            "prompts": await listed("prompts"),
        }
        resource = await client.read_resource("memory://session/k@1")
        return {**found, "resource": getattr(resource, "contents", resource)[0].text}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(converse(sys.argv[1], sys.argv[2], sys.argv[3:]))))  # noqa: T201
