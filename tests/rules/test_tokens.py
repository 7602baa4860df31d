import importlib.util
import statistics
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import is_in_step
from handoff_memory.rules.tokens import SAMPLED_CHARS, WEIGHTS, at_most, estimate, features


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    path = Path(__file__).parents[2] / "bench" / "tokens.py"
    spec = importlib.util.spec_from_file_location("bench_tokens", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_estimate_is_within_its_bounds_on_texts_it_was_not_fitted_on(bench: ModuleType) -> None:
    texts = bench.corpus("test", 15)

    found = {kind: bench.errors(group) for kind, group in texts.items()}

    everything = sorted(error for group in found.values() for error in group)
    assert len(found) >= 8
    assert statistics.mean(everything) <= bench.MEAN
    assert bench.p95(everything) <= bench.P95
    assert max(statistics.mean(group) for group in found.values()) <= 0.12


def test_no_text_of_the_test_is_one_of_the_fit(bench: ModuleType) -> None:
    fit, test = (
        {text for group in bench.corpus(half, 15).values() for text in group}
        for half in bench.HALVES
    )

    assert not fit & test


def test_a_long_text_is_sampled_about_right(bench: ModuleType) -> None:
    text = "\n".join(bench.corpus("test", 60)["log"])
    assert len(text) > SAMPLED_CHARS

    error = abs(estimate(text) / bench.exact([text])[0] - 1)

    assert error < 0.1


def test_nothing_has_no_tokens() -> None:
    assert estimate("") == 0


@given(st.text())
def test_any_text_has_an_estimate(text: str) -> None:
    found = estimate(text)

    assert (found > 0) == bool(text)
    assert found <= at_most(text)


@given(st.text())
def test_every_feature_has_a_weight_and_a_count(text: str) -> None:
    found = features(text)

    assert found.keys() == WEIGHTS.keys()
    assert all(count >= 0 for count in found.values())


@pytest.mark.parametrize("piece", ["a", "A", "0", "a0", "=", "_", " ", "\n", "漢", "/a", "aA1+"])
def test_a_long_run_of_anything_is_estimated_in_linear_time(piece: str) -> None:
    assert is_in_step(estimate, lambda size: piece * (size // len(piece)), SAMPLED_CHARS // 2)
