"""Whether a shell command ran a project's tests, and what its exit status proves of them.

A status proves success only of a run that it is the status of: not of `pytest | tail`, whose status
is that of `tail`, nor of `pytest; true`. A failure is believed in any case.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final

from handoff_memory.core.shell.programs import word_set

FLAG: Final = "tests_passed"

_ALWAYS: Final = word_set(
    "pytest py.test tox nox jest vitest mocha ava phpunit rspec ctest bats busted behave"
)
# Programs that run tests under one of these subcommands.
_VERBS: Final = {
    program: word_set(verbs)
    for program, verbs in {
        "npm": "test t tst",
        "yarn": "test",
        "pnpm": "test t",
        "bun": "test",
        "deno": "test",
        "cargo": "test nextest",
        "go": "test",
        "dotnet": "test",
        "mix": "test",
        "swift": "test",
        "sbt": "test",
        "flutter": "test",
        "dart": "test",
        "bazel": "test",
        "rake": "test spec",
        "lein": "test",
        "stack": "test",
        "cabal": "test",
        "make": "test check tests",
        "gmake": "test check tests",
        "just": "test check tests",
        "gradle": "test check",
        "gradlew": "test check",
        "mvn": "test verify",
        "mvnw": "test verify",
        "composer": "test",
        "rails": "test",
    }.items()
}
_MODULES: Final = word_set("pytest unittest tox nox")
_RUNNERS: Final = {
    ("uv", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("pipenv", "run"),
    ("bundle", "exec"),
    ("npm", "exec"),
    ("pnpm", "exec"),
    ("yarn", "exec"),
}
_ALONE: Final = word_set("npx bunx uvx pnpx coverage")
_ONLY_ASKS: Final = word_set("--version --help -h --collect-only --co --list -V")


def proven(commands: Sequence[Sequence[str]], text: str, *, ok: bool) -> bool | None:
    """Whether the tests passed; None where the run says nothing of it.

    Args:
        commands: The words of each simple command in the text.
        text: The command line.
        ok: Whether its exit status was 0.
    """
    if not any(_runs_tests(list(words)) for words in commands):
        return None
    if not ok:
        return False
    return True if _is_status_of_all(text) else None


def _runs_tests(words: list[str]) -> bool:
    words = _unwrapped(words)
    if not words or _ONLY_ASKS & set(words):
        return False
    program = posixpath.basename(words[0].replace("\\", "/")).removesuffix(".exe")
    rest = [word for word in words[1:] if not word.startswith("-")]
    if program in _ALWAYS:
        return True
    if program.startswith(("python", "pypy")) or program == "py":
        at = words.index("-m") if "-m" in words else len(words)
        return at + 1 < len(words) and words[at + 1] in _MODULES
    verbs = _VERBS.get(program)
    if verbs is None or not rest:
        return False
    if rest[0] == "run" and len(rest) > 1:  # npm run test:unit
        return rest[1].partition(":")[0] in verbs
    return rest[0].lstrip(":") in verbs


def _unwrapped(words: list[str]) -> list[str]:
    while words:
        if tuple(words[:2]) in _RUNNERS:
            words = words[2:]
        elif words[0] in _ALONE:
            words = [word for word in words[1:] if word not in {"run", "-m"}]
        else:
            break
    return words


def _is_status_of_all(text: str) -> bool:
    import shlex  # noqa: PLC0415 - only where tests were run

    if "\n" in text.strip() or "`" in text:
        return False
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return False
    return not any(
        set(word) <= set("();<>|&") and word not in {"&&", ">", ">>", "<", ">&", "&>", "&>>"}
        for word in words
    )
