import textwrap
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules.query import Outline, ask

CODE = {
    "text/x-typescript": (
        "export interface A {\n  b: string;\n}\nexport const run = async (x: number) => {\n"
        "  if (x) {\n  }\n};\nclass C {\n  private go(a: string): void {\n  }\n}\nfoo(1);\n",
        [
            "1 export interface A",
            "4 export const run = async (x: number) =>",
            "8 class C",
            "9   private go(a: string): void",
        ],
    ),
    "text/x-rust": (
        "pub struct A {\n}\nimpl A {\n    pub async fn go(&self) -> u8 {\n        1\n    }\n}\n",
        ["1 pub struct A", "3 impl A", "4     pub async fn go(&self) -> u8"],
    ),
    "text/x-go": (
        "package x\n\ntype T struct {\n}\n\nfunc (t *T) Go() error {\n\treturn nil\n}\n",
        ["3 type T struct", "6 func (t *T) Go() error"],
    ),
    "text/x-java": (
        "public class A {\n  public static int go(int a) {\n    return f(a);\n  }\n}\n",
        ["1 public class A", "2   public static int go(int a)"],
    ),
    "text/x-c": (
        "#define M(x) x\nstruct s {\n};\nstatic int go(int a)\n{\n  return f(a);\n}\n",
        ["1 #define M(x) x", "2 struct s", "4 static int go(int a)"],
    ),
    "text/x-ruby": ("class A < B\n  def go!\n  end\nend\n", ["1 class A < B", "2   def go!"]),
    "text/x-shellscript": ("go() {\n  ls\n}\nfunction b {\n}\n", ["1 go()", "4 function b"]),
    "text/x-sql": ("create table a (\n x int);\nselect 1;\n", ["1 create table a ("]),
}


def outline(text: str | bytes, kind: str, ceiling: int = 16_000) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    found = ask(data, kind, Outline(), ceiling_bytes=ceiling, clock=time.monotonic)
    return found.text.split("\n")


def test_the_first_entry_says_what_it_is_and_how_large() -> None:
    assert outline("# A\n\n## B\n", "text/plain")[0] == "text/markdown, 3 lines, 10 bytes"
    assert outline("", "text/plain") == ["text/plain, 0 lines, 0 bytes"]
    assert outline("a", "text/unknown")[0] == "text/plain, 1 lines, 1 bytes"


def test_headings_of_markdown() -> None:
    text = (
        "Title\n=====\n\n## Part ##\n```sh\n# no heading\n```\nSub\n---\n- item\n---\n~~~\n# no\n"
    )

    assert outline(text, "text/markdown")[1:] == ["1 # Title", "4 ## Part", "8 ## Sub"]


def test_definitions_of_python_with_their_lines() -> None:
    text = textwrap.dedent("""
        import os
        class A(base.B, C[int], f()):
            def go(self, a, /, b, *c, d=1, **e) -> None:
                def inner(): ...
            @property
            async def name(self): ...
        class D: pass
        if True:
            try:
                def conditional(): ...
            except ValueError:
                def handled(): ...
        match os.name:
            case "nt":
                def matched(): ...
        x = "\\d"
    """).lstrip()

    assert outline(text, "text/x-python")[1:] == [
        "2-6 class A(base.B, C[…], …)",
        "3-4   def go(self, a, b, *c, d, **e)",
        "4-4     def inner()",
        "6-6   async def name(self)",
        "7-7 class D",
        "10-10 def conditional()",
        "12-12 def handled()",
        "15-15 def matched()",
    ]


@pytest.mark.parametrize(
    "text", ["def go(:\n  x\nclass B:\n", "class B:\n" + "(" * 5000, "def a(): x\x01\nclass B:\n"]
)
def test_python_with_errors_is_read_by_pattern(text: str) -> None:
    found = outline(text, "text/x-python")

    assert "syntax" in found[1]
    assert any(entry.endswith(" class B") for entry in found)


def test_large_python_is_read_by_pattern() -> None:
    assert outline("x = 1\n" * 200_000 + "def go():\n", "text/x-python")[1:] == ["200001 def go()"]


@pytest.mark.parametrize("kind", CODE)
def test_definitions_of_other_languages(kind: str) -> None:
    text, entries = CODE[kind]

    assert outline(text, kind)[1:] == entries


def test_the_shape_of_json() -> None:
    text = '{"a": [{"b": 1, "c": "xy"}, {"b": 2.5, "c": null}], "d": {}, "e": true, "f": []}'

    assert outline(text, "application/json")[1:] == [
        ".: object of 4 keys",
        ".a: array of 2 items",
        ".a[]: object of 2 keys x2",
        ".a[].b: integer 1-2.5 x1 | number 1-2.5 x1",
        ".a[].c: string of 2 chars x1 | null x1",
        ".d: object of 0 keys",
        ".e: boolean",
        ".f: array of 0 items",
    ]


