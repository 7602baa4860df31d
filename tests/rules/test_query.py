import base64
import time
from collections.abc import Callable

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handoff_memory.core.errors import InputError, InvalidArgumentError, MemoryFault
from handoff_memory.rules.query import (
    Aggregate,
    Answer,
    Grep,
    Head,
    Jsonl,
    Outline,
    Question,
    Range,
    Tail,
    ask,
    question,
)

CEILING = 1024
KINDS = (
    *("text/plain", "application/json", "application/x-ndjson", "text/csv", "text/markdown"),
    *("text/x-diff", "text/x-python", "text/x-rust", "image/png", "application/octet-stream"),
)
payloads = st.one_of(
    st.binary(max_size=3000),
    st.text(max_size=1500).map(lambda text: text.encode("utf-8", "replace")),
    st.text(max_size=500).map(lambda text: text.encode("utf-16", "replace")),
    st.text(alphabet="ab \n", max_size=3000).map(str.encode),
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers() | st.text(max_size=9))).map(
        lambda rows: b"\n".join(orjson.dumps(row) for row in rows if fits(row))
    ),
    st.text(alphabet='a,"\n1-+@# {}[]:.', max_size=2000).map(str.encode),
    st.text(alphabet="aé漢😀", min_size=500, max_size=3000).map(str.encode),
)
words = st.text(max_size=5) | st.sampled_from(["a", "a+", "^", "$", "a|b", "[ab]*", "é", "\\w"])
counts = st.integers(0, 50)
positions = st.integers(0, 4000)
questions: st.SearchStrategy[Question] = st.one_of(
    st.builds(Grep, words, st.booleans(), st.booleans(), st.integers(0, 3), counts, positions),
    st.builds(
        Range,
        st.sampled_from(["lines", "bytes"]),
        st.none() | counts,
        st.none() | counts,
        st.sampled_from(["auto", "text", "hex", "base64"]),
        positions,
    ),
    st.builds(Head, counts, positions),
    st.builds(Tail, counts, st.none() | positions),
    st.builds(Outline, counts),
    st.builds(
        Aggregate,
        st.sampled_from(["count", "sum", "min", "max", "avg"]),
        st.none() | st.sampled_from(["a", "b.c", "é"]),
        st.none() | st.sampled_from(["a", "c"]),
        counts,
    ),
    st.builds(
        Jsonl,
        st.none() | words | st.sampled_from(["a", "a>`1`", "length(a)", "@"]),
        st.none() | words | st.sampled_from(["{x:a}", "[a,b]", "to_string(@)", "keys(@)"]),
        counts,
        counts,
    ),
)


def fits(row: dict[str, int | str]) -> bool:
    return all(isinstance(value, str) or abs(value) < 2**63 for value in row.values())


def answer(
    data: bytes, asked: Question, kind: str = "text/plain", ceiling: int = CEILING
) -> Answer:
    return ask(data, kind, asked, ceiling_bytes=ceiling, clock=time.monotonic)


def pages(data: bytes, asked: Question, following: Callable[[int], Question]) -> list[Answer]:
    """The answer, and those that go on from it."""
    found = [answer(data, asked)]
    while (position := found[-1].next) is not None:
        found.append(answer(data, following(position)))
    return found


@given(payloads, st.sampled_from(KINDS), questions, st.sampled_from(["re2", "regex"]))
@example(b"[1]", "text/csv", Jsonl("a\ud800"), "re2")
def test_any_question_about_any_bytes_is_answered_below_the_ceiling_or_refused(
    data: bytes, kind: str, asked: Question, engine: str
) -> None:
    try:
        found = ask(
            data,
            kind,
            asked,
            ceiling_bytes=CEILING,
            clock=time.monotonic,
            engine=engine,  # type: ignore[arg-type]
        )
    except MemoryFault as fault:
        assert isinstance(fault, InputError)  # noqa: PT017 - refusing is as good as answering
        fault.message.encode()
        return
    assert found.size_bytes <= CEILING
    assert found.left >= 0
    assert found.next is None or found.shown


@given(st.text(min_size=1, max_size=4000, alphabet="aé漢😀\n\r") | st.text(max_size=3000))
def test_ranges_of_lines_joined_are_the_whole(text: str) -> None:
    data = text.encode("utf-8", "replace")
    if answer(data, Range()).binary:
        return

    found = pages(data, Range(), lambda position: Range(position=position))

    assert "".join(page.text for page in found).encode() == data
    by_line = [answer(data, Range(first=n, last=n), ceiling=20_000).text for n in range(1, 60)]
    assert data.startswith("".join(by_line).encode())


@given(st.binary(max_size=4000), st.sampled_from(["hex", "base64"]))
def test_ranges_of_bytes_joined_are_the_whole(data: bytes, form: str) -> None:
    found = pages(
        data,
        Range("bytes", form=form),  # type: ignore[arg-type]
        lambda position: Range("bytes", form=form, position=position),  # type: ignore[arg-type]
    )

    joined = "".join(page.text for page in found)
    assert (bytes.fromhex(joined) if form == "hex" else base64.b64decode(joined)) == data


@given(st.text(max_size=800, alphabet="aé漢😀\n"), st.integers(1, 50))
def test_text_cut_at_any_byte_is_joined_without_loss(text: str, step: int) -> None:
    data = text.encode()

    pieces = [
        answer(data, Range("bytes", first=at, last=at + step - 1)).text
        for at in range(0, len(data), step)
    ]

    assert "".join(pieces) == text


