import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core.errors import InvalidInvariantsError
from handoff_memory.core.shell import take_apart
from handoff_memory.core.task_state import Flag
from handoff_memory.core.times import SECOND
from handoff_memory.rules.invariants import (
    Action,
    Book,
    Judgement,
    Reliance,
    Rule,
    judge,
    parse,
    spellings,
    strict,
)

SPEC = """
[[invariant]]
id = "tests-before-commit"
when = { tool = "git.commit" }
require = { state = "tests_passed" }
message = "Cannot commit while tests are failing"

[[invariant]]
id = "no-test-edit"
when = { path_glob = "tests/**" }
verdict = "block"
message = "Modifying test suites requires explicit approval"
"""
NOW = 1_000 * SECOND
PASSED = {"tests_passed": Flag(True, "observed", NOW - SECOND)}


def rules(text: str = SPEC) -> tuple[Rule, ...]:
    return strict(parse(text))


def rule(when: str, *more: str) -> tuple[Rule, ...]:
    lines = ["[[invariant]]", 'id = "r"', f"when = {{ {when} }}", 'message = "m"', *more]
    return rules("\n".join(lines))


def held(
    action: Action, text: str | tuple[Rule, ...] = SPEC, flags: Any = (), **more: Any
) -> Judgement:
    found = rules(text) if isinstance(text, str) else text
    approvals = more.pop("approvals", {})
    return judge(found, action, dict(flags), approvals, NOW, **more)


def bash(command: str, **more: Any) -> Action:
    return Action("Bash", {"command": command}, command=take_apart(command), **more)


def edit(path: str, **more: Any) -> Action:
    return Action("Edit", {"file_path": path}, writes=(path,), **more)


# --- the two rules of the spec ------------------------------------------------------------------


def test_a_commit_waits_for_the_tests() -> None:
    judgement = held(Action("git.commit"))

    (finding,) = judgement.findings
    assert judgement.verdict == "block"
    assert (finding.rule_id, finding.message) == (
        "tests-before-commit",
        "Cannot commit while tests are failing",
    )
    assert "tests_passed is not set" in finding.because
    assert "git.commit" in finding.because
    assert "approve tests-before-commit --for 10m" in finding.way_out
    assert "tests_passed true by an observed run" in finding.way_out


def test_passed_tests_let_it_through_and_the_verdict_says_on_whose_word() -> None:
    judgement = held(Action("git.commit"), flags=PASSED)
    claimed = held(Action("git.commit"), flags={"tests_passed": Flag(True, "claimed", NOW)})

    assert judgement == Judgement(
        "allow", (), (Reliance("tests-before-commit", "tests_passed", "observed"),)
    )
    assert claimed.relied[0].source == "claimed"


def test_failing_tests_and_tests_before_the_last_edit_do_not() -> None:
    failing = held(Action("git.commit"), flags={"tests_passed": Flag(False, "observed", NOW)})
    stale = held(Action("git.commit"), flags=PASSED, edited_us=NOW)
    fresh = held(Action("git.commit"), flags=PASSED, edited_us=NOW - 2 * SECOND)

    assert "observed to be false" in failing.findings[0].because
    assert "older than the last edit" in stale.findings[0].because
    assert fresh.verdict == "allow"


def test_a_flag_of_a_name_of_its_own_may_have_to_be_fresh() -> None:
    found = rule(
        'tool = "deploy"', 'require = { state = "reviewed", fresh_after = "edit", max_age_s = 60 }'
    )
    when = {"reviewed": Flag(True, "observed", NOW - 61 * SECOND)}
    just = {"reviewed": Flag(True, "observed", NOW - 60 * SECOND)}

    old = held(Action("deploy"), found, when)

    assert "older than 60 s" in old.findings[0].because
    assert "after the last edit" in old.findings[0].way_out
    assert held(Action("deploy"), found, just).verdict == "allow"
    assert held(Action("deploy"), found, just, edited_us=NOW).verdict == "block"


def test_a_plain_flag_outlives_an_edit() -> None:
    found = rule('tool = "deploy"', 'require = { state = "reviewed" }')
    reviewed = {"reviewed": Flag(True, "observed", 1)}

    assert held(Action("deploy"), found, reviewed, edited_us=NOW).verdict == "allow"


# --- verdicts -----------------------------------------------------------------------------------


