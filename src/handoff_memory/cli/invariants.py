"""`invariants check`, `approve`: the rules of a project, and a person's leave to break one."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from handoff_memory import rulebook
from handoff_memory.app import governing
from handoff_memory.cli import rendering as r
from handoff_memory.cli.command import Call, Edge, default_agent, shared, verb
from handoff_memory.core import names, times
from handoff_memory.core.errors import InvalidArgumentError, NotFoundError
from handoff_memory.rules.invariants import Book, Problem, Rule, parse
from handoff_memory.services import declaring, tasks
from handoff_memory.services.writing import Reply
from handoff_memory.settings import Settings

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
_LONGEST_S: Final = 86_400  # a rule that is off for longer is no rule: change the file


class Family(Edge, click.Group):
    """A verb of verbs."""


class Duration(click.ParamType[int]):
    """A span of time such as `10m`, in seconds."""

    name = "duration"

    def convert(  # type: ignore[explicit-override]
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The seconds."""
        found = re.fullmatch(r"([0-9]{1,6})([smh])", str(value))
        seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
        if not 1 <= seconds <= _LONGEST_S:
            self.fail(f"{value!r} is no time such as 90s, 10m or 2h, 24h at most", param, ctx)
        return seconds


@shared
@click.group(
    "invariants",
    cls=Family,
    no_args_is_help=False,
    epilog="\b\nExample:\n  handoff-memory invariants check",
)
def invariants() -> None:
    """The project's rules in .osiris/invariants.toml."""


@verb(
    "check",
    examples=(
        "handoff-memory invariants check",
        "handoff-memory invariants check .osiris/invariants.toml --json",
    ),
)
@click.argument("file", required=False, type=click.Path(path_type=Path))
def check(call: Call, *, file: Path | None) -> int:
    """Read the rules and name every mistake in them.

    Without FILE those of the current folder, or of the nearest above. Exit status 1 where there
    is a mistake.
    """
    path = file or rulebook.find(call.memory.settings.folder)
    if path is None:
        where = f"{call.memory.settings.folder} or above"
        raise NotFoundError(f"no {rulebook.PLACE} in {where}", way_out="Name a file.", nearest=[])
    book = _read(path)
    problems = [problem._asdict() for problem in book.problems]
    rules = [{"id": one.id, "verdict": one.verdict, "message": one.message} for one in book.rules]
    reply = {"ok": not problems, "file": str(path), "rules": rules, "problems": problems}
    call.show(reply, _text)
    return 1 if problems else 0


invariants.add_command(check)


@verb(
    "approve",
    examples=(
        "handoff-memory approve no-test-edit --for 10m",
        "handoff-memory approve no-test-edit --for 2h --task t3f9a",
    ),
)
@click.argument("rule_id", metavar="RULE")
@click.option("--for", "seconds", type=Duration(), required=True, help="Such as 90s, 10m, 2h.")
@click.option("--task", "task_id", metavar="ID", help="Else the one worked on last.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def approve(call: Call, *, rule_id: str, seconds: int, task_id: str | None, yes: bool) -> int:
    """Let a task break RULE for a while.

    For a person, on a terminal of their own; it is journaled as cli-<login>. Exit status 1 where
    the answer is no.
    """
    person = call.who._replace(agent=names.agent_id(default_agent()))
    as_person = replace(call, who=person)
    rule = _rule(call.memory.settings, rule_id)
    wanted = task_id or call.memory.read(lambda tx: tasks.newest(tx, person.project))
    task = call.memory.read(lambda tx: tasks.get(tx, person, wanted))
    if not yes and not _agreed(rule, task, seconds):
        return 1
    by = governing(call.memory.settings, Book())
    reply = as_person.write(
        lambda tx: declaring.approve(
            tx, person, by, rule.id, tx.now + seconds * times.SECOND, task_id=wanted
        )
    )
    as_person.show(reply, _approved)
    return 0


def _agreed(rule: Rule, task: tasks.Task, seconds: int) -> bool:
    if not sys.stdin.isatty():
        raise InvalidArgumentError(
            "an approval is a person's: stdin is no terminal",
            way_out="Run it on a terminal of your own, or add --yes.",
        )
    lines = (
        f"rule {rule.id} ({rule.verdict}): {r.clean(rule.message)}",
        f"task {task.id}: {r.clean(task.stable.objective)}",
        f"Let the task break the rule for {seconds} s?",
    )
    return click.confirm("\n".join(lines), err=True)


def _rule(settings: Settings, rule_id: str) -> Rule:
    book = rulebook.RuleBook(settings.folder).read()
    for rule in book.rules:
        if rule.id == rule_id:
            return rule
    known = [rule.id for rule in book.rules]
    raise NotFoundError(
        f"no rule {rule_id!r} in {rulebook.PLACE}",
        way_out=f"There is {', '.join(known) or 'none'}; run it in the project's folder.",
        nearest=known,
    )


def _read(path: Path) -> Book:
    try:
        return parse(path.read_text("utf-8"), file=str(path))
    except OSError as error:
        raise InvalidArgumentError(f"{str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        what = f"cannot be read: byte {error.start} is no UTF-8"
        return Book(problems=(Problem(str(path), 1, "file", what),))


def _text(reply: Reply) -> Iterator[str]:
    # file:line: field: message, so that an editor finds the place.
    for one in reply["problems"]:
        yield r.clean(str(Problem(**one)))
    yield from r.table(
        [(r.clean(one["id"]), one["verdict"], r.clean(one["message"])) for one in reply["rules"]]
    )
    if reply["ok"]:
        yield r.good("ok") + f"  {r.counted(len(reply['rules']), 'rule')}"
    else:
        yield r.bad(r.counted(len(reply["problems"]), "problem"))


def _approved(reply: Reply) -> Iterator[str]:
    until = f"until {reply['until']} ({r.age(reply['until'])})"
    yield f"task {r.clean(reply['task'])} may break {r.clean(reply['rule'])} {until}"
