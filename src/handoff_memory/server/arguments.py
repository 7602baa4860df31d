"""Arguments of the tools: parsed once, strictly, and shown to agents as a short schema.

A list, number or object that a client sends as JSON text is taken; text stays text. Unknown
arguments are refused, so that a mistyped name is not lost in silence.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeVar

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from handoff_memory.core.confidence import Outcome
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.core.packet import Priority, Status
from handoff_memory.services.limits import MAX_PAGE, MAX_REQUEST_ID

A = TypeVar("A", bound="Arguments")


def _from_json_text(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def _list_from_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = _from_json_text(value)
    return found if isinstance(found, list) else [value]


Texts = Annotated[list[str], BeforeValidator(_list_from_text)]
Object = Annotated[dict[str, Any], BeforeValidator(_from_json_text)]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[int, Field(ge=1)]
Version = Annotated[int, Field(ge=1, lt=2**63)]
Limit = Annotated[int, Field(ge=1, le=MAX_PAGE)]
RequestId = Annotated[str, Field(min_length=1, max_length=MAX_REQUEST_ID)]


class Arguments(BaseModel):
    """The arguments of one tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WriteArguments(Arguments):
    """Arguments of `memory_write`."""

    scope: str
    key: str
    value: Any = Field(description="any JSON")
    confidence: Share | None = None
    tags: Texts = []
    source: str | None = None
    expires_in: Seconds | None = None
    expected_version: Annotated[int, Field(ge=0)] | None = None
    if_changed: bool = False
    request_id: RequestId | None = None


class ReadArguments(Arguments):
    """Arguments of `memory_read`."""

    scope: str | None = None
    key: str | None = None
    names: Texts | None = None
    version: Version | None = None
    history: bool = False
    limit: Limit = 20
    cursor: str | None = None


class SearchArguments(Arguments):
    """Arguments of `memory_search`."""

    query: str = ""
    scope: str = ""
    tags: Texts = []
    agent: str | None = None
    min_confidence: Share = 0
    since: str | None = Field(None, description="ISO time or age like 2h")
    include_superseded: bool = False
    limit: Limit = 10
    cursor: str | None = None


class OutcomeArguments(Arguments):
    """Arguments of `memory_outcome`."""

    scope: str
    key: str
    outcome: Outcome
    version: Version | None = None
    note: str | None = None
    packet_id: str | None = None
    request_id: RequestId | None = None


class StatsArguments(Arguments):
    """Arguments of `memory_stats`."""

    verify: bool = False
    scope: str = ""


class CreateArguments(Arguments):
    """Arguments of `handoff_create`."""

    summary: str
    done: Texts = []
    next: Texts = []
    open: Texts = []
    pins: Texts = []
    to: str | None = None
    details: Object = {}
    priority: Priority = "normal"
    expires_in: Seconds | None = None
    in_reply_to: str | None = None
    status: Status | None = None
    token: int | None = None
    request_id: RequestId | None = None


class PickupArguments(Arguments):
    """Arguments of `handoff_pickup`."""

    packet_id: str | None = None
    peek: bool = False
    read_back: str | None = None
    token: int | None = None


# What a schema says that no model needs: defaults, titles, bounds that the error names anyway.
_NOISE: Final = frozenset(
    {
        "title",
        "default",
        "additionalProperties",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMaximum",
    }
)


def parsed(model: type[A], given: dict[str, Any]) -> A:
    """The checked arguments.

    Raises:
        InvalidArgumentError: The first thing that is wrong; never repeats a value.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        taken = ", ".join(model.model_fields)
        if first["type"] == "extra_forbidden":
            raise InvalidArgumentError(f"unknown argument {where!r}; it takes {taken}") from None
        if first["type"] == "missing":
            raise InvalidArgumentError(f"argument {where!r} is missing; it takes {taken}") from None
        raise InvalidArgumentError(f"argument {where!r}: {first['msg']}") from None


def schema(model: type[Arguments]) -> dict[str, Any]:
    """The input schema that agents see: names, types and what is required, nothing else."""
    whole = model.model_json_schema()
    properties = {name: _plain(given) for name, given in whole["properties"].items()}
    found: dict[str, Any] = {"type": "object", "properties": properties}
    if required := whole.get("required"):
        found["required"] = required
    return found


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    if options := given.get("anyOf"):
        (only,) = (option for option in options if option.get("type") != "null")
        given = {**{key: value for key, value in given.items() if key != "anyOf"}, **only}
    kept = {key: value for key, value in given.items() if key not in _NOISE}
    if isinstance(kept.get("items"), dict):
        kept["items"] = _plain(kept["items"])
    return kept
