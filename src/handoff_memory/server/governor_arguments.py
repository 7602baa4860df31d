"""Arguments of the governor's tools."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from handoff_memory.server.arguments import Arguments, Object, Texts

Step = Annotated[int, Field(ge=1)]
# The choices stand in the tool's description, where they cost a third of what a schema's enum does.
_Named = WithJsonSchema({"type": "string"})
PlanMode = Annotated[Literal["start", "update", "rewrite", "resume", "status", "promote"], _Named]
ObserveKind = Annotated[Literal["call", "dropped", "head", "contract", "pressure"], _Named]
RecallOp = Annotated[
    Literal["grep", "range", "head", "tail", "outline", "aggregate", "jsonl"], _Named
]
CheckpointMode = Annotated[
    Literal["snapshot", "resume", "report", "trim", "compact", "clear", "undo"], _Named
]


class PlanArguments(Arguments):
    """Arguments of `osiris_plan`."""

    mode: PlanMode | None = None
    task: str | None = None
    objective: str | None = None
    constraints: Texts = Field([])
    decisions: Texts = Field([])
    plan: Texts = Field([])
    step: Step | None = None
    budget: Object = Field({})
    lesson: str | None = None


class PrecheckArguments(Arguments):
    """Arguments of `osiris_precheck`."""

    tool: str
    args: Object = Field({})
    override: str | None = None
    task: str | None = None


class ObserveArguments(Arguments):
    """Arguments of `osiris_observe`."""

    tool: str | None = None
    args: Object = Field({})
    result: Any = None
    path: str | None = None
    error: str | None = None
    kind: ObserveKind = "call"
    flags: Object = Field({})
    seal: str | None = None
    task: str | None = None


class RecallArguments(Arguments):
    """Arguments of `osiris_recall`."""

    ref: str
    op: RecallOp = "head"
    args: Object = Field({})


class CheckpointArguments(Arguments):
    """Arguments of `osiris_checkpoint`."""

    mode: CheckpointMode = "snapshot"
    items: list[Any] = Field([])
    task: str | None = None


class DelegateArguments(Arguments):
    """Arguments of `osiris_handoff`."""

    objective: str | None = None
    to: str | None = None
    inputs: Texts = Field([])
    contract: Object = Field({})
    accept: str | None = None
    result: Object = Field({})


class CallArguments(Arguments):
    """Arguments of `osiris_call`."""

    op: str
    args: Object = Field({})
