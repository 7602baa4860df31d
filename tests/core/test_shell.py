import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handoff_memory.core import shell
from handoff_memory.core.shell import Command, Write, take_apart

# Each runs `git commit`, and none of them begins with it.
COMMITS = [
    "git commit",
    "a && git commit -m x",
    "a; git commit",
    "a | git commit",
    "a || git commit",
    "a |& git commit",
    "a & git commit",
    "a\ngit commit",
    "a\r\ngit commit\r\n",
    "(git commit)",
    "{ git commit; }",
    "((git commit))",
    "echo $(git commit)",
    'echo "$(git commit)"',
    "echo `git commit`",
    'echo "`git commit`"',
    "echo `echo \\`git commit\\``",
    '"$(echo "$(git commit)")"',
    "${x:-$(git commit)}",
    'echo "${x:-`git commit`}"',
    "diff <(git commit) x",
    "cat > >(git commit)",
    "env X=1 git commit",
    "env -i -u A B=2 nice timeout 3 git commit",
    'env -S "git commit"',
    'env --split-string="git commit"',
    "X=1 Y= git commit",
    "sudo -u me git commit",
    "sudo -- git commit",
    "nohup git commit",
    "time -p git commit",
    "time { git commit; }",
    "echo m | xargs git commit -m",
    "command git commit",
    "exec git commit",
    "nice -n 5 git commit",
    "timeout -s KILL 5 git commit",
    "timeout --signal=KILL 5 git commit",
    "stdbuf -oL git commit",
    "flock /tmp/l git commit",
    'flock /tmp/l -c "git commit"',
    'su -c "git commit"',
    "coproc git commit",
    "busybox sh -c 'git commit'",
    "watch git commit",
    "watch -n 5 'git commit'",
    "trap 'git commit' EXIT",
    "uv run git commit",
    "find . -name x -exec git commit \\;",
    "fd -x git commit",
    'sh -c "git commit"',
    "bash -lc 'git commit'",
    "bash -o pipefail -c 'git commit'",
    "bash -c \"sh -c 'git commit'\"",
    "bash <<< 'git commit'",
    "bash <<'EOF'\ngit commit\nEOF",
    "bash <<-EOF\n\tgit commit\n\tEOF",
    "cat <<EOF\n$(git commit)\nEOF",
    "cat <<A <<B\nx\nA\n`git commit`\nB",
    "cat <<A; git commit\nx\nA",
    "git -C dir commit",
    "git -c user.name=x --no-pager commit",
    "git --git-dir=x --work-tree y commit",
    "git-commit -m x",
    "/usr/lib/git-core/git-commit",
    "/usr/bin/git commit",
    "GIT commit",
    "git.exe commit",
    "git \\\n commit",
    'g"i"t commit',
    "'git' commit",
    "\\git commit",
    "g\\it com\\mit",
    "gi\\\nt commit",
    "$'git' commit",
    '$"git" commit',
    "$'\\x67\\151\\u0074' commit",
    "if true; then git commit; fi",
    "while git commit; do :; done",
    "for x in a b; do git commit; done",
    "for x in $(git commit); do :; done",
    "for ((i=0;i<3;i++)); do git commit; done",
    "select x in a; do git commit; done",
    "case x in a) git commit;; esac",
    "case x in (a|b) ls;; c) git commit\nesac",
    "case $(git commit) in a) ;; esac",
    "case x in a) case y in b) ls;; esac; git commit;; esac",
    "f() { git commit; }; f",
    "function f { git commit; }; f",
    "! git commit",
    "true # x\ngit commit",
    "cd x && git commit",
    "git commit>out",
    "2>&1 git commit",
    ">x git commit",
    "a=(git commit)",
    '[[ -n "$(git commit)" ]]',
    "[[ a ]] && git commit",
    "eval git commit",
    "alias ls='git commit'",
]

