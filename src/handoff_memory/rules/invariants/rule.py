"""A project's rules as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

VerdictName: TypeAlias = Literal["allow", "warn", "ask", "block"]
SEVERITY: Final[tuple[VerdictName, ...]] = ("allow", "warn", "ask", "block")


@dataclass(frozen=True, slots=True)
class Equals:
    """The argument is this value, of the same JSON type."""

    value: Any


@dataclass(frozen=True, slots=True)
class Glob:
    """The argument, or one of a list, is a text that matches."""

    pattern: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """The argument is one of these values."""

    values: tuple[Any, ...]


ArgTest: TypeAlias = Equals | Glob | OneOf


@dataclass(frozen=True, slots=True)
class Paths:
    """Globs of paths with the meaning of gitignore lines; `!` takes away."""

    globs: tuple[str, ...]
    plain: GitIgnoreSpec = field(compare=False, repr=False)
    folded: GitIgnoreSpec = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class When:
    """What an action must be for the rule to apply; what is empty is not asked."""

    tools: tuple[str, ...] = ()
    paths: Paths | None = None
    args: tuple[tuple[str, ArgTest], ...] = ()
    agents: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Require:
    """The flag that lets an action pass, and how fresh it must be."""

    state: str
    fresh_after: Literal["edit"] | None = None
    max_age_s: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One invariant.

    Attributes:
        fail_closed: Whether a hook that fails by itself refuses what this rule may be about.
        line: Where it begins in its file.
    """

    id: str
    when: When
    message: str
    require: Require | None = None
    verdict: VerdictName = "block"
    fail_closed: bool = False
    line: int = 0
