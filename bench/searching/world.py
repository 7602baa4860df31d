"""A seeded half year of agents' notes about services, and what was true on each day of it.

Facts are updated under their name, expire, or are contradicted under another name, with the outcome
that an agent reports then. They drown in notes that use the same words and name the same services.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any, Final, NamedTuple

from searching import words
from searching.kinds import KINDS, Kind

DAYS: Final = 180
NEVER: Final = 10**6
_FIRST_DAY: Final = datetime.date(2026, 6, 1)
_VOCABULARY: Final = (*words.LINKS, *words.NOUNS, *words.VERBS, *words.REST)
_AGENTS: Final = ("scout", "builder", "reviewer", "operator")


class Write(NamedTuple):
    """One version, written on a day."""

    day: int
    scope: str
    key: str
    value: Any
    tags: tuple[str, ...] = ()
    source: str | None = None
    agent: str = "scout"
    expires_days: int | None = None

    @property
    def name(self) -> str:
        """Scope and key."""
        return f"{self.scope}/{self.key}"


class Report(NamedTuple):
    """What an agent reported, on a day, of the version that was current."""

    day: int
    scope: str
    key: str
    outcome: str
    agent: str = "reviewer"


class Belief(NamedTuple):
    """What held from a day until another, and the version that says so."""

    name: str
    version: int
    since: int
    until: int
    text: str


class Fact(NamedTuple):
    """One attribute of a service over the half year.

    Attributes:
        service: Of which service.
        kind: Which attribute.
        beliefs: In order of time; the last one holds today where it never ended.
        misleading: A record that still stands and was contradicted, or None.
        doubted: Whether its use was reported as a failure, and nothing was written instead.
    """

    service: str
    kind: Kind
    beliefs: tuple[Belief, ...]
    misleading: str | None = None
    doubted: bool = False

    @property
    def current(self) -> Belief | None:
        """What holds today."""
        last = self.beliefs[-1]
        return last if last.until > DAYS else None


class Live(NamedTuple):
    """What a record says today."""

    version: int
    text: str


class World:
    """All that was written, in order of time, and what of it is true.

    Attributes:
        services: Names of the services.
        facts: What can be asked for.
        paths: Paths that a record of their own names.
        events: Writes and reports in order of time.
        live: Name to what the record says, for those that are neither expired nor replaced.
    """

    def __init__(self, seed: int, records: int, services: int) -> None:
        self._chance = Random(seed)
        pairs = [f"{first}-{second}" for first in words.FIRST for second in words.SECOND]
        self.services = self._chance.sample(pairs, services)
        self.facts: list[Fact] = []
        self.paths: list[str] = []
        self._written: list[Write | Report] = []
        self._numbers = iter(range(1, 10**9))
        for service in self.services:
            self._know(service)
        self._pad(records)
        self.events = sorted(self._written, key=lambda event: event.day)
        self.live = dict(_live(self.events))

    def _know(self, service: str) -> None:
        for kind in self._chance.sample(KINDS, 10):
            if kind.expires_days:
                self._expiring(service, kind, kind.expires_days)
            elif self._chance.random() < 0.15:
                self._contradicted(service, kind)
            else:
                updates = 0 if self._chance.random() < 0.55 else self._chance.randint(1, 4)
                days = sorted(self._chance.sample(range(DAYS), updates + 1))
                self._updated(service, kind, days)
        for _ in range(3):
            self._code(service)
        for _ in range(2):
            self._unspaced(service)

    def _updated(self, service: str, kind: Kind, days: list[int]) -> None:
        scope, key, named = self._place(service, kind, days[0])
        beliefs = []
        for version, (day, until) in enumerate(pairwise([*days, NEVER]), 1):
            text = self._statement(service, kind)
            self._write(day, scope, key, self._value(text, named=named))
            beliefs.append(Belief(f"{scope}/{key}", version, day, until, text))
        outcome = ""
        if self._chance.random() < 0.15:
            outcomes = ("success", "partial", "failure", "critical_failure")
            outcome = self._chance.choices(outcomes, (10, 3, 5, 2))[0]
            day = self._chance.randint(days[-1], DAYS - 1)
            self._written.append(Report(day, scope, key, outcome))
        doubted = outcome.endswith("failure")
        self.facts.append(Fact(service, kind, tuple(beliefs), doubted=doubted))

    def _expiring(self, service: str, kind: Kind, lasts: int) -> None:
        scope, key, named = self._place(service, kind, 0)
        last = self._chance.randint(DAYS - lasts + 1, DAYS - 1)
        if self._chance.random() < 0.5:
            last -= self._chance.randint(lasts, 60)
        days = sorted({self._chance.randrange(last), last})
        beliefs = []
        for version, day in enumerate(days, 1):
            text = self._statement(service, kind)
            self._write(day, scope, key, self._value(text, named=named), expires_days=lasts)
            until = day + lasts
            beliefs.append(
                Belief(f"{scope}/{key}", version, day, until if until <= DAYS else NEVER, text)
            )
        self.facts.append(Fact(service, kind, tuple(beliefs)))

    def _contradicted(self, service: str, kind: Kind) -> None:
        then, later = sorted(self._chance.sample(range(DAYS), 2))
        scope, key, named = self._place(service, kind, then)
        old, new = self._statement(service, kind), self._statement(service, kind)
        self._write(then, scope, key, self._value(old, named=named))
        where, what = f"review/{_date(later)}", f"correction-{next(self._numbers)}"
        told = self._chance.choice(
            (f"Correction: {new}", f"{new} (not what {scope}/{key} says)", f"Checked today: {new}")
        )
        self._write(later, where, what, told, agent="reviewer")
        severity = self._chance.choices(("failure", "critical_failure"), (2, 1))[0]
        self._written.append(Report(later, scope, key, severity))
        if self._chance.random() < 0.5:
            day = self._chance.randint(later, DAYS - 1)
            self._written.append(Report(day, where, what, "success", "operator"))
        beliefs = (
            Belief(f"{scope}/{key}", 1, then, later, old),
            Belief(f"{where}/{what}", 1, later, NEVER, new),
        )
        self.facts.append(Fact(service, kind, beliefs, f"{scope}/{key}"))

    def _code(self, service: str) -> None:
        stem = self._chance.choice(words.STEMS)
        extension = self._chance.choice(words.EXTENSIONS)
        if extension in {"java", "kt"}:
            stem = "".join(part.title() for part in stem.split("_"))
        folders = "/".join(self._chance.sample(words.DIRECTORIES, 2))
        path = f"{service}/src/{folders}/{stem}.{extension}"
        line = self._chance.randrange(10, 900)
        told = self._chance.choice(
            (
                f"The part that matters lives in {path}",
                f"{path}:{line} is where the bug was",
                f"Tests of {path} are slow; run them alone",
            )
        )
        value = {"file": path, "note": self._note()} if self._chance.random() < 0.3 else told
        key = f"code-{next(self._numbers)}"
        self._write(self._chance.randrange(DAYS), f"service/{service}", key, value)
        self.paths.append(path)

    def _unspaced(self, service: str | None) -> None:
        templates, terms = self._chance.choices(
            (
                (words.CHINESE_NOTES, words.CHINESE),
                (words.JAPANESE_NOTES, words.JAPANESE),
                (words.KOREAN_NOTES, words.KOREAN),
            ),
            (4, 2, 1),
        )[0]
        first, second = self._chance.sample(terms, 2)
        named = service or self._chance.choice(self.services)
        text = self._chance.choice(templates).format(s=named, a=first, b=second)
        day = self._chance.randrange(DAYS)
        scope = f"service/{service}" if service else self._session(day)
        self._write(day, scope, f"note-{next(self._numbers)}", text)

    def _pad(self, records: int) -> None:
        padding: list[Write] = []
        while len(self._written) < records:
            day = self._chance.randrange(DAYS)
            if self._chance.random() < 0.02:
                self._unspaced(None)
            elif padding and self._chance.random() < 0.1:
                old = self._chance.choice(padding)
                later = self._chance.randint(old.day, DAYS - 1)
                self._write(later, old.scope, old.key, self._story())
            else:
                key = f"note-{next(self._numbers)}"
                padding.append(self._write(day, self._session(day), key, self._story()))

    def _write(self, day: int, scope: str, key: str, value: Any, **more: Any) -> Write:
        more.setdefault("agent", self._chance.choice(_AGENTS))
        if self._chance.random() < 0.2:
            more["source"] = f"log of {self._chance.choice(words.NOUNS)} run"
        if self._chance.random() < 0.2:
            more["tags"] = (self._chance.choice(words.NOUNS),)
        write = Write(day, scope, key, value, **more)
        self._written.append(write)
        return write

    def _place(self, service: str, kind: Kind, day: int) -> tuple[str, str, bool]:
        drawn = self._chance.random()
        if drawn < 0.7:
            return f"service/{service}", kind.key, True
        number = next(self._numbers)
        if drawn < 0.85:
            return f"service/{service}", f"fact-{number}", False
        return self._session(day), f"obs-{number}", False

    def _session(self, day: int) -> str:
        return f"session/{_date(day)}/{self._chance.randrange(40)}"

    def _statement(self, service: str, kind: Kind) -> str:
        drawn, shown = self._chance.random(), service
        if drawn < 0.25:
            shown = service.replace("-", " ")
            shown = shown.title() if drawn < 0.15 else shown
        return self._chance.choice(kind.statements).format(s=shown, v=kind.value(self._chance))

    def _value(self, statement: str, *, named: bool) -> Any:
        drawn = self._chance.random()
        if drawn < 0.15:
            before, after = self._note(), self._note()
            return f"{before}. {statement} {after}"
        if drawn < 0.3:
            return {"fact": statement, "checked": _date(self._chance.randrange(DAYS))}
        if drawn < 0.35 and named:
            return {"summary": statement, "steps": [self._note() for _ in range(3)]}
        return statement

    def _story(self) -> str:
        return ". ".join(self._note() for _ in range(self._chance.randint(1, 4)))

    def _note(self) -> str:
        size = self._chance.randint(5, 14)
        told = self._chance.choices(_VOCABULARY, _WEIGHTS, k=size)
        if self._chance.random() < 0.4:
            told.insert(self._chance.randrange(size), self._chance.choice(self.services))
        if self._chance.random() < 0.3:
            told.append(str(self._chance.randrange(10_000)))
        if self._chance.random() < 0.1:
            told.append(f"{self._chance.randrange(16**7):07x}")
        return " ".join(told)


def text_of(write: Write) -> str:
    """Name and value as a plain text, which is what a scan reads."""
    value = write.value
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{write.name}: {shown}"


def day_of(day: int) -> datetime.date:
    """The date of a day."""
    return _FIRST_DAY + datetime.timedelta(days=day)


def _date(day: int) -> str:
    return day_of(day).isoformat()


def _weights() -> list[float]:
    """Few words are in every other note, most in few of them."""
    order = list(range(len(_VOCABULARY) - len(words.LINKS)))
    Random(0).shuffle(order)
    return [8.0] * len(words.LINKS) + [60.0 / (rank + 8) for rank in order]


_WEIGHTS: Final = _weights()


def _live(events: list[Write | Report]) -> Iterator[tuple[str, Live]]:
    last: dict[str, tuple[Write, int]] = {}
    for event in events:
        if isinstance(event, Write):
            version = last[event.name][1] + 1 if event.name in last else 1
            last[event.name] = (event, version)
    for name, (write, version) in last.items():
        if write.expires_days is None or write.day + write.expires_days > DAYS:
            yield name, Live(version, text_of(write))