def test_json_with_very_many_keys_levels_and_items_stays_small() -> None:
    keys = "{" + ",".join(f'"k{n}": 1' for n in range(1000)) + "}"
    deep = "[" * 500 + "]" * 500
    many = "[" + "1," * 20_000 + '"x"]'

    assert outline(keys, "application/json")[-1] == ".…: 960 values under other keys"
    assert len(outline(deep, "application/json")) < 10
    assert outline(many, "application/json")[1:] == [
        ".: array of 20,001 items (the first 10,000 looked at)",
        "[]: integer 1 x10,000",
    ]


def test_malformed_json_is_outlined_as_text() -> None:
    found = outline('{"a": ERROR', "application/json")

    assert "cannot be read" in found[1]
    assert found[2] == "ERROR=1"


def test_the_shape_of_json_lines() -> None:
    found = outline('{"a": 1}\nbad\n{"a": 3}\n', "application/x-ndjson")

    assert found[1:] == [
        "2 rows",
        "1 bad lines left out: 2",
        "[]: object of 1 keys x2",
        "[].a: integer 1-3 x2",
    ]
    assert "the first 10,000" in outline('{"a": 1}\n' * 10_001, "application/x-ndjson")[1]


def test_the_columns_of_csv() -> None:
    assert outline("id,name,x\n1,ana,\n2,bo,3\nbad\n", "text/csv")[1:] == [
        "3 columns, 2 rows",
        "1 bad rows left out: 3",
        ".id: number 1.0-2.0 x2",
        ".name: string of 2-3 chars x2",
        ".x: null x1 | number 3.0 x1",
    ]
    assert outline("id,name\n", "text/csv")[1:] == ["2 columns, 0 rows", ".id", ".name"]
    assert "the first 10,000" in outline("a,b\n" + "1,2\n" * 10_001, "text/csv")[1]
    assert "CSV cannot be read" in outline('"' + "x" * 200_000, "text/csv")[1]


def test_the_files_of_a_diff() -> None:
    text = (
        "diff --git a/x.py b/x.py\nindex 1..2\n--- a/x.py\n+++ b/x.py\n"
        "@@ -1,2 +1,3 @@ def\n a\n-b\n+c\n+++ d\n@@ -9 +10 @@\n-e\n"
        "\\ No newline\n+f\ndiff --git a/img b/img\nBinary files differ\n"
    )

    assert outline(text, "text/x-diff")[1:] == ["1 x.py +3 -2", "14 img +0 -0"]


def test_a_plain_diff_has_files_too() -> None:
    change = "@@ -1 +1 @@\n-a\n+b\n"
    text = f"--- old\tdate\n+++ new\tdate\n{change}--- c\n+++ d\n{change}@@ -3 +3 @@\n"

    assert outline(text, "text/x-diff")[1:] == ["2 new +1 -1", "7 d +1 -1"]
    assert outline("@@ -1 +1 @@\n-a\n+b\n", "text/x-diff")[1:] == []


def test_a_log_has_times_levels_and_kinds_of_lines() -> None:
    text = "".join(
        f"2026-11-30T10:00:{n % 60:02}Z {level} request {n} in {n}ms\n\n"
        for n in range(10, 100)
        for level in ["WARNING" if n % 3 else "error level=error"]
    )

    assert outline(text, "text/plain")[1:] == [
        "90 lines with a time, from 2026-11-30T10:00:10Z to 2026-11-30T10:00:39Z",
        "WARN=60 ERROR=30",
        "kinds of lines: 2",
        "x60 from 1: #:#:# WARNING request # in #",
        "x30 from 5: #:#:# error level=error request # in #",
    ]


def test_failures_are_landmarks() -> None:
    text = (
        "collected 3 items\nTraceback (most recent call last):\n  File x\nValueError: bad\n"
        "FAILED tests/test_a.py::test_b\n=== 1 failed, 2 passed in 0.1s ===\n"
        + "error: again\n"
        * 50
    )

    found = outline(text, "text/plain")

    assert found[1:5] == [
        "2 Traceback (most recent call last):",
        "4 ValueError: bad",
        "5 FAILED tests/test_a.py::test_b",
        "6 === 1 failed, 2 passed in 0.1s ===",
    ]
    assert "14 more landmarks" in found


def test_very_many_kinds_of_lines_are_summed_up() -> None:
    lines = "\n".join("w" + chr(97 + n % 26) * (n // 26 + 1) for n in range(3000))

    found = outline(lines, "text/plain")

    assert "kinds of lines: 2,000+" in found
    assert found[-1] == "x2,970 of other kinds"


def test_a_very_long_line_is_said() -> None:
    assert outline("x" * 3000, "text/plain")[1] == "longest line: 3,000 characters"
    assert len(outline("# " + "x" * 3000, "text/markdown")[1]) < 250


def test_the_last_line_may_have_a_time_only_by_its_template() -> None:
    text = "at 2026-01-01 10:00\nat 2026/01-01 10:00\n" + "1" * 99 + " 10:00:00\n"

    assert any("lines with a time" in entry for entry in outline(text, "text/plain"))


@given(
    st.text(max_size=300), st.sampled_from([*CODE, "text/x-python", "text/markdown", "text/x-diff"])
)
def test_any_text_has_an_outline(text: str, kind: str) -> None:
    assert outline(text.encode("utf-8", "replace"), kind)
