from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core import names
from handoff_memory.core.errors import InvalidNameError
from handoff_memory.rules import registry
from handoff_memory.rules.registry import Entry, Kind, Level, NotPromoted, Place, Promotion

PLACE = Place("coder", "7c3f")
LESSON = {"text": "save the file as UTF-8 with BOM"}


def entry(
    level: Level, kind: Kind = "lesson", key: str = "bom", confidence: int = 800_000
) -> Entry:
    name = names.name(registry.scope(level, kind, PLACE), key, 3)
    return Entry(level, kind, name, LESSON, confidence)


def test_a_lookup_goes_from_the_task_outwards() -> None:
    assert [(level, str(name)) for level, name in registry.lookup("lesson", "bom", PLACE)] == [
        ("task", "osiris/task/7c3f/lesson/bom"),
        ("project", "osiris/project/lesson/bom"),
        ("agent", "agent/coder/osiris/lesson/bom"),
        ("global", "global/osiris/lesson/bom"),
    ]


def test_without_a_task_a_lookup_begins_at_the_project() -> None:
    assert [level for level, _ in registry.lookup("fact", "x", Place("coder"))] == [
        "project",
        "agent",
        "global",
    ]


def test_the_nearest_entry_of_each_kind_and_key_wins() -> None:
    found = registry.nearest(
        [
            entry("global"),
            entry("task"),
            entry("agent"),
            entry("project", key="cr"),
            entry("global", key="cr"),
            entry("global", kind="fact"),
        ]
    )

    assert [(one.kind, one.name.key, one.level) for one in found] == [
        ("fact", "bom", "global"),
        ("lesson", "bom", "task"),
        ("lesson", "cr", "project"),
    ]


@given(st.permutations([entry(level) for level in registry.LEVELS]))
def test_the_order_of_reading_changes_nothing(entries: list[Entry]) -> None:
    assert registry.nearest(entries) == (entry("task"),)


@pytest.mark.parametrize(
    ("level", "up", "name"),
    [
        ("task", "project", "osiris/project/lesson/bom"),
        ("project", "agent", "agent/coder/osiris/lesson/bom"),
        ("agent", "global", "global/osiris/lesson/bom"),
    ],
)
def test_a_proven_lesson_goes_one_level_up_and_names_its_source(
    level: Level, up: Level, name: str
) -> None:
    source = entry(level)

    found = registry.promotion(source, PLACE)

    assert isinstance(found, Promotion)
    assert (found.level, str(found.name)) == (up, name)
    assert found.body == {**LESSON, "promoted_from": str(source.name)}
    assert source.body == LESSON


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"level": "global"}, "it is global already"),
        ({"level": "task", "kind": "file"}, "a file holds for its own task only"),
        (
            {"level": "task", "confidence": 760_000},
            "it has not proved itself yet: report its successes first",
        ),
    ],
)
def test_what_is_not_promoted_says_why(changed: dict[str, Any], why: str) -> None:
    assert registry.promotion(entry(**changed), PLACE) == NotPromoted(why)


@pytest.mark.parametrize("task", ["", "a/b", None])
def test_a_task_id_must_be_one_segment_of_a_scope(task: str | None) -> None:
    with pytest.raises(InvalidNameError):
        registry.scope("task", "fact", Place("coder", task))


def test_a_key_that_breaks_a_naming_rule_is_refused() -> None:
    with pytest.raises(InvalidNameError):
        registry.lookup("fact", "a/b", PLACE)
