"""What a hook can do in each client: the one table behind the docs and `doctor`."""

from __future__ import annotations

from typing import Final, NamedTuple

from handoff_memory.hooks.event import Kind


class Power(NamedTuple):
    """What one event of a client lets a hook do.

    Attributes:
        event: The client's name for it; several where a client splits it.
        blocks: Whether a call can be refused there.
        replaces: Which outputs another text can stand in for; empty for none.
        adds_context: Whether text can reach the model there.
        note: A limit worth knowing.
    """

    event: str
    blocks: bool = False
    replaces: str = ""
    adds_context: bool = False
    note: str = ""


class Client(NamedTuple):
    """A client that runs hooks.

    Attributes:
        name: As people call it.
        observed: The version that this was observed with; empty where it is from its documents.
        powers: By the kind of event.
        note: A limit of the whole client.
    """

    name: str
    observed: str
    powers: dict[Kind, Power]
    note: str = ""


CLIENTS: Final[dict[str, Client]] = {
    "claude-code": Client(
        "Claude Code",
        "2.1.332",
        {
            "session-start": Power("SessionStart", adds_context=True),
            "prompt": Power("UserPromptSubmit", adds_context=True),
            "before-tool": Power("PreToolUse", blocks=True, adds_context=True),
            "after-tool": Power(
                "PostToolUse, PostToolUseFailure",
                replaces="of calls that succeed",
                adds_context=True,
                note="the output of a call that failed arrives whole",
            ),
            "before-compact": Power("PreCompact"),
            "session-end": Power("SessionEnd", note="has 1.5 s"),
        },
        "calls of subagents are judged and observed; their outputs stay as they are",
    ),
    "codex": Client(
        "Codex",
        "0.171.0",
        {
            "session-start": Power("SessionStart", adds_context=True),
            "prompt": Power("UserPromptSubmit", adds_context=True),
            "before-tool": Power("PreToolUse", blocks=True, adds_context=True),
            "after-tool": Power(
                "PostToolUse",
                replaces="all",
                adds_context=True,
                note="does not run for an MCP call that fails; the exit status and the whole "
                "output of a command are read from the session's record",
            ),
            "before-compact": Power("PreCompact"),
            "turn-end": Power("Stop"),
            "session-end": Power("SessionEnd"),
        },
        "hooks run once the person trusts them",
    ),
    "gemini": Client(
        "Gemini CLI",
        "0.61.0",
        {
            "session-start": Power("SessionStart", adds_context=True),
            "prompt": Power("BeforeAgent", adds_context=True),
            "before-tool": Power("BeforeTool", blocks=True),
            "after-tool": Power(
                "AfterTool",
                replaces="all",
                adds_context=True,
                note="the model gets a replaced output as an error, whose text says it is none",
            ),
            "before-compact": Power("PreCompress", note="runs before each request to the model"),
            "session-end": Power("SessionEnd", note="the client does not wait for it"),
        },
    ),
    "cursor": Client(
        "Cursor",
        "",
        {
            "session-start": Power("sessionStart", adds_context=True),
            "prompt": Power("beforeSubmitPrompt", adds_context=True),
            "before-tool": Power("preToolUse", blocks=True),
            "after-tool": Power(
                "postToolUse, postToolUseFailure",
                replaces="of MCP tools",
                adds_context=True,
                note="the output of a shell command or a read cannot be replaced",
            ),
            "before-compact": Power("preCompact"),
            "session-end": Power("sessionEnd"),
        },
        "it runs Claude Code's hooks as well, which stay silent there",
    ),
}
