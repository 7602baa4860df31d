import itertools
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core.errors import InvalidPatternError, PatternTooSlowError
from handoff_memory.rules.query import Answer, Grep, ask
from handoff_memory.rules.query.pattern import Engine

each_engine = pytest.mark.parametrize("engine", ["re2", "regex"])
LOG = b"one\ntwo error\nthree\nfour\nfive\nsix error\nseven\n"


def grep(
    data: bytes, asked: Grep, engine: Engine = "re2", ceiling: int = 4096, seconds: float = 0
) -> Answer:
    clock = itertools.count(0, seconds).__next__ if seconds else time.monotonic
    return ask(data, "text/plain", asked, ceiling_bytes=ceiling, clock=clock, engine=engine)


def test_lines_are_numbered_and_counted() -> None:
    found = grep(LOG, Grep("error"))

    assert (found.text, found.shown, found.left) == ("2:two error\n6:six error", 2, 0)
    assert found.next is None


def test_context_stands_around_and_groups_are_divided() -> None:
    found = grep(LOG, Grep("error", context=1))

    assert found.text == "1-one\n2:two error\n3-three\n--\n5-five\n6:six error\n7-seven"


def test_context_that_meets_is_shown_once() -> None:
    found = grep(LOG, Grep("error", context=2))

    assert [line[:2] for line in found.text.splitlines()] == [f"{n}-" for n in (1,)] + [
        *("2:", "3-", "4-", "5-", "6:", "7-")
    ]


def test_a_pattern_is_literal_unless_it_is_said_to_be_an_expression() -> None:
    assert grep(b"a.c\nabc\n", Grep("a.c")).text == "1:a.c"
    assert grep(b"a.c\nabc\n", Grep("a.c", regex=True)).shown == 2


@each_engine
@pytest.mark.parametrize(
    ("pattern", "ignore_case", "text"),
    [
        ("ERROR", True, "2:two error\n6:six error"),
        ("^t", False, "2:two error\n3:three"),
        ("e$", False, "1:one\n3:three\n5:five"),
        (r"^\w{3}$", False, "1:one"),
        (r"o\s+e", False, "2:two error"),
        (r"[^x]*seven", False, "7:seven"),
        ("(?i)SIX", False, "6:six error"),
        ("[[:alpha:]]{5}", False, "2:two error\n3:three\n6:six error\n7:seven"),
        (r"\bf(our|ive)\b", False, "4:four\n5:five"),
        (r"\p{Greek}", False, ""),
        ("zero", False, ""),
    ],
)
def test_both_engines_find_the_same(
    engine: Engine, pattern: str, ignore_case: bool, text: str
) -> None:
    assert grep(LOG, Grep(pattern, regex=True, ignore_case=ignore_case), engine).text == text


@each_engine
def test_case_is_ignored_beyond_ascii(engine: Engine) -> None:
    assert grep(
        "GRÖSSE.\n".encode(), Grep("größe.".replace("ß", "ss"), ignore_case=True), engine
    ).shown


def test_case_of_a_literal_is_ignored() -> None:
    assert grep(LOG, Grep("ERROR", ignore_case=True)).shown == 2


@each_engine
def test_lines_that_end_with_a_carriage_return_end_before_it(engine: Engine) -> None:
    data = b"one\r\n\r\ntwo\r\n"

    assert grep(data, Grep("e$", regex=True), engine).text == "1:one"
    assert grep(data, Grep("^$", regex=True), engine).text == "2:"
    assert grep(data, Grep("two", context=1)).text == "2-\n3:two"


@each_engine
@given(
    st.text(alphabet="ab\n\ré", max_size=60), st.sampled_from(["a", "b+", "a?", "^b", "é$", "^$"])
)
def test_lines_are_found_as_a_search_line_by_line_finds_them(
    engine: Engine, text: str, pattern: str
) -> None:
    lines = text.removesuffix("\n").split("\n") if text else []
    wanted = [
        number
        for number, line in enumerate(lines, 1)
        if re.search(pattern, line.removesuffix("\r"), re.MULTILINE)
    ]

    found = grep(text.encode(), Grep(pattern, regex=True, max_matches=1000), engine)

    shown = [int(line.split(":")[0]) for line in found.text.split("\n") if found.text]
    assert shown == wanted


def test_after_so_many_matches_it_goes_on_at_a_position() -> None:
    data = b"".join(b"line %d\n" % n for n in range(100))

    first = grep(data, Grep("line", max_matches=3, context=1))
    assert (first.shown, first.left, first.next) == (3, 97, 21)
    second = grep(data, Grep("line", max_matches=3, position=first.next or 0))

    assert second.text == "4:line 3\n5:line 4\n6:line 5"


def test_no_match_wanted_only_counts() -> None:
    found = grep(LOG, Grep("error", max_matches=0))

    assert (found.text, found.left, found.next) == ("", 2, None)


def test_the_ceiling_ends_a_page_and_pages_joined_have_every_match() -> None:
    data = b"".join(b"%d %s\n" % (n, b"x" * (n % 300)) for n in range(300))

    numbers, position = [], 0
    while True:
        found = grep(data, Grep("x", position=position, max_matches=1000), ceiling=1024)
        assert found.size_bytes <= 1024
        numbers += [int(re.split("[:@]", line)[0]) for line in found.text.split("\n")]
        if found.next is None:
            break
        position = found.next

    assert list(dict.fromkeys(numbers)) == [n + 1 for n in range(300) if n % 300]
    assert numbers == sorted(numbers)


