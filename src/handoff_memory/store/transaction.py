"""A transaction on a SQLite connection, as operations see it."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, NamedTuple

from handoff_memory.store import driver
from handoff_memory.store.engine import Entropy, Operation

_STATEMENTS: Final = 512
_NAMED: Final = re.compile(r"'[^']*'|:(\w+)")

_Values = Mapping[str, object]


class Batch(NamedTuple):
    """What the operations of one transaction share.

    Attributes:
        cursor: Runs statements that return nothing; a new cursor for each costs a microsecond.
        known: As in `Tx`.
        put_off: As in `Tx`.
        rows: What `Tx.add` was given and no statement needed yet, by statement.
    """

    cursor: driver.Cursor | driver.Connection
    known: dict[object, Any]
    put_off: dict[object, Operation[None]]
    rows: dict[str, list[tuple[object, ...]]]

    def forget(self) -> None:
        """Begin anew, after what was shared has been committed or undone."""
        self.known.clear()
        self.put_off.clear()
        self.rows.clear()


class Transaction:
    """A `Tx` on a SQLite connection."""

    __slots__ = ("_conn", "_cursor", "_entropy", "_rows", "known", "now", "put_off")

    def __init__(
        self, conn: driver.Connection, now: int, entropy: Entropy, batch: Batch | None = None
    ) -> None:
        self._conn = conn
        self._entropy = entropy
        self.now = now
        self._cursor, self.known, self.put_off, self._rows = batch or Batch(conn, {}, {}, {})

    def random(self, size_bytes: int) -> bytes:
        """That many unpredictable bytes."""
        return self._entropy(size_bytes)

    def one(self, sql: str, **values: object) -> Any:
        """The first row, or None."""
        self._insert()
        marked, in_order = _marked(sql)
        return self._conn.execute(marked, in_order(values)).fetchone()

    def peek(self, sql: str, **values: object) -> Any:
        """The only row, or None, where no row that waits can change that; those go on waiting."""
        marked, in_order = _marked(sql)
        found = self._cursor.execute(marked, in_order(values)).fetchall()  # none is left open
        return found[0] if found else None

    def all(self, sql: str, **values: object) -> list[Any]:
        """Every row."""
        self._insert()
        marked, in_order = _marked(sql)
        return self._conn.execute(marked, in_order(values)).fetchall()

    def each(self, sql: str, **values: object) -> Iterator[Any]:
        """Row after row, without holding them all."""
        self._insert()
        marked, in_order = _marked(sql)
        return iter(self._conn.execute(marked, in_order(values)))

    def tuples(self, sql: str, **values: object) -> Iterator[tuple[Any, ...]]:
        """As `each`, but each row a plain tuple: for walks over everything."""
        self._insert()
        marked, in_order = _marked(sql)
        cursor = self._conn.cursor()
        cursor.row_factory = None
        return iter(cursor.execute(marked, in_order(values)))

    def run(self, sql: str, **values: object) -> int:
        """Execute, and say how many rows were changed."""
        self._insert()
        marked, in_order = _marked(sql)
        return int(self._cursor.execute(marked, in_order(values)).rowcount)

    def add(self, sql: str, **values: object) -> None:
        """Insert a row when it is needed: together with others, before whatever reads or changes.

        Rows of one statement go in by their first value, rows of another before or after them.
        """
        marked, in_order = _marked(sql)
        waiting = self._rows.get(marked)
        if waiting is None:
            waiting = self._rows[marked] = []
        waiting.append(in_order(values))

    def settle(self) -> None:
        """Do what was put off."""
        self._insert()
        while self.put_off:
            _, operation = self.put_off.popitem()
            operation(self)

    def _insert(self) -> None:
        # Many rows of a table in a row take half as long as the same between rows of others, and
        # the full-text index writes out what it holds whenever a number is not above the last.
        while self._rows:
            marked = next(iter(self._rows))
            rows = self._rows.pop(marked)
            if len(rows) == 1:
                self._cursor.execute(marked, rows[0])
            else:
                rows.sort(key=itemgetter(0))
                self._cursor.executemany(marked, rows)


@lru_cache(_STATEMENTS)
def _marked(sql: str) -> tuple[str, Callable[[_Values], tuple[object, ...]]]:
    """A statement with marks for its names, and what puts values into their order.

    The driver asks SQLite for each name at each call, which takes longer than binding the value.
    The marks have no numbers: to Python 3.12.0 to 3.12.3 a number is a name, and it warns of each.
    """
    names: list[str] = []

    def mark(match: re.Match[str]) -> str:
        if match[1] is None:  # a text
            return match[0]
        names.append(match[1])
        return "?"

    marked = _NAMED.sub(mark, sql)
    return marked, _picker(names)


def _picker(names: list[str]) -> Callable[[_Values], tuple[object, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple(values[name] for name in names)
