"""Records: names, versions, conditions, expiry, retries, outcomes. Source: memory.md §1 and §3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors import START_US, Agent, Clock
from handoff_memory.app import Makers, open_local
from handoff_memory.core import canonical, times
from handoff_memory.core.author import Author
from handoff_memory.core.errors import (
    InvalidArgumentError,
    InvalidNameError,
    InvalidValueError,
    NotFoundError,
    RequestMismatchError,
    ReservedScopeError,
    TooLargeError,
    VersionConflictError,
)
from handoff_memory.settings import Settings

Enter = Callable[..., Agent]
Head = Callable[[], tuple[int, bytes]]


# --- versions ------------------------------------------------------------------------------------


def test_the_first_write_is_version_one(scout: Agent) -> None:
    reply = scout.write("listing/553/assessment", {"apply": True})

    assert (reply["scope"], reply["key"]) == ("listing/553", "assessment")
    assert (reply["version"], reply["superseded"], reply["confidence"]) == (1, None, 0.7)


def test_writing_again_appends_a_version_and_leaves_the_old_one_as_it_was(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    scout.write("a/b", "old", confidence_share=0.9, tags=["x"], source="page 1")
    before = scout.read("a/b@1")
    clock.forward(1)

    reply = executor.write("a/b", "new")

    assert (reply["version"], reply["superseded"]) == (2, 1)
    after = scout.read("a/b@1")
    assert after == {**before, "current": False, "superseded_by": 2}
    assert scout.read("a/b")["value"] == "new"


def test_a_record_says_who_wrote_it_when_and_from_where(scout: Agent) -> None:
    receipt = scout.write("a/b", 1, confidence_share=0.25, tags=["x", "y", "x"], source="page 1")

    record = scout.read("a/b")

    assert record["agent"] == "scout"
    assert record["at"] == times.iso(START_US)
    assert (record["tags"], record["source"]) == (["x", "y"], "page 1")
    assert (record["confidence"], record["hash"]) == (0.25, receipt["hash"])


def test_zero_as_expected_version_means_that_the_record_must_not_exist(
    scout: Agent, executor: Agent
) -> None:
    scout.write("a/b", "first", expected_version=0)

    with pytest.raises(VersionConflictError) as error:
        executor.write("a/b", "second", expected_version=0)

    assert error.value.facts["current_version"] == 1
    assert scout.read("a/b")["value"] == "first"


def test_a_conflict_says_what_is_current_by_whom_and_when_and_writes_nothing(
    scout: Agent, executor: Agent, head: Head, clock: Clock
) -> None:
    receipt = scout.write("a/b", "first")
    clock.forward(60)
    before = head()

    with pytest.raises(VersionConflictError, match="is at version 1, not 7") as error:
        executor.write("a/b", "second", expected_version=7)

    assert error.value.facts == {
        "current_version": 1,
        "hash": receipt["hash"],
        "agent": "scout",
        "at": times.iso(START_US),
    }
    assert head() == before


def test_a_condition_on_a_record_that_is_not_there_is_a_conflict(scout: Agent) -> None:
    with pytest.raises(VersionConflictError) as error:
        scout.write("a/b", expected_version=1)

    assert error.value.facts == {"current_version": 0}


def test_writing_the_current_value_if_changed_is_no_write(scout: Agent, head: Head) -> None:
    first = scout.write("a/b", {"x": 1, "y": 2})
    before = head()

    again = scout.write("a/b", {"y": 2, "x": 1}, if_changed=True)

    assert again == {**first, "unchanged": True}
    assert head() == before


@pytest.mark.parametrize("value", [1.0, "1", [1], True])
def test_a_value_that_only_looks_the_same_is_written(value: Any, scout: Agent) -> None:
    scout.write("a/b", 1)

    reply = scout.write("a/b", value, if_changed=True)

    assert reply["version"] == 2
    assert "unchanged" not in reply


def test_an_earlier_value_that_comes_back_is_a_new_version(scout: Agent) -> None:
    for value in ("a", "b"):
        scout.write("a/b", value)

    assert scout.write("a/b", "a", if_changed=True)["version"] == 3


# --- expiry --------------------------------------------------------------------------------------


def test_an_expired_version_is_read_when_asked_for_and_flagged(scout: Agent, clock: Clock) -> None:
    scout.write("a/b", "soon gone", expires_in=60)

    clock.forward(60)

    record = scout.read("a/b@1")
    assert (record["value"], record["expired"]) == ("soon gone", True)
    assert scout.history("a/b")[0]["expired"] is True


def test_plain_reads_and_searches_leave_an_expired_record_out(scout: Agent, clock: Clock) -> None:
    scout.write("a/b", "soon gone", expires_in=60)
    clock.now += 60_000_000 - 1
    assert scout.read("a/b")["value"] == "soon gone"
    assert scout.found("gone") == ["a/b@1"]

    clock.now += 1

    with pytest.raises(NotFoundError) as error:
        scout.read("a/b")
    assert error.value.facts["nearest"] == ["a/b@1"]
    assert scout.found("gone") == []
    assert scout.found() == []


def test_the_same_value_is_written_anew_once_the_old_one_has_expired(
    scout: Agent, clock: Clock
) -> None:
    scout.write("a/b", "again", expires_in=60)
    clock.forward(60)

    reply = scout.write("a/b", "again", if_changed=True)

    assert reply["version"] == 2
    assert scout.read("a/b")["value"] == "again"


# --- retries -------------------------------------------------------------------------------------


def test_a_repeated_request_returns_the_first_result_and_writes_nothing(
    scout: Agent, head: Head
) -> None:
    scout.write("a/b", "x")
    results: list[tuple[Any, Any]] = []
    for call in (
        lambda: scout.write("a/b", "y", expected_version=1, request_id="r1"),
        lambda: scout.report("a/b", "success", request_id="r2"),
        lambda: scout.create(pins=["a/b"], request_id="r3"),
    ):
        first = call()
        before = head()
        results.append((first, call()))
        assert head() == before

    assert [again for _, again in results] == [{**one, "replayed": True} for one, _ in results]


def test_the_first_result_is_returned_though_the_record_has_moved_on(scout: Agent) -> None:
    first = scout.write("a/b", "x", request_id="r1")
    scout.write("a/b", "y")

    assert scout.write("a/b", "x", request_id="r1") == {**first, "replayed": True}
    assert scout.read("a/b")["value"] == "y"


def test_a_request_id_with_other_arguments_is_an_error(scout: Agent, head: Head) -> None:
    scout.write("a/b", "x", request_id="r1")
    before = head()

    with pytest.raises(RequestMismatchError):
        scout.write("a/b", "y", request_id="r1")
    with pytest.raises(RequestMismatchError):
        scout.write("a/b", "x", tags=["t"], request_id="r1")
    with pytest.raises(RequestMismatchError):
        scout.write("a/b", "x", expected_version=0, request_id="r1")
    with pytest.raises(RequestMismatchError):
        scout.report("a/b", "success", request_id="r1")

    assert head() == before


def test_request_ids_of_two_agents_do_not_meet(scout: Agent, executor: Agent) -> None:
    scout.write("a/b", "x", request_id="r1")

    assert executor.write("a/b", "y", request_id="r1")["version"] == 2


def test_the_next_session_of_an_agent_repeats_a_request_too(scout: Agent, agent: Enter) -> None:
    scout.write("a/b", "x", request_id="r1")

    assert agent("scout").write("a/b", "x", request_id="r1")["replayed"] is True


def test_a_request_that_failed_may_be_repeated(scout: Agent) -> None:
    with pytest.raises(VersionConflictError):
        scout.write("a/b", "x", expected_version=1, request_id="r1")

    scout.write("a/b", "y")

    assert scout.write("a/b", "x", expected_version=1, request_id="r1")["version"] == 2


# --- values --------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An agent on a database that all examples of a test write to."""
    home = tmp_path_factory.mktemp("shared")
    options = Settings(home, home / "memory.db", home, durable=False)
    with open_local(options, Makers(clock=Clock())) as local:
        yield Agent(local, Author("scout", "s_1"))


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types throughout: 1, 1.0 and True are three values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and str(one) == str(other)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON)
def test_a_value_of_any_shape_comes_back_equal(shared: Agent, value: Any) -> None:
    shared.write("a/b", value)

    assert same(shared.read("a/b")["value"], value)


