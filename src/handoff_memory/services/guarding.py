"""The governor unasked: what hooks, the gateway and `run` do around a call.

The task is the one that the agent works at; where it has none, its session gets one of its own, so
that loops are seen and results are kept without a call of the agent.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handoff_memory.core.author import Author
from handoff_memory.core.digest import sha256
from handoff_memory.core.task_state import TaskState
from handoff_memory.rules import delivery, tokens
from handoff_memory.services import observing, refs, tasks, writing
from handoff_memory.services.limits import Governing
from handoff_memory.services.observing import Seen
from handoff_memory.services.tasks import Stable, Task
from handoff_memory.services.writing import Reply
from handoff_memory.store import tasks as rows
from handoff_memory.store.engine import Tx

if TYPE_CHECKING:
    from handoff_memory.rules import invariants, policy

AUTO: Final = "auto-"
_OBJECTIVE_CHARS: Final = 160
_UNTOLD: Final = "work that nobody put into words"


class Delivery(NamedTuple):
    """How a result comes to a context, and what may be done about it.

    Attributes:
        context: Which prompt it enters: a session, or a subagent of it.
        is_partial: The call asked for a part of something.
        is_replaceable: The client lets the result be replaced, here.
        names: Names of the files that the call read, without their folders.
        recall: What brings a ref back there: a tool's name or a command.
        op: Makes the observation of this call happen once; None where the client names no call.
        outline: What is in the result, made ready for a first stub.
        difference: What changed in it since the earlier result `since`.
        lines: How many it has.
    """

    context: str
    is_partial: bool = False
    is_replaceable: bool = True
    names: tuple[str, ...] = ()
    recall: str = "osiris_recall"
    op: str | None = None
    outline: Sequence[str] | None = None
    difference: str | None = None
    since: str | None = None
    lines: int = 0


class Prospect(NamedTuple):
    """What a result's form will be, and the earlier bytes where its change is to be shown."""

    form: delivery.Form
    since: str | None = None
    before: bytes | None = None


def current(tx: Tx, who: Author, task_id: str | None) -> Task | None:
    """The task that a session works at: the named one, the agent's unfinished one, or its own.

    Raises:
        NotFoundError: The named one does not exist.
    """
    if task_id is not None:
        return tasks.get(tx, who, task_id)
    own = own_id(who)
    latest = rows.latest_at_work(tx, who.project, who.agent, apart=AUTO, own=own)
    task = tasks.find(tx, who.project, latest) if latest else None
    if task is not None and not task.state.finished:
        return task
    return None if latest == own else tasks.find(tx, who.project, own)


def own_id(who: Author) -> str:
    """The id of the task that a session gets where its agent has none."""
    return AUTO + sha256(f"{who.agent} {who.session}".encode()).hexdigest()[:8]


def begun(tx: Tx, who: Author, governing: Governing, task_id: str | None, told: str = "") -> Task:
    """The current task, begun where there is none; `told` is what it is for."""
    task = current(tx, who, task_id)
    if task is not None:
        return task
    first = next((line.strip() for line in told.splitlines() if line.strip()), _UNTOLD)
    objective = first if len(first) <= _OBJECTIVE_CHARS else first[: _OBJECTIVE_CHARS - 1] + "…"
    return tasks.start(tx, who, governing.limits, own_id(who), Stable(objective))


def before(  # noqa: PLR0913 - one argument a rule's matter
    tx: Tx | None,
    who: Author,
    book: "invariants.Book",
    action: "invariants.Action",
    seen: Seen,
    *,
    now: int,
    work: "policy.Work",
    task_id: str | None,
) -> Reply:
    """Whether a call may be made; without a database the rules alone say so.

    A loop's refusal says `at`, when the task's last call was seen: what was edited since, unseen,
    may have led out of it.
    """
    found = None if tx is None else current(tx, who, task_id)
    task = found or Task("", who.project, Stable(""), TaskState())
    reply = observing.ruled(task, book, action, now=now, work=work)
    if reply["verdict"] in observing.REFUSING:
        return reply
    told = observing.looped(who, task, seen)
    if told is None or not _is_refused(told, task, seen):
        return reply
    return {**told, "at": max(call["at"] for call in task.state.window)}


def prospect(
    tx: Tx, who: Author, seen: Seen, given: Delivery, outline_from: int, *, task_id: str | None
) -> Prospect:
    """In which form a result will enter, so that what a stub says is made before any writing."""
    task = current(tx, who, task_id)
    choice = _choice(task, seen, given, outline_from)
    if choice.form != "changed" or choice.earlier is None:
        return Prospect(choice.form)
    ref = choice.earlier.ref
    return Prospect("changed", ref, refs.read(tx, refs.find(tx, ref)))


def after(  # noqa: PLR0913 - one argument a thing that is known
    tx: Tx,
    who: Author,
    governing: Governing,
    seen: Seen,
    given: Delivery,
    outline_from: int,
    *,
    task_id: str | None,
) -> Reply:
    """Journal a call that was made, once; says how its result enters the context.

    Returns:
        `task`; `ref` and `tokens` where the result is kept; `stub`, which replaces it; `loop`.
    """
    # Two hosts that fire the same hook may spell the call differently: the op alone tells.
    digest = writing.digest_of("observed", {})
    return writing.once(
        *(tx, who, given.op, digest),
        lambda: _after(tx, who, governing, seen, given, outline_from, task_id),
    )


