import json
import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core.errors import InvalidArgumentError, InvalidExpressionError, NotRowsError
from handoff_memory.rules.query import Aggregate, Answer, Jsonl, Question, ask
from handoff_memory.rules.query.jsonl import written

LINES = b"""{"level": "info", "ms": 1, "user": {"id": "a"}}
{"level": "error", "ms": 20, "user": {"id": "b"}}

nonsense
{"level": "error", "ms": 4.5, "user": {"id": "a"}}
"""
TABLE = b'name,ms,day\nana,1.5,2026-01-02\n"bo, jr",2,2026-01-01\nana,x,2026-01-03\nshort\n\n'
NDJSON = "application/x-ndjson"
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


def answer(data: bytes, asked: Question, kind: str = NDJSON, ceiling: int = 2048) -> Answer:
    return ask(data, kind, asked, ceiling_bytes=ceiling, clock=time.monotonic)


def test_rows_are_filtered_and_projected() -> None:
    found = answer(LINES, Jsonl("level=='error'", "{u: user.id, ms: ms}"))

    assert found.text == '{"u":"b","ms":20}\n{"u":"a","ms":4.5}'
    assert found.notes == ("1 bad lines left out: 4",)


def test_rows_without_an_expression_are_shown_whole() -> None:
    assert answer(LINES, Jsonl()).text.split("\n")[0] == LINES.split(b"\n")[0].decode().replace(
        ": ", ":"
    ).replace(", ", ",")


def test_zero_holds_and_what_is_empty_does_not() -> None:
    data = b'{"a":0}\n{"a":""}\n{"a":false}\n{"a":[]}\n{}\n{"a":1.5}\n{"a":true}'

    assert answer(data, Jsonl("a")).text == '{"a":0}\n{"a":1.5}\n{"a":true}'


def test_matching_rows_are_paged_by_number() -> None:
    data = b"\n".join(b'{"n":%d}' % n for n in range(100))

    first = answer(data, Jsonl("n>=`10`", "n", limit=3))
    second = answer(data, Jsonl("n>=`10`", "n", limit=3, position=first.next or 0))

    assert (first.text, first.left, first.next) == ("10\n11\n12", 87, 3)
    assert second.text == "13\n14\n15"


def test_a_row_larger_than_the_ceiling_is_clipped() -> None:
    found = answer(b'{"a": "' + b"x" * 10_000 + b'"}', Jsonl())

    assert found.text.endswith("x…")
    assert found.size_bytes <= 2048


@pytest.mark.parametrize(
    ("data", "kind", "count"),
    [
        (b'[{"a": 1}, {"a": 2}]', "application/json", 2),
        (b'{"total": 9, "items": [{"a": 1}, {"a": 2}]}', "application/json", 2),
        (b'{"a": [1], "b": [2]}', "application/json", 1),
        (b'{"a": 1}\n{"a": 2}\n{bad', "application/json", 2),
        (b'{"a": 1}\n{"a": 2}\n', "text/plain", 2),
        (b'starting\n{"a": 1}\n', "text/plain", 1),
        (b"a,b\n1,2\n3,4\n5,6\n", "text/plain", 3),
        (b"a;b\n1;2\n", "text/csv", 1),
        (b"a\n1\n2\n", "text/csv", 2),
        (b"", "text/csv", 0),
        ("\ufeffa,b\n1,2\n".encode(), "text/csv", 1),
    ],
)
def test_rows_are_found_in_what_holds_them(data: bytes, kind: str, count: int) -> None:
    assert answer(data, Aggregate(), kind).text == str(count)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"prose", "text/plain"),
        (b"1", "application/json"),
        (b"{bad", "application/json"),
        (b'"' + b"x" * 200_000, "text/csv"),
    ],
)
def test_what_holds_no_rows_is_refused(data: bytes, kind: str) -> None:
    with pytest.raises(NotRowsError):
        answer(data, Aggregate(), kind)


def test_bad_rows_are_counted_and_the_first_are_named() -> None:
    found = answer(b"a,b\n1,2\n" + b"1\n" * 20, Aggregate(), "text/csv")

    assert found.notes == ("20 bad rows left out: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …",)
    assert answer(b"a,b\n1,2\n" + b"x" * 200_000, Aggregate(), "text/csv").notes


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (Aggregate(), "3"),
        (Aggregate("count", by="level"), "error\t2\ninfo\t1"),
        (Aggregate("sum", "ms"), "25.5"),
        (Aggregate("avg", "ms", "user.id"), "b\t20\na\t2.75"),
        (Aggregate("min", "ms"), "1"),
        (Aggregate("max", "ms", "level"), "error\t20\ninfo\t1"),
        (Aggregate("max", "level"), "info"),
        (Aggregate("min", "level"), "error"),
        (Aggregate("sum", "level"), "none"),
        (Aggregate("avg", "level", "user.id"), "a\tnone\nb\tnone"),
        (Aggregate("max", "user.id", "level"), "info\ta\nerror\tb"),
        (Aggregate("count", by="missing"), "(missing)\t3"),
        (Aggregate("count", by="user"), '{"id":"a"}\t2\n{"id":"b"}\t1'),
    ],
)
def test_measures_of_json_lines(asked: Aggregate, text: str) -> None:
    assert answer(LINES, asked).text == text


