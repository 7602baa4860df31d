"""`osiris_call`: one tool in front of all the others, for clients that pay for every schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handoff_memory.core.author import Author
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.server.arguments import parsed, schema
from handoff_memory.server.governor_arguments import CallArguments
from handoff_memory.server.tool import Tool
from handoff_memory.services.writing import Reply

NAME: Final = "osiris_call"
_DESCRIPTION: Final = (
    "Memory, handoff and governor in one tool. op: an operation such as handoff_pickup (call it "
    'first), memory_search, memory_write, osiris_plan, osiris_observe; op "help" lists them, with '
    'args {"op": name} it shows one.'
)


def dispatcher(tools: Mapping[str, Tool]) -> Tool:
    """The tool that reaches all of those."""

    async def call(who: Author, given: CallArguments) -> Reply:
        """One operation, or help on them."""
        name = plain(given.op)
        if name == "help":
            return _help(tools, given.args)
        tool = tools.get(name) or tools.get(f"osiris_{name}") or tools.get(f"memory_{name}")
        if tool is None:
            raise InvalidArgumentError(f"no operation {given.op!r}; there are {', '.join(tools)}")
        return await tool.call(who, parsed(tool.arguments, dict(given.args)))

    return Tool(NAME, _DESCRIPTION, CallArguments, call, eager=True)


def plain(name: str) -> str:
    """A tool's name as it is kept: `osiris.plan` is `osiris_plan`."""
    return name.replace(".", "_")


def _help(tools: Mapping[str, Tool], asked: Mapping[str, Any]) -> Reply:
    name = plain(str(asked.get("op", "")))
    if not name:
        return {"operations": {one.name: one.description for one in tools.values()}}
    tool = tools.get(name)
    if tool is None:
        raise InvalidArgumentError(f"no operation {name!r}; there are {', '.join(tools)}")
    found = schema(tool.arguments)
    return {"op": name, "description": tool.description, "args": found}
