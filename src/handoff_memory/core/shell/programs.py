"""What programs are called, and which of them run another program or code in their words.

Tables first. A program that is not named here is taken to run nothing but itself, save where one
of its words is a program that rules are often about.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from handoff_memory.core import lazy
from handoff_memory.core.shell.words import Word


class Wrapper(NamedTuple):
    """A program that runs the command in its arguments.

    Attributes:
        valued: Options that take the next word as their value.
        positional: Words of its own before the command.
        assigns: It takes `NAME=value` before the command.
        folder: Options that name the command's working directory.
        script: Options whose value is a command line.
        lookup: Options with which it only looks a command up.
        adds: It gives the command further words that are not known.
    """

    valued: frozenset[str] = frozenset()
    positional: int = 0
    assigns: bool = False
    folder: frozenset[str] = frozenset()
    script: frozenset[str] = frozenset()
    lookup: frozenset[str] = frozenset()
    adds: bool = False


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


WRAPPERS: Final[Mapping[str, Wrapper]] = {
    "builtin": Wrapper(),
    "busybox": Wrapper(),
    "caffeinate": Wrapper(word_set("-t -w")),
    "chronic": Wrapper(),
    "command": Wrapper(lookup=word_set("-v -V")),
    "coproc": Wrapper(),
    "doas": Wrapper(word_set("-u -C")),
    "env": Wrapper(
        word_set("-u --unset"),
        assigns=True,
        folder=word_set("-C --chdir"),
        script=word_set("-S --split-string"),
    ),
    "exec": Wrapper(word_set("-a")),
    "flock": Wrapper(word_set("-w -E --timeout"), positional=1, script=word_set("-c --command")),
    "ionice": Wrapper(word_set("-c -n -p")),
    "nice": Wrapper(word_set("-n --adjustment")),
    "noglob": Wrapper(),
    "nohup": Wrapper(),
    "proxychains": Wrapper(),
    "rtk": Wrapper(),
    "runuser": Wrapper(word_set("-u -g -s"), script=word_set("-c --command")),
    "script": Wrapper(positional=1, script=word_set("-c --command -qc -qec")),
    "setsid": Wrapper(),
    "stdbuf": Wrapper(word_set("-i -o -e")),
    "strace": Wrapper(word_set("-e -o -p -s -u")),
    "su": Wrapper(word_set("-s -g"), positional=1, script=word_set("-c --command")),
    "sudo": Wrapper(
        word_set("-u -g -h -p -C -r -t -T -U -R --user --group --host --prompt --chroot"),
        assigns=True,
        folder=word_set("-D --chdir"),
    ),
    "time": Wrapper(word_set("-f -o --format --output")),
    "timeout": Wrapper(word_set("-s -k --signal --kill-after"), positional=1),
    "trap": Wrapper(),
    "unbuffer": Wrapper(),
    "watch": Wrapper(word_set("-n --interval")),
    "xargs": Wrapper(word_set("-I -n -L -P -s -d -E -a --max-args --max-procs"), adds=True),
}
# Wrappers that join their words to one command line for a shell.
JOINS: Final = word_set("watch trap")
SHELLS: Final = word_set("sh bash dash zsh ksh mksh ash fish rbash")
# The short options by which an interpreter is given a program's text; it may also read one.
INTERPRETERS: Final[Mapping[str, str]] = {
    "python": "c",
    "pypy": "c",
    "ipython": "c",
    "perl": "eE",
    "ruby": "e",
    "php": "rBRE",
    "lua": "e",
    "node": "ep",
    "nodejs": "ep",
    "tclsh": "",
    "osascript": "e",
    "rscript": "e",
    "julia": "eE",
    "groovy": "e",
    "elixir": "e",
    "deno": "",
    "bun": "e",
    "pwsh": "ce",
    "powershell": "ce",
    "cmd": "",
}
# Their little languages can run a command, too.
SCRIPTED: Final = word_set("sed gsed awk gawk mawk nawk")
_SUBCOMMAND: Final = lazy.pattern(r"[A-Za-z][\w:-]{0,63}")
_VERSION: Final = "0123456789."
_LONG_INLINE: Final = lazy.pattern(
    r"--(?:eval|print|exec|execute)(?:=.*)?|-(?:command|encodedcommand|enc|ec)|/[ck]|eval",
    re.DOTALL,
)
_ASKS: Final = lazy.pattern(r"--?(?:version|help)|-[vVh]")
# Run what cannot be seen here.
OPAQUE: Final = word_set(
    "eval source . alias parallel iex invoke-expression expect at batch crontab"
)
GIT_VALUED: Final = word_set(
    "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source"
)
GIT_KNOWN: Final = word_set(
    "add am annotate apply archive bisect blame branch bundle cat-file check-attr "
    "check-ignore checkout checkout-index cherry cherry-pick clean clone commit commit-graph "
    "commit-tree config count-objects describe diff diff-files diff-index diff-tree difftool "
    "fast-export fast-import fetch fetch-pack filter-branch for-each-ref format-patch fsck gc "
    "grep hash-object help init init-db lfs log ls-files ls-remote ls-tree maintenance merge "
    "merge-base merge-file merge-tree mergetool mv name-rev notes pack-objects prune pull "
    "push range-diff read-tree rebase reflog remote repack replace request-pull rerere reset "
    "restore rev-list rev-parse revert rm send-email shortlog show show-branch show-ref "
    "sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag "
    "update-index update-ref var verify-commit verify-tag version whatchanged worktree "
    "write-tree"
)
# Their words are text, not a command.
HARMLESS: Final = word_set(
    "echo printf grep egrep fgrep rg ag ls cat head tail less more wc sort uniq cut tr man "
    "which type whereis test [ true false pwd date sleep hash help cd export unset set read "
    "git gh jq yq diff apt apt-get brew pip pip3 dnf yum rm mv cp mkdir touch tee sed awk "
    "find kill ps df du basename dirname realpath stat file comm paste seq"
)
_EXECUTES: Final = word_set("-exec -execdir -ok -okdir -x -X --exec --exec-batch")
_TAILS: Final = word_set("git rm mv cp sed tee sh bash zsh dash ksh sudo npm yarn pnpm cargo")


# --- names --------------------------------------------------------------------------------------


def base_name(text: str) -> str:
    """A program's name without its folder, its `.exe`, and the difference of case."""
    name = text.replace("\\", "/").rpartition("/")[2].casefold()
    return name.removesuffix(".exe").removesuffix(".cmd").removesuffix(".bat")


