"""What stands in a tool's result, and what takes its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeGuard

import orjson

Result = dict[str, Any]

_UNFINISHED: Final = frozenset({"input_required", "task"})


def is_output(result: Any) -> TypeGuard[Result]:
    """Whether a call ended with this; else it asks for input, or goes on as a task."""
    return (
        isinstance(result, dict)
        and result.get("resultType") not in _UNFINISHED
        and (isinstance(result.get("content"), list) or "structuredContent" in result)
    )


def text_of(result: Result) -> str | None:
    """What a model reads of a result, None where that is nothing but images and the like.

    Texts stand one below the other. Structured content counts only where the texts do not say
    the same: then it stands below them, as JSON.
    """
    texts = [text for block in _content(result) if (text := _text(block)) is not None]
    structured = result.get("structuredContent")
    if structured is not None and not _say(texts, structured):
        texts.append(orjson.dumps(structured).decode())
    return "\n".join(texts) if texts else None


def stubbed(result: Result, stub: str) -> Result:
    """The result with a stub for all its text; images, audio and links stay."""
    others = [block for block in _content(result) if _text(block) is None]
    kept = {name: value for name, value in result.items() if name != "structuredContent"}
    return {**kept, "content": [_block(stub), *others]}


def noted(result: Result, notes: Iterable[str]) -> Result:
    """The result with a block of text for each note behind its own."""
    return {**result, "content": [*_content(result), *map(_block, notes)]}


def refused(reason: str) -> Result:
    """The result of a call that was not made."""
    return {"content": [_block(reason)], "isError": True}


def without_output_schema(tool: Any) -> Any:
    """A listed tool whose results are promised no shape, for a stub has none (ADR 0013)."""
    if not isinstance(tool, dict):
        return tool
    return {name: value for name, value in tool.items() if name != "outputSchema"}


def _content(result: Result) -> list[Any]:
    found = result.get("content")
    return found if isinstance(found, list) else []


def _block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _text(block: Any) -> str | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case _:
            return None


def _say(texts: list[str], structured: Any) -> bool:
    """Whether texts say what structured content does, bare or under its only name."""
    said: list[Any] = [structured]
    if isinstance(structured, dict) and len(structured) == 1:
        said += structured.values()
    joined = "\n".join(texts)
    return joined in said or texts in said or any(value in said for value in _parsed(texts))


def _parsed(texts: list[str]) -> list[Any]:
    try:
        values = [orjson.loads(text) for text in texts]
    except orjson.JSONDecodeError:
        return []
    return [values, *values[:1]] if len(values) == 1 else [values]
