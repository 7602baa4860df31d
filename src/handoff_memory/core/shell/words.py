"""A shell's text as tokens: words with their quotes taken off, operators, redirections.

Every substitution in a word is read to its end and comes with the word as tokens of its own. What
the text does not close, or what is not known here, is a doubt.
"""

import re
from typing import Final, NamedTuple, TypeAlias

from handoff_memory.core import lazy

MAX_NESTING: Final = 24
_OPERATORS: Final = ("&&", "||", ";;&", ";;", ";&", "|&", ";", "&", "|", "(", ")", "\n")
_REDIRECTION: Final = lazy.pattern(r"\d{0,3}(?:&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>)")
_PLAIN: Final = lazy.pattern(r"[^ \t\r\n\\'\"`$&|;()<>*?\[{~]++")
_IN_QUOTES: Final = lazy.pattern(r"[^\"\\$`]++")
_IN_DOCUMENT: Final = lazy.pattern(r"[^\\$`]++")
_ENDS: Final = frozenset(" \t\r\n&|;()")
_VARIABLE: Final = lazy.pattern(r"\$(?:[A-Za-z_]\w*+|[0-9@*#?$!-])")
_BRACES: Final = lazy.pattern(r"\{[^\s{}]*(?:,|\.\.)")
_ESCAPE: Final = lazy.pattern(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_NAMED_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b"}


class Word(NamedTuple):
    """One word of a command.

    Attributes:
        text: With quotes and escapes taken off; an expansion stands as it was written.
        exact: Whether the text is what the program will be given.
        plain: Nothing in it was quoted, so it may be a keyword, an assignment or an alias.
        stem: The part in front of the first wildcard, where there is one; else None.
        inner: The commands in it, each as tokens: `$(…)`, backticks, `<(…)`.
    """

    text: str
    exact: bool = True
    plain: bool = True
    stem: str | None = None
    inner: "tuple[tuple[Token, ...], ...]" = ()


class Operator(NamedTuple):
    """What stands between commands; also the end of a line."""

    text: str


class Redirection(NamedTuple):
    """An operator such as `>` and the word behind it; of a here-document, the body."""

    operator: str
    target: Word


Token: TypeAlias = Word | Operator | Redirection


class _Pending(NamedTuple):
    """A here-document whose body begins at the next line."""

    at: int
    delimiter: Word
    is_indented: bool


class _Builder:
    """A word in the making; its pieces are joined once, so that a long one takes linear time."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.inner: list[tuple[Token, ...]] = []
        self.exact = True
        self.plain = True
        self.stem: str | None = None

    def add(self, piece: Word) -> None:
        if self.stem is None and piece.stem is not None:
            self.stem = "".join(self.pieces)
        self.pieces.append(piece.text)
        self.inner.extend(piece.inner)
        self.exact = self.exact and piece.exact
        self.plain = self.plain and piece.plain

    def done(self) -> Word:
        text = "".join(self.pieces)
        return Word(text, self.exact, self.plain, self.stem, tuple(self.inner))


class Scanner:
    """Reads one text from left to right, once; adds what it cannot tell to the doubts."""

    def __init__(self, text: str, doubts: set[str], depth: int = 0) -> None:
        self.text = text
        self.doubts = doubts
        self.depth = depth
        self.at = 0
        self._has_redirections = "<" in text or ">" in text
        self._waiting: list[_Pending] = []

    def tokens(self, *, closed_by: str = "") -> tuple[Token, ...]:
        """The tokens up to the end, or to the parenthesis that closes this nesting."""
        found: list[Token] = []
        parens = 0
        if self.depth > MAX_NESTING:
            self.doubts.add("nested too deep")
            self.at = len(self.text)
        while self._skip_blanks():
            if redirection := self._redirects():
                self._redirection(redirection, found)
            elif operator := self._operator():
                parens += {"(": 1, ")": -1}.get(operator, 0)
                if parens < 0 and closed_by:
                    return tuple(found)
                parens = max(parens, 0)  # below it: the pattern of a `case`, or an error
                found.append(Operator(operator))
                if operator == "\n":
                    self._here_documents(found)
            else:
                found.append(self._word())
        self._finish(found, is_open=bool(closed_by) or parens > 0)
        return tuple(found)

    def _finish(self, found: list[Token], *, is_open: bool) -> None:
        if is_open:
            self.doubts.add("a parenthesis is not closed")
        if self._waiting:
            self._here_documents(found)

    def _skip_blanks(self) -> bool:
        text, end = self.text, len(self.text)
        while self.at < end:
            if text[self.at] in " \t\r":
                self.at += 1
            elif text.startswith("\\\n", self.at):
                self.at += 2
            elif text[self.at] == "#":
                line_end = text.find("\n", self.at)
                self.at = end if line_end < 0 else line_end
            else:
                return True
        return False

    def _operator(self) -> str:
        for operator in _OPERATORS:
            if self.text.startswith(operator, self.at):
                self.at += len(operator)
                return operator
        return ""

    # --- redirections ---------------------------------------------------------------------------

    def _redirects(self) -> re.Match[str] | None:
        found = _REDIRECTION.match(self.text, self.at) if self._has_redirections else None
        is_process = found and found[0] in {"<", ">"} and self.text.startswith("(", found.end())
        return None if is_process else found

    def _redirection(self, found: re.Match[str], tokens: list[Token]) -> None:
        self.at = found.end()
        operator = found[0].lstrip("0123456789")
        while self.text.startswith((" ", "\t"), self.at):
            self.at += 1
        target = self._word()
        tokens.append(Redirection(operator, target))
        if operator in {"<<", "<<-"}:
            self._waiting.append(_Pending(len(tokens) - 1, target, operator == "<<-"))

    def _here_documents(self, tokens: list[Token]) -> None:
        waiting, self._waiting = self._waiting, []
        for pending in waiting:
            tokens[pending.at] = Redirection("<<", self._body(pending))

    def _body(self, pending: _Pending) -> Word:
        lines: list[str] = []
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            line = self.text[self.at : end if end >= 0 else len(self.text)]
            self.at = end + 1 if end >= 0 else len(self.text)
            if pending.is_indented:
                line = line.lstrip("\t")
            if line.rstrip("\r") == pending.delimiter.text:
                break
            lines.append(line)
        else:
            self.doubts.add("a here-document is not closed")
        body = "\n".join(lines)
        if not pending.delimiter.plain:
            return Word(body)
        inside = Scanner(body, self.doubts, self.depth + 1)
        return inside._quoted("")

    # --- words ----------------------------------------------------------------------------------

    def _word(self) -> Word:
        """The word that begins here, empty where none does."""
        begin, word = self.at, _Builder()
        while self.at < len(self.text):
            char = self.text[self.at]
            if found := _PLAIN.match(self.text, self.at):
                self.at = found.end()
                word.pieces.append(found[0])
            elif char in _ENDS or (char in "<>" and not self._begins_process(begin)):
                break
            else:
                word.add(self._special(char))
        if self.at == begin:
            self.doubts.add("a word is missing")
        return word.done()

    def _begins_process(self, begin: int) -> bool:
        return self.at == begin and self.text.startswith("(", begin + 1)

    def _special(self, char: str) -> Word:  # noqa: PLR0911 - one return a kind of quote
        match char:
            case "'":
                return self._single()
            case '"':
                self.at += 1
                return self._quoted('"')._replace(plain=False)
            case "\\":
                self.at += 2
                escaped = self.text[self.at - 1 : self.at]
                return Word("" if escaped == "\n" else escaped, plain=escaped == "\n")
            case "`":
                return self._backticks()
            case "$":
                return self._dollar(is_quoted=False)
            case "<" | ">":
                self.at += 2
                return Word(char, exact=False, inner=(self._nested(),))
            case _:
                return self._sign(char)

    def _sign(self, char: str) -> Word:
        begin = self.at
        self.at += 1
        if char in "*?[":
            return Word(char, stem="")
        if char == "{" and _BRACES.match(self.text, begin):
            return Word(char, stem="", exact=False)
        if char == "~" and (begin == 0 or self.text[begin - 1] in " \t\n=:;&|("):
            return Word(char, exact=False)
        return Word(char)

    def _single(self) -> Word:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.doubts.add("a quote is not closed")
            end = len(self.text)
        word = Word(self.text[self.at + 1 : end], plain=False)
        self.at = end + 1
        return word

    def _quoted(self, closing: str) -> Word:
        """What stands in double quotes, or in a here-document (no closing sign)."""
        word, run = _Builder(), _IN_QUOTES if closing else _IN_DOCUMENT
        while self.at < len(self.text):
            char = self.text[self.at]
            if found := run.match(self.text, self.at):
                self.at = found.end()
                word.pieces.append(found[0])
            elif char == closing:
                self.at += 1
                return word.done()
            elif char == "\\":
                word.pieces.append(self._escaped())
            else:
                word.add(self._dollar(is_quoted=True) if char == "$" else self._backticks())
        if closing:
            self.doubts.add("a quote is not closed")
        return word.done()

    def _escaped(self) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            return ""
        return following if following in '$`"\\' else f"\\{following}"

    def _backticks(self) -> Word:
        pieces = list[str]()
        begin = self.at
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != "`":
            if self.text[self.at] == "\\" and self.text[self.at + 1 : self.at + 2] in "`$\\":
                self.at += 1
            pieces.append(self.text[self.at : self.at + 1])
            self.at += 1
        if self.at >= len(self.text):
            self.doubts.add("a backtick is not closed")
        self.at += 1
        inside = Scanner("".join(pieces), self.doubts, self.depth + 1)
        return Word(self.text[begin : self.at], exact=False, inner=(inside.tokens(),))

    def _dollar(self, *, is_quoted: bool) -> Word:
        begin, following = self.at, self.text[self.at + 1 : self.at + 2]
        if following == "(":
            self.at += 2
            inner = self._nested()
            return Word(self.text[begin : self.at], exact=False, inner=(inner,))
        if following == "{":
            return self._parameter()
        if following == "'" and not is_quoted:
            return self._ansi_quoted()
        if following == '"' and not is_quoted:
            self.at += 2
            return self._quoted('"')._replace(plain=False)
        if variable := _VARIABLE.match(self.text, begin):
            self.at = variable.end()
            return Word(variable[0], exact=False)
        self.at += 1
        return Word("$")

    def _nested(self) -> tuple[Token, ...]:
        """The commands up to the closing parenthesis; stands behind the opening one."""
        waiting, self._waiting = self._waiting, []
        self.depth += 1
        inner = self.tokens(closed_by=")")
        self.depth -= 1
        self._waiting = waiting
        return inner

    def _parameter(self) -> Word:
        """`${…}` and the commands in it."""
        begin = self.at
        self.at += 2
        inner: list[tuple[Token, ...]] = []
        if self.depth > MAX_NESTING:
            self.doubts.add("nested too deep")
            self.at = len(self.text)
        while self.at < len(self.text) and self.text[self.at] != "}":
            char = self.text[self.at]
            if char in "$`'\"\\":
                self.depth += 1
                inner.extend(self._special(char).inner)
                self.depth -= 1
            else:
                self.at += 1
        if self.at >= len(self.text):
            self.doubts.add("a brace is not closed")
        self.at += 1
        return Word(self.text[begin : self.at], exact=False, inner=tuple(inner))

    def _ansi_quoted(self) -> Word:
        end = self.at + 2
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            self.doubts.add("a quote is not closed")
        text = _ESCAPE.sub(_unescaped, self.text[self.at + 2 : end])
        self.at = end + 1
        return Word(text, plain=False)


def _unescaped(found: re.Match[str]) -> str:
    short, unit, long, octal, char = found.groups()
    if char is not None:
        return _NAMED_ESCAPES.get(char, char)
    number = int(octal, 8) & 0xFF if octal else int(short or unit or long, 16)
    return chr(number) if number < 0x110000 else "\ufffd"