def _after(  # noqa: PLR0913, PLR0917 - as above
    tx: Tx,
    who: Author,
    governing: Governing,
    seen: Seen,
    given: Delivery,
    outline_from: int,
    task_id: str | None,
) -> Reply:
    task = begun(tx, who, governing, task_id)
    kept, is_new = observing.keep(tx, who, seen)
    told = observing.repeats(who, task, seen, kept)
    stub = None if not kept else _stub(_choice(task, seen, given, outline_from), seen, given, kept)
    # A stub that is no shorter replaces nothing.
    cost_of_stub = tokens.estimate(stub) if stub else 0
    is_stub = stub is not None and cost_of_stub < seen.tokens
    event = {
        **observing.event_of(seen, kept),
        "new_ref": is_new,
        "context": given.context,
        "shown": "stub" if is_stub else "whole",
        **({"saved": seen.tokens} if is_stub else {}),
        "cost": {"stubs": cost_of_stub} if is_stub else {"payload_in": seen.tokens},
    }
    tasks.happened(tx, who, governing.limits, task, "called", event)
    reply: Reply = {"task": task.id}
    if kept:
        reply |= {"ref": kept["ref"], "tokens": seen.tokens}
    if is_stub:
        reply["stub"] = stub
    if told is not None and told["verdict"] in {"warn", "block"}:
        reply["loop"] = told
    return reply


def gap(tx: Tx, who: Author, governing: Governing, why: str, *, task_id: str | None) -> None:
    """Journal that a call went by unjudged or unobserved, and why."""
    task = begun(tx, who, governing, task_id)
    tasks.happened(tx, who, governing.limits, task, "gap", {"why": why})


def prompted(
    tx: Tx, who: Author, governing: Governing, text: str, files: Sequence[str], task_id: str | None
) -> Task:
    """A person said something: a task begins where there is none, the files named are at work.

    What looked like a loop may be tried again.
    """
    task = begun(tx, who, governing, task_id, text)
    state = task.state
    was_busy = bool(state.window) and state.window[-1]["progress"] == state.progress
    if was_busy or set(files) - set(state.named):
        task = tasks.happened(tx, who, governing.limits, task, "prompted", {"files": list(files)})
    return task


def marked(tx: Tx, who: Author, governing: Governing, *, task_id: str | None) -> None:
    """A point to come back to, unless nothing happened since the last one."""
    from handoff_memory.services import sealing  # noqa: PLC0415 - brings the rules of zones: 12 ms

    task = current(tx, who, task_id)
    if task is not None and rows.last_event(tx, task.id) != "checkpointed":
        sealing.marked(tx, who, governing, task)


def emptied(tx: Tx, who: Author, governing: Governing, context: str, task_id: str | None) -> None:
    """A client emptied a context: what stood in it is not there any more."""
    task = current(tx, who, task_id)
    if task is not None:
        tasks.happened(tx, who, governing.limits, task, "emptied", {"context": context})


# --- parts -------------------------------------------------------------------------------------


def _is_refused(told: Reply, task: Task, seen: Seen) -> bool:
    """Whether a loop keeps a call from being made.

    Behind hooks and the gateway an agent may have nobody to ask for an override: in a runaway what
    it did not try yet stays open, for it may bring what is missing.
    """
    tried = any(
        (call["tool"], call["args"]) == (seen.tool, seen.args) for call in task.state.window
    )
    return told["verdict"] == "block" and (tried or told["pattern"] != "runaway")


def _choice(task: Task | None, seen: Seen, given: Delivery, outline_from: int) -> delivery.Choice:
    result = delivery.Result(
        tokens=seen.tokens,
        raw=seen.raw,
        is_text=seen.tokens > 0,
        is_partial=given.is_partial,
        is_replaceable=given.is_replaceable,
        is_edited=task is not None and any(_is_at_work(task, name) for name in given.names),
        folded=seen.result,
        progress=0 if task is None else task.state.progress,
    )
    return delivery.choose(result, _earlier(task, seen, given.context), outline_from)


def _earlier(task: Task | None, seen: Seen, context: str) -> list[delivery.Earlier]:
    if task is None:
        return []
    since = task.state.emptied.get(context, 0)
    return [
        delivery.Earlier(
            call["ref"],
            call["raw"],
            call["shown"],
            (call["tool"], call["args"]) == (seen.tool, seen.args),
            call["result"],
            call["progress"],
        )
        for call in task.state.window
        if call.get("context") == context and call.get("ref") and call["seq"] > since
    ]


def _is_at_work(task: Task, name: str) -> bool:
    """Whether a file was edited or is about to be: it was named in what is to be done."""
    state, stable = task.state, task.stable
    active = (text for text, status in stable.plan if status == "active")
    return (
        name in state.edited
        or name in state.named
        or any(name in text for text in (stable.objective, *active))
    )


def _stub(
    choice: delivery.Choice, seen: Seen, given: Delivery, kept: Mapping[str, Any]
) -> str | None:
    about = delivery.Kept(kept["ref"], kept["sha256"], seen.tokens, given.lines, given.recall)
    earlier = choice.earlier
    match choice.form:
        case "unchanged" if earlier is not None:
            return delivery.unchanged(about._replace(ref=earlier.ref))
        case "changed" if earlier is not None and earlier.ref == given.since and given.difference:
            return delivery.changed(about, earlier.ref, given.difference)
        case "outline" | "changed" if given.outline is not None:
            return delivery.outlined(about, given.outline)
        case _:
            return None
