"""The seam between services and a database: what an operation may do inside its transaction.

An operation is a plain function that takes a `Tx` first. The engine opens the transaction, runs
the operation whole, and commits; an operation opens none and awaits nothing. It may be run again
where another of its batch failed, so it keeps nothing outside its transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Row = Mapping[str, Any]
Operation = Callable[["Tx"], T]
Clock = Callable[[], int]
Entropy = Callable[[int], bytes]


class Tx(Protocol):
    """One transaction, as an operation sees it."""

    @property
    def now(self) -> int:
        """The time of this operation, microseconds since 1970 UTC."""

    @property
    def known(self) -> dict[object, Any]:
        """What operations of one transaction leave for those after them, who see no other."""

    @property
    def put_off(self) -> dict[object, Operation[None]]:
        """What is done once for all operations of a transaction, by what it is about."""

    def settle(self) -> None:
        """Do what was put off: before a commit, and before anything that reads what it writes."""

    def random(self, size_bytes: int) -> bytes:
        """That many unpredictable bytes."""

    def one(self, sql: str, **values: object) -> Row | None:
        """The first row, or None."""

    def peek(self, sql: str, **values: object) -> Row | None:
        """The only row, or None, where no row that waits can change that; those go on waiting."""

    def all(self, sql: str, **values: object) -> list[Row]:
        """Every row."""

    def each(self, sql: str, **values: object) -> Iterator[Row]:
        """Row after row, without holding them all."""

    def tuples(self, sql: str, **values: object) -> Iterator[tuple[Any, ...]]:
        """As `each`, but each row a plain tuple: for walks over everything."""

    def run(self, sql: str, **values: object) -> int:
        """Execute, and say how many rows were changed."""

    def add(self, sql: str, **values: object) -> None:
        """Insert a row when it is needed: together with others, before whatever reads or changes.

        Rows of one statement go in by their first value, rows of another before or after them.
        """