@pytest.mark.parametrize(
    "value",
    [
        1,
        1.0,
        -0.0,
        1e-300,
        2**64 - 1,
        -(2**63),
        "🙂👩‍👩‍👧",
        "数据库连接池",
        "\u202eright to left\u202c",
        "nul \x00 inside",
        "null",
        '{"a":1}',
        "e\u0301 and \u00e9",
        {"": {"": []}},
        {"b": 1, "a": [None, True, 1, 1.0, "1"]},
    ],
)
def test_a_value_comes_back_as_it_went_in(value: Any, scout: Agent) -> None:
    scout.write("a/b", value)

    assert same(scout.read("a/b")["value"], value)


def nested(depth: int) -> Any:
    value: Any = "password=hunter2hunter2"
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        {"a": [float("-inf")]},
        "\ud800",
        {"\udfff": 1},
        2**64,
        -(2**63) - 1,
        nested(101),
        nested(5000),
        {1: 2},
        {"a": object()},
    ],
    ids=lambda value: str(type(value)),
)
def test_what_is_no_json_is_refused_and_nothing_is_stored(
    value: Any, scout: Agent, head: Head
) -> None:
    scout.write("a/b")
    before = head()

    with pytest.raises(InvalidValueError):
        scout.write("a/b", value)

    assert head() == before