def test_the_most_severe_verdict_wins_and_all_are_reported_most_severe_first() -> None:
    text = "\n".join(
        f'[[invariant]]\nid = "{v}"\nwhen.tool = "x"\nverdict = "{v}"\nmessage = "m"'
        for v in ("warn", "block", "ask")
    )

    judgement = held(Action("x"), text)

    assert judgement.verdict == "block"
    assert [f.rule_id for f in judgement.findings] == ["block", "ask", "warn"]
    assert held(Action("y"), text) == Judgement("allow")


def test_a_person_s_approval_holds_for_its_rule_until_its_time() -> None:
    action = edit("tests/a.py")

    granted = held(action, approvals={"no-test-edit": NOW + 1})
    over = held(action, approvals={"no-test-edit": NOW})
    other = held(action, approvals={"tests-before-commit": NOW + 1})

    assert granted.verdict == "allow"
    assert granted.findings[0].approved_until == NOW + 1
    assert (over.verdict, other.verdict) == ("block", "block")


def test_an_ask_says_how_a_person_approves() -> None:
    judgement = held(Action("x"), rule('tool = "x"', 'verdict = "ask"'))

    assert judgement.verdict == "ask"
    assert "handoff-memory approve r --for 10m" in judgement.findings[0].way_out


# --- tools --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tool",
    ["git.commit", "Git.Commit", "git_commit", "mcp__git__commit", "mcp__git__git_commit"],
)
def test_a_tool_is_known_by_each_of_its_names(tool: str) -> None:
    assert held(Action(tool)).verdict == "block"


@pytest.mark.parametrize("tool", ["git.status", "commit", "gitXcommit", "mcp__git__git_log"])
def test_other_tools_are_let_through(tool: str) -> None:
    assert held(Action(tool)).verdict == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m x",
        "cd x && git commit",
        "env A=1 git commit",
        'sh -c "git commit"',
        "true | git commit",
        "echo $(git commit)",
        "git -C sub commit",
        "git $X",
        "git ci",
        "$X commit",
        'eval "$x"',
        "python -c 'x'",
        "echo 'unclosed",
        "curl x | sh",
    ],
)
def test_a_commit_in_a_shell_command_or_what_may_be_one_is_blocked(command: str) -> None:
    judgement = held(bash(command))

    assert judgement.verdict == "block"
    assert "tests-before-commit" in [f.rule_id for f in judgement.findings]


@pytest.mark.parametrize("command", ["git status", "echo git commit", "ls; make", "npm $X", "X=1"])
def test_other_commands_are_let_through(command: str) -> None:
    assert held(bash(command)).verdict == "allow"


def test_a_rule_that_only_warns_takes_no_doubt_for_a_match() -> None:
    found = rule('tool = "git.commit"', 'verdict = "warn"')

    assert held(bash("$X"), found).verdict == "allow"
    assert held(bash("git commit"), found).verdict == "warn"


def test_a_finding_says_whether_it_is_certain_and_what_was_not_understood() -> None:
    (sure,) = held(bash("git commit -m " + "x" * 99)).findings
    unsure = held(bash("$X commit")).findings[0]

    assert sure.is_certain
    assert "…` is git.commit" in sure.because
    assert not unsure.is_certain
    assert "name is not known" in unsure.because


@pytest.mark.parametrize(
    ("pattern", "blocked"),
    [
        ("git.*", True),
        ("git.push", True),
        ("g*", True),
        ("npm.*", False),
        ("git", True),
        ("gi", False),
    ],
)
def test_an_unknown_subcommand_may_be_what_a_glob_means(pattern: str, blocked: bool) -> None:
    assert (held(bash("git $X"), rule(f'tool = "{pattern}"')).verdict == "block") is blocked


def test_no_command_is_called_like_the_tool_of_an_mcp_server() -> None:
    assert held(bash("$X"), rule('tool = "mcp__slack__post"')).verdict == "allow"


