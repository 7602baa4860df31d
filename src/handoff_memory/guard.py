"""The governor around one call of a client: hooks, the gateway and `run` stand on it.

Synchronous, on one thread. A call is judged before it is made; after it, what happened is journaled
and a big result kept, and a stub says what may enter the prompt in its place.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from handoff_memory.action import action_of
from handoff_memory.app import Local, governing
from handoff_memory.core import calls
from handoff_memory.core.author import Author
from handoff_memory.core.digest import sha256
from handoff_memory.core.errors import DatabaseMissingError
from handoff_memory.rulebook import RuleBook
from handoff_memory.rules import delivery, redact
from handoff_memory.services import guarding, observing, refs

if TYPE_CHECKING:
    from handoff_memory.rules import invariants
    from handoff_memory.services.limits import Governing
    from handoff_memory.services.observing import Seen
    from handoff_memory.services.writing import Reply
    from handoff_memory.store.engine import Tx

Decision = Literal["allow", "warn", "ask", "block"]

_ERROR_CHARS: Final = 4_000
_OUTLINE_BYTES: Final = 4_000
_OUTLINED_BYTES: Final = 1 << 20  # of a longer result the beginning is outlined: a client waits
_NAMED_FILES: Final = 16
_NAMED_CHARS: Final = 20_000


class Call(NamedTuple):
    """A call of a tool.

    Attributes:
        tool: As the client calls it.
        args: Its arguments.
        id: The client's own id of this call: with it the call is observed once, however often told.
        context: Which prompt its result enters, beside the session: a subagent's id.
    """

    tool: str
    args: Mapping[str, Any]
    id: str | None = None
    context: str = ""


class Outcome(NamedTuple):
    """What a call gave.

    Attributes:
        data: Its result.
        error: What it failed with.
        exit_status: Of a command, where the client tells it.
        partial: A part of something was asked for: it is wanted as it is.
        replaceable: The client lets the result be replaced.
    """

    data: bytes | None = None
    error: str | None = None
    exit_status: int | None = None
    partial: bool = False
    replaceable: bool = True


class Verdict(NamedTuple):
    """Whether a call may be made, and why not: text for the model, with the way out."""

    decision: Decision
    reason: str = ""


class Kept(NamedTuple):
    """What became of a result.

    Attributes:
        ref: Where it is kept, if it is.
        tokens: Of it, estimated.
        stub: What enters the prompt in its place, or None where it enters whole.
        note: What the model should know beside it: a loop.
    """

    ref: str | None = None
    tokens: int = 0
    stub: str | None = None
    note: str | None = None


class Guard:
    """The governor of one session on an open memory.

    Args:
        local: The memory.
        who: The session; with its process id only where that process lives as long as the session.
        task_id: A task by name, else the one that the agent works at.
        recall: What brings a ref back: a tool's name or a command.
    """

    def __init__(
        self,
        local: Local,
        who: Author,
        *,
        task_id: str | None = None,
        recall: str = "osiris_recall",
    ) -> None:
        self._local = local
        self._who = who
        self._task_id = task_id
        self._recall = recall
        self._settings = local.settings
        self._rules = RuleBook(local.settings.folder)

    def before(self, call: Call) -> Verdict:
        """Whether a call may be made: rules, budget, loops. Writes nothing."""
        book = self._rules.read()
        reply = self._judged(call, book, shallow=not book.rules)
        if reply["verdict"] in observing.REFUSING and not book.rules:
            reply = self._judged(call, book, shallow=False)  # an edit leads out of a loop
        if "at" in reply and self._is_edited_since(reply["at"]):
            return Verdict("allow")
        return Verdict(reply["verdict"], _reason(reply))

    def after(self, call: Call, outcome: Outcome) -> Kept:
        """Journal what a call gave; keep it where it is big."""
        text = (outcome.data or b"").decode("utf-8", "replace")
        seen = observing.see(
            self._settings.limits,
            call.tool,
            call.args,
            data=outcome.data,
            error=_error(outcome, text),
            flags=self._shown(call, outcome),
            flag_source="observed",
            root=self._root,
        )
        self._keep_parts(seen)
        given = self._delivery(call, outcome, text)
        given = self._prepared(seen, given, text)
        limits = self._governing
        reply = self._local.write(
            lambda tx: guarding.after(
                *(tx, self._who, limits, seen, given, self._settings.stub_tokens),
                task_id=self._task_id,
            )
        )
        note = _reason(reply["loop"]) if "loop" in reply else None
        return Kept(reply.get("ref"), reply.get("tokens", 0), reply.get("stub"), note)

    def opening(self, source: str = "startup") -> str | None:
        """What a session is told at its start, at most 1,500 tokens.

        Args:
            source: Why it starts: `startup`, `resume`, `clear` or `compact`.
        """
        from handoff_memory.services import opening  # noqa: PLC0415 - once a session

        if source in {"clear", "compact"}:
            self._local.write(
                lambda tx: guarding.emptied(
                    tx, self._who, self._governing, self._who.session, self._task_id
                )
            )

        def told(tx: "Tx | None") -> str | None:
            return opening.opening(
                *(tx, self._who, self._governing),
                task_id=self._task_id,
                goes_on=source != "startup",
                problems=self._rules.read().problems,
            )

        try:
            return self._local.read(told)
        except DatabaseMissingError:
            return told(None)

    def prompted(self, text: str) -> str | None:
        """A person said something; one line for the model while packets wait."""
        from handoff_memory.services import waiting  # noqa: PLC0415 - once a prompt

        clean = redact.redact_text(text, self._settings.limits.allowed).value
        named = tuple(_file_names(clean))

        def told(tx: "Tx") -> str | None:
            task = guarding.prompted(tx, self._who, self._governing, clean, named, self._task_id)
            if task.state.handoffs:  # a task rarely left any: 10 ms
                from handoff_memory.services import leaving  # noqa: PLC0415

                leaving.taken_up(tx, self._who, self._governing, task_id=self._task_id)
            return waiting.told(tx, self._who)

        return self._local.write(told)

    def compacting(self) -> None:
        """The client is about to shrink the session: mark the point, unless nothing happened."""
        self._local.write(
            lambda tx: guarding.marked(tx, self._who, self._governing, task_id=self._task_id)
        )

    def ending(self, *, final: bool) -> str | None:
        """A session ends, or may: what is unfinished is left as a packet.

        Args:
            final: Whether the session is over; else only a turn of it.

        Returns:
            The packet's id, or None where none was left.
        """
        from handoff_memory import workspace  # noqa: PLC0415 - once a session
        from handoff_memory.services import leaving, presence  # noqa: PLC0415

        here = workspace.state(self._settings.folder)

        def left(tx: "Tx") -> str | None:
            made = leaving.leave(
                tx, self._who, self._governing, task_id=self._task_id, workspace=here
            )
            if final:
                presence.leave(tx, self._who)
            return made

        return self._local.write(left)

    def gap(self, why: str) -> None:
        """Journal that a call went by unjudged or unobserved."""
        self._local.write(
            lambda tx: guarding.gap(tx, self._who, self._governing, why, task_id=self._task_id)
        )

    def _is_edited_since(self, at: int) -> bool:
        """Whether files of the checkout changed unseen: by a person, or a tool without hooks."""
        from handoff_memory import workspace  # noqa: PLC0415 - only before a refusal

        own = (self._settings.database, self._settings.home)
        return workspace.is_edited_since(self._settings.folder, at, but_for=own)

    # --- parts ---------------------------------------------------------------------------------

    @property
    def _root(self) -> str:
        return str(self._settings.folder)

    @cached_property
    def _governing(self) -> "Governing":
        return governing(self._settings, self._rules.read())

    def _judged(self, call: Call, book: "invariants.Book", *, shallow: bool) -> "Reply":
        seen = observing.see(
            self._settings.limits, call.tool, call.args, root=self._root, shallow=shallow
        )
        action = self._action(call, seen)
        reads = calls.only_reads(call.tool)

        def judged(tx: "Tx | None", now: int) -> "Reply":
            return guarding.before(
                *(tx, self._who, book, action, seen),
                now=now,
                work="read" if reads else "other",
                task_id=self._task_id,
            )

        try:
            return self._local.read(lambda tx: judged(tx, tx.now))
        except DatabaseMissingError:
            return judged(None, self._local.now())

    def _shown(self, call: Call, outcome: Outcome) -> dict[str, bool]:
        """The facts that a command's exit status proves."""
        text = calls.command_text(call.args)
        if text is None or (outcome.exit_status is None and outcome.error is None):
            return {}
        from handoff_memory.core import shell, testruns  # noqa: PLC0415 - only with a command

        words = [one.argv for one in shell.take_apart(text).commands]
        ok = outcome.error is None and outcome.exit_status == 0
        passed = testruns.proven(words, text, ok=ok)
        return {} if passed is None else {testruns.FLAG: passed}

    def _delivery(self, call: Call, outcome: Outcome, text: str) -> guarding.Delivery:
        session = self._who.session
        paths = calls.paths_of(call.args) if calls.only_reads(call.tool) else []
        op = None
        if call.id is not None:
            op = "call-" + sha256(f"{session} {call.id}".encode()).hexdigest()[:32]
        return guarding.Delivery(
            context=f"{session} {call.context}" if call.context else session,
            is_partial=outcome.partial,
            is_replaceable=outcome.replaceable,
            names=tuple(observing.base_name(path) for path in paths),
            recall=self._recall,
            op=op,
            lines=text.count("\n") + (not text.endswith("\n") and bool(text)),
        )

    def _prepared(self, seen: "Seen", given: guarding.Delivery, text: str) -> guarding.Delivery:
        """The delivery with what a stub would say, made before the database is locked."""
        is_small = seen.payload is None or seen.tokens < delivery.REPEAT_FROM_TOKENS
        if is_small or given.is_partial or not given.is_replaceable:
            return given
        found = guarding.Prospect("outline")
        with suppress(DatabaseMissingError):
            found = self._local.read(
                lambda tx: guarding.prospect(
                    *(tx, self._who, seen, given, self._settings.stub_tokens),
                    task_id=self._task_id,
                )
            )
        if found.before is not None:
            clean = refs.joined(seen.payload).decode("utf-8", "replace") if seen.payload else text
            changed = delivery.difference(found.before.decode("utf-8", "replace"), clean)
            if changed is not None:
                return given._replace(difference=changed, since=found.since)
        big = seen.tokens >= self._settings.stub_tokens
        if big and found.form in {"outline", "changed"} and seen.payload is not None:
            return given._replace(outline=_outline(seen.payload))
        return given

    def _keep_parts(self, seen: "Seen") -> None:
        if seen.payload is None or len(seen.payload.parts) == 1:
            return
        payload = seen.payload
        for part in range(len(payload.parts)):
            self._local.write(lambda tx, part=part: refs.keep_part(tx, payload, part))  # type: ignore[misc]

    def _action(self, call: Call, seen: "Seen") -> "invariants.Action":
        clean: redact.Redacted[Any] = redact.redact_value(
            dict(call.args), self._settings.limits.allowed
        )
        book = self._rules.read()
        return action_of(self._settings.folder, self._who, call.tool, clean.value, seen, book)


