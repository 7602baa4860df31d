"""What stands between a tool and a model's context: nothing, the client's own ceilings, or us."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

import orjson
from typing_extensions import override

from context.payloads import Payload, Question
from context.transcript import Transcript

Form = Literal["whole", "unchanged", "change", "stub"]

_REF: Final = re.compile(r"\br[1-9]\d*\b")
# What Claude Code 2.1 does by itself. Source: notes/context.md §1.2.
_BASH_CHARS, _KEPT_CHARS, _PREVIEW_CHARS, _READ_TOKENS = 30_000, 50_000, 2_000, 25_000


class Shown(NamedTuple):
    """How a result entered the context.

    Attributes:
        text: What entered.
        form: All of it, a line for what stands there already, its change, or a stub.
        ref: Where the rest can be asked for, if the text names a place.
    """

    text: str
    form: Form = "whole"
    ref: str | None = None


class Side:
    """No governor: every result enters whole."""

    def begin(self, transcript: Transcript) -> None:
        """Put in what stands before the first message."""

    async def deliver(self, transcript: Transcript, payload: Payload) -> Shown:
        """Put a result in."""
        transcript.read("payload", payload.text)
        return Shown(payload.text)

    async def ask(self, transcript: Transcript, ref: str, payload: Payload, q: Question) -> str:
        """Ask a kept result for one fact; what it says."""
        raise NotImplementedError

    async def is_lossless(self) -> bool:
        """Whether everything kept outside comes back with the hash of what was kept."""
        return True


class Native(Side):
    """A present-day client that keeps large results in files, with a preview of 2,000 characters.

    A shell command counts as large from 30,000 characters on, another tool from 50,000; a read of a
    file enters up to 25,000 tokens, more than is tried here.
    """

    @override
    async def deliver(self, transcript: Transcript, payload: Payload) -> Shown:
        ceiling = {"Bash": _BASH_CHARS, "Read": 4 * _READ_TOKENS}.get(payload.tool, _KEPT_CHARS)
        size = len(payload.text)
        if size <= ceiling:
            return await super().deliver(transcript, payload)
        path = "/home/dev/.claude/tool-results/7f3a.txt"
        text = (
            f"<persisted-output>\nOutput too large ({size / 1024:.1f}KB). Full output saved to: "
            f"{path}\n\nPreview (first 2KB):\n{payload.text[:_PREVIEW_CHARS]}\n...\n"
            "</persisted-output>"
        )
        transcript.read("stubs", text)
        return Shown(text, "stub", path)

    @override
    async def ask(self, transcript: Transcript, ref: str, payload: Payload, q: Question) -> str:
        command = q.command.format(path=ref)
        transcript.write("arguments", call_text("Bash", {"command": command}))
        if q.op == "grep" and "max_matches" not in q.args:
            lines = enumerate(payload.text.splitlines(), 1)
            found = [f"{at}:{line}" for at, line in lines if q.args["pattern"] in line]
            reply = "\n".join(found)
        else:
            reply = payload.truth["whole"]
        transcript.read("recalls", reply)
        return reply


def read_stub(stub: str) -> Shown:
    """What a stub says of itself, as its reader finds it."""
    found = _REF.search(stub)
    form: Form = "stub"
    if "unchanged since" in stub:
        form = "unchanged"
    elif "change since" in stub:
        form = "change"
    return Shown(stub, form, found[0] if found else None)


def call_text(tool: str, given: dict[str, Any]) -> str:
    """A call as the model writes it."""
    return orjson.dumps({"name": tool, "arguments": given}).decode()