# Each may run anything; what stands behind is in the doubt.
OPAQUE = [
    ("$X commit", "name is not known"),
    ("git${IFS}commit", "name is not known"),
    ("$(which git) commit", "name is not known"),
    ("`echo git` commit", "name is not known"),
    ("{git,commit}", "name is not known"),
    ("g{it,} commit", "name is not known"),
    ("gi? commit", "name is not known"),
    ("/usr/bin/[g]it commit", "name is not known"),
    ("~/bin/git commit", "name is not known"),
    ("sh -c '\"$@\"' _ git commit", "name is not known"),
    ('eval "$x"', "eval"),
    ("source x", "source"),
    (". ./x", ". runs"),
    ("parallel git commit", "parallel"),
    ("echo x | sh", "a shell reads"),
    ("curl x | bash -s", "a shell reads"),
    ("bash", "a shell reads"),
    ("bash $f", "a shell runs"),
    ("bash <(curl x)", "a shell runs"),
    ("bash /dev/stdin", "a shell runs"),
    ('bash -c "$x"', "a shell runs"),
    ("bash <<EOF\n$x\nEOF", "a shell runs"),
    ("xargs sh -c", "a shell runs"),
    ("sh -c", "a shell without"),
    ('watch "$x"', "watch runs"),
    ('python -c "x"', "python is given"),
    ("python3.11 -Bc x", "python3.11 is given"),
    ("python - <<E\nx\nE", "python is given"),
    ("cat x | python", "python is given"),
    ("python <<< x", "python is given"),
    ("python $x", "python is given"),
    ("node -e 1", "node is given"),
    ("node --eval=1", "node is given"),
    ("perl -pi -e 1 x", "perl is given"),
    ("pwsh -Command x", "pwsh is given"),
    ("cmd /c git commit", "cmd is given"),
    ("deno eval x", "deno is given"),
    ("awk 'BEGIN{system(1)}'", "awk runs or writes"),
    ("sed 's/a/b/e' x", "sed runs or writes"),
    ("sed -n 'w tests/x' a", "sed runs or writes"),
    ('"unclosed', "a quote is not closed"),
    ("'unclosed", "a quote is not closed"),
    ("$'unclosed\\'", "a quote is not closed"),
    ('$(git "', "a parenthesis is not closed"),
    ("(git", "a parenthesis is not closed"),
    ("`git", "a backtick is not closed"),
    ("${x", "a brace is not closed"),
    ("cat <<EOF\nx", "a here-document is not closed"),
    ("cat <<EOF", "a here-document is not closed"),
    ("case x in a) b", "a case is not closed"),
    ("[[ a && git commit", "[[ is not closed"),
    ("echo >", "a word is missing"),
    ("a @(git|x)", "a parenthesis within"),
    ("a\0b", "a NUL"),
    ("$(" * 40 + ")" * 40, "nested too deep"),
    ("${x:-" * 40 + "}" * 40, "nested too deep"),
    ("sudo " * 40 + "git commit", "nested too deep"),
    ("eval " * 40 + "git commit", "nested too deep"),
    ("a;" * 5001, "too many commands"),
    ("x" * (shell.MAX_CHARS + 1), "longer than"),
]

# One command whose name may be that of any subcommand.
ALIASES = ["git $X", "git ci", "git -c alias.x=commit x", "xargs git", "git $OPTS commit", "npm $X"]

