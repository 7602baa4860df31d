import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import adaptive
from handoff_memory.rules.adaptive import Overheads, Payload


@pytest.mark.parametrize(
    ("tokens", "mode"),
    [
        (50, "bystander"),
        (234, "light"),
        (800, "light"),
        (2_092, "standard"),
        (5_083, "standard"),
        (20_372, "full"),
    ],
)
def test_the_benchmarks_workflow_gets_the_mode_its_payloads_pay_for(tokens: int, mode: str) -> None:
    assert adaptive.choose([Payload(tokens, repeats=3)]).mode == mode


def test_small_work_is_left_alone_where_each_result_costs_a_call() -> None:
    found = adaptive.choose([Payload(200, repeats=3)], adaptive.BY_AGENT)

    assert found.mode == "bystander"
    assert found.why == "the payloads are too small to pay for more"


def test_nothing_observed_is_a_bystanders_work() -> None:
    assert adaptive.choose([]).mode == "bystander"


def test_a_large_first_read_pays_without_repeats() -> None:
    assert adaptive.choose([Payload(8_000)]).mode == "full"
    assert adaptive.choose([Payload(1_499)]).mode == "bystander"


PAYLOADS = st.lists(st.builds(Payload, tokens=st.integers(0, 30_000), repeats=st.integers(0, 5)))


@given(PAYLOADS, st.sampled_from([adaptive.BY_HOOK, adaptive.BY_AGENT, Overheads(manifest=5_000)]))
def test_no_mode_is_chosen_that_is_expected_to_cost(
    payloads: list[Payload], cost: Overheads
) -> None:
    found = adaptive.choose(payloads, cost)

    nets = dict(found.nets)
    assert nets[found.mode] >= 0
    assert found.mode == "bystander" or nets[found.mode] == max(nets.values())
