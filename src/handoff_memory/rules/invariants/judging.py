"""What the rules say of an action: every rule that it breaks, and the verdict of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from handoff_memory.core.task_state import CLEARED_BY_EDIT, Flag
from handoff_memory.core.times import SECOND, iso
from handoff_memory.rules.invariants.action import Action
from handoff_memory.rules.invariants.match import Match, matched
from handoff_memory.rules.invariants.rule import SEVERITY, Require, Rule, VerdictName

_REFUSING: Final = frozenset({"block", "ask"})


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that an action breaks.

    Attributes:
        message: The rule's own words.
        because: Why it matched, and what is missing.
        way_out: What to do.
        is_certain: Not so where a shell command could not be taken apart.
        approved_until: A person allowed it until then, microseconds; it does not count.
    """

    rule_id: str
    verdict: VerdictName
    message: str
    because: str
    way_out: str
    is_certain: bool = True
    approved_until: int | None = None


@dataclass(frozen=True, slots=True)
class Reliance:
    """A rule that was satisfied by a flag: `observed` from a run, or `claimed` by an agent."""

    rule_id: str
    flag: str
    source: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, every rule behind it (most severe first), and the flags relied on."""

    verdict: VerdictName
    findings: tuple[Finding, ...] = ()
    relied: tuple[Reliance, ...] = ()


def judge(
    rules: Iterable[Rule],
    action: Action,
    flags: Mapping[str, Flag],
    approvals: Mapping[str, int],
    now_us: int,
    *,
    edited_us: int | None = None,
) -> Judgement:
    """The verdict of all rules on an action.

    Args:
        rules: Those that could be read.
        action: What is about to be done.
        flags: The facts as they stand.
        approvals: Until when, in microseconds, a person lets a rule be broken, by its id.
        now_us: The present.
        edited_us: When a file was last edited; None if never.
    """
    findings: list[Finding] = []
    relied: list[Reliance] = []
    for rule in rules:
        match, why = matched(rule.when, action)
        if match is Match.NO or (match is Match.MAYBE and rule.verdict not in _REFUSING):
            continue
        missing = _missing(rule.require, flags, now_us, edited_us) if rule.require else ""
        if rule.require and not missing:
            flag = flags[rule.require.state]
            relied.append(Reliance(rule.id, rule.require.state, flag.source))
            continue
        until = approvals.get(rule.id, 0)
        findings.append(
            Finding(
                rule.id,
                rule.verdict,
                rule.message,
                f"{why}; {missing}" if missing else why,
                _way_out(rule),
                match is Match.YES,
                until if until > now_us else None,
            )
        )
    counted = [found.verdict for found in findings if found.approved_until is None]
    verdict = SEVERITY[max(map(SEVERITY.index, counted), default=0)]
    findings.sort(key=lambda found: -SEVERITY.index(found.verdict))
    return Judgement(verdict, tuple(findings), tuple(relied))


def _missing(
    require: Require, flags: Mapping[str, Flag], now_us: int, edited_us: int | None
) -> str:
    """Why the flag does not satisfy the rule; empty where it does."""
    name, flag = require.state, flags.get(require.state)
    if flag is None:
        return f"{name} is not set"
    if not flag.value:
        return f"{name} is {flag.source} to be false"
    is_stale = edited_us is not None and flag.at <= edited_us
    if is_stale and (require.fresh_after == "edit" or name in CLEARED_BY_EDIT):
        return f"{name} ({flag.source}) is older than the last edit"
    if require.max_age_s is not None and now_us - flag.at > require.max_age_s * SECOND:
        return f"{name} ({flag.source}) of {iso(flag.at)} is older than {require.max_age_s} s"
    return ""


def _way_out(rule: Rule) -> str:
    approve = f"a person runs: handoff-memory approve {rule.id} --for 10m"
    if rule.require is None:
        return f"Do without it, or {approve}"
    fresh = " after the last edit" if rule.require.fresh_after else ""
    return f"Make {rule.require.state} true by an observed run{fresh}, or {approve}"
