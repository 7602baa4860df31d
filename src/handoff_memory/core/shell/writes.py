"""Which files a command writes, by its program and its words.

A program that is not named here is taken to write nothing that a rule could know of; what it writes
all the same is seen afterwards, by the observed edit.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from handoff_memory.core import lazy
from handoff_memory.core.shell.programs import base_name, folder_roots, git_operands, word_set
from handoff_memory.core.shell.words import Word


class Operands(NamedTuple):
    """A command's options and the words that are none."""

    options: tuple[str, ...]
    plain: tuple[Word, ...]
    values: Mapping[str, Word] = {}

    def has(self, letters: str, *long: str) -> bool:
        """Whether a short option is among the clusters, or a long one stands there."""
        return any(
            option in long
            or (option[:2] != "--" and any(letter in option[1:] for letter in letters))
            for option in self.options
        )


def operands(words: Sequence[Word], valued: frozenset[str] = frozenset()) -> Operands:
    """The words of a command, sorted; behind `--` all are operands."""
    options: list[str] = []
    plain: list[Word] = []
    values: dict[str, Word] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.text.partition("=")
        if word.text == "--":
            plain.extend(rest)
        elif not word.text.startswith("-") or word.text == "-":
            plain.append(word)
        elif word.text in valued:
            options.append(word.text)
            values[word.text] = next(rest, Word("", exact=False))
        elif equals and name in valued:
            options.append(name)
            values[name] = Word(value, word.exact)
        else:
            options.append(word.text)
    return Operands(tuple(options), tuple(plain), values)


class Target(NamedTuple):
    """A path that a command writes, or all that lies below it (`is_tree`)."""

    word: Word
    is_tree: bool = False


_HERE: Final = Target(Word("."), is_tree=True)
# What a script of sed or awk does beyond printing: write a file, run a command.
_SED_WRITES: Final = lazy.pattern(r"(?:^|[;{}\n/0-9$! ])[we] +\S|/[gpiI0-9]*[we][gpiI0-9]*(?: |$)")
_IN_PLACE: Final = lazy.pattern(r"--in-place|-[A-Za-z]{0,8}?i")
_AWK_ACTS: Final = lazy.pattern(r"system|\||getline|print[^;}\n]*>|@")


def writes(words: Sequence[Word]) -> list[Target] | None:
    """What a command writes besides its redirections; None where it cannot be known."""
    program = base_name(words[0].text)
    if program == "git" or program.startswith("git-"):
        return _git(words, program)
    found = _WRITERS.get(program)
    return found(words[1:]) if found else []


def _all(words: Sequence[Word]) -> list[Target]:
    return [Target(word) for word in operands(words).plain]


def _trees(words: Sequence[Word]) -> list[Target]:
    return [Target(word, is_tree=True) for word in operands(words).plain]


def _removed(words: Sequence[Word]) -> list[Target]:
    given = operands(words)
    is_tree = given.has("rRdD", "--recursive", "--dir")
    return [Target(word, is_tree) for word in given.plain]


def _after(*valued: str) -> Callable[[Sequence[Word]], list[Target]]:
    """What stands behind one of these options."""

    def found(words: Sequence[Word]) -> list[Target]:
        return [Target(word) for word in operands(words, frozenset(valued)).values.values()]

    return found


def _copied(words: Sequence[Word], *, is_moved: bool = False) -> list[Target]:
    given = operands(words, word_set("-t --target-directory -S --suffix -m -o -g"))
    sources = list(given.plain)
    into = given.values.get("-t") or given.values.get("--target-directory")
    if into is None:
        if not sources:
            return []
        into = sources.pop()
    is_tree = is_moved or given.has("rRa", "--recursive", "--archive")
    # The target may be a folder, which cannot be seen from here: both readings count.
    found = [Target(source, is_tree=True) for source in sources] if is_moved else []
    return [*found, *(Target(word, is_tree) for word in (into, *_inside(into, sources)))]


def _inside(into: Word, sources: Sequence[Word]) -> Iterator[Word]:
    for source in sources:
        name = posixpath.basename(source.text.rstrip("/"))
        path = posixpath.join(into.text, name)
        stem = into.stem
        if stem is None and source.stem is not None:
            stem = into.text.rstrip("/") + "/"
        yield Word(path, exact=into.exact and source.exact, stem=stem)