def git_operands(words: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[Word, ...], bool]:
    """Git's words from the subcommand on, the folders of `-C`, and whether it may be an alias."""
    at, folders, is_doubtful = 1, list[Word](), False
    while at < len(words) and words[at].text.startswith("-"):
        option = words[at].text
        is_doubtful = is_doubtful or not words[at].exact
        value = words[at + 1] if at + 1 < len(words) else Word("", exact=False)
        if option == "-C":
            folders.append(value)
        if option in {"-c", "--config-env"} and value.text.casefold().startswith("alias."):
            is_doubtful = True
        at += 2 if option in GIT_VALUED else 1
    rest = tuple(words[at:])
    if rest and (not rest[0].exact or rest[0].stem is not None or rest[0].text not in GIT_KNOWN):
        is_doubtful = True
    return rest, tuple(folders), is_doubtful


def names(words: Sequence[Word]) -> Iterator[str]:
    """What a command is called in a rule: `git`, `git.commit`; `docker.compose.up`."""
    program = base_name(words[0].text)
    if program.startswith("git-"):
        yield "git"
        yield f"git.{program[4:]}"
    yield program
    if program == "git":
        rest, _, _ = git_operands(words)
        yield from (f"git.{word.text}" for word in rest[:1])
        return
    has_options = False
    plain: list[str] = []
    for word in words[1:32]:
        if word.text.startswith("-"):
            has_options = True
        elif len(plain) < 3 and _SUBCOMMAND.fullmatch(word.text):
            plain.append(word.text.casefold())
    yield from (".".join((program, *plain[:count])) for count in range(1, len(plain) + 1))
    if has_options:  # an option's value may stand before the subcommand
        yield from (f"{program}.{word}" for word in plain[1:])


