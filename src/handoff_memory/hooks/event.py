"""What a hook is told and what it answers, in no client's form.

Everything here is imported at each tool call of a client, so it costs next to nothing to import.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

Kind = Literal[
    "session-start",
    "prompt",
    "before-tool",
    "after-tool",
    "before-compact",
    "turn-end",
    "session-end",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

CANARY: Final = "handoff_memory_canary"
CANARY_DENIED: Final = (
    f"{CANARY} is refused by handoff-memory at every call, to prove that it is in force. Nothing "
    "is wrong and there is nothing to do."
)
SERVER: Final = "handoff-memory"
# The tools of our own server, which watch themselves.
OWN_TOOLS: Final = frozenset(
    {
        "handoff_pickup",
        "handoff_create",
        "memory_write",
        "memory_read",
        "memory_search",
        "memory_outcome",
        "memory_stats",
        "osiris_plan",
        "osiris_precheck",
        "osiris_observe",
        "osiris_recall",
        "osiris_checkpoint",
        "osiris_handoff",
        "osiris_call",
    }
)
# Beyond 10,000 characters Claude Code shows a preview, and Cursor drops the text.
CONTEXT_CHARS: Final = 9_900


class Event(NamedTuple):
    """One thing that a client reports.

    Attributes:
        kind: What happened, by the name that the command line has for it.
        name: The client's own name for it, which the answer repeats.
        session: The client's id of the conversation.
        folder: Where the client works.
        subagent: Id of the subagent that acts; None for the main one.
        tool: The client's name of the tool.
        args: Its arguments.
        call_id: What tells this call from each other one of the same client.
        server: The MCP server of the tool, where the client says so.
        output: The tool's output as text; None where there is none, or it is no text.
        error: What it failed with, where an exit status does not say it.
        exit_status: Of a shell command; None where the client does not say.
        is_partial: Whether a part of something was asked for, which must arrive as it is.
        is_replaceable: Whether another text may stand in for the output.
        shape: The output as the client gave it, whose shape a replacement keeps.
        prompt: What the person wrote.
        source: Why a session starts or ends, or a compaction runs.
        transcript: The client's record of the session, where it says more than the payload.
        kept_at: The client's file with the whole output, where the payload has a part.
    """

    kind: Kind
    name: str
    session: str | None = None
    folder: str | None = None
    subagent: str | None = None
    tool: str = ""
    args: Mapping[str, Any] = {}
    call_id: str | None = None
    server: str = ""
    output: str | None = None
    error: str | None = None
    exit_status: int | None = None
    is_partial: bool = False
    is_replaceable: bool = False
    shape: Any = None
    prompt: str = ""
    source: str = ""
    transcript: str | None = None
    kept_at: str | None = None


class Answer(NamedTuple):
    """What a hook answers; with nothing set, the client goes on as if there were no hook.

    Attributes:
        deny: Why the call must not be made, with the way out; never empty where it is refused.
        replacement: What the model reads instead of the output.
        context: Facts that the model reads beside it.
    """

    deny: str | None = None
    replacement: str | None = None
    context: str | None = None


NOTHING: Final = Answer()


def is_own(event: Event) -> bool:
    """Whether a call goes to our own server, under whatever name the client gives its tools."""
    tool = event.tool.replace("osiris.", "osiris_")
    last = next((own for own in OWN_TOOLS if tool.endswith(own)), "")
    if not last:
        return False
    server = event.server or tool[: -len(last)]
    return SERVER in server.replace("_", "-")


def capped(text: str | None) -> str | None:
    """A context as long as every client takes it; None where nothing is to be said."""
    if not text or not text.strip():
        return None
    if len(text) <= CONTEXT_CHARS:
        return text
    return text[:CONTEXT_CHARS].rpartition("\n")[0] or text[:CONTEXT_CHARS]


def text_of(value: Any) -> str | None:
    """The text in a result of an MCP tool: its blocks, its structured content, or itself."""
    match value:
        case str():
            return value
        case [_, *_] as blocks if all(_is_text(block) for block in blocks):
            return "\n".join(block["text"] for block in blocks)
        case {"structuredContent": {**structured}}:
            return dumped(structured)
        case {"content": [_, *_] as blocks}:
            return text_of(blocks)
        case None | [*_]:
            return None
        case _:
            return dumped(value)


def dumped(value: Any) -> str:
    """A value as JSON text."""
    import orjson  # noqa: PLC0415 - most payloads are texts already

    return orjson.dumps(value).decode()


def texts(payload: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that holds a text."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def table(value: Any) -> Mapping[str, Any]:
    """A JSON object, whatever was given in its place; some clients give it as a text."""
    if isinstance(value, str):
        import orjson  # noqa: PLC0415

        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return {"command": value}
    return value if isinstance(value, dict) else {}


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)