def test_a_hundred_levels_of_nesting_are_taken(scout: Agent) -> None:
    scout.write("a/b", nested(100))

    assert scout.read("a/b")["version"] == 1


def test_a_value_at_the_limit_is_taken_and_one_byte_more_is_refused(scout: Agent) -> None:
    limit = scout.local.settings.limits.value_bytes
    scout.write("a/b", "x" * (limit - 2))

    with pytest.raises(TooLargeError) as error:
        scout.write("a/b", "x" * (limit - 1))

    assert error.value.facts == {"size_bytes": limit + 1, "limit_bytes": limit}
    assert scout.read("a/b")["version"] == 1


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan")])
def test_a_confidence_outside_of_zero_to_one_is_refused(confidence: float, scout: Agent) -> None:
    with pytest.raises(InvalidArgumentError, match="confidence"):
        scout.write("a/b", confidence_share=confidence)


def test_more_tags_and_a_longer_source_than_allowed_are_refused(scout: Agent) -> None:
    with pytest.raises(InvalidArgumentError, match="at most 32 tags"):
        scout.write("a/b", tags=[str(n) for n in range(33)])
    with pytest.raises(TooLargeError, match="source has 2001 characters"):
        scout.write("a/b", source="x" * 2001)


@pytest.mark.parametrize("scope", ["osiris", "osiris/tasks"])
def test_the_governors_scope_is_reserved(scope: str, scout: Agent) -> None:
    with pytest.raises(ReservedScopeError):
        scout.write(f"{scope}/x")


def test_a_name_in_another_normal_form_is_the_same_name(scout: Agent) -> None:
    scout.write("cafe\u0301/me\u0301nu", "hot")

    assert scout.read("caf\u00e9/m\u00e9nu")["value"] == "hot"


def test_a_name_in_other_letters_is_another_name(scout: Agent) -> None:
    scout.write("plan/Route")

    with pytest.raises(NotFoundError):
        scout.read("plan/route")


def test_a_bad_name_says_which_rule_it_breaks(scout: Agent) -> None:
    with pytest.raises(InvalidNameError, match=r"segment '\.\.'"):
        scout.write("a/../b/c")


# --- outcomes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "before", "after"),
    [
        ("success", 0.8, 0.84),
        ("partial", 0.8, 0.81),
        ("failure", 0.6, 0.39),
        ("critical_failure", 0.6, 0.24),
        ("success", 0.333333, 0.466666),
        ("failure", 0.333333, 0.216666),
    ],
)
def test_an_outcome_moves_confidence_by_the_table(
    outcome: str, before: float, after: float, scout: Agent, executor: Agent
) -> None:
    scout.write("a/b", confidence_share=before)

    reply = executor.report("a/b", outcome)

    assert (reply["before"], reply["after"]) == (before, after)
    assert reply["counts"] == {outcome: 1}
    assert scout.read("a/b")["confidence"] == after


def test_an_outcome_of_a_superseded_version_leaves_the_current_one_alone(scout: Agent) -> None:
    scout.write("a/b", "old", confidence_share=0.5)
    scout.write("a/b", "new", confidence_share=0.5)

    reply = scout.report("a/b@1", "failure")

    assert (reply["version"], reply["current_version"]) == (1, 2)
    assert "left alone" in reply["note"]
    assert scout.read("a/b@1")["confidence"] == 0.325
    assert scout.read("a/b@2")["confidence"] == 0.5
    assert scout.read("a/b@2")["counts"] == {}


