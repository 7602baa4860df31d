"""`.osiris/invariants.toml` read to rules, or to what is wrong with it: file, line and field.

A file that is no TOML is read again table by table, so that one slip does not lift all rules.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

from handoff_memory.core.errors import InvalidInvariantsError
from handoff_memory.rules.invariants.contents import Book, Problem
from handoff_memory.rules.invariants.rule import (
    SEVERITY,
    ArgTest,
    Equals,
    Glob,
    OneOf,
    Paths,
    Require,
    Rule,
    VerdictName,
    When,
)

T = TypeVar("T")

_HEADER: Final = re.compile(r"\s*\[\[\s*(?:invariant|\"invariant\"|'invariant')\s*\]\]")
_AT_LINE: Final = re.compile(r" \(at line (\d+), column \d+\)| \(at end of document\)")
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MAX_GLOB: Final = 256
_MAX_STARS: Final = 4  # in one segment: each further one multiplies the time of a match
_KEYS: Final = frozenset({"id", "when", "require", "verdict", "message", "fail_closed"})
_WHEN_KEYS: Final = frozenset({"tool", "path_glob", "arg", "agent", "branch"})
_REQUIRE_KEYS: Final = frozenset({"state", "fresh_after", "max_age_s"})
_MISSING: Final = object()


class _Refused(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where, self.message = where, message


def parse(text: str, *, file: str = ".osiris/invariants.toml") -> Book:
    """The rules of a file's text, and its problems. Takes any text."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    tables = _tables(text)
    try:
        whole = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return _recovered(text, tables, file, _syntax(error, file, text))
    problems = [
        Problem(file, _line_of(text.split("\n"), key), key, "no such key; only [[invariant]]")
        for key in whole
        if key != "invariant"
    ]
    found = whole.get("invariant", [])
    if not isinstance(found, list):
        line = _line_of(text.split("\n"), "invariant")
        problems.append(Problem(file, line, "invariant", "must be tables: [[invariant]]"))
        found = []
    if len(tables) != len(found):  # written in another way than by headers
        tables = [_Table(text.split("\n"), 0)] * len(found)
    return _read(zip(tables, found, strict=True), file, problems)


def strict(book: Book) -> tuple[Rule, ...]:
    """The rules of a file without problems.

    Raises:
        InvalidInvariantsError: Each problem with file, line and field.
    """
    if book.problems:
        raise InvalidInvariantsError(
            "; ".join(str(problem) for problem in book.problems),
            problems=[str(problem) for problem in book.problems],
        )
    return book.rules


# --- the file -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Table:
    """The lines of one `[[invariant]]`, and how many stand before them."""

    lines: list[str]
    offset: int

    def line_of(self, where: str) -> int:
        """The line of a field such as `when.path_glob`; of the table, where it stands nowhere."""
        return self.offset + _line_of(self.lines, where)


def _tables(text: str) -> list[_Table]:
    lines = text.split("\n")
    quote, begins = "", []
    for number, line in enumerate(lines):
        if not quote and _HEADER.match(line):
            begins.append(number)
        quote = _open_quote(line, quote)
    ends = [*begins[1:], len(lines)]
    return [_Table(lines[a:b], a) for a, b in zip(begins, ends, strict=False)]


def _open_quote(line: str, quote: str) -> str:
    """The quotes of a text over several lines that is open at this line's end."""
    at = 0
    while at < len(line):
        if quote:
            end = line.find(quote, at)
            if end < 0:
                return quote
            quote, at = "", end + 3
        elif line[at] == "#":
            return ""
        elif line.startswith(('"""', "'''"), at):
            quote, at = line[at : at + 3], at + 3
        elif line[at] in "\"'":
            end = line.find(line[at], at + 1)
            at = len(line) if end < 0 else end + 1
        else:
            at += 1
    return quote


def _line_of(lines: list[str], where: str) -> int:
    """The line, from 1, in which a field's name stands; for `a.b` the first of b from a on."""
    at = 0
    for name in where.split("."):
        form = re.compile(rf"(?:^|[\s{{,.\[\"']){re.escape(name)}[\"']?\s*(?:[=.\]]|$)")
        at = next((n for n in range(at, len(lines)) if form.search(lines[n])), at)
    return at + 1