def _moved(words: Sequence[Word]) -> list[Target]:
    return _copied(words, is_moved=True)


def _sed(words: Sequence[Word]) -> list[Target] | None:
    given = operands(words, word_set("-e -f --expression --file"))
    scripts = [*given.values.values()] or [*given.plain[:1]]
    if any(_SED_WRITES.search(script.text) for script in scripts):
        return None
    if not any(_IN_PLACE.match(option) for option in given.options):
        return []
    # `-i ''` of macOS leaves the script one word further on; both readings count.
    return [Target(word) for word in (given.plain if given.values else given.plain[1:])]


def _awk(words: Sequence[Word]) -> list[Target] | None:
    return None if any(_AWK_ACTS.search(word.text) for word in words) else []


def _dd(words: Sequence[Word]) -> list[Target]:
    return [
        Target(Word(word.text[3:], word.exact)) for word in words if word.text.startswith("of=")
    ]


def _tar(words: Sequence[Word]) -> list[Target]:
    given = operands(words, word_set("-C --directory -f --file"))
    first = words[0].text.lstrip("-") if words else ""
    if "x" in first or given.has("x", "--extract", "--get"):
        folder = given.values.get("-C") or given.values.get("--directory")
        return [Target(folder, is_tree=True) if folder else _HERE]
    if "c" in first or given.has("cru", "--create"):
        is_old = not words[0].text.startswith("-")  # `tar czf archive …`
        return [Target(word) for word in (*given.values.values(), *given.plain[is_old:][:1])]
    return []


def _here(words: Sequence[Word]) -> list[Target]:
    return [_HERE]


def _find(words: Sequence[Word]) -> list[Target]:
    texts = [word.text for word in words]
    found = (
        [Target(root, is_tree=True) for root in folder_roots(words)] if "-delete" in texts else []
    )
    for at, text in enumerate(texts[:-1]):
        if text in {"-fprint", "-fprintf", "-fls", "-fprint0"}:
            found = [*found, Target(words[at + 1])]
    return found


def _git(words: Sequence[Word], program: str) -> list[Target] | None:  # noqa: PLR0911
    rest = (Word(program[4:]), *words[1:]) if program != "git" else git_operands(words)[0]
    if not rest:
        return []
    given = operands(rest[1:], word_set("-b -B -s --source --pathspec-from-file"))
    match rest[0].text:
        case "rm" | "mv":
            return [Target(word, is_tree=True) for word in given.plain]
        case "restore":
            return None if "--pathspec-from-file" in given.values else _trees(given.plain)
        case "checkout":
            created = {"-b", "-B", "--orphan", "-t", "--track"} & set(given.options)
            return [] if created else _trees(given.plain)
        case "clean":
            return [Target(word, is_tree=True) for word in given.plain] or [_HERE]
        case "reset":
            return [_HERE] if "--hard" in given.options else []
        case "apply" | "am" | "stash":
            reads = {"list", "show"} if rest[0].text == "stash" else set()
            return [] if reads & {word.text for word in given.plain[:1]} else [_HERE]
        case _:
            return []


_WRITERS: Final[Mapping[str, Callable[[Sequence[Word]], list[Target] | None]]] = {
    **dict.fromkeys(
        word_set(
            "touch truncate sponge ed ex vi vim nvim nano emacs sudoedit mkdir tee chattr "
            "set-content add-content out-file clear-content new-item"
        ),
        _all,
    ),
    **dict.fromkeys(word_set("rm unlink shred del erase remove-item"), _removed),
    **dict.fromkeys(word_set("rmdir trash rename rd rimraf ren rename-item"), _trees),
    **dict.fromkeys(word_set("cp install ln rsync scp copy copy-item xcopy robocopy"), _copied),
    **dict.fromkeys(word_set("mv move move-item"), _moved),
    **dict.fromkeys(word_set("sed gsed"), _sed),
    **dict.fromkeys(word_set("awk gawk mawk nawk"), _awk),
    **dict.fromkeys(word_set("patch unzip 7z cpio pax"), _here),
    "dd": _dd,
    "tar": _tar,
    "find": _find,
    "sort": _after("-o", "--output"),
    "curl": _after("-o", "--output"),
    "wget": _after("-O", "--output-document"),
}
