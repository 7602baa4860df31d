from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import text


def rarity(count: int) -> float:
    """What one word counts for that stands in so many of 1,000 texts."""
    ((_, weight), *_) = text.weighed([(text.Piece(('"one"',)), count)], 1000, 5000)
    return weight


def test_every_part_of_a_query_is_a_quoted_phrase() -> None:
    query = text.query("src/auth/login.py don't")

    assert query.all_words == '"src auth login py" AND "don t"'


def test_any_word_leaves_out_words_that_say_nothing() -> None:
    assert text.query("why does the retry fail").any_word == '"retry" OR "fail"'


def test_words_that_say_nothing_are_kept_where_there_are_no_others() -> None:
    assert text.query("to be").any_word == '"to" OR "be"'


def test_unspaced_scripts_become_characters_in_a_phrase_and_pairs() -> None:
    query = text.query("连接池")

    assert query.all_words == '"连 接 池"'
    assert query.any_word == '"连 接" OR "接 池"'
    assert text.query("池").any_word == '"池"'


def test_the_last_word_of_what_is_typed_as_one_may_be_cut_short() -> None:
    assert text.query("events/Cursor in v20.04").all_words == (
        '"events Cursor" * AND "in" AND "v20 04"'
    )


def test_neighbours_typed_as_one_count_more_than_those_that_may_have_met_by_chance() -> None:
    assert text.neighbours("port of src/auth/login") == [
        text.Piece(('"src auth"',), 3.0),
        text.Piece(('"auth login" *',), 3.0),
    ]
    assert text.neighbours("red apple") == [
        text.Piece(('"red apple"', '"redapple"'), 0.3, ('"red"', '"apple"'))
    ]
    assert text.neighbours("连接 池") == [text.Piece(('"连 接 池"',), 0.3, ('"连接"', '"池"'))]


def test_a_word_that_stands_nowhere_parts_no_neighbours() -> None:
    (whole,) = text.neighbours("red apple")

    assert whole not in text.neighbours("red zeppelin apple")
    assert text.neighbours("red zeppelin apple", {'"zeppelin"'}) == [whole]
    assert text.neighbours("red the apple") == []


def test_a_word_may_be_written_as_two_and_only_spellings_that_stand_somewhere_stay() -> None:
    (timeout,) = text.query("timeout").pieces

    assert timeout.spellings == ('"timeout"', '"tim eout"', '"time out"')
    assert timeout.spelled([0, 0, 2]).match == '("timeout" OR "time out")'
    assert timeout.spelled([1, 0, 0]).match == '"timeout"'
    assert len(timeout.spelled([1, 0, 0]).spellings) == 1


@pytest.mark.parametrize("word", ["red", "apple", "v2beta1x", "éclairage", "x" * 21])
def test_a_short_or_long_word_or_code_is_written_in_one_way(word: str) -> None:
    (piece,) = text.query(word).pieces

    assert piece.spellings == (f'"{word}"',)


def test_a_word_is_close_within_some_words_of_the_best_or_where_that_is_the_name() -> None:
    session = text.Piece(('"session store"', '"sessionstore"'))
    red = text.Piece(('"red"',))

    assert session.near(red) == (
        '(NEAR("session store" "red", 8) OR NEAR("sessionstore" "red", 8)'
        ' OR (({name} : ("session store" OR "sessionstore")) AND "red"))'
    )


def test_rare_pieces_weigh_more_and_twice_close_to_the_rarest() -> None:
    red, apple = text.query("red apple").pieces

    weights = dict(text.weighed([(red, 50), (apple, 2)], 1000, 5000))

    close = apple.near(red)
    assert list(weights) == [
        *('"apple"', '"red"', '{name} : "apple"', '{name} : "red"', close),
    ]
    assert weights['"apple"'] > weights['"red"'] > weights['{name} : "apple"'] > 0
    assert weights[close] == weights['"red"']


@pytest.mark.parametrize(("met", "share"), [(20, 3.0), (12, 3.0), (11, 1.0), (5, 0.5), (1, 0.3)])
def test_words_that_surely_meet_more_often_than_by_chance_count_as_if_typed_as_one(
    met: int, share: float
) -> None:
    red, apple = text.query("red apple").pieces
    (both,) = text.neighbours("red apple")

    weights = dict(text.weighed([(red, 100), (apple, 100), (both, met)], 1000, 5000))

    assert weights[both.match] == pytest.approx(share * rarity(met))


