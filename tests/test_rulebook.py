"""The project's rules on disk: found, read anew when they change, never an absence by mistake."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handoff_memory.rulebook import PLACE, RuleBook, find

RULE = '[[invariant]]\nid = "{0}"\nwhen = {{ tool = "x" }}\nmessage = "m"\n'


def write(folder: Path, text: str | bytes, *, mtime_ns: int = 1) -> Path:
    path = folder / PLACE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    os.utime(path, ns=(mtime_ns, mtime_ns))
    return path


def ids(book: RuleBook) -> list[str]:
    return [rule.id for rule in book.read().rules]


def test_a_folder_without_rules_has_none_and_no_problem(tmp_path: Path) -> None:
    book = RuleBook(tmp_path).read()

    assert (book.rules, book.problems) == ((), ())


def test_the_rules_of_the_nearest_folder_above_hold(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    above = write(tmp_path, RULE.format("above"))

    assert find(deep) == above
    assert ids(RuleBook(deep)) == ["above"]

    write(tmp_path / "a", RULE.format("nearer"))
    assert ids(RuleBook(deep)) == ["nearer"]


def test_rules_that_change_appear_or_go_are_read_anew(tmp_path: Path) -> None:
    book = RuleBook(tmp_path)
    seen = [ids(book)]

    path = write(tmp_path, RULE.format("a1"))
    seen.append(ids(book))
    write(tmp_path, RULE.format("b1"), mtime_ns=2)
    seen.append(ids(book))
    path.unlink()
    seen.append(ids(book))

    assert seen == [[], ["a1"], ["b1"], []]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\xff\xfe\x00", "cannot be read"),
        (b"#" * (1 << 20) + b"\n#", "larger than 1048576 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_problem_and_not_an_absence(
    text: bytes, said: str, tmp_path: Path
) -> None:
    write(tmp_path, text)

    book = RuleBook(tmp_path).read()

    assert book.rules == ()
    assert said in str(book.problems[0])
    assert (book.problems[0].file, book.problems[0].line) == (str(PLACE), 1)


def test_a_file_that_could_not_be_read_is_read_once_it_is_mended(tmp_path: Path) -> None:
    book = RuleBook(tmp_path)
    write(tmp_path, b"\xff")
    assert book.read().problems

    write(tmp_path, RULE.format("mended"), mtime_ns=2)

    assert ids(book) == ["mended"]
    assert book.read().problems == ()
