"""Questions to a world whose answers are known."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

from searching import words
from searching.kinds import Kind
from searching.world import DAYS, Fact, World

# For the AND of a user who knows what the record says: words that carry something.
_TELLING: Final = re.compile(r"[A-Za-z][A-Za-z-]{3,}|[0-9]+")
_TRIVIAL: Final = frozenset(
    (
        "with",
        "this",
        "that",
        "then",
        "them",
        "their",
        "there",
        "from",
        "what",
        "which",
        "week",
        "until",
    )
)

# Facts that only a record states whose use was reported as a failure. Whether they belong at the
# top is a matter of view, so that this sort stands beside the total.
DOUBTED: Final = "reported wrong"


class Question(NamedTuple):
    """One query and what a good answer holds.

    Attributes:
        sort: What is hard about it.
        text: What is searched for.
        right: Names of which at least one should be found; empty where nothing should be.
        misleading: A record that must not stand before the right one, or None.
        day: For which day it asks, or None for today.
        version: The version that held on that day.
    """

    sort: str
    text: str
    right: frozenset[str]
    misleading: str | None = None
    day: int | None = None
    version: int | None = None


def questions(world: World, seed: int, *, held_out: bool, each: int) -> list[Question]:
    """So many questions of each sort, in no order."""
    asker = _Asker(world, Random(seed * 7919 + 1), held_out=held_out)
    found = [make() for make in asker.sorts for _ in range(each)]
    asker.chance.shuffle(found)
    return found


class _Asker:
    def __init__(self, world: World, chance: Random, *, held_out: bool) -> None:
        self.chance = chance
        self._world = world
        self._held_out = held_out
        undoubted = [fact for fact in world.facts if not fact.doubted]
        self._known = [fact for fact in undoubted if fact.current]
        self._doubted_facts = [fact for fact in world.facts if fact.doubted]
        moved = [fact for fact in undoubted if len(fact.beliefs) > 1]
        self._contradicted = [fact for fact in moved if fact.misleading]
        self._updated = [
            fact for fact in moved if not fact.misleading and not fact.kind.expires_days
        ]
        self._expiring = [fact for fact in world.facts if fact.kind.expires_days]
        self.sorts: tuple[Callable[[], Question], ...] = (
            self._exact,
            self._asked,
            self._absent,
            self._path,
            self._pair,
            self._negative,
            self._now,
            self._then,
            self._doubted,
        )

    def _exact(self) -> Question:
        fact = self.chance.choice(self._known)
        belief = fact.current
        assert belief is not None  # noqa: S101 - known facts have one
        telling = [word for word in _TELLING.findall(belief.text) if word.lower() not in _TRIVIAL]
        telling = [word for word in telling if word.lower() not in fact.service]
        if self.chance.random() < 0.25:
            text = belief.text
        else:
            taken = self.chance.sample(telling, min(2, len(telling)))
            text = " ".join([fact.service, *taken])
        return Question("exact", text, frozenset({belief.name}), fact.misleading)

    def _asked(self) -> Question:
        return self._about(self.chance.choice(self._known), "question", self._ask)

    def _absent(self) -> Question:
        def ask(fact: Fact) -> str:
            taken = fact.kind.words.format(s=self._called(fact.service)).split()
            word = fact.kind.foreign if self.chance.random() < 0.5 else self._nowhere()
            taken.insert(self.chance.randint(0, len(taken)), word)
            return " ".join(taken)

        return self._about(self.chance.choice(self._known), "absent word", ask)

    def _path(self) -> Question:
        path = self.chance.choice(self._world.paths)
        parts = path.split("/")
        stem = parts[-1].rpartition(".")[0]
        fragment = self.chance.choice(
            (
                parts[-1],
                "/".join(parts[-2:]),
                "/".join(parts[1:]),
                "/".join(parts[2:4]),
                f"{parts[-2]}/{stem}",
                f"{parts[-2]}/{stem[: max(4, len(stem) * 2 // 3)]}",
                f"{parts[0]}/{parts[1]}/{parts[2]}",
                path,
            )
        )
        return Question("path fragment", fragment, self._holding(fragment))

    def _pair(self) -> Question:
        terms = self.chance.choices((words.CHINESE, words.JAPANESE, words.KOREAN), (4, 2, 1))[0]
        drawn = self.chance.random()
        if drawn < 0.5:
            taken = [self.chance.choice(terms)]
        elif drawn < 0.75:
            taken = self.chance.sample(terms, 2)
        else:
            taken = [self.chance.choice(self._world.services), self.chance.choice(terms)]
        right = self._holding(*taken)
        return Question("CJK pair", " ".join(taken), right) if right else self._pair()

    def _negative(self) -> Question:
        drawn = self.chance.random()
        if drawn < 0.4:
            text = " ".join(self.chance.sample(words.NOWHERE, 2))
        elif drawn < 0.6:
            text = f"{self._nowhere()}/{self._nowhere()}.py"
        elif drawn < 0.8:
            text = self.chance.choice(("鲸鱼", "蝴蝶", "火山", "琵琶", "宇宙", "さくら", "고래"))
        else:
            kind: Kind = self.chance.choice(self._world.facts).kind
            text = self._phrase(kind).format(s=f"{self._nowhere()}-{self._nowhere()}")
        return Question("negative", text, frozenset())

    def _now(self) -> Question:
        drawn = self.chance.random()
        group = (
            self._contradicted
            if drawn < 0.35
            else self._expiring
            if drawn < 0.55
            else self._updated
        )
        return self._about(self.chance.choice(group), "current value", self._ask_or_words)

    def _then(self) -> Question:
        fact = self.chance.choice(self._updated)
        belief = self.chance.choice(fact.beliefs)
        day = self.chance.randrange(belief.since, min(belief.until, DAYS))
        text = self._ask_or_words(fact)
        right = frozenset({belief.name})
        return Question("value on a date", text, right, None, day, belief.version)

    def _doubted(self) -> Question:
        return self._about(self.chance.choice(self._doubted_facts), DOUBTED, self._ask_or_words)

    def _about(self, fact: Fact, sort: str, ask: Callable[[Fact], str]) -> Question:
        right = frozenset({fact.current.name}) if fact.current else frozenset()
        return Question(sort, ask(fact), right, fact.misleading)

    def _ask_or_words(self, fact: Fact) -> str:
        if self.chance.random() < 0.5:
            return self._ask(fact)
        return fact.kind.words.format(s=self._called(fact.service))

    def _ask(self, fact: Fact) -> str:
        return self._phrase(fact.kind).format(s=self._called(fact.service))

    def _phrase(self, kind: Kind) -> str:
        return self.chance.choice(kind.asks[2:] if self._held_out else kind.asks[:2])

    def _called(self, service: str) -> str:
        return service if self.chance.random() < 0.7 else service.replace("-", " ")

    def _nowhere(self) -> str:
        return self.chance.choice(words.NOWHERE)

    def _holding(self, *parts: str) -> frozenset[str]:
        return frozenset(
            name
            for name, live in self._world.live.items()
            if all(part in live.text for part in parts)
        )