@given(st.text(min_size=1, max_size=4000, alphabet="aé漢😀\n"), st.integers(0, 100))
def test_head_and_tail_joined_are_the_first_and_the_last_lines(text: str, count: int) -> None:
    lines = text.splitlines(keepends=True)
    data = text.encode()

    first = pages(data, Head(count), lambda position: Head(count, position))
    last = pages(data, Tail(count), lambda position: Tail(count, position))

    assert "".join(page.text for page in first) == "".join(lines[:count])
    assert "".join(page.text for page in reversed(last)) == "".join(lines[-count:] if count else [])


def test_the_last_lines_are_those_before_the_end() -> None:
    assert answer(b"a\nb\nc\n", Tail(2)).text == "b\nc\n"
    assert answer(b"a\nb\nc", Tail(2)).text == "b\nc"


def test_what_is_left_is_counted() -> None:
    data = b"0123456789\n" * 1000

    found = answer(data, Head(1000))

    assert found.shown + found.left in (1000, 1001)  # a line that was cut counts on both sides
    assert found.next is not None
    assert f"cut at byte {found.next}" in found.notes[0]


def test_a_range_behind_the_end_says_how_long_the_payload_is() -> None:
    found = answer(b"a\nb\n", Range(first=9))

    assert (found.text, found.notes) == ("", ("the payload has 2 lines",))


@pytest.mark.parametrize(
    "asked",
    [
        Range(first=0),
        Range(first=5, last=4),
        Range("bytes", first=5, last=4),
        Grep("\ud800"),
        Aggregate("sum"),
    ],
)
def test_arguments_out_of_range_are_refused(asked: Question) -> None:
    with pytest.raises(InvalidArgumentError):
        answer(b'{"a": 1}\n', asked, "application/x-ndjson")


def test_a_ceiling_below_the_least_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        answer(b"", Head(), ceiling=1023)


@pytest.mark.parametrize("asked", [Grep("a"), Head(), Tail(), Range(), Outline(), Jsonl()])
def test_a_binary_payload_is_said_to_be_binary(asked: Question) -> None:
    data = b"\x89PNG\r\n\x1a\n" + bytes(100)

    found = answer(data, asked)

    assert found.binary
    assert found.text.startswith("binary: image/png, 108 bytes")
    assert "hex" in found.text


def test_a_binary_payload_has_ranges_of_bytes() -> None:
    data = b"\x89PNG\r\n\x1a\n" + bytes(100)

    found = answer(data, Range("bytes", first=1, last=3))

    assert (found.text, found.binary) == (base64.b64encode(b"PNG").decode(), True)
    assert found.notes == ("bytes 1-4 of 108, as base64",)
    with pytest.raises(InvalidArgumentError, match="no UTF-8"):
        answer(data, Range("bytes", form="text"))


def test_utf_16_and_latin_1_are_read_and_said() -> None:
    wide = answer("größe\nzwei".encode("utf-16"), Grep("größe"))
    narrow = answer("größe\nzwei".encode("latin-1"), Grep("größe"))

    assert (wide.text, wide.notes) == ("1:größe", ("the payload is UTF-16",))
    assert narrow.text == "1:größe"
    assert narrow.notes == ("no UTF-8 at byte 2, so read as Latin-1",)


def test_half_a_utf_16_character_makes_it_latin_1() -> None:
    found = answer(b"\xff\xfea\0b", Head())

    assert "Latin-1" in found.notes[0]


@pytest.mark.parametrize(
    "asked",
    [
        Grep("x"),
        Grep("aab"),
        Head(),
        Tail(),
        Range(),
        Range("bytes"),
        Outline(),
        Grep("B", ignore_case=True),
    ],
)
def test_a_line_of_20_mb_stays_below_the_ceiling(asked: Question) -> None:
    data = b"a" * 10_000_000 + b"b" + b"a" * 10_000_000

    started = time.perf_counter()
    found = answer(data, asked)

    assert found.size_bytes <= CEILING
    assert time.perf_counter() - started < 10


def test_arguments_become_a_question() -> None:
    assert question("grep", {"pattern": "a", "regex": True, "context": None}) == Grep(
        "a", regex=True
    )
    assert question("range", {"first": 1, "last": 2}) == Range(first=1, last=2)
    assert question("tail", {"position": 7}) == Tail(position=7)
    assert question("aggregate", {"measure": "avg", "field": "ms"}) == Aggregate("avg", "ms")
    assert question("jsonl", {}) == Jsonl()


@pytest.mark.parametrize(
    ("op", "arguments", "said"),
    [
        ("sed", {}, "op is one of grep, range"),
        ("grep", {}, "needs pattern"),
        ("grep", {"pattern": ""}, "not empty"),
        ("grep", {"pattern": 1}, "a string"),
        ("grep", {"pattern": "a", "regex": "yes"}, "true or false"),
        ("grep", {"pattern": "a", "context": 21}, "between 0 and 20"),
        ("grep", {"pattern": "a", "context": True}, "a whole number"),
        ("head", {"lines": -1}, "between 0"),
        ("head", {"lines": 1.5}, "a whole number"),
        ("head", {"n": 1}, "head takes lines, position; not n"),
        ("range", {"unit": "words"}, "one of lines, bytes"),
        ("aggregate", {"measure": ["sum"]}, "one of count"),
    ],
)
def test_a_wrong_argument_is_named(op: str, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        question(op, arguments)
