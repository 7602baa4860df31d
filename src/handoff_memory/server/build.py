"""The MCP server on an application: what is listed, what is called, who calls."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.server import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from handoff_memory import __version__
from handoff_memory.app import App, is_alive
from handoff_memory.core.author import Author
from handoff_memory.core.errors import InvalidArgumentError, MemoryFault
from handoff_memory.server import prompts, replies, resources
from handoff_memory.server.arguments import parsed
from handoff_memory.server.dispatch import NAME as DISPATCHER
from handoff_memory.server.dispatch import dispatcher, plain
from handoff_memory.server.governor_tools import GovernorTools
from handoff_memory.server.instructions import instructions
from handoff_memory.server.memory_tools import MemoryTools
from handoff_memory.server.tool import Tool
from handoff_memory.services import planning, presence, tasks, waiting
from handoff_memory.services.writing import Reply
from handoff_memory.settings import Settings

Context = ServerRequestContext[Any, Any]

NAME: Final = "handoff-memory"
_GREETING_PATIENCE_S: Final = 0.05
_GREETINGS: Final = frozenset({"initialize", "server/discover"})
_HOUR_MS: Final = 3_600_000


def build_server(app: App) -> Server[Any]:
    """The server of one application, ready to be run on a transport."""
    surface = _Surface(app)
    server = Server(
        NAME,
        version=__version__,
        title="Handoff memory",
        instructions=_instructions(app.settings, 0),
        cache_hints={"tools/list": CacheHint(ttl_ms=_HOUR_MS, scope="public")},
        on_list_tools=surface.list_tools,
        on_list_resources=surface.list_resources,
        on_list_resource_templates=surface.list_templates,
        on_read_resource=surface.read_resource,
        on_list_prompts=surface.list_prompts,
        on_get_prompt=surface.get_prompt,
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, surface.call_tool)
    if "opentelemetry.sdk.trace" not in sys.modules:
        server.middleware.clear()  # spans that nobody takes: a tenth of a short call
    server.middleware.append(surface.greet)
    return server


class _Surface:
    """The handlers, and what they have to remember of this process's client."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._governor = GovernorTools(app)
        self._tools = {**MemoryTools(app).table, **self._governor.table}
        one = dispatcher(dict(self._tools))
        self._tools[one.name] = one
        self._met: set[str] = set()
        self._background: set[asyncio.Task[None]] = set()

    async def list_tools(self, ctx: Context, params: Any) -> types.ListToolsResult:
        settings = self._app.settings
        shown = [_described(tool, dotted=settings.dotted) for tool in listed(settings, self._tools)]
        return types.ListToolsResult(tools=shown)

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        try:
            who = self._app.identity.author(_announced(ctx))
            reply = await self._call(who, params.name, params.arguments or {})
            result = replies.result(await self._with_twins(who, reply))
        except Exception as error:  # noqa: BLE001 - nothing may escape a tool
            result = replies.failure(error)
        return {**result, "resultType": "complete"}  # the SDK drops it for the era without it

    async def list_resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        with _protocol_errors():
            found = await resources.listed(self._app, self._app.identity.author(_announced(ctx)))
        return types.ListResourcesResult(resources=found)

    async def list_templates(self, ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=list(resources.TEMPLATES))

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        with _protocol_errors(uri=uri):
            who = self._app.identity.author(_announced(ctx))
            content = await resources.read(self._app, who, uri, self._governor.governing)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(self, ctx: Context, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(prompts.PROMPTS))

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        with _protocol_errors():
            given = params.arguments or {}
            if params.name != prompts.RESUME:
                return prompts.get(params.name, given)
            who = self._app.identity.author(_announced(ctx))
            governing, wanted = self._governor.governing, given.get("task") or None
            found = await self._app.read(
                lambda tx: planning.whole(tx, who, tasks.get(tx, who, wanted), governing)
            )
            return prompts.resume(found)

    async def greet(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Put how many packets wait into the instructions, if the database can say it in time."""
        answer = await call_next(ctx)
        if ctx.method in _GREETINGS and isinstance(answer, dict):  # as it goes over the wire
            text = _instructions(self._app.settings, await self._waiting(ctx))
            return {**answer, "instructions": text}
        return answer

    async def _call(self, who: Author, name: str, given: dict[str, Any]) -> Reply:
        tool = self._tools.get(plain(name))
        if tool is None:
            known = ", ".join(self._tools)
            raise InvalidArgumentError(f"no tool {name!r}; there are {known}")
        return await tool.call(who, parsed(tool.arguments, given))

    async def _waiting(self, ctx: Context) -> int:
        try:
            who = self._app.identity.author(_announced(ctx))
            asking = self._app.read(lambda tx: waiting.count(tx, who))
            return await asyncio.wait_for(asking, _GREETING_PATIENCE_S)
        except TimeoutError:
            return 0  # every reply says it once the database is there
        except Exception as error:  # noqa: BLE001 - without a greeting there is no connection
            replies.fault_of(error)
            return 0

    async def _with_twins(self, who: Author, reply: Reply) -> Reply:
        if who.agent in self._met:
            return reply
        self._met.add(who.agent)
        try:
            twins = await self._app.read(lambda tx: presence.twins(tx, who, is_alive))
        except Exception as error:  # noqa: BLE001 - what the call did must not look undone
            replies.fault_of(error)
            return reply
        entering = asyncio.create_task(self._enter(who))
        self._background.add(entering)
        entering.add_done_callback(self._background.discard)
        if not twins:
            return reply
        warning = f"another live session writes as {who.agent!r}: give each its own AGENT_ID"
        return {**reply, "warnings": [*reply.get("warnings", []), warning], "twins": twins}

    async def _enter(self, who: Author) -> None:
        try:
            await self._app.write(lambda tx: presence.enter(tx, who))
        except MemoryFault:
            return  # a sign of life only; the next write gives one too


class _protocol_errors:  # noqa: N801 - reads as a statement
    """Turns our errors into protocol errors, for what is no tool."""

    def __init__(self, **data: str) -> None:
        self._data = data

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, MCPError):
            fault = replies.fault_of(error)
            data = {**self._data, **replies.error_reply(fault)}
            raise MCPError(types.INVALID_PARAMS, fault.message, data) from error


def _announced(ctx: Context) -> str | None:
    if ctx.session.client_params is not None:
        return ctx.session.client_params.client_info.name
    info = (ctx.params or {}).get("clientInfo")  # `initialize` itself, before it is done
    return str(info["name"]) if isinstance(info, dict) and info.get("name") else None


def _instructions(settings: Settings, waiting: int) -> str:
    governs = settings.tools in {"all", "governor"}
    return instructions(waiting, governor=governs, dispatch_only=settings.dispatch_only)


def listed(settings: Settings, tools: Mapping[str, Tool]) -> list[Tool]:
    """The tools that this installation lists; the others can be called all the same."""
    if settings.dispatch_only:
        return [tools[DISPATCHER]]
    kept = {"memory": ("memory_", "handoff_"), "governor": ("osiris_",)}.get(settings.tools)
    return [
        tool
        for name, tool in tools.items()
        if name != DISPATCHER and (kept is None or name.startswith(kept))
    ]


def _described(tool: Tool, *, dotted: bool) -> types.Tool:
    is_dotted = dotted and tool.name.startswith("osiris_")
    name = tool.name.replace("_", ".", 1) if is_dotted else tool.name
    return types.Tool.model_validate(tool.described(name=name))
