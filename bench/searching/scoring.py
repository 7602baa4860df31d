"""What answers are worth: found, found first, nothing found, or something found that is no more."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from searching.arms import Arm, Hit
from searching.questions import DOUBTED, Question
from searching.world import World

TOP: Final = 5


class Answer(NamedTuple):
    """How one question was answered.

    Attributes:
        sort: Of the question.
        answerable: Whether something should be found.
        rank: Of the first right hit, from 1, or None.
        empty: Whether nothing was found.
        stale: Whether a hit is replaced, has expired, or is contradicted and stands before the
            right one.
        claimed: Whether something was found and said to hold all that was asked for.
        ms: How long the search took.
        cpu_ms: Of that, what this thread computed: other work on the machine stretches it less.
    """

    sort: str
    answerable: bool
    rank: int | None
    empty: bool
    stale: bool
    claimed: bool
    ms: float
    cpu_ms: float


class Score(NamedTuple):
    """What an arm reached over questions: shares from 0 to 1, None where there are none."""

    questions: int
    hit_1: float | None
    hit_5: float | None
    hit_10: float | None
    zero: float | None
    stale: float
    claimed: float | None
    p50_ms: float
    p95_ms: float
    p95_cpu_ms: float


def answer(arm: Arm, world: World, question: Question) -> Answer:
    """Ask an arm and look at what it says."""
    began, cpu = time.perf_counter(), time.thread_time()
    found = arm.find(question.text)
    ms, cpu_ms = (time.perf_counter() - began) * 1000, (time.thread_time() - cpu) * 1000
    return Answer(
        question.sort,
        bool(question.right),
        _rank(arm, question, found.hits),
        not found.hits,
        _is_stale(world, question, found.hits[:TOP]),
        bool(found.hits) and found.sure,
        ms,
        cpu_ms,
    )


def score(answers: Sequence[Answer]) -> Score:
    """The shares and times over answers."""
    wanted = [given for given in answers if given.answerable]
    unwanted = [given for given in answers if given.sort == "negative"]
    return Score(
        len(answers),
        _share(given.rank == 1 for given in wanted),
        _share(given.rank is not None and given.rank <= TOP for given in wanted),
        _share(given.rank is not None for given in wanted),
        _share(given.empty for given in wanted),
        _share(given.stale for given in answers) or 0.0,
        _share(given.claimed for given in unwanted),
        statistics.median(given.ms for given in answers),
        _p95(given.ms for given in answers),
        _p95(given.cpu_ms for given in answers),
    )


def scored(answers: Iterable[Answer]) -> dict[str, Score]:
    """The score of each sort of question, and of all but the doubted together under `all`."""
    given = list(answers)
    sorts = sorted({one.sort for one in given})
    by_sort = {sort: score([one for one in given if one.sort == sort]) for sort in sorts}
    return {**by_sort, "all": score([one for one in given if one.sort != DOUBTED])}


def _rank(arm: Arm, question: Question, hits: Sequence[Hit]) -> int | None:
    for rank, hit in enumerate(hits, 1):
        if hit.name not in question.right:
            continue
        if question.day is None or arm.at(hit, question.day) == Hit(
            hit.name, question.version or 0
        ):
            return rank
    return None


def _is_stale(world: World, question: Question, hits: Sequence[Hit]) -> bool:
    for hit in hits:
        live = world.live.get(hit.name)
        if live is None or live.version != hit.version:
            return True
    names = [hit.name for hit in hits]
    if question.misleading not in names:
        return False
    right = [names.index(name) for name in question.right if name in names]
    return not right or names.index(question.misleading) < min(right)


def _p95(of: Iterable[float]) -> float:
    ordered = sorted(of)
    return ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]


def _share(of: Iterable[bool]) -> float | None:
    given = list(of)
    return sum(given) / len(given) if given else None