def _syntax(error: Exception, file: str, text: str) -> Problem:
    found = _AT_LINE.search(str(error))
    line = int(found[1]) if found and found[1] else text.rstrip("\n").count("\n") + 1
    message = _AT_LINE.sub("", str(error)) or "nested too deep"
    lines = text.split("\n")
    name = lines[line - 1].partition("=")[0].strip() if line <= len(lines) else ""
    return Problem(file, line, name or "file", f"no TOML: {message}")


def _recovered(text: str, tables: list[_Table], file: str, problem: Problem) -> Book:
    """The rules of those tables that are TOML by themselves."""
    problems: list[Problem] = []
    found: list[tuple[_Table, Any]] = []
    for table in tables:
        try:
            alone = tomllib.loads("\n".join(table.lines))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            broken = _syntax(error, file, "\n".join(table.lines))
            line = broken.line + table.offset
            problems.append(Problem(file, line, broken.field, broken.message))
        else:
            found.extend((table, rule) for rule in alone["invariant"])
            problems.extend(
                Problem(file, table.line_of(key), key, "no such key; only [[invariant]]")
                for key in alone
                if key != "invariant"
            )
    return _read(iter(found), file, problems or [problem])


def _read(found: Iterator[tuple[_Table, Any]], file: str, problems: list[Problem]) -> Book:
    rules: list[Rule] = []
    for table, value in found:
        reader = _Reader()
        rule = reader.rule(value, table.line_of("invariant"))
        problems.extend(
            Problem(file, table.line_of(where), where, message) for where, message in reader.wrong
        )
        if rule is None:
            continue
        if any(rule.id == earlier.id for earlier in rules):  # both hold: closed, until it is mended
            message = f"{rule.id!r} is the id of an earlier rule"
            problems.append(Problem(file, table.line_of("id"), "id", message))
        rules.append(rule)
    return Book(tuple(rules), tuple(sorted(problems, key=lambda problem: problem.line)))


# --- one rule -----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Reads one table; collects all that is wrong with it."""

    wrong: list[tuple[str, str]] = field(default_factory=list)

    def rule(self, value: Any, line: int) -> Rule | None:
        """The rule, or None where anything is wrong."""
        if not isinstance(value, dict):
            self.wrong.append(("invariant", "must be a table"))
            return None
        self._known(value, _KEYS, "")
        rule_id = self._try(lambda: _id(value))
        message = self._try(lambda: _text(value, "message"))
        verdict = self._try(lambda: _verdict(value))
        closed = self._try(lambda: _bool(value, "fail_closed"))
        when = self._try(lambda: self._when(_table(value, "when")))
        require = self._try(lambda: self._require(value))
        if self.wrong or when is None:
            return None
        return Rule(
            id=rule_id or "",
            when=when,
            message=message or "",
            require=require,
            verdict=verdict or "block",
            fail_closed=bool(closed),
            line=line,
        )

    def _try(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except _Refused as error:
            self.wrong.append((error.where, error.message))
            return None

    def _known(self, table: Mapping[str, Any], keys: frozenset[str], prefix: str) -> None:
        for key in table:
            if key not in keys:
                known = ", ".join(sorted(keys))
                self.wrong.append((prefix + key, f"no such key; there are {known}"))

    def _when(self, table: Mapping[str, Any]) -> When:
        self._known(table, _WHEN_KEYS, "when.")
        if not table:
            raise _Refused("when", "names no condition; for every action say tool = '*'")
        return When(
            tools=self._try(lambda: _texts(table, "when", "tool")) or (),
            paths=self._try(lambda: _paths(table)),
            args=self._try(lambda: _args(table)) or (),
            agents=self._try(lambda: _texts(table, "when", "agent")) or (),
            branches=self._try(lambda: _texts(table, "when", "branch")) or (),
        )

    def _require(self, rule: Mapping[str, Any]) -> Require | None:
        if "require" not in rule:
            return None
        table = _table(rule, "require")
        self._known(table, _REQUIRE_KEYS, "require.")
        state = _texts(table, "require", "state")
        if len(state) != 1:
            raise _Refused("require.state", "must name one flag, such as 'tests_passed'")
        fresh = table.get("fresh_after")
        if fresh is not None and fresh != "edit":
            raise _Refused("require.fresh_after", "must be 'edit'")
        age = table.get("max_age_s")
        if age is not None and (isinstance(age, bool) or not isinstance(age, int) or age <= 0):
            raise _Refused("require.max_age_s", "must be a whole number of seconds above 0")
        return Require(state[0], "edit" if fresh else None, age)


def _id(rule: Mapping[str, Any]) -> str:
    text = _text(rule, "id")
    if not _ID.fullmatch(text):
        raise _Refused("id", f"{text!r}: letters, digits, '.', '_' and '-', at most 64")
    return text


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, _MISSING)
    if value is _MISSING:
        raise _Refused(key, "is missing")
    if not isinstance(value, str) or not value.strip():
        raise _Refused(key, "must be a text that is not empty")
    return value


