"""Whether a figure holds, how far it is from what was asked, and the lines of the picture."""

import pytest
from store.figures import Figure
from store.plot import grown, margin


def test_a_ratio_that_must_be_reached_holds_from_there_on() -> None:
    figure = Figure("rate", 30, 10, asked=3.0)

    assert figure.holds
    assert margin(figure) == 1
    assert not figure._replace(ours=29).holds
    assert margin(figure._replace(ours=15)) == 0.5


def test_a_ratio_that_must_not_be_passed_is_better_the_smaller_it_is() -> None:
    figure = Figure("time", 5, 10, asked=1.0, at_most=True)

    assert figure.holds
    assert margin(figure) == 2
    assert not figure._replace(ours=11).holds


def test_a_figure_without_a_demand_has_no_margin() -> None:
    with pytest.raises(ValueError, match="nothing was asked for"):
        margin(Figure("rate", 1, 1))


def test_growth_is_one_line_a_step_over_all_sizes() -> None:
    figures = [
        Figure("write at 10,000 beside 1,000", 12, 10, "us"),
        Figure("write at 1,000,000 beside 1,000", 14, 10, "us"),
        Figure("read at 10,000 beside 1,000", 3, 2, "us"),
        Figure("write at 5,000 of one key beside 1,000", 9, 10, "us"),
        Figure("bytes a version at 10,000 beside 1,000", 600, 900, "B"),
    ]

    assert grown(figures) == {
        "write": {1000: 10, 10_000: 12, 1_000_000: 14},
        "read": {1000: 2, 10_000: 3},
    }
