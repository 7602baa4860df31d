from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import pressure
from handoff_memory.rules.pressure import Reading, Row

READINGS = (
    Reading("A", "measured", 1_000),
    Reading("B", "declared", 400),
    Reading("C", "measured", 5_000),
    Reading("C", "estimated", 2_000),
    Reading("D", "declared", None),
)


def test_kinds_stand_apart_and_a_sum_names_what_is_in_it() -> None:
    found = pressure.judge(READINGS, 20_000)

    assert (found.measured, found.declared, found.estimated) == (6_000, 400, 2_000)
    assert (found.unknown, found.silent) == (None, 1)
    assert found.used == pressure.Used(8_400, 42, "measured+declared+estimated", at_least=True)


def test_the_clients_count_wins_and_the_rest_is_unknown() -> None:
    found = pressure.judge(READINGS, 20_000, client_tokens=17_000)

    assert found.used == pressure.Used(17_000, 85, "client", at_least=False)
    assert found.unknown == 17_000 - 8_400
    assert found.level == "high"


def test_a_client_that_counts_less_leaves_nothing_unknown() -> None:
    assert pressure.judge(READINGS, 20_000, client_tokens=100).unknown == 0


def test_an_empty_context_claims_nothing() -> None:
    found = pressure.judge((), 20_000)

    assert found.used == pressure.Used(0, 0, "nothing known", at_least=True)
    assert found.level == "calm"


def test_the_level_follows_the_used_share() -> None:
    levels = {
        percent: pressure.judge((), 100, client_tokens=percent).level
        for percent in (59, 60, 79, 80, 94, 95, 120)
    }

    assert levels == {
        59: "calm",
        60: "watch",
        79: "watch",
        80: "high",
        94: "high",
        95: "full",
        120: "full",
    }


def test_the_zone_table_has_a_row_for_each_zone_and_the_sums() -> None:
    found = pressure.judge(READINGS, 20_000)

    assert found.rows[2] == Row("C", 5_000, 0, 2_000, 0)
    assert pressure.table(found) == (
        ("zone", "measured", "declared", "estimated", "of unknown size"),
        ("A", "1000", "0", "0", "0"),
        ("B", "0", "400", "0", "0"),
        ("C", "5000", "0", "2000", "0"),
        ("D", "0", "0", "0", "1"),
        ("all", "6000", "400", "2000", "1"),
    )


def test_the_forecast_is_by_a_usual_turn_of_late() -> None:
    growth = [9_999] * 5 + [1_000, 1_000, 900, 20_000, 1_100, 1_000, 1_000, 1_000]

    found = pressure.judge((), 20_000, client_tokens=9_500, growth=growth)

    assert found.turns_left == 10


def test_without_growth_there_is_no_forecast() -> None:
    assert pressure.judge((), 100, client_tokens=5).turns_left is None
    assert pressure.judge((), 100, client_tokens=5, growth=[-3, 0]).turns_left is None
    assert pressure.judge((), 100, client_tokens=150, growth=[3]).turns_left == 0


READING = st.builds(
    Reading,
    zone=st.sampled_from(pressure.ZONES),
    kind=st.sampled_from(pressure.KINDS),
    tokens=st.none() | st.integers(0, 9_999),
)


@given(st.lists(READING), st.none() | st.integers(0, 99_999))
def test_the_rows_add_up_to_the_whole(readings: list[Reading], client: int | None) -> None:
    found = pressure.judge(readings, 10_000, client_tokens=client)

    assert sum(row.measured for row in found.rows) == found.measured
    assert sum(row.declared for row in found.rows) == found.declared
    assert sum(row.estimated for row in found.rows) == found.estimated
    assert sum(row.silent for row in found.rows) == found.silent
    assert (found.unknown is None) == (client is None)
