from decimal import Decimal

import pytest

from handoff_memory.core import prices


@pytest.mark.parametrize(
    "model", ["claude-opus-5-5", "claude-opus-5-5-20260922", "claude-opus-5-5[1m]"]
)
def test_a_model_is_found_by_any_of_its_names(model: str) -> None:
    assert prices.find(model) == prices.TABLE["claude-opus-5-5"]


@pytest.mark.parametrize("model", [None, "some-model", ""])
def test_a_model_without_a_price_is_not_guessed(model: str | None) -> None:
    assert prices.find(model) is None


def test_a_price_is_for_a_million_tokens_and_exact() -> None:
    assert prices.usd(2_041, Decimal("0.10")) == Decimal("0.0002041")
