"""What a file of rules comes to: those that could be read, and what is wrong with the rest."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from handoff_memory.rules.invariants.rule import Rule


class Problem(NamedTuple):
    """What is wrong with a file of rules, and where."""

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return f"{self.file}:{self.line}: {self.field}: {self.message}"


class Book(NamedTuple):
    """The rules that could be read, which hold, and what is wrong with the rest."""

    rules: "tuple[Rule, ...]" = ()
    problems: tuple[Problem, ...] = ()
