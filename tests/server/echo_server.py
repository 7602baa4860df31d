"""A server on `serve_stdio` for the tests to start as a process: `python echo_server.py [hang]`."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from handoff_memory.server.stdio import leave, serve_stdio

Context = ServerRequestContext[Any, Any]
gate = asyncio.Event()


def peak_memory_bytes() -> int:
    import resource  # noqa: PLC0415 - POSIX only

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


async def hold() -> str:
    say("holding")
    try:
        await gate.wait()
    except asyncio.CancelledError:
        say("cancelled")
        raise
    return "held"


async def work() -> str:
    await asyncio.sleep(0.3)
    return "worked"


def release() -> str:
    gate.set()
    return "released"


def litter() -> str:
    print("stray print", flush=True)  # noqa: T201 - what the test is about
    script = "import sys; print('stray child'); sys.exit(len(sys.stdin.read()))"
    child = subprocess.run([sys.executable, "-c", script], check=False)
    return f"child read {child.returncode} bytes"


TOOLS: dict[str, Callable[..., str | Awaitable[str]]] = {
    "echo": lambda text: text,
    "long": lambda size_bytes: "x" * size_bytes,
    "half a character": lambda: "\ud83d",
    "peak memory": lambda: str(peak_memory_bytes()),
    "hold": hold,
    "release": release,
    "work": work,
    "litter": litter,
}


async def list_tools(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    tool = types.Tool(name="echo", input_schema={"type": "object"})
    return types.ListToolsResult(tools=[tool])


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    answer = TOOLS[params.name](**(params.arguments or {}))
    text = answer if isinstance(answer, str) else await answer
    return types.CallToolResult(content=[types.TextContent(text=text)])


async def listen(
    ctx: Context, params: types.SubscriptionsListenRequestParams
) -> types.SubscriptionsListenResult:
    await asyncio.Event().wait()
    raise AssertionError


async def closing() -> None:
    say("closed")
    if "hang" in sys.argv:
        await asyncio.Event().wait()


async def main() -> None:
    server = Server(
        "echo",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=listen,
    )
    await serve_stdio(server, on_closing=closing)
    leave()


if __name__ == "__main__":
    asyncio.run(main())
