"""Search: what is found, in which order and pages, and that it never fails (memory.md §5)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors import Agent, Clock
from handoff_memory.app import Makers, open_local
from handoff_memory.core.author import Author
from handoff_memory.core.canonical import encode
from handoff_memory.core.errors import (
    InvalidArgumentError,
    InvalidCursorError,
    InvalidNameError,
    TooLargeError,
)
from handoff_memory.settings import Settings
from handoff_memory.store import search as index

Enter = Callable[..., Agent]


def pages(agent: Agent, query: str, **more: Any) -> list[str]:
    """The keys on all pages, in order."""
    keys: list[str] = []
    cursor = None
    while True:
        reply = agent.search(query, cursor=cursor, **more)
        keys += [hit["key"] for hit in reply["results"]]
        if (cursor := reply.get("next_cursor")) is None:
            return keys


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An agent on a database that no example of a test writes to."""
    home = tmp_path_factory.mktemp("read-only")
    with open_local(Settings(home, home / "m.db", home), Makers(clock=Clock())) as local:
        agent = Agent(local, Author("scout", "s_1"))
        agent.write("notes/one", "an English text, with café and 数据库连接池")
        agent.write("notes/one", "its second version")
        yield agent


@given(st.text(max_size=300), st.booleans())
@example("\x00", False)
@example("\ud800", False)
@example('"""', True)
@example("NEAR(a b, 2) AND NOT {x}: y*", True)
@example("数" * 2000, False)
@example("a " * 1000, False)
@example("'" * 2000, True)
def test_search_answers_any_text(reader: Agent, query: str, past: bool) -> None:
    reply = reader.search(query, include_superseded=past)

    assert reply["match"] in {"all", "any", "listed", "none"}
    assert (reply["match"] == "none") == (reply["results"] == [])


@pytest.mark.parametrize(
    "query",
    [
        "multi-agent",
        "src/auth/login.py",
        "login.py",
        "auth/login",
        "don't",
        "C++",
        "20.04",
        "don\N{RIGHT SINGLE QUOTATION MARK}t",
        "MULTI-AGENT",
        "agents",
        "café",
    ],
)
def test_words_paths_and_versions_are_found(query: str, scout: Agent) -> None:
    scout.write(
        "notes/one", "multi-agent work in src/auth/login.py; don't use C++ on 20.04 in the café"
    )
    scout.write("notes/two", "nothing of the kind")

    assert scout.found(query) == ["notes/one@1"]


@pytest.mark.parametrize("query", ["", " ", "\n"])
def test_no_query_lists_the_newest_first(query: str, scout: Agent) -> None:
    for n in range(3):
        scout.write(f"s/k{n}")

    reply = scout.search(query)

    assert reply["match"] == "listed"
    assert [hit["key"] for hit in reply["results"]] == ["k2", "k1", "k0"]


def test_a_query_without_any_word_finds_nothing(scout: Agent) -> None:
    scout.write("a/b", '"')

    assert scout.search('"') == {"results": [], "match": "none"}


def test_names_tags_sources_keys_and_numbers_are_found_too(scout: Agent) -> None:
    scout.write("plan/route", {"speed": 4711}, tags=["urgent"], source="harbour office")

    assert [scout.found(q) for q in ("route", "urgent", "harbour", "speed", "4711")] == [
        ["plan/route@1"]
    ] * 5


def test_all_words_come_first_and_any_word_is_said(scout: Agent) -> None:
    scout.write("s/both", "red apple")
    scout.write("s/one", "red brick")

    assert scout.search("red apple")["match"] == "all"
    assert scout.found("red apple") == ["s/both@1"]
    assert scout.search("red banana")["match"] == "any"
    assert sorted(scout.found("red banana")) == ["s/both@1", "s/one@1"]


def test_old_versions_are_found_only_when_asked_for(scout: Agent) -> None:
    scout.write("a/b", "old needle")
    scout.write("a/b", "new thread")

    assert scout.found("needle") == []
    assert scout.found("needle", include_superseded=True) == ["a/b@1"]