def test_measures_of_a_table() -> None:
    found = answer(TABLE, Aggregate("sum", "ms", "name"), "text/csv")

    assert found.text == "bo, jr\t2\nana\t1.5"
    assert found.notes == (
        "1 bad rows left out: 4",
        "1 values are no numbers and left out",
    )
    assert answer(TABLE, Aggregate("max", "day"), "text/csv").text == "2026-01-03"
    with pytest.raises(InvalidArgumentError, match="no column size; there are name, ms, day"):
        answer(TABLE, Aggregate("sum", "size"), "text/csv")


def test_rows_without_the_field_are_counted_apart() -> None:
    found = answer(b'{"a":1}\n{"b":1}\n{"a":true}\n{"a":null}', Aggregate("sum", "a"))

    assert found.text == "1"
    assert found.notes == ("1 of 4 rows have no a", "2 values are no numbers and left out")


@pytest.mark.parametrize(
    ("numbers", "total"),
    [
        (["0.1", "0.2"], "0.3"),
        (["1e400", "1"], "1.000000000000000000000000000000000E+400"),
        (["9007199254740993", "1"], "9007199254740994"),
        (["1e-30", "0"], "1E-30"),
        (["nan", "inf", "2"], "2"),
        (["1e999999999999", "1e999999999999"], "none"),
    ],
)
def test_sums_are_decimal_and_never_huge(numbers: list[str], total: str) -> None:
    data = "\n".join(json.dumps({"a": number}) for number in numbers).encode()

    assert answer(data, Aggregate("sum", "a")).text == total


def test_groups_are_paged() -> None:
    data = b"\n".join(b'{"g":"%d%s"}' % (n, b"x" * 300) for n in range(30))

    found = answer(data, Aggregate(by="g"))

    assert found.left
    assert answer(data, Aggregate(by="g", position=found.next or 0)).text != found.text


def test_a_type_error_in_some_rows_is_counted() -> None:
    data = b'{"a": "x"}\n{"a": 1}\n' + b"{}\n" * 12

    found = answer(data, Jsonl("length(a) > `0`"))

    assert found.shown == 1
    assert found.notes == (
        "the expression has a type error in 13 lines: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …",
    )
    assert answer(data[:19], Jsonl("length(a) > `0`")).notes[0].endswith("1 lines: 2")


@pytest.mark.parametrize(
    "expression",
    [
        *("a b", "[", "a[?", "nonsense(a)", "length()", "a" * 501, "'"),
        "(" * 17 + "a" + ")" * 17,
        "!" * 400 + "a",
        "|".join(["[@,@]"] * 11),
        "to_string([" * 20 + "@" + "])" * 20,
    ],
)
def test_a_malformed_or_unbounded_expression_is_refused(expression: str) -> None:
    with pytest.raises(InvalidExpressionError) as caught:
        answer(LINES, Jsonl(expression))

    assert len(caught.value.message) < 400


def test_brackets_in_strings_are_no_depth() -> None:
    assert answer(LINES, Jsonl(f"level=='{'(' * 30}'")).shown == 0


def test_an_expression_that_doubles_stays_below_the_ceiling() -> None:
    found = answer(b'{"a":"' + b"x" * 1000 + b'"}', Jsonl(None, "|".join(["[@,@][]"] * 9)))
    text = answer(b'{"a":"' + b"x" * 1000 + b'"}', Jsonl(None, "to_string([@,@])"))

    assert found.size_bytes <= 2048
    assert text.text.startswith('"[{\\"a\\":')
    assert answer(b'{"a":"b"}', Jsonl(None, "to_string(a)")).text == '"b"'


@given(values)
def test_a_value_is_written_as_compact_json(value: object) -> None:
    assert orjson.loads(written(value, 1 << 20)) == value


@given(values, st.integers(4, 50))
def test_what_is_too_long_is_cut(value: object, most: int) -> None:
    assert len(written(value, most).encode()) <= most