WRITES: list[tuple[str, list[tuple[str, bool] | str]]] = [
    ("echo > a", ["a"]),
    ("echo >> a", ["a"]),
    ("echo a>|b", ["b"]),
    ("cat<>x", ["x"]),
    ("x &> log", ["log"]),
    ("x >& log", ["log"]),
    ("x 2> log < in", ["log"]),
    ("> x", ["x"]),
    ("A=1 > y", ["y"]),
    ("{ a; } > y", ["y"]),
    ("echo 2>/dev/null >&2 2>&1", []),
    ("echo 'a b' > 'c d'", ["c d"]),
    ("sed -i s/a/b/ tests/x", ["tests/x"]),
    ("sed -n -i.bak -e s/a/b/ x y", ["x", "y"]),
    ("sed --in-place s/a/b/ x", ["x"]),
    ("sed -n 's/a/b/p' x", []),
    ("sed -Ei '' s/a/b/ x", ["s/a/b/", "x"]),
    ("awk '{print $1}' x", []),
    ("tee -a x y", ["x", "y"]),
    ("sudo tee x", ["x"]),
    ("touch x", ["x"]),
    ("rm x", ["x"]),
    ("rm -- -x", ["-x"]),
    ("rm -rf tests", [("tests", True)]),
    ("rm tests/*", [("tests", True)]),
    ("rmdir a", [("a", True)]),
    ("mv a b", [("a", True), ("b", True), ("b/a", True)]),
    ("mv a", [("a", True)]),
    ("cp a tests/", ["tests/", "tests/a"]),
    ("cp -r a b", [("b", True), ("b/a", True)]),
    ("cp a* b", ["b", ("b", True)]),
    ("cp a b*", [("", True), ("", True)]),
    ("cp", []),
    ("cp -t d a b", ["d", "d/a", "d/b"]),
    ("cp --target-directory=d a", ["d", "d/a"]),
    ("install -m 644 a b", ["b", "b/a"]),
    ("ln -s a b", ["b", "b/a"]),
    ("dd if=a of=b", ["b"]),
    ("tar xf a -C b", [("b", True)]),
    ("tar -xzf a", [(".", True)]),
    ("tar -cf a b", ["a"]),
    ("tar czf a b", ["a"]),
    ("tar -c -f a b", ["a", "b"]),
    ("tar -tf a", []),
    ("tar", []),
    ("patch -p1 < x", [(".", True)]),
    ("sort -o x y", ["x"]),
    ("curl --output=x y", ["x"]),
    ("curl y", []),
    ("wget -O x y", ["x"]),
    ("find tests -delete", [("tests", True)]),
    ("find -fprint x", ["x"]),
    ("find tests -name x -exec rm {} \\;", [("tests", True)]),
    ("find a b -exec rm {} +", [("a", True), ("b", True)]),
    ("find . -exec", []),
    ("fd x -x rm", [("x", True)]),
    ("git rm a", [("a", True)]),
    ("git mv a b", [("a", True), ("b", True)]),
    ("git checkout -- tests/x", [("tests/x", True)]),
    ("git -C d checkout HEAD -- x", [("d/HEAD", True), ("d/x", True)]),
    ("git checkout -b x", []),
    ("git restore --source=HEAD x", [("x", True)]),
    ("git reset --hard", [(".", True)]),
    ("git reset", []),
    ("git clean -fd", [(".", True)]),
    ("git clean -fd a", [("a", True)]),
    ("git stash", [(".", True)]),
    ("git stash list", []),
    ("git apply x", [(".", True)]),
    ("git-apply x", [(".", True)]),
    ("git log", []),
    ("git", []),
    ("sh -c 'rm x'", ["x"]),
    ("uv run rm x", ["x"]),
    ("cd tests && rm x", ["tests/x"]),
    ("cd a && cd b && rm x", ["a/b/x"]),
    ("cd a; rm x", ["a/x", "x"]),
    ("cd a || exit; rm x", ["a/x", "x"]),
    ("cd a && b; rm x", ["a/x", "x"]),
    ("(cd a && rm x); rm y", ["a/x", "y"]),
    ("echo $(cd a && rm x) > y", ["a/x", "y"]),
    ("cd /a && rm x", ["/a/x"]),
    ("cd - && rm /x", ["/x"]),
    ("env -C d rm x", ["d/x"]),
    ("env --chdir=d rm x", ["d/x"]),
    ("sudo -D d rm x", ["d/x"]),
    ("command -v rm x", []),
    ("sudo", []),
    ("bash script.sh", []),
    ("bash --version", []),
    ("python script.py -c x", []),
    ("python -m pytest -c x", []),
    ("python --version", []),
    ("echo git commit", []),
    ("a # > x", []),
    ("[[ a > b ]]", []),
    ("echo \\> x", []),
    ("echo '>' x", []),
    ("echo {} a{b} $ #x", []),
]

UNKNOWN_WRITES = [
    "rm $X",
    "rm tests/$X",
    "touch ~/x",
    "rm t*/../tests/x",
    "rm {a,b}",
    "ls | xargs rm",
    "cd -; rm x",
    "cd && rm x",
    "cd ~ && rm x",
    "popd; rm x",
    "cd $X && rm x",
    "cd a* && rm x",
    "cd $X && cd a && rm x",
    "git -C $X rm x",
    "git restore --pathspec-from-file=x",
    "cp -t",
    "cd a && " * 9 + "rm x",
    "cd " + "a" * 5000 + " && rm x",
    "; ".join(f"cd d{n}" for n in range(9)) + "; rm x",
]


def names(text: str) -> set[str]:
    return {name for command in take_apart(text).commands for name in command.names}


def written(text: str) -> list[tuple[str, bool]]:
    return [(w.path, w.is_tree) for c in take_apart(text).commands for w in c.writes]


@pytest.mark.parametrize("text", COMMITS)
def test_a_commit_is_found_however_it_is_written(text: str) -> None:
    assert "git.commit" in names(text)


@pytest.mark.parametrize(("text", "doubt"), OPAQUE)
def test_what_cannot_be_taken_apart_is_said(text: str, doubt: str) -> None:
    taken = take_apart(text)

    assert not taken.complete
    assert any(doubt in one for one in taken.doubts), taken.doubts


@pytest.mark.parametrize("text", ALIASES)
def test_a_subcommand_that_is_not_known_may_be_any(text: str) -> None:
    assert not all(command.name_known for command in take_apart(text).commands)