def is_name_known(words: Sequence[Word]) -> bool:
    """Whether the first word that is no option, the subcommand, is what it says."""
    if base_name(words[0].text) in HARMLESS:
        return True
    first = next((word for word in words[1:] if not word.text.startswith("-")), None)
    return first is None or (first.exact and first.stem is None)


def runs_code(name: str, words: Sequence[Word], *, has_input: bool) -> bool:
    """Whether an interpreter is given a program's text, in an option or to read."""
    letters = INTERPRETERS.get(name.rstrip(_VERSION))
    if letters is None:
        return False
    for word in words[1:]:
        text = word.text
        if _LONG_INLINE.fullmatch(text.casefold()) or not word.exact:
            return True
        if not text.startswith("-") or text == "-":
            return text == "-"
        if text == "-m" and "c" in letters:
            return False
        if text[1] != "-" and any(letter in text[1:3] for letter in letters):
            return True
    return has_input or not any(_ASKS.fullmatch(word.text) for word in words[1:])


def executed(name: str, words: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """The commands that `find -exec` runs, with what it finds as everything below its roots."""
    if name not in {"find", "fd", "fdfind"}:
        return
    roots = folder_roots(words[1:])
    at = 0
    while at < len(words):
        text = words[at].text
        at += 1
        if text not in _EXECUTES:
            continue
        end = at
        while end < len(words) and words[end].text not in {";", "+"}:
            end += 1
        for root in roots:
            found = Word(f"{root.text}/*", root.exact, stem=f"{root.text}/")
            command = [found if "{}" in word.text else word for word in words[at:end]]
            if name != "find" and found not in command:
                command.append(found)
            if command:
                yield tuple(command)
        at = end


def folder_roots(words: Sequence[Word]) -> list[Word]:
    """Where `find` looks; here, where it names nothing."""
    roots: list[Word] = []
    for word in words:
        if word.text.startswith(("-", "(", "!")):
            break
        roots.append(word)
    return roots[:8] or [Word(".")]


class Unwrapped(NamedTuple):
    """What stands behind a prefix."""

    command: tuple[Word, ...]
    scripts: tuple[Word, ...] = ()
    folder: Word | None = None


def unwrapped(wrapper: Wrapper, words: Sequence[Word]) -> Unwrapped:
    """The command that a wrapper runs; its options and own words are stepped over."""
    at, own, scripts, folder = 1, 0, list[Word](), None
    while at < len(words):
        word = words[at]
        if word.text == "--":
            at += 1
            break
        if word.text in wrapper.lookup:
            return Unwrapped(())
        if len(word.text) > 1 and word.text.startswith("-"):
            option, value, length = _option(wrapper, words, at)
            at += length
            if option in wrapper.script:
                scripts.append(value)
            folder = value if option in wrapper.folder else folder
        elif own < wrapper.positional or (wrapper.assigns and "=" in word.text):
            own += "=" not in word.text
            at += 1
        else:
            break
    return Unwrapped(tuple(words[at:]), tuple(scripts), folder)


def _option(wrapper: Wrapper, words: Sequence[Word], at: int) -> tuple[str, Word, int]:
    """An option's name, its value, and how many words both take: `-C x`, `-Cx`, `--chdir=x`."""
    word = words[at]
    name, equals, value = word.text.partition("=")
    following = words[at + 1] if at + 1 < len(words) else Word("", exact=False)
    if word.text in wrapper.valued | wrapper.folder | wrapper.script:
        return word.text, following, 2
    if equals and name.startswith("--"):
        return name, Word(value, word.exact), 1
    return word.text[:2], Word(word.text[2:], word.exact), 1


def tails(words: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """The commands that a program unknown here may start: `uv run git commit`."""
    program = base_name(words[0].text)
    if program in HARMLESS or program in _TAILS:
        return
    for at, word in enumerate(words[1:32], 1):
        if word.exact and base_name(word.text) in _TAILS:
            yield tuple(words[at:])
            return