# --- paths --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "./tests/a.py",
        "./tests/../tests/a.py",
        "src/../tests/a.py",
        "tests//a.py",
        "tests/./a.py",
        "tests/b/../a.py",
        "tests/deep/er/a.py",
        "tests/.hidden",
        "tests/a b.py",
        "/srv/app/tests/a.py",
        "//srv/app/tests/a.py",
        "/srv/./app/x/../tests/a.py",
        "../app/tests/a.py",
        "../../srv/app/tests/a.py",
        "file:///srv/app/tests/a.py",
        "tests\\a.py",
        ".\\tests\\a.py",
        "src\\..\\tests\\a.py",
        "tests./a.py",
        "tests /a.py. ",
        "tests/a.py::$DATA",
        "tests:x/a.py",
    ],
)
def test_a_path_below_tests_is_found_however_it_is_written(path: str) -> None:
    assert held(edit(path, root="/srv/app")).verdict == "block"


@pytest.mark.parametrize(
    "path",
    [
        "src/a.py",
        "tests",
        "testsuite/a.py",
        "src/tests/a.py",
        "/etc/tests/a.py",
        "../tests/a.py",
        "tests/../src/a.py",
        "/srv/other/tests/a.py",
        "",
        ".",
        "..",
        "Tests/a.py",
    ],
)
def test_other_paths_are_let_through(path: str) -> None:
    assert held(edit(path, root="/srv/app")).verdict == "allow"


def test_a_file_system_may_take_two_cases_for_one() -> None:
    folded = {"folds_case": True}

    assert held(edit("TESTS/A.py", **folded)).verdict == "block"
    assert held(edit("/SRV/app/Tests/a.py", root="/srv/App", **folded)).verdict == "block"
    assert held(edit("a.SQL", **folded), rule('path_glob = "**/*.Sql"')).verdict == "block"


def test_windows_paths_are_below_a_windows_root() -> None:
    for path in (r"C:\app\tests\a.py", r"\\?\C:\app\tests\a.py", "c:/app/tests/a.py"):
        assert held(edit(path, root="C:\\app")).verdict == "block", path


def test_each_spelling_that_the_caller_resolved_counts() -> None:
    action = Action("Edit", writes=("link/a.py", "tests/a.py"))

    assert held(action).verdict == "block"


def test_two_forms_of_one_letter_are_one() -> None:
    assert held(edit("te\u0301sts/a"), rule('path_glob = "t\u00e9sts/**"')).verdict == "block"


def test_a_rule_without_a_tool_is_about_changes_and_one_with_a_tool_about_all() -> None:
    reading = Action("Read", reads=("tests/a.py",))

    assert held(reading).verdict == "allow"
    assert held(reading, rule('tool = "Read", path_glob = "tests/**"')).verdict == "block"
    assert held(reading, rule('tool = "Read", path_glob = "src/**"')).verdict == "allow"
    assert held(reading, rule('tool = "Grep", path_glob = "tests/**"')).verdict == "allow"
    assert held(bash("cd tests && cat a --x=b"), rule('tool = "cat", path_glob = "tests/b"'))
    assert (
        held(bash("cat tests/a"), rule('tool = "cat", path_glob = "tests/**"')).verdict == "block"
    )
    assert (
        held(bash("cat src/a -"), rule('tool = "cat", path_glob = "tests/**"')).verdict == "allow"
    )


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/a/b/ tests/x",
        "echo x > tests/x",
        "cd tests && rm x",
        "cd src; cd ../tests && rm x",
        "rm -rf tests",
        "rm -rf .",
        "rm -rf /srv",
        "rm -rf /",
        "rm -rf ..",
        "rm -r ./te*",
        "rm tests/*.pyc",
        "mv tests old",
        "cp a tests",
        "cp a tests/",
        "git checkout -- tests/x",
        "git stash",
        "find . -name '*.py' -delete",
        "find tests -exec rm {} \\;",
        "rm $X",
        'tee "$X"',
        "python -c 'x'",
        "ls | xargs rm",
        "cd - && rm x",
        "rm " + "a/" * 3000 + "*",
    ],
)
def test_a_command_that_writes_below_tests_or_may_is_blocked(command: str) -> None:
    judgement = held(bash(command, root="/srv/app"))

    assert "no-test-edit" in [finding.rule_id for finding in judgement.findings]
    assert judgement.verdict == "block"


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests",
        "cat tests/a.py",
        "cp tests/a.py src/b.py",
        "echo x > src/x",
        "rm -rf build",
        "rm build/*.pyc",
        "(cd tests); rm x",
        "echo tests/x",
        "make 2>&1 | tee log.txt",
        "rm -rf /tmp/x",
        "rm -rf ../other/tests",
        "grep -r x tests > /dev/null",
        "sed -n 1,5p tests/a.py",
    ],
)
def test_a_command_that_writes_elsewhere_is_let_through(command: str) -> None:
    assert held(bash(command, root="/srv/app")).verdict == "allow"