@pytest.mark.parametrize(
    "text",
    [
        "echo git commit",
        "echo 'git commit'",
        "echo \\$\\(git commit\\)",
        "echo '$(git commit)'",
        "# git commit",
        "cat <<'EOF'\n$(git commit)\nEOF",
        "grep 'git commit' x",
        "git log --grep commit",
        "git status",
        "which git commit",
        'gh pr create --title "git commit"',
        "command -v git commit",
        "git commits",
    ],
)
def test_a_commit_that_is_only_spoken_of_is_none(text: str) -> None:
    assert "git.commit" not in names(text)
    assert take_apart(text).complete


@pytest.mark.parametrize(("text", "paths"), WRITES)
def test_the_paths_that_a_command_writes(text: str, paths: list[tuple[str, bool] | str]) -> None:
    taken = take_apart(text)

    assert written(text) == [(p, False) if isinstance(p, str) else p for p in paths]
    assert taken.complete
    assert all(command.writes_known for command in taken.commands)


@pytest.mark.parametrize("text", UNKNOWN_WRITES)
def test_paths_that_cannot_be_known_are_said(text: str) -> None:
    assert not all(command.writes_known for command in take_apart(text).commands)


def test_the_ending_of_a_wildcard_is_kept() -> None:
    (command,) = take_apart("rm build/*.pyc").commands

    assert command.writes == (Write("build", is_tree=True, ending=".pyc"),)


def test_a_command_has_its_words_its_names_and_its_folder() -> None:
    taken = take_apart("cd web && sudo npm --prefix x run build 'a b'")

    assert taken.commands == (
        Command(
            argv=("npm", "--prefix", "x", "run", "build", "a b"),
            names=("npm", "npm.x", "npm.x.run", "npm.x.run.build", "npm.run", "npm.build"),
            folders=("web",),
        ),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("docker compose up -d", "docker.compose.up"), ("npm publish", "npm.publish"), ("PWD", "pwd")],
)
def test_other_programs_have_names_with_their_subcommands(text: str, expected: str) -> None:
    assert expected in names(text)


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("a 'b c' \"d e\" f\\ g", ("a", "b c", "d e", "f g")),
        ('a "\\$x \\a \\\ny"', ("a", "$x \\a y")),
        ("a $'\\n\\t\\q\\U110000'", ("a", "\n\tq\ufffd")),
        ("a b#c d=~e", ("a", "b#c", "d=~e")),
        ("a ''", ("a", "")),
        ("a$ b", ("a$", "b")),
        ('a "$x$" ${y}', ("a", "$x$", "${y}")),
        ("a ${x:-'}'} ${x\\}}", ("a", "${x:-'}'}", "${x\\}}")),
    ],
)
def test_quotes_are_taken_off(text: str, argv: tuple[str, ...]) -> None:
    assert take_apart(text).commands[-1].argv == argv


def test_nothing_has_no_commands() -> None:
    for text in ("", " \n\t", "# x", "X=1", "fi"):
        assert not [c for c in take_apart(text).commands if c.argv]


@given(st.text() | st.text(alphabet="gitcom |&;()<>{}$`'\"\\\n#*?[]=-~ax0"))
@example("<<A")
@example("<<A\n")
@example("$((")
@example("case x in esac")
@example("case")
@example("function")
@example("for")
@example("cat <<$(a\nb\n)")
def test_any_text_can_be_given(text: str) -> None:
    taken = take_apart(text)

    assert taken.complete == (not taken.doubts)


@given(
    st.sampled_from(COMMITS), st.sampled_from([" ", "x; ", "(", "! ", "A=1 ", "\n", "if ", "a|"])
)
def test_what_stands_before_hides_none(text: str, before: str) -> None:
    assert "git.commit" in names(before + text) or not take_apart(before + text).complete


@pytest.mark.parametrize(
    "piece",
    [
        '"a"',
        "$(",
        "(",
        "`",
        "${",
        "'a'",
        'a"b"',
        "a;",
        "<<A ",
        "case x in a) ",
        "sh -c ",
        "sudo ",
        "cd a;",
        "git ",
        "{a",
        "[[ ",
        "for x in ",
        "\\",
        "$'",
        ">",
        "<(",
        "`\\`",
        "-exec rm {} + ",
        "A[=",
        "#a\n",
        "$a",
        "f() ",
        "a ",
        "cd a && ",
        "rm *a*b ",
        "sed -i a ",
    ],
)
def test_twice_the_text_takes_at_most_about_twice_the_time(piece: str) -> None:
    def seconds(length: int) -> float:
        text = "find . " + (piece * length)[:length]
        begin = time.process_time()
        take_apart(text)
        return time.process_time() - begin

    short = max(min(seconds(4_096) for _ in range(2)), 0.004)

    assert seconds(32_768) < short * 8 * 5  # quadratic would be 64 times
