"""What operations of one transaction share, and how a statement's names become marks."""

import random
import time
from collections.abc import Iterator
from typing import Self

import pytest

from actors import Clock
from handoff_memory.core.errors import NotFoundError, StorageError
from handoff_memory.settings import Settings
from handoff_memory.store import sessions
from handoff_memory.store.connection import Source
from handoff_memory.store.engine import Operation, Tx
from handoff_memory.store.sqlite import Writer
from handoff_memory.store.transaction import Transaction


@pytest.fixture
def writer(settings: Settings) -> Iterator[Writer]:
    writer = Writer(
        Source(settings.database, False, Clock(), random.Random(1).randbytes), deadline_s=5
    )
    yield writer
    writer.close()


def write(writer: Writer, *batch: Operation[object]) -> list[object]:
    return list(writer.write(batch, until=time.monotonic() + 5))


def sign(seq: int, session: str = "s_1") -> Operation[None]:
    return lambda tx: sessions.seen(tx, session, "a", pid=1, host="h", seq=seq)


class Executed:
    """A connection that keeps what it is given to execute."""

    def __init__(self) -> None:
        self.executed: list[tuple[str, tuple[object, ...]]] = []

    def execute(self, sql: str, values: tuple[object, ...]) -> Self:
        self.executed.append((sql, values))
        return self

    def fetchall(self) -> list[object]:
        return []


def newest_write(tx: Tx) -> int:
    found = sessions.find(tx, "s_1")
    return int(found["seq"]) if found else -1


def test_a_name_stands_for_one_value_wherever_it_stands(writer: Writer) -> None:
    sql = "SELECT :b AS b, :a AS a, :b || ':a' || ' :b' AS text, '' AS empty WHERE :a = :a"

    found = writer.read(lambda tx: tx.one(sql, a=1, b="x"))

    assert tuple(found) == ("x", 1, "x:a :b", "")


def test_the_marks_have_no_numbers_which_a_driver_may_take_for_names() -> None:
    conn = Executed()

    Transaction(conn, 0, bytes).all("SELECT :b, :a, :b", a=1, b=2)  # type: ignore[arg-type]

    assert conn.executed == [("SELECT ?, ?, ?", (2, 1, 2))]


def test_a_value_without_a_name_in_the_statement_is_passed_by(writer: Writer) -> None:
    (row,) = writer.read(lambda tx: tx.all("SELECT :a AS a", a=b"\0", other=None))

    assert row["a"] == b"\0"


def test_a_statement_without_its_value_is_refused(writer: Writer) -> None:
    with pytest.raises(KeyError):
        writer.read(lambda tx: tx.one("SELECT :a, :b", a=1))


def test_signs_of_life_of_one_batch_are_one_with_the_newest_write(writer: Writer) -> None:
    write(writer, sign(5), sign(9), sign(0), sign(3, "s_2"))

    assert writer.read(newest_write) == 9


def test_an_operation_reads_the_signs_of_those_before_it(writer: Writer) -> None:
    _, seen, _, later = write(writer, sign(5), newest_write, sign(7), newest_write)

    assert (seen, later) == (5, 7)


def test_a_session_that_left_comes_back_with_its_next_sign(writer: Writer) -> None:
    def left(tx: Tx) -> object:
        found = sessions.find(tx, "s_1")
        return found and found["ended_at"]

    write(writer, sign(1), lambda tx: sessions.ended(tx, "s_1"))
    assert writer.read(left) is not None

    write(writer, sign(2))
    assert writer.read(left) is None
    assert writer.read(newest_write) == 2


def test_the_sign_of_an_operation_that_failed_is_undone_with_it(writer: Writer) -> None:
    def fail(tx: Tx) -> None:
        sign(99)(tx)
        raise NotFoundError("nothing there")

    _, failed, _ = write(writer, sign(5), fail, sign(6))

    assert isinstance(failed, NotFoundError)
    assert writer.read(newest_write) == 6


# --- rows that wait ------------------------------------------------------------------------------

MAKE = "CREATE TEMP TABLE IF NOT EXISTS waiting (number INTEGER, text TEXT)"
ADD = "INSERT INTO temp.waiting (number, text) VALUES (:number, :text)"
COUNT = "SELECT count(*) AS rows FROM temp.waiting"
IN_ORDER = "SELECT text FROM temp.waiting ORDER BY rowid"


def add(number: int, text: str = "") -> Operation[None]:
    return lambda tx: tx.add(ADD, number=number, text=text)


def count(tx: Tx) -> int:
    return int(tx.all(COUNT)[0]["rows"])


def texts(tx: Tx) -> list[str]:
    return [row["text"] for row in tx.each(IN_ORDER)]


@pytest.fixture
def waiting(writer: Writer) -> Writer:
    write(writer, lambda tx: tx.run(MAKE))
    return writer


@pytest.mark.parametrize(
    "read",
    [
        lambda tx: tx.one(COUNT)["rows"],
        lambda tx: tx.all(COUNT)[0]["rows"],
        lambda tx: next(tx.each(COUNT))["rows"],
        lambda tx: next(tx.tuples(COUNT))[0],
        lambda tx: tx.run("UPDATE temp.waiting SET text = 'changed'"),
    ],
    ids=["one", "all", "each", "tuples", "run"],
)
def test_whatever_reads_or_changes_meets_the_rows_that_waited(
    waiting: Writer, read: Operation[int]
) -> None:
    _, found, _, more = write(waiting, add(1), read, add(2), read)

    assert (found, more) == (1, 2)


def test_a_peek_leaves_them_waiting(waiting: Writer) -> None:
    _, peeked, found = write(waiting, add(1), lambda tx: tx.peek(COUNT)["rows"], count)

    assert (peeked, found) == (0, 1)


def test_a_peek_for_nothing_is_none(waiting: Writer) -> None:
    assert write(waiting, lambda tx: tx.peek(IN_ORDER)) == [None]


def test_rows_of_one_statement_go_in_by_their_first_value(waiting: Writer) -> None:
    write(waiting, add(3, "c"), add(1, "a"), add(2, "b1"), add(2, "b2"))

    assert waiting.read(texts) == ["a", "b1", "b2", "c"]


def test_rows_of_an_operation_that_failed_are_undone_alone(waiting: Writer) -> None:
    def fail(tx: Tx) -> None:
        add(2, "failed")(tx)
        raise NotFoundError("nothing there")

    write(waiting, add(1, "before"), fail, add(3, "after"))

    assert waiting.read(texts) == ["before", "after"]


def test_rows_of_a_transaction_that_failed_whole_are_forgotten(waiting: Writer) -> None:
    def fail(tx: Tx) -> None:
        add(1, "lost")(tx)
        raise NotFoundError("nothing there")

    with pytest.raises(NotFoundError), waiting.transaction(until=time.monotonic() + 5) as tx:
        fail(tx)

    write(waiting, add(2, "kept"))

    assert waiting.read(texts) == ["kept"]


def test_a_row_that_the_table_refuses_undoes_the_whole_batch(waiting: Writer) -> None:
    write(waiting, lambda tx: tx.run("CREATE UNIQUE INDEX temp.once ON waiting (number)"))

    with pytest.raises(StorageError):
        write(waiting, add(1), add(1))

    assert waiting.read(count) == 0
