"""`osiris_observe` and `osiris_precheck`: what an agent did, and whether it may do what comes next.

One observation logs the action, tells loops from progress, keeps a big result as a ref, and says
what drifted. The rules judge; here they are only brought together.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from handoff_memory.core import calls, canonical, media, signature, task_state
from handoff_memory.core.author import Author
from handoff_memory.rules import invariants, loopguard, redact, tokens
from handoff_memory.services import refs, tasks
from handoff_memory.services.limits import Governing, Limits
from handoff_memory.services.refs import PayloadDraft
from handoff_memory.services.tasks import Task
from handoff_memory.services.writing import Reply
from handoff_memory.store.engine import Tx

if TYPE_CHECKING:
    from handoff_memory.core import shell
    from handoff_memory.rules import policy

Kind = Literal["call", "dropped", "head", "contract", "pressure"]
KINDS: Final = ("call", "dropped", "head", "contract", "pressure")
# A result below this costs more to name and to fetch than to keep in the prompt.
KEPT_FROM_TOKENS: Final = 120
REFUSING: Final = frozenset({"block", "ask"})
_EDITED: Final = 16  # files that one event names
_LAST: Final = 2**62  # the seq of a call that is not journaled yet
_ARGUMENTS: Final = 25  # what the agent writes around the payload of an observation


class Seen(NamedTuple):
    """One action as it was seen, by its signatures.

    Attributes:
        tool: What was called.
        args: Signature of its arguments.
        result: Signature of its result, volatile parts folded.
        raw: Hash of its result as it is.
        error: Signature of its error, or None where it succeeded.
        tokens: Of the result, estimated.
        payload: The result as it will be kept, or None where it is too small.
        edit: Whether it changed files.
        file: Path, hash and time of the file that was read, where one was.
        command: The shell command in it, taken apart.
        flags: Named facts that it shows, and whether they were observed or claimed.
        echoed: Whether the agent wrote the result out as an argument.
        edited: Names of the files that it changed, as far as can be told.
    """

    tool: str
    args: str
    result: str
    raw: str
    error: str | None
    tokens: int
    payload: PayloadDraft | None = None
    edit: bool = False
    file: Mapping[str, Any] | None = None
    command: "shell.Taken | None" = None
    flags: Mapping[str, bool] = {}
    flag_source: str = "claimed"
    echoed: bool = False
    edited: tuple[str, ...] = ()


def see(  # noqa: PLR0913 - one keyword a thing that was seen
    limits: Limits,
    tool: str,
    args: Mapping[str, Any],
    *,
    data: bytes | None = None,
    error: str | None = None,
    file: Mapping[str, Any] | None = None,
    flags: Mapping[str, Any] | None = None,
    flag_source: str = "claimed",
    echoed: bool = False,
    root: str = "",
    shallow: bool = False,
) -> Seen:
    """An action by its signatures; secrets are replaced before anything of it is hashed.

    Takes time with a large result, so it is done before any transaction. A shallow look takes no
    command apart, and takes every action for one that changes nothing: loops are found, and one too
    many.
    """
    clean: redact.Redacted[Any] = redact.redact_value(calls.essential(args), limits.allowed)
    command = None if shallow else calls.command_of(clean.value)
    is_edit = not shallow and calls.edits(tool, clean.value, command)
    if error is not None and command is None:
        is_edit = False  # a tool that failed left the files alone; a command may have come half way
    payload = None if data is None else refs.draft(limits, data, media.sniff(data, _name(file)))
    content = b"" if payload is None else refs.joined(payload)
    count = 0 if media.is_binary(content) else tokens.estimate(content.decode("utf-8", "replace"))
    is_kept = payload is not None and (count >= KEPT_FROM_TOKENS or media.is_binary(content))
    told = None if error is None else redact.redact_text(error, limits.allowed).value
    return Seen(
        tool=tool,
        args=signature.args_signature(clean.value, root=root),
        result=signature.result_signature(content, root=root),
        raw=signature.raw_hash(content),
        error=None if told is None else signature.error_signature(told, root=root),
        tokens=count,
        payload=payload if is_kept else None,
        edit=is_edit,
        file=file,
        command=command,
        flags={name: bool(value) for name, value in (flags or {}).items()},
        flag_source=flag_source,
        echoed=echoed,
        edited=_edited(clean.value, command) if is_edit else (),
    )


def observe(
    tx: Tx,
    who: Author,
    governing: Governing,
    seen: Seen,
    *,
    task_id: str | None = None,
    seal: str | None = None,
) -> Reply:
    """Log an action; says what it was kept as, whether it loops, and what drifted.

    Raises:
        NotFoundError: No such task.
    """
    from handoff_memory.services import pruning, sealing  # noqa: PLC0415 - hooks go other ways

    task = tasks.get(tx, who, task_id)
    reply: Reply = {"ok": True}
    if seal and (drifted := sealing.drift(task, governing, seal)):
        reply["drift"] = drifted
    # Before the call itself counts as a use of the prompt cache.
    task, freed = pruning.pruned(tx, who, governing, task)
    if freed:
        reply["prune"] = freed
    kept, is_new = keep(tx, who, seen)
    if told := repeats(who, task, seen, kept):
        reply["loop"] = told
    if kept:
        reply |= {"ref": kept["ref"], "tokens": seen.tokens}
        if seen.payload and seen.payload.kinds:
            reply["redacted"] = list(seen.payload.kinds)
    event = {**event_of(seen, kept), "new_ref": is_new, "cost": _cost(seen, reply)}
    tasks.happened(tx, who, governing.limits, task, "called", event)
    return reply


def event_of(seen: Seen, kept: Mapping[str, Any]) -> dict[str, Any]:
    """What the journal says of an action that was seen."""
    return {
        "tool": seen.tool,
        "args": seen.args,
        "result": seen.result,
        "raw": seen.raw,
        "error": seen.error,
        "tokens": seen.tokens,
        "edit": seen.edit,
        **kept,
        "file": seen.file,
        "flags": dict(seen.flags),
        "flag_source": seen.flag_source,
        **({"edited": list(seen.edited)} if seen.edited else {}),
    }


def repeats(who: Author, task: Task, seen: Seen, kept: Mapping[str, Any]) -> Reply | None:
    """What the loop guard says of an action that was seen, or None."""
    return _verdict(loopguard.judge(_window(task), _call(who, seen, kept, task)))


def loops(task: Task) -> list[Reply]:
    """What the loop guard says of each call in the window that it does not let pass, in order."""
    window = _window(task)
    found = []
    for at, call in enumerate(window):
        if call.kind == "override":
            continue
        told = _verdict(loopguard.judge(window[:at], call))
        if told is not None:
            found.append({"seq": call.seq, "agent": call.agent, "tool": call.tool, **told})
    return found


def precheck(  # noqa: PLR0913 - one argument a rule's matter
    tx: Tx,
    who: Author,
    governing: Governing,
    book: "invariants.Book",
    action: "invariants.Action",
    seen: Seen,
    *,
    work: "policy.Work" = "other",
    override: str | None = None,
    task_id: str | None = None,
) -> Reply:
    """Whether an action may be done: project rules, budget, loops, results that exist already.

    An override, which is logged with its reason, lets a loop's block pass; a project rule never.

    Raises:
        NotFoundError: No such task.
    """
    task = tasks.get(tx, who, task_id)
    reply = ruled(task, book, action, now=tx.now, work=work)
    told = None if reply["verdict"] in REFUSING else looped(who, task, seen)
    if told is None:
        return reply
    notes = reply.get("notes", [])
    if override is None or told["verdict"] != "block":
        return {**told, **({"notes": notes} if notes else {})}
    logged = {"tool": seen.tool, "args": seen.args, "reason": override}
    tasks.happened(tx, who, governing.limits, task, "overridden", logged)
    return {**reply, "notes": [*notes, f"overridden: {told['why']}"]}


def ruled(
    task: Task,
    book: "invariants.Book",
    action: "invariants.Action",
    *,
    now: int,
    work: "policy.Work" = "other",
) -> Reply:
    """What the project's rules and the task's budget say of an action."""
    state = task.state
    if not (book.rules or book.problems or state.budget):
        return {"verdict": "allow"}
    from handoff_memory.rules import policy  # noqa: PLC0415 - most tasks have neither
    from handoff_memory.services import sealing  # noqa: PLC0415

    judged = invariants.judge(
        *(book.rules, action, state.flags, state.approvals, now),
        edited_us=state.last_edit_at,
    )
    notes = [_finding(found) for found in judged.findings if found.approved_until is None]
    notes += [f"{one.rule_id}: {one.flag} is {one.source}" for one in judged.relied]
    if book.problems:
        notes.append(f"rules could not all be read: {book.problems[0]}")
    if judged.verdict in REFUSING:
        worst = judged.findings[0]
        refused = {"verdict": judged.verdict, "rule": worst.rule_id, "why": worst.message}
        return {**refused, "because": worst.because, "next": worst.way_out}
    match policy.precheck(sealing.budget(state), sealing.spent(state), work):
        case policy.Refuse(why, way_out):
            return {"verdict": "block", "why": why, "next": way_out}
        case policy.Warn(why):
            notes.append(why)
        case policy.Allow():
            pass
    reply: Reply = {"verdict": "warn" if judged.verdict == "warn" else "allow"}
    return {**reply, "notes": notes} if notes else reply


def looped(who: Author, task: Task, seen: Seen) -> Reply | None:
    """What the loop guard says of an action before it is done, or None."""
    progress = task.state.progress
    proposed = loopguard.Proposed(who.agent, seen.tool, seen.args, progress, _kind(seen))
    return _verdict(loopguard.foresee(_window(task), proposed))


# --- parts -------------------------------------------------------------------------------------


def keep(tx: Tx, who: Author, seen: Seen) -> tuple[dict[str, Any], bool]:
    """Keep the payload: its names for an event, and whether nobody had kept it before."""
    if seen.payload is None:
        return {}, False
    is_new = refs.is_new(tx, seen.payload)
    row = refs.keep(tx, who, seen.payload)
    return {"ref": refs.short(row), "sha256": row["ref"], "size": row["size_bytes"]}, is_new


def _window(task: Task) -> list[loopguard.Call]:
    names = ("seq", "agent", "tool", "args", "result", "raw", "error", "progress", "ref", "kind")
    return [loopguard.Call(**{name: call[name] for name in names}) for call in task.state.window]


def _call(who: Author, seen: Seen, kept: Mapping[str, Any], task: Task) -> loopguard.Call:
    after = task_state.moved_on(task.state, event_of(seen, kept), 0)
    return loopguard.Call(
        seq=_LAST,
        agent=who.agent,
        tool=seen.tool,
        args=seen.args,
        result=None if seen.error else seen.result,
        raw=seen.raw,
        error=seen.error,
        progress=after.progress,
        ref=kept.get("ref"),
        kind=_kind(seen),
    )


def _kind(seen: Seen) -> loopguard.Kind:
    return "edit" if seen.edit else "call"


def _edited(args: Mapping[str, Any], command: "shell.Taken | None") -> tuple[str, ...]:
    """Names of the files that an action changed, without their folders."""
    written = (one.path for part in command.commands for one in part.writes) if command else ()
    paths = dict.fromkeys((*calls.paths_of(args), *written))
    return tuple(name for path in paths if (name := base_name(path)))[:_EDITED]


def base_name(path: str) -> str:
    """The last part of a path of any system."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _verdict(verdict: loopguard.Verdict) -> Reply | None:
    if isinstance(verdict, loopguard.Allow):
        return None
    told: Reply = {"verdict": "block", "why": verdict.reason, "pattern": verdict.pattern}
    if isinstance(verdict, loopguard.Suggest):
        told |= {"verdict": "suggest_alternative", "next": verdict.suggest_alternative}
    elif isinstance(verdict, loopguard.Warn):
        told |= {"verdict": "warn", "next": verdict.way_out}
    else:
        told["required_action"] = verdict.required_action
    return {**told, "ref": verdict.ref} if verdict.ref else told


def _finding(found: "invariants.Finding") -> str:
    return f"{found.rule_id}: {found.message}"


def _cost(seen: Seen, reply: Reply) -> dict[str, int]:
    """What this observation costs, in tokens by cause."""
    cost = {"replies": tokens.estimate(canonical.encode(reply).decode()), "arguments": _ARGUMENTS}
    if seen.tokens:
        cost["echoed" if seen.echoed else "payload_in"] = seen.tokens
    return cost


def _name(file: Mapping[str, Any] | None) -> str | None:
    return None if file is None else str(file["path"])