@pytest.mark.parametrize(
    ("glob", "command", "blocked"),
    [
        ("**/*.sql", "rm a.sql", True),
        ("**/*.sql", "rm a.txt", False),
        ("**/*.sql", "rm *.sql", True),
        ("**/*.sql", "rm *.pyc", False),
        ("**/*.sql", "rm -rf db", True),
        ("**/*.sql", "mv a.txt b.txt", False),
        ("*.sql", "rm -rf db", True),
        ("src/db/*.sql", "rm -rf web", False),
        ("src/db/*.sql", "rm -rf src/db", True),
        ("src/db/*.sql", "rm -rf src", True),
        ("src/[ab].sql", "rm src/*.sql", True),
        ("/Makefile", "touch Makefile", True),
        ("/Makefile", "touch sub/Makefile", False),
        ("Makefile", "touch sub/Makefile", True),
        ("docs/", "touch docs/x", True),
    ],
)
def test_globs_mean_what_they_mean_in_gitignore(glob: str, command: str, blocked: bool) -> None:
    verdict = held(bash(command), rule(f'path_glob = "{glob}"')).verdict

    assert (verdict == "block") is blocked


def test_an_exclamation_mark_takes_paths_away_again() -> None:
    found = rule('path_glob = ["tests/**", "!tests/data/**"]')

    assert held(edit("tests/a.py"), found).verdict == "block"
    assert held(edit("tests/data/a.json"), found).verdict == "allow"


# --- arguments, agents, branches ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "args", "matches"),
    [
        ("arg = { force = true }", {"force": True}, True),
        ("arg = { force = true }", {"force": 1}, False),
        ("arg = { force = true }", {}, False),
        ("arg = { n = 1 }", {"n": 1}, True),
        ('arg = { env = { equals = "prod" } }', {"env": "prod"}, True),
        ('arg = { env = { one_of = ["a", "b"] } }', {"env": "b"}, True),
        ('arg = { env = { one_of = ["a", "b"] } }', {"env": "c"}, False),
        ('arg = { cmd = { glob = "*--force*" } }', {"cmd": "push --force x"}, True),
        ('arg = { cmd = { glob = "*--force*" } }', {"cmd": ["x", "--force"]}, True),
        ('arg = { cmd = { glob = "*--force*" } }', {"cmd": 3}, False),
        ('arg = { "a.b" = 1 }', {"a": {"b": 1}}, True),
        ('arg = { "a.b" = 1 }', {"a.b": 1}, True),
        ('arg = { "a.b" = 1 }', {"a": 1}, False),
        ("arg = { a = 1, b = 2 }", {"a": 1, "b": 2}, True),
        ("arg = { a = 1, b = 2 }", {"a": 1, "b": 3}, False),
    ],
)
def test_arguments_are_compared_by_name(test: str, args: dict[str, Any], matches: bool) -> None:
    assert (held(Action("x", args), rule(test)).verdict == "block") is matches


def test_agents_and_branches_are_globs_and_all_conditions_must_hold() -> None:
    found = rule('tool = "git.push", agent = ["bot-*"], branch = ["main", "release/*"]')
    action = Action("git.push", agent="Bot-1", branch="release/2")

    assert held(action, found).verdict == "block"
    assert held(Action("git.push", agent="ann", branch="main"), found).verdict == "allow"
    assert held(Action("git.push", agent="bot-1", branch="x"), found).verdict == "allow"
    assert held(Action("git.pull", agent="bot-1", branch="main"), found).verdict == "allow"


def test_a_branch_that_is_not_known_may_be_any() -> None:
    (finding,) = held(Action("x"), rule('branch = "main"')).findings

    assert not finding.is_certain
    assert held(Action("x"), rule('branch = "main"', 'verdict = "warn"')).verdict == "allow"


def test_a_tool_and_a_path_must_meet_in_one_command() -> None:
    found = rule('tool = "rm", path_glob = "tests/**"')

    assert held(bash("rm tests/a"), found).verdict == "block"
    assert held(bash("rm src/a; touch tests/b"), found).verdict == "allow"


# --- the file -----------------------------------------------------------------------------------