def test_filters_leave_only_what_they_name(scout: Agent, executor: Agent, clock: Clock) -> None:
    scout.write("listing/5/a", "needle", tags=["x", "y"], confidence_share=0.9)
    scout.write("listing/55/b", "needle", tags=["x"], confidence_share=0.2)
    clock.forward(7200)
    executor.write("listing-5/c", "needle")

    for query in ("needle", ""):
        assert sorted(scout.found(query, scope="listing")) == ["listing/5/a@1", "listing/55/b@1"]
        assert scout.found(query, scope="listing/5") == ["listing/5/a@1"]
        assert scout.found(query, scope="listing/5/") == ["listing/5/a@1"]
        assert scout.found(query, tags=("x", "y")) == ["listing/5/a@1"]
        assert scout.found(query, agent="Executor") == ["listing-5/c@1"]
        assert scout.found(query, since="1h") == ["listing-5/c@1"]
        assert scout.found(query, since="2026-11-30T18:00:00Z") == ["listing-5/c@1"]
        assert scout.found(query, min_confidence=0.9) == ["listing/5/a@1"]
        assert sorted(scout.found(query, min_confidence=0.7)) == ["listing-5/c@1", "listing/5/a@1"]


def test_an_outcome_moves_a_record_behind_an_equal_one(scout: Agent) -> None:
    for key in ("first", "second"):
        scout.write(f"s/{key}", "needle in the hay")
    assert scout.found("needle")[0] == "s/second@1"

    scout.report("s/second", "critical_failure")

    assert scout.found("needle") == ["s/first@1", "s/second@1"]


def test_what_was_found_wrong_comes_after_what_corrects_it(scout: Agent, executor: Agent) -> None:
    scout.write("service/ledger/port", "ledger listens on port 8080")
    executor.write("review/one", "Correction: ledger listens on port 8443")
    executor.report("service/ledger/port", "failure")

    for query in ("ledger port", "which port does the ledger listen on?"):
        assert scout.found(query) == ["review/one@1", "service/ledger/port@1"]


def test_all_words_in_nothing_but_what_was_found_wrong_do_not_end_the_search(
    scout: Agent, executor: Agent
) -> None:
    scout.write("service/ledger/port", "ledger: HTTP port 8080")
    executor.write("review/one", "ledger listens on 8443")
    executor.report("service/ledger/port", "critical_failure")

    assert scout.search("ledger HTTP port")["match"] == "any"
    assert scout.found("ledger HTTP port") == ["review/one@1", "service/ledger/port@1"]


def test_what_was_found_wrong_is_found_where_nothing_else_is(scout: Agent) -> None:
    scout.write("s/k", "needle")
    scout.report("s/k", "critical_failure")

    assert scout.found("needle") == ["s/k@1"]
    assert scout.found("a needle in the hay") == ["s/k@1"]


@pytest.mark.parametrize("query", ["auth/logi", "src/auth/login_page", "billing-led"])
def test_the_end_of_a_path_or_name_may_be_cut_short(query: str, scout: Agent) -> None:
    scout.write("s/right", "src/auth/login_pages.py of billing-ledger")
    scout.write("s/wrong", "src billing auth page login")

    assert scout.found(query)[0] == "s/right@1"


def test_a_path_that_is_cut_short_is_found_beside_one_that_is_whole(scout: Agent) -> None:
    scout.write("s/one", "src/events/cursor_page.go")
    scout.write("s/two", "src/events/CursorPage.java")

    assert sorted(scout.found("events/Cursor")) == ["s/one@1", "s/two@1"]


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("SessionStore nowhere", "session_store.py keeps it"),
        ("session store nowhere", "class SessionStore keeps it"),
        ("request timeout nowhere", "it may time out"),
    ],
)
def test_a_word_is_found_whether_it_is_written_as_one_or_as_two(
    query: str, value: str, scout: Agent
) -> None:
    scout.write("s/right", value)
    scout.write("s/wrong", "something else to keep")

    assert scout.found(query) == ["s/right@1"]


@pytest.mark.parametrize(
    "query", ["how often is payment bridge called?", "payment zeppelin bridge called"]
)
def test_a_name_of_two_words_is_known_by_how_they_stand_together(query: str, scout: Agent) -> None:
    scout.write("s/right", "the limit of payment-bridge is 90 an hour")
    for number, other in enumerate(("search", "refund", "audit")):
        scout.write(f"s/a{number}", f"{other}-bridge may be called {number} times by payment")
    for number in range(30):
        scout.write(f"s/k{number}", f"note {number}")

    assert scout.found(query)[0] == "s/right@1"


