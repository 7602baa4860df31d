"""An MCP server with a bit of everything, for the gateway to stand in front of.

`python wrapped.py` speaks both eras, `python wrapped.py legacy` knows nothing of 2026-07-28, and
`python wrapped.py bare` has no tools.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from handoff_memory.server import stdio
from handoff_memory.server.lines import parse

Context = ServerRequestContext[Any, Any]
SCHEMA: dict[str, Any] = {"type": "object"}
SHAPE = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}
PAGES = [["echo", "big", "fail"], ["crash", "picture", "typed"], ["slow", "ask", "notify"]]


def text(said: str) -> types.TextContent:
    return types.TextContent(text=said)


def log(lines: int) -> str:
    return "".join(f"line {n}: module {n % 7} did its work\n" for n in range(lines))


async def list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
    page = int(params.cursor) if params is not None and params.cursor else 0
    tools = [
        types.Tool(
            name=name,
            description=f"Does {name}.",
            input_schema=SCHEMA,
            output_schema=SHAPE if name == "typed" else None,
            _meta={"test/of": name},
        )
        for name in PAGES[page]
    ]
    following = str(page + 1) if page + 1 < len(PAGES) else None
    return types.ListToolsResult(tools=tools, next_cursor=following)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    tool = TOOLS.get(params.name)
    return await tool(ctx, params) if tool else result(text(PLAIN[params.name](params.arguments)))


def result(*content: types.ContentBlock, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), **more)


async def crash(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    raise MCPError(-32001, "out of order", {"since": "monday"})


async def fail(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    return result(text("no such file: x"), is_error=True)


async def typed(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    rows = [{"n": n, "name": f"row {n}"} for n in range((params.arguments or {}).get("rows", 3))]
    return result(text(f"{len(rows)} rows"), structured_content={"rows": rows})


async def picture(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    image = types.ImageContent(data="AAAA", mime_type="image/png")
    return result(text("a pixel"), image, _meta={"test/k": 1})


async def notify(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    await ctx.session.send_tool_list_changed()
    return result(text("notified"))


async def slow(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    await ctx.session.report_progress(1, 2, "half way")
    try:
        await asyncio.sleep((params.arguments or {}).get("wait_s", 60))
    except asyncio.CancelledError:
        sys.stderr.write("cancelled\n")
        sys.stderr.flush()
        raise
    return result(text("done"))


async def ask(ctx: Context, params: types.CallToolRequestParams) -> Any:
    shape = {"type": "object", "properties": {"name": {"type": "string"}}}
    if ctx.protocol_version < "2026":
        answer = await ctx.session.elicit_form("Who are you?", shape)
        return result(text(f"hello {answer.content}"))
    if params.input_responses:
        given = params.input_responses["who"]
        return result(text(f"hello {given.content}"))  # type: ignore[union-attr]
    question = types.ElicitRequest(
        params=types.ElicitRequestFormParams(message="Who are you?", requested_schema=shape)
    )
    return types.InputRequiredResult(input_requests={"who": question}, request_state="asked")


TOOLS = {
    "crash": crash,
    "fail": fail,
    "typed": typed,
    "picture": picture,
    "notify": notify,
    "slow": slow,
    "ask": ask,
}
PLAIN: dict[str, Callable[[Any], str]] = {
    "echo": lambda given: str((given or {}).get("text")),
    "big": lambda given: log((given or {}).get("lines", 2_000)),
    "huge": lambda given: "x" * given["size_bytes"],
}


async def list_resources(ctx: Context, params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri="test://a", name="a")])


async def list_templates(ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
    found = types.ResourceTemplate(uri_template="test://{name}", name="any")
    return types.ListResourceTemplatesResult(resource_templates=[found])


async def read_resource(
    ctx: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    uri = str(params.uri)
    if uri == "test://missing":
        raise MCPError(-32602, "no such resource", {"uri": uri})
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, text=log(3_000), mime_type="text/plain")]
    )


async def list_prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet", description="Greets.")])


async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    said = types.PromptMessage(role="user", content=text(f"greet {params.arguments}"))
    return types.GetPromptResult(messages=[said])


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=["world", "work"]))


def parse_legacy(line: bytes | None) -> Any:
    """As a server answers that was written before 2026-07-28."""
    message = orjson.loads(line or b"{}")
    if message.get("method") != "server/discover":
        return parse(line)
    error = {"code": types.METHOD_NOT_FOUND, "message": "Method not found"}
    return orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error})


async def main() -> None:
    bare = "bare" in sys.argv
    server = Server(
        "everything",
        version="7",
        instructions="Be kind.",
        on_list_tools=None if bare else list_tools,
        on_call_tool=None if bare else call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )
    if "legacy" in sys.argv:
        stdio.parse = parse_legacy
    await stdio.serve_stdio(server)
    stdio.leave()


if __name__ == "__main__":
    asyncio.run(main())