def test_the_rules_are_read_with_their_lines_and_their_defaults() -> None:
    first, second = rules(SPEC + "fail_closed = true\n")

    assert (first.line, second.line) == (2, 8)
    assert (first.verdict, first.fail_closed, second.fail_closed) == ("block", False, True)
    assert first == rules()[0]
    assert hash(first.when)


def test_no_file_and_an_empty_one_have_no_rules() -> None:
    assert parse("") == parse("# none\n") == Book()


BASE = '[[invariant]]\nid = "a"\nmessage = "m"\n'
NEEDS = BASE + 'when.tool = "x"\nrequire = { state = "s", %s }'


@pytest.mark.parametrize(
    ("text", "line", "field", "told"),
    [
        (BASE + 'when.tool = "x"\nverdct = "warn"', 5, "verdct", "no such key"),
        (BASE + 'when = { tol = "x" }', 4, "when.tol", "no such key"),
        (
            BASE + "when.tool = 'x'\n[invariant.require]\nstate = 's'\nmax = 1",
            7,
            "require.max",
            "no",
        ),
        ("other = 1\n" + BASE + 'when.tool = "x"', 1, "other", "only [[invariant]]"),
        ("[invariant]\nid = 'a'", 1, "invariant", "must be tables"),
        ("invariant = [1]", 1, "invariant", "must be a table"),
        (BASE, 1, "when", "is missing"),
        (BASE + "when = 1", 4, "when", "must be a table"),
        (BASE + "when = {}", 4, "when", "names no condition"),
        ('[[invariant]]\nmessage = "m"\nwhen.tool = "x"', 1, "id", "is missing"),
        ('[[invariant]]\nmessage = "m"\nid = 3\nwhen.tool = "x"', 3, "id", "must be a text"),
        ('[[invariant]]\nmessage = "m"\nid = "a b"\nwhen.tool = "x"', 3, "id", "letters"),
        ('[[invariant]]\nid = "a"\nmessage = ""\nwhen.tool = "x"', 3, "message", "not empty"),
        (BASE + 'when.tool = "x"\nverdict = "stop"', 5, "verdict", "must be"),
        (BASE + 'when.tool = "x"\nverdict = "allow"', 5, "verdict", "must be"),
        (BASE + 'when.tool = "x"\nverdict = []', 5, "verdict", "must be"),
        (BASE + 'when.tool = "x"\nfail_closed = 1', 5, "fail_closed", "true or false"),
        (BASE + "when.tool = 1", 4, "when.tool", "must be a text"),
        (BASE + "when.tool = []", 4, "when.tool", "must be a text"),
        (BASE + 'when.tool = ["x", ""]', 4, "when.tool", "must be a text"),
        (BASE + f'when.agent = "{"x" * 300}"', 4, "when.agent", "longer than"),
        (BASE + "when.branch = true", 4, "when.branch", "must be a text"),
        (BASE + 'when.path_glob = "!"', 4, "when.path_glob", "is no glob"),
        (BASE + 'when.path_glob = "tests/[a"', 4, "when.path_glob", "matches nothing"),
        (BASE + 'when.path_glob = "#x"', 4, "when.path_glob", "matches nothing"),
        (BASE + 'when.path_glob = "../x"', 4, "when.path_glob", "below the root"),
        (BASE + "when.path_glob = 'a\\\\b'", 4, "when.path_glob", "with '/'"),
        (BASE + 'when.path_glob = "a*b*c*d*e*f"', 4, "when.path_glob", "at most"),
        (BASE + 'when.path_glob = "!tests"', 4, "when.path_glob", "only exceptions"),
        (BASE + "when.arg = 1", 4, "when.arg", "must be a table"),
        (BASE + "when.arg = {}", 4, "when.arg", "must be a table"),
        (BASE + "when.arg.x = { glob = 1 }", 4, "when.arg.x", "takes one of"),
        (BASE + "when.arg.x = { equals = 1, glob = 'a' }", 4, "when.arg.x", "takes one of"),
        (BASE + "when.arg.x = { one_of = [] }", 4, "when.arg.x", "takes one of"),
        (BASE + 'when.tool = "x"\nrequire = 1', 5, "require", "must be a table"),
        (BASE + 'when.tool = "x"\nrequire = {}', 5, "require.state", "must name one"),
        (BASE + 'when.tool = "x"\nrequire = { state = 1 }', 5, "require.state", "must be a text"),
        (NEEDS % 'fresh_after = "now"', 5, "require.fresh_after", "'edit'"),
        (NEEDS % "fresh_after = []", 5, "require.fresh_after", "'edit'"),
        (NEEDS % "max_age_s = 0", 5, "require.max_age_s", "above 0"),
        (NEEDS % "max_age_s = true", 5, "require.max_age_s", "above 0"),
        (BASE + 'when.tool = "x"\n\n' + BASE + 'when.tool = "y"', 7, "id", "earlier rule"),
        (BASE + 'when.tool = "x', 4, "when.tool", "no TOML"),
        (BASE + "when.tool =", 4, "when.tool", "no TOML"),
        ("x = ", 1, "x", "no TOML"),
        ("a = '''", 1, "a", "no TOML"),
        ("x = " + "[" * 5000, 1, "x", "no TOML"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_field(
    text: str, line: int, field: str, told: str
) -> None:
    book = parse(text, file="rules.toml")

    (problem,) = book.problems
    assert (problem.file, problem.line, problem.field) == ("rules.toml", line, field)
    assert told in problem.message
    assert str(problem).startswith(f"rules.toml:{line}: {field}: ")
    with pytest.raises(InvalidInvariantsError, match=r"rules\.toml"):
        strict(book)


def test_the_rules_that_could_be_read_hold_beside_a_broken_one() -> None:
    semantic = parse(SPEC + '[[invariant]]\nid = "x"\nwhen = 3\n')
    syntax = parse("stray = 1\n[[invariant]]\nid = oops\n\n" + SPEC.replace("git", "git", 1))

    assert [rule.id for rule in semantic.rules] == ["tests-before-commit", "no-test-edit"]
    assert [(p.line, p.field) for p in semantic.problems] == [(13, "message"), (15, "when")]
    assert [rule.id for rule in syntax.rules] == ["tests-before-commit", "no-test-edit"]
    assert [(p.line, p.field) for p in syntax.problems] == [(3, "id")]
    assert judge(syntax.rules, Action("git.commit"), {}, {}, NOW).verdict == "block"


def test_a_stray_table_behind_a_rule_is_told_beside_a_broken_one() -> None:
    book = parse(SPEC + "[other]\nx = 1\n[[invariant]]\nid = oops\n")

    assert [(p.line, p.field) for p in book.problems] == [(13, "other"), (16, "id")]
    assert len(book.rules) == 2


def test_both_rules_of_one_id_hold_until_it_is_mended() -> None:
    book = parse(SPEC + SPEC)

    assert len(book.rules) == 4
    assert [problem.line for problem in book.problems] == [15, 21]


def test_headers_in_a_text_of_several_lines_are_none() -> None:
    text = BASE.replace('"m"', '"""\n[[invariant]] \'\n"""') + "# '''\nwhen.tool = 'x' # \"\n"

    book = parse(text + "\r\n" + SPEC)

    assert not book.problems
    assert [rule.line for rule in book.rules] == [1, 10, 16]


def test_rules_may_be_written_without_headers() -> None:
    book = parse('invariant = [{ id = "a", message = "m", when = { tool = "x" } }]')

    assert [rule.id for rule in book.rules] == ["a"]


# --- in general ---------------------------------------------------------------------------------


@given(st.text() | st.text(alphabet="[]invariant=\"'\n{}# .wheni"))
def test_any_text_can_be_read(text: str) -> None:
    book = parse(text)

    assert all(problem.line >= 1 for problem in book.problems)


@given(st.text(), st.text(), st.booleans())
def test_any_path_has_spellings(path: str, root: str, folds: bool) -> None:
    for spelling in spellings(path, root=root, folds_case=folds):
        assert "/./" not in f"/{spelling}/" or spelling == "."


@given(st.text())
def test_any_action_has_a_verdict(text: str) -> None:
    held(bash(text, root="/srv/app", writes=(text,), reads=(text,)))
    held(Action(text, {text: text}, agent=text, branch=text))


def test_a_path_made_to_be_slow_is_not() -> None:
    found = rule('path_glob = ["a*a*a*a*/**/b*b*b*b*", "**/**/**/x"]')
    begin = time.process_time()

    held(edit("a" * 4000 + "/" + "b" * 90), found)

    assert time.process_time() - begin < 5