def _verdict(rule: Mapping[str, Any]) -> VerdictName:
    value = rule.get("verdict", "block")
    if value not in SEVERITY[1:]:
        raise _Refused("verdict", f"{value!r}: must be 'block', 'ask' or 'warn'")
    return cast("VerdictName", value)


def _bool(table: Mapping[str, Any], key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise _Refused(key, "must be true or false")
    return value


def _table(rule: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = rule.get(key, _MISSING)
    if value is _MISSING:
        raise _Refused(key, "is missing")
    if not isinstance(value, dict):
        raise _Refused(key, "must be a table")
    return value


def _texts(table: Mapping[str, Any], parent: str, key: str) -> tuple[str, ...]:
    """One text or a list of them; none where the key is absent."""
    value = table.get(key, [])
    found = [value] if isinstance(value, str) else value
    is_list = isinstance(found, list) and (found or key not in table)
    if not is_list or not all(isinstance(item, str) and item.strip() for item in found):
        raise _Refused(f"{parent}.{key}", "must be a text, or a list of texts, none of them empty")
    if any(len(item) > _MAX_GLOB for item in found):
        raise _Refused(f"{parent}.{key}", f"longer than {_MAX_GLOB} characters")
    return tuple(found)


def _paths(table: Mapping[str, Any]) -> Paths | None:
    globs = tuple(glob.removeprefix("./") for glob in _texts(table, "when", "path_glob"))
    if not globs:
        return None
    for glob in globs:
        _check_glob(glob)
    if all(glob.startswith("!") for glob in globs):
        raise _Refused("when.path_glob", "has only exceptions; name first what is meant")
    plain = GitIgnoreSpec.from_lines(globs)
    return Paths(globs, plain, GitIgnoreSpec.from_lines([glob.casefold() for glob in globs]))


def _check_glob(glob: str) -> None:
    try:
        patterns = list(GitIgnoreSpec.from_lines([glob]).patterns)
    except GitIgnorePatternError as error:
        raise _Refused("when.path_glob", f"{glob!r} is no glob") from error
    if not patterns or any(pattern.include is None for pattern in patterns):
        raise _Refused("when.path_glob", f"{glob!r} matches nothing")
    if "\\" in glob or ".." in glob.split("/"):
        raise _Refused("when.path_glob", f"{glob!r}: with '/', below the root, without '..'")
    if any(part.count("*") > _MAX_STARS for part in glob.split("/")):
        raise _Refused("when.path_glob", f"{glob!r}: at most {_MAX_STARS} '*' in one segment")


def _args(table: Mapping[str, Any]) -> tuple[tuple[str, ArgTest], ...]:
    value = table.get("arg", {})
    if not isinstance(value, dict) or ("arg" in table and not value):
        raise _Refused("when.arg", "must be a table of an argument's name and its value")
    return tuple((name, _arg(name, test)) for name, test in value.items())


def _arg(name: str, test: Any) -> ArgTest:
    match test:
        case {"equals": value, **others} if not others:
            return Equals(value)
        case {"glob": str(pattern), **others} if not others and 0 < len(pattern) <= _MAX_GLOB:
            return Glob(pattern)
        case {"one_of": [*values], **others} if not others and values:
            return OneOf(tuple(values))
        case dict():
            raise _Refused(
                f"when.arg.{name}", "takes one of: equals, glob (a text), one_of (a list)"
            )
        case _:
            return Equals(test)