@pytest.mark.parametrize(
    ("named", "primary_texts"),
    [
        ("payment bridge", 30),  # of two pairs the one that is rarest beside its words
        ("payment-bridge", 90),  # what is typed as one, though the other pair is as rare
    ],
)
def test_one_pair_of_words_is_the_name_of_what_is_asked_about(
    named: str, primary_texts: int
) -> None:
    payment, bridge, primary, region = text.query(f"{named} primary region").pieces
    name, _, kind = text.neighbours(f"{named} primary region")
    pairs = [(name, 30), (kind, 30)]
    words = [(payment, 90), (bridge, 90), (primary, primary_texts), (region, 90)]

    weights = dict(text.weighed([*words, *pairs], 1000, 5000))

    assert weights[name.match] == pytest.approx(3 * rarity(30))
    assert weights[kind.match] == pytest.approx(rarity(30))
    assert name.near(region) in weights


def test_words_met_by_chance_count_little_where_one_of_them_is_not_known() -> None:
    (both,) = text.neighbours("red apple")

    weights = dict(text.weighed([(both, 20)], 1000, 5000))

    assert weights[both.match] == pytest.approx(0.3 * rarity(20))


def test_where_pieces_stand_in_too_many_texts_the_rarest_decide() -> None:
    red, apple, pie = text.query("red apple pie").pieces

    weighed = text.weighed([(red, 90), (apple, 2), (pie, 3)], 1000, 50)

    assert [match for match, _ in weighed] == [
        *('"apple"', '"pie"', '{name} : "apple"', '{name} : "pie"'),
        '("apple" OR "pie") AND "red"',
        *(apple.near(pie), apple.near(red)),
    ]
    assert text.weighed([(red, 90), (apple, 80)], 1000, 50) == []


def test_indexed_text_sets_the_characters_of_unspaced_scripts_apart() -> None:
    assert text.indexed("DB连接池v2").split() == ["DB", "连", "接", "池", "v2"]


@pytest.mark.parametrize("empty", ["", "  ", '"', "+-*/()", "_", "🙂"])
def test_a_query_without_words_has_no_expressions(empty: str) -> None:
    assert text.query(empty) == text.Query("", "", (), empty)
    assert text.neighbours(empty) == []


def test_terms_are_lower_case_and_each_once() -> None:
    assert text.query("Retry RETRY fail").terms == ("retry", "fail")


def test_a_long_query_has_a_bounded_number_of_terms() -> None:
    assert text.query(" ".join(f"w{n}" for n in range(500))).all_words.count(" AND ") == 63


def is_quoted(phrase: str) -> bool:
    """Whether an expression is one phrase, whole or the beginning of one."""
    whole = phrase.removesuffix(" *")
    return whole[0] == whole[-1] == '"' and not {'"', "\0"} & set(whole[1:-1])


@given(st.text())
def test_no_quote_of_a_query_ends_a_phrase(query: str) -> None:
    made = text.query(query)

    for expression, joint in ((made.all_words, " AND "), (made.any_word, " OR ")):
        for phrase in filter(None, expression.split(joint)):
            assert is_quoted(phrase)
    for piece in (*made.pieces, *text.neighbours(query)):
        assert all(map(is_quoted, piece.spellings))


@given(st.text())
def test_indexed_text_holds_no_nul(given_text: str) -> None:
    assert "\0" not in text.indexed(given_text)


def test_keys_strings_and_numbers_of_a_value_are_worth_finding() -> None:
    value = {"route": ["north", 42, 1.5, None, True], "deep": {"er": "south"}}

    assert text.of_value(value).split("\n") == [
        *("route", "north", "42", "1.5", "deep", "er", "south")
    ]


def test_a_short_text_is_its_own_preview() -> None:
    assert text.preview("short", ("x",), 5) == "short"


def test_a_preview_shows_the_hit_and_marks_both_cuts() -> None:
    found = text.preview("a" * 100 + " needle " + "b" * 100, ("needle",), 40)

    assert "needle" in found
    assert (found[0], found[-1], len(found)) == ("…", "…", 40)


def test_a_preview_without_a_hit_is_the_beginning() -> None:
    assert text.preview("abcdef", (), 4) == "abc…"


@given(st.text(), st.lists(st.text(min_size=1)), st.integers(3, 50))
def test_a_preview_is_never_longer_than_asked_for(
    content: str, terms: list[str], width: int
) -> None:
    assert len(text.preview(content, tuple(terms), width)) <= width
