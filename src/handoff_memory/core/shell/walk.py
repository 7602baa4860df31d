"""The way through a command line's tokens, which collects every simple command that may run."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from handoff_memory.core import lazy
from handoff_memory.core.shell import programs, writes
from handoff_memory.core.shell.commands import Command, Write
from handoff_memory.core.shell.folders import Folders
from handoff_memory.core.shell.words import Operator, Redirection, Scanner, Token, Word

_MAX_COMMANDS: Final = 5_000
_MAX_NESTING: Final = 16
_ASSIGNMENT: Final = lazy.pattern(r"[A-Za-z_]\w*+(?:\[[^\]]*+\])?\+?=")
_SKIPPED: Final = frozenset("if then else elif fi while until do done esac ! { }".split())  # noqa: SIM905
_WITH_WORDS: Final = frozenset({"case", "[[", "for", "select", "function"})
_CASE_ENDS: Final = frozenset({";;", ";&", ";;&"})
_NO_FILE: Final = lazy.pattern(
    r"/dev/(?:null|stdin|stdout|stderr|tty|fd/\d{1,3})|nul|\$null", re.IGNORECASE
)
_WILD: Final = lazy.pattern(r"[*?\]}]")
_STREAM: Final = lazy.pattern(r"\d{1,3}-?|-")
_WRITING: Final = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
_TOO_DEEP: Final = "nested too deep, or too many commands"
_UNKNOWN: Final = Word("…", exact=False)


class _Streams(NamedTuple):
    """What a simple command reads and writes by redirections."""

    writes: "tuple[writes.Target, ...]" = ()
    document: Word | None = None


class _Simple:
    """The words and redirections of one simple command, as they are met."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.redirections: list[Redirection] = []