def test_words_that_stand_close_to_what_is_asked_about_beat_those_far_away(scout: Agent) -> None:
    far = "was slow and then fast again on the same green build as before"
    scout.write("s/near", f"log retention of stock-cache is a year; the disk, the gate {far}")
    scout.write("s/far", f"log retention {far}, stock-cache")

    assert scout.found("stock-cache log retention nowhere") == ["s/near@1", "s/far@1"]


def test_a_word_is_close_in_a_record_whose_name_is_what_is_asked_about(scout: Agent) -> None:
    far = "was slow and then fast again on the same green build as before"
    scout.write("service/stock-cache/note", "logs are deleted after a year")
    scout.write("s/far", f"logs {far}, stock-cache")

    assert scout.found("stock-cache logs nowhere")[0] == "service/stock-cache/note@1"


def test_of_two_that_say_as_much_the_shorter_comes_first(scout: Agent) -> None:
    scout.write("s/short", "the stock cache log")
    scout.write("s/long", "the stock cache log" + " and more" * 100)

    assert scout.found("stock cache log nowhere") == ["s/short@1", "s/long@1"]


def test_of_two_that_say_as_much_the_one_that_was_kept_up_to_date_comes_first(
    scout: Agent, executor: Agent
) -> None:
    scout.write("s/kept", "the stock cache")
    scout.write("s/kept", "the stock cache log")
    scout.write("s/used", "the stock cache log")
    scout.write("s/once", "the stock cache log")
    executor.report("s/used", "success")

    assert scout.found("stock cache log nowhere") == ["s/used@1", "s/kept@2", "s/once@1"]


def test_the_name_of_what_is_asked_about_beats_more_words_about_another(scout: Agent) -> None:
    for first, second in product(("payment", "refund", "audit"), ("bridge", "cache", "vault")):
        for number in range(9):
            scout.write(f"s/{first}-{second}-{number}", f"a note on the {first} {second}")
        if (first, second) != ("payment", "bridge"):
            scout.write(
                f"region/{first}-{second}", f"the primary region of {first}-{second} is here"
            )
    for number in range(60):
        scout.write(f"s/k{number}", f"note {number}")
    scout.write("s/right", "payment-bridge is served from here, other regions wait")

    assert scout.found("payment bridge primary region nowhere")[0] == "s/right@1"


def test_any_number_of_words_that_may_be_written_as_two_can_be_searched_for(scout: Agent) -> None:
    words = [chr(97 + n) * 3 + "abcdefghijklmnop" for n in range(26)]
    scout.write("s/k", " ".join(f"{word[:at]} {word[at:]}" for word in words for at in (3, 4, 5)))

    assert scout.found(" ".join([*words, "nowhere"])) == ["s/k@1"]


def test_more_of_a_query_in_a_value_beats_less_of_it_in_a_name(scout: Agent) -> None:
    scout.write("session/one", "the billing ledger stores its rows in PostgreSQL")
    for key in ("port", "owner", "runtime"):
        scout.write(f"service/billing-ledger/{key}", f"billing-ledger {key}")

    assert scout.found("where are rows of billing-ledger kept?")[0] == "session/one@1"


@pytest.mark.parametrize("reach", [False, True])
def test_an_old_record_is_not_buried_under_newer_ones_with_common_words(
    reach: bool, scout: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "TELLING", 5)
    scout.write("s/old", "the harbour office opens the gate at nine")
    for number in range(20):
        scout.write(f"s/k{number}", f"gate {number} opens")

    found = scout.found("when does the harbour gate open today?", include_superseded=reach)
    assert found[0] == "s/old@1"
    assert scout.search("gate opening nowhere", include_superseded=reach)["match"] == "any"


def test_a_filter_that_leaves_nothing_of_the_telling_words_leaves_the_common_ones(
    scout: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "TELLING", 5)
    scout.write("other/one", "the harbour office opens at nine")
    for number in range(20):
        scout.write(f"s/k{number}", f"gate {number} opens")

    assert len(pages(scout, "harbour gate", scope="s", limit=7)) == 20
    assert pages(scout, "harbour gate", limit=7)[0] == "one"


def test_a_word_that_only_a_past_version_holds_is_found_among_others(scout: Agent) -> None:
    scout.write("a/b", "old needle")
    scout.write("a/b", "new thread")

    assert scout.found("needle nowhere", include_superseded=True) == ["a/b@1"]
    assert scout.found("needle nowhere") == []