def test_a_new_version_begins_with_a_confidence_of_its_own(scout: Agent) -> None:
    scout.write("a/b", "old")
    scout.report("a/b", "success")

    scout.write("a/b", "new")

    assert (scout.read("a/b")["confidence"], scout.read("a/b")["counts"]) == (0.7, {})


def test_a_record_shows_how_many_different_agents_confirmed_it(
    scout: Agent, executor: Agent, agent: Enter
) -> None:
    scout.write("a/b")
    for reporter, outcome in (
        (executor, "success"),
        (executor, "success"),
        (agent("critic"), "partial"),
        (agent("doubter"), "failure"),
    ):
        reporter.report("a/b", outcome)

    assert scout.read("a/b")["confirmed_by"] == 2


def test_every_move_is_kept_with_who_when_and_why(
    scout: Agent, executor: Agent, clock: Clock
) -> None:
    scout.write("a/b", confidence_share=0.8)
    packet_id = scout.create()["packet_id"]
    executor.report("a/b", "success", note="it worked", packet=packet_id)
    clock.forward(1)
    scout.report("a/b", "failure")

    (version,) = scout.history("a/b")

    assert version["believed_at_first"] == 0.8
    assert version["outcomes"] == [
        {
            "outcome": "success",
            "before": 0.8,
            "after": 0.84,
            "agent": "executor",
            "at": times.iso(START_US),
            "note": "it worked",
            "packet_id": packet_id,
        },
        {
            "outcome": "failure",
            "before": 0.84,
            "after": 0.546,
            "agent": "scout",
            "at": times.iso(START_US + 1_000_000),
        },
    ]


def test_an_outcome_of_a_record_or_packet_that_is_not_there_is_refused(
    scout: Agent, head: Head
) -> None:
    scout.write("a/b")
    before = head()

    for name, packet in (("a/c", None), ("a/b@2", None), ("a/b", "h_00000000")):
        with pytest.raises(NotFoundError):
            scout.report(name, "success", packet=packet)

    assert head() == before


# --- reading -------------------------------------------------------------------------------------


def test_a_long_history_comes_in_pages_newest_first_each_version_once(scout: Agent) -> None:
    for n in range(25):
        scout.write("a/b", n)

    seen: list[int] = []
    cursor = None
    while not seen or cursor:
        page = scout.history_page("a/b", limit=10, cursor=cursor)
        seen += [version["version"] for version in page["history"]]
        cursor = page.get("next_cursor")

    assert seen == list(range(25, 0, -1))


def test_the_stored_bytes_are_canonical(scout: Agent, local: Any) -> None:
    scout.write("a/b", {"b": [1.0, 1], "a": "ü"})

    row = local.read(lambda tx: tx.one("SELECT body FROM records"))

    assert bytes(row["body"]) == '{"a":"ü","b":[1.0,1]}'.encode()
    assert bytes(row["body"]) == canonical.encode({"b": [1.0, 1], "a": "ü"})


# --- projects ------------------------------------------------------------------------------------


def test_in_the_home_database_a_project_sees_its_own_records_and_packets(agent: Enter) -> None:
    here, there = agent("scout", project="/here"), agent("scout", project="/there")
    here.write("plan/route", "north")
    there.write("plan/route", "south")
    packet_id = here.create()["packet_id"]

    assert here.read("plan/route")["value"] == "north"
    assert there.read("plan/route")["value"] == "south"
    assert [here.found("north"), there.found("north")] == [["plan/route@1"], []]
    assert there.waiting == 0
    with pytest.raises(NotFoundError):
        there.peek(packet_id)


@pytest.mark.parametrize("scope", ["global/style", "agent/scout/notes"])
def test_what_is_global_or_an_agents_own_is_seen_from_every_project(
    scope: str, agent: Enter
) -> None:
    agent("scout", project="/here").write(f"{scope}/tabs", "four")

    there = agent("scout", project="/there")

    assert there.read(f"{scope}/tabs")["value"] == "four"
    assert there.found("four") == [f"{scope}/tabs@1"]
    assert there.write(f"{scope}/tabs", "two")["version"] == 2


def test_a_packet_pins_what_its_project_sees(agent: Enter) -> None:
    here = agent("scout", project="/here")
    here.write("plan/route", "north")
    here.write("global/style/tabs", "four")
    here.create(pins=["plan/route", "global/style/tabs"])

    records = agent("executor", project="/here").pickup()["records"]

    assert [record["value"] for record in records] == ["north", "four"]