class Walk:
    """Goes through the tokens of a command line and collects what may run."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.doubts: set[str] = set()
        self.depth = 0

    def text(self, text: str, folders: Folders | None = None) -> None:
        """Take a whole command line apart."""
        self._tokens(Scanner(text, self.doubts).tokens(), folders or Folders())

    def _tokens(self, tokens: Sequence[Token], folders: Folders) -> None:
        """One nesting's tokens, command by command."""
        if self.depth >= _MAX_NESTING:
            self.doubts.add(_TOO_DEEP)
            return
        self.depth += 1
        at, simple, outer = 0, _Simple(), list[Folders]()
        while at < len(tokens):
            token = tokens[at]
            at += 1
            match token:
                case Redirection():
                    simple.redirections.append(token)
                case Operator():
                    if _is_function(simple, token, tokens[at : at + 1]):
                        simple.words.clear()
                    self._operator(token.text, simple, folders, outer)
                    simple = _Simple()
                case Word() if not simple.words and _is_keyword(token, _SKIPPED):
                    pass
                case Word() if not simple.words and _is_keyword(token, _WITH_WORDS):
                    at = self._construct(token.text, tokens, at, folders)
                case _:
                    simple.words.append(token)
        self._close(simple, folders)
        self.depth -= 1

    def _operator(
        self, operator: str, simple: _Simple, folders: Folders, outer: list[Folders]
    ) -> None:
        if operator == "(" and simple.words and not _is_array(simple.words[-1]):
            self.doubts.add("a parenthesis within a command")
        self._close(simple, folders)
        if operator == "(":
            outer.append(folders.copy())
        elif operator == ")" and outer:  # what a subshell entered, it leaves
            kept = outer.pop()
            folders.now, folders.before = kept.now, kept.before
        else:
            folders.end(operator)

    # --- constructs -----------------------------------------------------------------------------

    def _construct(self, word: str, tokens: Sequence[Token], at: int, folders: Folders) -> int:
        """Step over the words of a construct that are no command; where the next command begins."""
        match word:
            case "case":
                return self._case(tokens, at, folders)
            case "[[":
                end = next((n for n in range(at, len(tokens)) if _is_word(tokens[n], "]]")), None)
                if end is None:
                    self.doubts.add("[[ is not closed")
                    end = len(tokens)
            case "function":
                return at + 1
            case _:
                end = at
                while end < len(tokens) and isinstance(tokens[end], Word):
                    end += 1
        for token in tokens[at:end]:
            self._inner(token, folders)
        return end + (word == "[[")

    def _case(self, tokens: Sequence[Token], at: int, folders: Folders) -> int:
        """`case WORD in PATTERN) commands;; … esac`."""
        while at < len(tokens) and not _is_word(tokens[at], "in"):
            self._inner(tokens[at], folders)
            at += 1
        at += 1
        while at < len(tokens):
            token = tokens[at]
            if _is_word(token, "esac"):
                return at + 1
            if token != Operator(")"):
                at += 1
                continue
            end = _end_of_branch(tokens, at + 1)
            self._tokens(tokens[at + 1 : end], folders)
            at = end + (end < len(tokens) and not _is_word(tokens[end], "esac"))
        self.doubts.add("a case is not closed")
        return at

    def _inner(self, token: Token, folders: Folders) -> None:
        word = token.target if isinstance(token, Redirection) else token
        if isinstance(word, Word):
            for tokens in word.inner:
                self._tokens(tokens, folders.copy())

    # --- simple commands ------------------------------------------------------------------------

    def _close(self, simple: _Simple, folders: Folders) -> None:
        """A simple command is complete."""
        met: list[Token] = [*simple.words, *simple.redirections]
        for token in met:
            self._inner(token, folders)
        targets, document = [], None
        for redirection in simple.redirections:
            word = redirection.target
            if redirection.operator in {"<<", "<<<"}:
                document = word
            elif redirection.operator in _WRITING and not _is_stream(redirection):
                targets.append(writes.Target(word))
        if simple.words or targets:
            self._run(simple.words, _Streams(tuple(targets), document), folders)

    def _run(self, words: Sequence[Word], streams: _Streams, folders: Folders) -> None:
        """One command, its assignments and keywords taken off."""
        start = 0
        while start < len(words) and words[start].plain and _is_prefix(words[start].text):
            start += 1
        words = words[start:]
        if not words:
            self._record((), streams, folders)
            return
        if not words[0].exact or words[0].stem is not None:
            self.doubts.add(f"the command's name is not known: {_short(words[0].text)}")
            self._record(words, streams, folders)
            return
        name = programs.base_name(words[0].text)
        if wrapper := programs.WRAPPERS.get(name):
            self._unwrap(name, wrapper, words, streams, folders)
        elif name in programs.SHELLS:
            self._shell(words, streams, folders)
        elif name in {"cd", "chdir", "pushd", "popd"}:
            self._enter(name, words, folders)
        else:
            self._program(name, words, streams, folders)

    def _program(
        self, name: str, words: Sequence[Word], streams: _Streams, folders: Folders
    ) -> None:
        if name in programs.OPAQUE:
            self.doubts.add(f"{name} runs what cannot be seen")
        if programs.runs_code(name, words, has_input=streams.document is not None):
            self.doubts.add(f"{name} is given a program of its own")
        if name in programs.SCRIPTED and writes.writes(words) is None:
            self.doubts.add(f"a script of {name} runs or writes something")
        if name in {"eval", "alias"}:
            given = [
                word.text.partition("=")[2] if name == "alias" else word.text for word in words[1:]
            ]
            self.text((" " if name == "eval" else "\n").join(given), folders.copy())
        self._record(words, streams, folders)
        for command in (*programs.executed(name, words), *programs.tails(words)):
            self._nested(command, folders)

    def _nested(
        self, words: Sequence[Word], folders: Folders, streams: _Streams | None = None
    ) -> None:
        if self.depth >= _MAX_NESTING:
            self.doubts.add(_TOO_DEEP)
            return
        self.depth += 1
        self._run(words, streams or _Streams(), folders.copy())
        self.depth -= 1

    def _enter(self, name: str, words: Sequence[Word], folders: Folders) -> None:
        given = writes.operands(words[1:])
        target = given.plain[0] if given.plain else None
        if name == "popd" or (target and target.text.startswith("~")):
            target = None
        folders.enter(target)

    def _unwrap(
        self,
        name: str,
        wrapper: programs.Wrapper,
        words: Sequence[Word],
        streams: _Streams,
        folders: Folders,
    ) -> None:
        """The command behind a prefix such as `sudo -u x` or `timeout 5`."""
        found = programs.unwrapped(wrapper, words)
        for script in found.scripts:
            self._line(script, folders.copy())
        if found.folder is not None:
            folders = folders.copy()
            folders.enter(found.folder)
        if name in programs.JOINS and found.command:
            if not all(word.exact for word in found.command):
                self.doubts.add(f"{name} runs what cannot be seen")
            rest = found.command[:1] if name == "trap" else found.command
            self.text(" ".join(word.text for word in rest), folders.copy())
        elif found.command:
            adds = (_UNKNOWN,) if wrapper.adds else ()
            self._nested((*found.command, *adds), folders, streams)
        else:
            self._record((), streams, folders)

    def _shell(self, words: Sequence[Word], streams: _Streams, folders: Folders) -> None:
        """`sh -c LINE`, `sh FILE`, or `sh` that reads its commands."""
        given = writes.operands(words[1:], frozenset({"-o", "+o", "--rcfile", "--init-file", "-O"}))
        has_line = any(re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*|--command", o) for o in given.options)
        self._record(words, streams, folders, is_shell=True)
        if has_line:
            if not given.plain:
                self.doubts.add("a shell without its command")
            for line in given.plain[:1]:
                self._line(line, folders.copy())
        elif given.plain and "-s" not in given.options:
            if not given.plain[0].exact or given.plain[0].text.startswith(("-", "/dev/")):
                self.doubts.add("a shell runs what cannot be seen")
        elif streams.document is not None:
            self._line(streams.document, folders.copy())
        elif not {"--version", "--help"} & set(given.options):
            self.doubts.add("a shell reads its commands")

    def _line(self, line: Word, folders: Folders) -> None:
        if not line.exact:
            self.doubts.add(f"a shell runs what cannot be seen: {_short(line.text)}")
        self.text(line.text, folders)

    # --- what is kept ---------------------------------------------------------------------------

    def _record(
        self,
        words: Sequence[Word],
        streams: _Streams,
        folders: Folders,
        *,
        is_shell: bool = False,
    ) -> None:
        if len(self.commands) >= _MAX_COMMANDS:
            self.doubts.add(_TOO_DEEP)
            return
        folders = folders.copy()
        found: list[writes.Target] | None = [] if is_shell or not words else writes.writes(words)
        name_known = not words or words[0].exact
        if words and programs.base_name(words[0].text) == "git":
            _, entered, is_doubtful = programs.git_operands(words)
            name_known = name_known and not is_doubtful
            for folder in entered:
                folders.enter(folder)
        elif words:
            name_known = name_known and programs.is_name_known(words)
        targets = [*streams.writes, *(found or ())]
        known = found is not None and all(_is_path(target.word) for target in targets)
        if targets and folders.now is None:
            known = known and all(target.word.text.startswith("/") for target in targets)
        paths = (write for target in targets for write in _writes(target, folders.now or ("",)))
        self.commands.append(
            Command(
                argv=tuple(word.text for word in words),
                names=tuple(dict.fromkeys(programs.names(words))) if words else (),
                writes=tuple(dict.fromkeys(paths)),
                folders=folders.now or (),
                writes_known=known,
                name_known=name_known,
            )
        )


def _writes(target: writes.Target, folders: Sequence[str]) -> Iterator[Write]:
    word = target.word
    if not word.exact and word.stem is None:
        return
    is_tree, path, ending = target.is_tree, word.text, ""
    if word.stem is not None:
        ending = "" if is_tree else _WILD.split(path)[-1]
        is_tree, path = True, posixpath.dirname(word.stem)
    if _NO_FILE.fullmatch(path):
        return
    yield from (Write(posixpath.join(folder, path), is_tree, ending) for folder in folders)


def _is_path(word: Word) -> bool:
    if word.stem is None:
        return word.exact
    return word.exact and ".." not in word.text[len(word.stem) :]


def _is_word(token: Token, text: str) -> bool:
    return isinstance(token, Word) and token.plain and token.text == text


def _is_keyword(word: Word, keywords: frozenset[str]) -> bool:
    return word.plain and word.text in keywords


def _is_array(word: Word) -> bool:
    return word.plain and bool(_ASSIGNMENT.fullmatch(word.text))


def _is_prefix(text: str) -> bool:
    return text in _SKIPPED or ("=" in text and bool(_ASSIGNMENT.match(text)))


def _is_function(simple: _Simple, token: Operator, following: Sequence[Token]) -> bool:
    is_named = token.text == "(" and len(simple.words) == 1
    return is_named and [*following] == [Operator(")")]


def _is_stream(redirection: Redirection) -> bool:
    return redirection.operator == ">&" and bool(_STREAM.fullmatch(redirection.target.text))


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


def _end_of_branch(tokens: Sequence[Token], at: int) -> int:
    """Where a branch of a `case` ends: at its `;;`, or at the `esac`."""
    nested, begins = 0, True
    while at < len(tokens):
        token = tokens[at]
        if begins and _is_word(token, "case"):
            nested += 1
        elif begins and _is_word(token, "esac"):
            if not nested:
                return at
            nested -= 1
        elif not nested and isinstance(token, Operator) and token.text in _CASE_ENDS:
            return at
        begins = isinstance(token, Operator) or (
            isinstance(token, Word) and token.plain and token.text in _SKIPPED
        )
        at += 1
    return at