def test_a_preview_is_short_and_shows_the_hit(scout: Agent) -> None:
    scout.write("a/b", "x " * 5000 + "needle" + " y" * 5000)

    (hit,) = scout.search("needle")["results"]

    assert "needle" in hit["preview"]
    assert len(hit["preview"]) <= 300
    assert "value" not in hit


@pytest.mark.parametrize("query", ["needle", "needle nowhere", ""])
@pytest.mark.parametrize("limit", [1, 7, 100])
def test_pages_give_each_record_once(query: str, limit: int, scout: Agent) -> None:
    for n in range(30):
        scout.write(f"s/k{n}", f"needle {n}")

    keys = pages(scout, query, limit=limit)

    assert sorted(keys) == sorted(f"k{n}" for n in range(30))


@pytest.mark.parametrize("query", ["needle", ""])
def test_what_is_written_between_two_pages_changes_none_of_them(query: str, scout: Agent) -> None:
    for n in range(10):
        scout.write(f"s/k{n}", "needle")
    first = scout.search(query, limit=5)
    for n in range(5):
        scout.write(f"s/new{n}", "needle")

    second = scout.search(query, limit=5, cursor=first["next_cursor"])

    keys = [hit["key"] for reply in (first, second) for hit in reply["results"]]
    assert sorted(keys) == sorted(f"k{n}" for n in range(10))
    assert "next_cursor" not in second


def test_pages_stay_below_the_ceiling_of_a_reply(scout: Agent) -> None:
    for n in range(100):
        scout.write(f"s/k{n}", "needle " + "語" * 1000)

    reply = scout.search("needle", limit=100)

    assert len(encode(reply)) <= scout.local.settings.limits.reply_bytes
    assert sorted(pages(scout, "needle", limit=100)) == sorted(f"k{n}" for n in range(100))


def test_a_cursor_serves_the_search_it_came_from_and_no_other(scout: Agent) -> None:
    for n in range(3):
        scout.write(f"s/k{n}", "needle")
    cursor = scout.search("needle", limit=1)["next_cursor"]

    for query, more in (("thread", {}), ("needle", {"scope": "s"}), ("", {})):
        with pytest.raises(InvalidCursorError):
            scout.search(query, cursor=cursor, **more)
    with pytest.raises(InvalidCursorError):
        scout.search("needle", cursor="bm90IGEgY3Vyc29y")


def test_a_filter_that_breaks_a_rule_is_an_error(scout: Agent) -> None:
    scout.write("a/b")

    with pytest.raises(InvalidNameError):
        scout.search("x", scope="a//b")
    with pytest.raises(InvalidNameError):
        scout.search("x", agent="a\tb")
    with pytest.raises(InvalidArgumentError, match="no time"):
        scout.search("x", since="yesterday")
    with pytest.raises(TooLargeError, match="2001 characters"):
        scout.search("x" * 2001)


@pytest.mark.parametrize("query", ["", "needle", "needle nowhere"])
def test_pages_give_each_record_once_while_records_are_superseded_in_between(
    query: str, scout: Agent
) -> None:
    for number in range(9):
        scout.write(f"s/k{number}", f"needle {number} " + "hay " * number)
    expected = {f"k{number}" for number in range(9)}

    found = scout.search(query, limit=2)
    shown = [item["key"] for item in found["results"]]
    while cursor := found.get("next_cursor"):
        scout.write(f"s/{shown[-1]}", "needle written anew")
        scout.write(f"s/{min(expected - set(shown))}", "needle superseded before it was shown")
        scout.write("s/late", "needle written after the search began")
        found = scout.search(query, limit=2, cursor=cursor)
        shown += [item["key"] for item in found["results"]]

    assert sorted(shown) == sorted(expected)


def test_the_newest_of_a_scope_are_its_own_and_in_order_however_many_lie_around(
    scout: Agent,
) -> None:
    for number in range(8):
        scout.write(f"app/api/k{number}", number)
        scout.write(f"app/api-old/k{number}", number)
        scout.write(f"app/api.v2/k{number}", number)
        scout.write(f"app/api/deep/k{number}", number)
    scout.write("app/api/k0", "again")

    found = pages(scout, "", scope="app/api", limit=5)

    assert found[:3] == ["k0", "k7", "k7"]
    assert len(found) == 16