def _error(outcome: Outcome, text: str) -> str | None:
    """What a call failed with: the client's words, else the end of what it printed."""
    if outcome.error is not None:
        return outcome.error[-_ERROR_CHARS:]
    if outcome.exit_status in {None, 0}:
        return None
    return f"exit status {outcome.exit_status}\n{text[-_ERROR_CHARS:]}"


def _outline(payload: refs.PayloadDraft) -> Sequence[str]:
    from handoff_memory.rules import query  # noqa: PLC0415 - only for a big result: 0.1 s

    data = refs.joined(payload)
    found = query.ask(
        data[:_OUTLINED_BYTES],
        payload.media_type,
        query.question("outline", {}),
        ceiling_bytes=_OUTLINE_BYTES,
        clock=lambda: 0.0,
    )
    entries = found.text.splitlines()
    if len(data) > _OUTLINED_BYTES:
        entries.insert(0, f"{len(data):,} bytes, of which the first {_OUTLINED_BYTES:,}:")
    return entries


def _reason(reply: Mapping[str, Any]) -> str:
    """A verdict as text for the model: which rule, why, and what to do."""
    if reply["verdict"] == "allow":
        return "; ".join(reply.get("notes", ()))
    parts = [
        f"{reply['rule']}: {reply['why']}" if "rule" in reply else reply.get("why", ""),
        reply.get("because", ""),
        reply.get("required_action") or reply.get("next") or "",
        *reply.get("notes", ()),
    ]
    return "handoff-memory: " + " ".join(
        part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part
    )


def _file_names(text: str) -> Iterable[str]:
    """Names of files that a text mentions, without their folders."""
    import re  # noqa: PLC0415 - once a prompt

    form = re.compile(r"[\w.\\/-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,7}\b")
    found = (observing.base_name(match[0]) for match in form.finditer(text[:_NAMED_CHARS]))
    return list(dict.fromkeys(found))[:_NAMED_FILES]
