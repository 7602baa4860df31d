from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import compass
from handoff_memory.rules.compass import Fared, Tool

TOOLS = (
    Tool("run_tests", "Run the project's test suite and report failures", "dev", 120),
    Tool("readFile", "Read a file from disk", "fs", 60),
    Tool("write_file", "Write a file to disk", "fs", 70),
    Tool("send_email", "Send an email message to a recipient", "mail", 200),
    Tool("git.commit", "Commit staged changes", "git", 50),
)
STEP = "Testing: run tests for the profile loader"


def keys(found: tuple[compass.Scored, ...]) -> list[str]:
    return [one.tool.key for one in found]


def test_the_tool_that_the_step_speaks_of_is_recommended() -> None:
    found = compass.survey(TOOLS, STEP, {})

    assert keys(found.recommended) == ["dev/run_tests"]
    assert found.recommended[0].why.startswith("matches test, run (")
    assert found.recommended[0].why.endswith("; never used")


def test_failures_lower_a_score_and_successes_raise_it() -> None:
    def score(**record: int) -> float:
        found = compass.survey(TOOLS, STEP, {"dev/run_tests": Fared(**record)})
        return next(one.score for one in found.scored if one.tool.name == "run_tests")

    assert score(failures=3) < score() < score(successes=3)
    assert score(failures=5) < score(failures=3)


def test_a_tool_that_keeps_failing_falls_behind_its_like() -> None:
    twins = (Tool("read_a", "Read a file"), Tool("read_b", "Read a file"))

    before = compass.survey(twins, "read the file", {})
    after = compass.survey(twins, "read the file", {"read_a": Fared(failures=4)})

    assert keys(before.recommended) == ["read_a", "read_b"]
    assert keys(after.recommended)[0] == "read_b"
    assert "0 succeeded, 4 failed (x0.33)" in after.scored[1].why


def test_tools_without_a_call_are_named() -> None:
    found = compass.survey(TOOLS, STEP, {"fs/readFile": Fared(successes=1)})

    assert found.never_used == (
        "dev/run_tests",
        "fs/write_file",
        "git/git.commit",
        "mail/send_email",
    )


def test_the_cost_of_listing_is_counted() -> None:
    found = compass.survey(TOOLS, "read a file and write a file", {})

    assert found.listing_tokens == 500
    assert sorted(keys(found.recommended)) == ["fs/readFile", "fs/write_file"]
    assert found.recommended_tokens == 130


def test_only_a_few_are_recommended() -> None:
    many = [Tool(f"read_file_{n}", "Read a file") for n in range(9)]

    assert len(compass.survey(many, "read the file", {}, few=3).recommended) == 3


def test_a_step_that_no_tool_matches_gets_no_advice() -> None:
    found = compass.survey(TOOLS, "ponder quietly", {})

    assert found.recommended == ()
    assert found.scored[0].why == "matches no word of the step (0.00); never used"


def test_of_two_equals_the_cheaper_one_comes_first() -> None:
    twins = (Tool("read", "file", "x", 90), Tool("read", "file", "y", 30))

    assert keys(compass.survey(twins, "read", {}).scored) == ["y/read", "x/read"]


def test_without_tools_or_words_there_is_nothing_to_say() -> None:
    assert compass.survey((), STEP, {}).scored == ()
    assert compass.survey((Tool("", ""),), STEP, {}).recommended == ()


def test_words_of_other_scripts_are_compared_too() -> None:
    tools = (Tool("чтение", "Прочитать файл"), Tool("почта", "Отправить письмо"))

    assert keys(compass.survey(tools, "прочитать конфигурацию", {}).recommended) == ["чтение"]


@given(st.permutations(TOOLS), st.text(max_size=30))
def test_the_order_of_declaration_changes_no_score(tools: list[Tool], step: str) -> None:
    assert compass.survey(tools, step, {}).scored == compass.survey(TOOLS, step, {}).scored