def test_a_match_whose_context_does_not_fit_is_shown_without_it() -> None:
    data = b"\n".join([b"y" * 120] * 10 + [b"found"] + [b"y" * 120] * 10)

    found = grep(data, Grep("found", context=10), ceiling=1024)

    assert found.text == "11:found"


def test_a_long_line_is_clipped_around_each_of_its_matches() -> None:
    data = b"start\n" + b"a" * 5000 + b"needle" + b"b" * 5000 + b"needle" + b"c" * 5000 + b"\nend\n"

    found = grep(data, Grep("needle"), ceiling=16_000)

    first, second = found.text.split("\n")
    assert first == f"2@5006:…{'a' * 200}needle{'b' * 200}…"
    assert second == f"2@10012:…{'b' * 200}needle{'c' * 200}…"
    assert "2,000 characters" in found.notes[0]


def test_a_match_longer_than_its_clip_is_clipped() -> None:
    found = grep(b"x" * 5000, Grep("x+", regex=True), ceiling=16_000)

    assert found.text == f"1@0:{'x' * 400}…\n" + found.text.split("\n", 1)[1]
    assert found.shown > 1


def test_long_lines_of_the_context_are_clipped() -> None:
    data = "é".encode() * 5000 + b"\nneedle\n" + b"b" * 1999

    found = grep(data, Grep("needle", context=1), ceiling=16_000)

    before, match, after = found.text.split("\n")
    assert before.endswith("é…")
    assert (match, after) == ("2:needle", f"3-{'b' * 1999}")


def test_wide_characters_do_not_make_a_line_long() -> None:
    data = ("漢" * 900).encode()

    assert grep(data, Grep("漢"), ceiling=16_000).text == f"1:{'漢' * 900}"


@each_engine
def test_matches_in_a_line_of_20_mb_are_found_in_linear_time(engine: Engine) -> None:
    data = (b"x" * 100_000 + b"needle") * 200

    started = time.perf_counter()
    found = grep(data, Grep("needle", regex=True, max_matches=2), engine)

    assert time.perf_counter() - started < 3
    assert (found.shown, found.left) == (2, 198)
    assert found.next == 100_006 * 2 + 100_000


@pytest.mark.parametrize(
    "pattern", ["(a|aa)+$", "(a+)+$", "(a|a)*b", "(x+x+)+y", "(?:a?){50}a{50}b"]
)
@pytest.mark.parametrize(
    "data", [b"a" * 20_000_000 + b"!", (b"a" * 40 + b"!\n") * 10_000], ids=["one line", "many"]
)
@each_engine
def test_a_pattern_that_would_run_forever_ends_within_a_second(
    pattern: str, data: bytes, engine: Engine
) -> None:
    started = time.process_time()
    try:
        found = grep(data, Grep(pattern, regex=True), engine)
    except PatternTooSlowError as error:
        assert (engine, error.code) == ("regex", "pattern_too_slow")  # noqa: PT017 - RE2 answers
    else:
        assert not found.shown
    assert time.process_time() - started < 1.5


@each_engine
@pytest.mark.parametrize(
    "pattern",
    [
        *("(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(a)\1", "(?P<n>a)(?P=n)", r"(a)\g<1>"),
        *("(?>a)b", "a++", "a{2}+", "(a)(?(1)b|c)", "(?R)", "(?:a){e<=1}", r"\Ab", r"b\Z", r"\Cb"),
        *(
            "(",
            "a)",
            "[a",
            "*",
            "a{2}{3}",
            "(?P<n",
            r"\p{Nonsense}",
            "(?z)a",
            "",
            "x" * 1001,
            "a\nb",
        ),
    ],
)
def test_what_is_malformed_or_more_than_linear_is_refused(engine: Engine, pattern: str) -> None:
    with pytest.raises(InvalidPatternError) as caught:
        grep(LOG, Grep(pattern, regex=True), engine)

    assert len(caught.value.message) < 200


@each_engine
@pytest.mark.parametrize(
    "pattern", [r'\{"id": "x"\}', '{"id": "x"}', r"\++", "[+*]+", r"\x{61}|a", "[]a]"]
)
def test_what_only_looks_like_it_is_taken(engine: Engine, pattern: str) -> None:
    if engine == "regex" and "x{" in pattern:
        return
    assert grep(b"nothing of it: \n", Grep(pattern, regex=True), engine).binary is False


def test_time_that_is_over_stops_the_search_between_lines() -> None:
    with pytest.raises(PatternTooSlowError):
        grep(LOG, Grep("z", regex=True), "regex", seconds=0.2)


def test_a_match_of_megabytes_is_read_once_and_not_for_each_of_its_clips() -> None:
    data = b"x" * (8 << 20) + b"y"
    began = time.monotonic()

    found = grep(data, Grep("x+y", regex=True), ceiling=16_000)

    assert found.shown > 1
    assert found.left > 10_000
    assert time.monotonic() - began < 5
