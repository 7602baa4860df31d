# ruff: noqa: S108 - temporary paths are what is tested
import hashlib
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core.folding import SAMPLED_CHARS
from handoff_memory.core.signature import (
    args_signature,
    canonical_args,
    error_parts,
    error_signature,
    fingerprint,
    raw_hash,
    result_signature,
)

PYTHON = """\
Traceback (most recent call last):
  File "/srv/app/src/shop/cart.py", line {line}, in total
    return sum(item.price for item in items)
  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode
    raise JSONDecodeError("Expecting value", s, err.value) from None
{error}
"""
JS = (
    "TypeError: x is not a function\n    at {f} (/srv/app/src/a.js:{line}:5)\n"
    "    at node:internal/main:1:2\n"
)
GO = (
    "panic: {error}\n\n"
    "goroutine {n} [running]:\nmain.load({address})\n\t/srv/app/main.go:{line} +0x1d\n"
)
JAVA = 'Exception in thread "main" java.lang.{type}: gone\n\tat shop.Cart.total(Cart.java:{line})\n'
RUST = "thread 'main' panicked at src/main.rs:{line}:9:\nindex out of {what}\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("took 0.12s", "took 14.2 s"),
        ("took 12ms", "took 1m 3s"),
        ("done in 3 minutes", "done in 14 minutes"),
        ("at 2026-11-30T12:00:01Z", "at 2026-12-01T09:30:00+01:00"),
        ("2026-11-30 12:00:01,123 ERROR x", "2026-11-30 12:00:02,001 ERROR x"),
        ("30/Nov/2026:12:00:00 +0000 GET", "01/Dec/2026:13:00:00 +0000 GET"),
        ("Mon Nov 30 12:00:00 2026", "Tue Dec  1 12:00:01 2026"),
        ("[12:00:01] x", "[12:00:59] x"),
        ("ts=1764518400 x", "ts=1764518999 x"),
        ("pid 4711 died", "pid 12 died"),
        ("nginx[4711]: gone", "nginx[99]: gone"),
        ("Thread-12 stopped", "Thread-7 stopped"),
        ("<object at 0x7f00aa12>", "<object at 0x7f99bb34>"),
        ("connect localhost:54321 refused", "connect localhost:41000 refused"),
        ("connect 127.0.0.1:54321 refused", "connect 127.0.0.1:999 refused"),
        ("connect [::1]:54321 refused", "connect [::1]:4321 refused"),
        ("port 8080 in use", "port 9090 in use"),
        ("/tmp/tmpa1b2c3/x.py missing", "/tmp/tmpzzzzzz/x.py missing"),
        ("/tmp/pytest-of-me/pytest-12/t0/f", "/tmp/pytest-of-me/pytest-13/t0/f"),
        ("/private/var/folders/ab/x1y2_z/T/tmp.Ab/q", "/var/folders/cd/z9/T/tmp.Cd/q"),
        (r"C:\Users\me\AppData\Local\Temp\tmp1\q", r"D:\Users\you\AppData\Local\Temp\tmp2\q"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 123e4567-e89b-12d3-a456-426614174999"),
        ("got 3.2MB/s", "got 11 kB/s"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a  b \r\n\n c", "a b\nc"),
        ("10%\r50%\r100%", "100%"),
        ("load 10% [=>  ]\nload 55% [==> ]\nload 100% [===]\nok", "load 100% [===]\nok"),
    ],
)
def test_what_is_volatile_changes_no_result_and_no_error(one: str, other: str) -> None:
    assert result_signature(one) == result_signature(other)
    assert error_signature(one) == error_signature(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12 passed", "13 passed"),
        ("version 1.2.3", "version 1.2.4"),
        ("connect 10.0.0.1:80", "connect 10.0.0.2:80"),
        ("/tmp/a.py", "/tmp/b.py"),
        ("/tmp/x/report.txt", "/tmp/x/readme.txt"),
        ("job is at 40 %", "job is at 50 %"),
        ("expected 3, got 5", "expected 3, got 6"),
        ("KeyError: 'a'", "KeyError: 'b'"),
        ("", "x"),
    ],
)
def test_what_happened_is_told_apart(one: str, other: str) -> None:
    assert result_signature(one) != result_signature(other)


@pytest.mark.parametrize(
    ("form", "one", "other"),
    [
        (PYTHON, {"line": 3, "error": "ValueError: x"}, {"line": 9, "error": "ValueError: x"}),
        (PYTHON, {"line": 3, "error": "a.Timeout"}, {"line": 9, "error": "a.Timeout"}),
        (JS, {"line": 3, "f": "load"}, {"line": 30, "f": "load"}),
        (
            GO,
            {"error": "nil", "n": 1, "address": "0xc0de1", "line": 3},
            {"error": "nil", "n": 7, "address": "0xc0de2", "line": 4},
        ),
        (
            JAVA,
            {"type": "NullPointerException", "line": 3},
            {"type": "NullPointerException", "line": 8},
        ),
        (RUST, {"line": 3, "what": "bounds"}, {"line": 33, "what": "bounds"}),
        ("src/a.c:{n}:5: error: 'x' undeclared", {"n": 1}, {"n": 2}),
        ("src/a.ts({n},5): error TS2322: no", {"n": 1}, {"n": 2}),
        ("stopped at {n}% of it", {"n": 10}, {"n": 90}),
        ("cannot open x\nexit code {n}", {"n": 2}, {"n": 2}),
        ("FAILED t/a.py::b - assert 1\n1 failed in {n}s", {"n": 1}, {"n": 2}),
    ],
)
def test_the_same_failure_elsewhere_is_the_same(
    form: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert error_signature(form.format(**one)) == error_signature(form.format(**other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PYTHON.format(line=1, error="ValueError: x"), PYTHON.format(line=1, error="KeyError: x")),
        (
            PYTHON.format(line=1, error="ValueError: x"),
            PYTHON.format(line=1, error="ValueError: y"),
        ),
        (JS.format(line=1, f="load"), JS.format(line=1, f="save")),
        (JAVA.format(type="AError", line=1), JAVA.format(type="BError", line=1)),
        (RUST.format(line=1, what="bounds"), RUST.format(line=1, what="range")),
        ("FAILED t/a.py::b - x", "FAILED t/a.py::c - x"),
        ("error[E0308]: a\n", "error[E0308]: b\n"),
        ("cannot open x", "cannot open y"),
    ],
)
def test_different_failures_differ(one: str, other: str) -> None:
    assert error_signature(one) != error_signature(other)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            PYTHON.format(line=1, error="ValueError: x"),
            ("ValueError", "src/shop/cart.py total", "x"),
        ),
        (
            PYTHON.format(line=1, error=""),
            ("", "", 'raise JSONDecodeError("Expecting value", s, err.value) from None'),
        ),
        (JS.format(line=1, f="load"), ("TypeError", "src/a.js load", "x is not a function")),
        (
            GO.format(error="nil", n=1, address="0xabc1", line=1),
            ("panic", "main.go main.load", "nil"),
        ),
        (
            JAVA.format(type="IOException", line=1),
            ("java.lang.IOException", "Cart.java shop.Cart.total", "gone"),
        ),
        (RUST.format(line=1, what="bounds"), ("panic", "src/main.rs", "index out of bounds")),
        ("ValueError", ("ValueError", "", "")),
        ("boom\nProcess exited with code 1\n", ("", "", "boom")),
        ("exit code 1", ("", "", "exit code 1")),
        ("", ("", "", "")),
    ],
)
def test_a_failure_is_told_by_its_type_its_place_and_its_message(
    text: str, parts: tuple[str, ...]
) -> None:
    assert error_parts(text, root="/srv/app") == parts


def test_an_error_of_libraries_alone_is_placed_in_the_innermost() -> None:
    text = 'Traceback\n  File "/x/site-packages/lib/a.py", line 3, in f\nlib.Broken: y\n'

    assert error_parts(text)[:2] == ("lib.Broken", "/x/site-packages/lib/a.py f")


def test_only_so_many_failed_tests_are_named() -> None:
    text = "\n".join(f"FAILED t/a.py::test_{n:03d} - x" for n in range(100))

    assert len(error_parts(text)) == 32


def test_the_kind_of_an_error_tells_too() -> None:
    assert error_signature("x", kind="exit 1") != error_signature("x", kind="exit 2")


# --- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"path": "./tests/../tests/a.py"}, {"path": "tests/a.py"}),
        ({"path": "/srv/app/src/a.py"}, {"path": "src/a.py"}),
        ({"path": "/srv/app"}, {"path": "."}),
        ({"file": r"src\a.py"}, {"file": "src/a.py"}),
        ({"x": "c:\\a\\b"}, {"x": "C:/a/./b"}),
        ({"x": "a//b"}, {"x": "a/b"}),
        ({"cmd": "cat  /srv/app/a   b"}, {"cmd": "cat a b"}),
        ({"cmd": "ls /tmp/tmpab12/x"}, {"cmd": "ls /tmp/tmpcd34/x"}),
        ({"since": "2026-11-30T12:00:00Z"}, {"since": "2026-11-30T12:00:09Z"}),
        ({"x": [1, (2, None, True)]}, {"x": [1, [2, None, True]]}),
        ({1: "x"}, {"1": "x"}),
    ],
)
def test_arguments_that_mean_the_same_are_the_same(one: Any, other: Any) -> None:
    assert args_signature(one, root="/srv/app") == args_signature(other, root="/srv/app")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"offset": 1}, {"offset": 2}),
        ({"a": 1}, {"a": "x"}),
        ({"a": True}, {"a": 1}),
        ({"port": 8080}, {"port": 8081}),
        (
            {"id": "123e4567-e89b-12d3-a456-426614174000"},
            {"id": "123e4567-e89b-12d3-a456-426614174001"},
        ),
        ({"url": "http://x/a//b"}, {"url": "http://x/a/b"}),
        ({"path": ""}, {"path": "."}),
        ({"old": "a", "new": "b"}, {"old": "b", "new": "a"}),
        ("a", "b"),
    ],
)
def test_arguments_that_mean_something_else_differ(one: Any, other: Any) -> None:
    assert args_signature(one) != args_signature(other)


def test_arguments_may_be_anything() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]

    assert b"deeper than" in canonical_args(deep)
    assert b"object" in canonical_args(object())
    assert canonical_args({"\ud800": "\ud800", "n": float("nan"), "i": 10**40})


# --- hashes -------------------------------------------------------------------------------------


def test_a_fingerprint_has_a_tag_and_its_parts_have_their_lengths() -> None:
    parts = [b"bash", b"{}", b"abc"]
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)

    expected = hashlib.sha256(b"hm/fingerprint/1\0" + framed).hexdigest()

    assert fingerprint("bash", b"{}", "abc") == expected
    assert fingerprint("ab", b"c", "") != fingerprint("a", b"bc", "")


def test_the_raw_hash_is_the_hash_of_the_bytes() -> None:
    assert raw_hash("é") == raw_hash("é".encode()) == hashlib.sha256("é".encode()).hexdigest()
    assert raw_hash("\ud800")


def test_bytes_and_text_have_one_signature() -> None:
    assert result_signature("é\n") == result_signature("é\n".encode())
    assert result_signature(b"\xff")


def test_a_long_text_counts_by_its_two_ends() -> None:
    half = SAMPLED_CHARS // 2
    head, tail = "a" * half, "z" * half

    one, other = (f"{head}{middle * 9_000_000}{tail}" for middle in "xy")

    assert result_signature(one) == result_signature(other)
    assert raw_hash(one) != raw_hash(other)
    assert result_signature(one.encode()) == result_signature(one)
    assert result_signature(one) != result_signature(f"b{one[1:]}")


@given(st.text() | st.binary())
def test_any_text_has_signatures(text: str | bytes) -> None:
    for signature in (result_signature(text), error_signature(text), raw_hash(text)):
        assert len(signature) == 64


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_arguments_have_a_signature(args: Any) -> None:
    assert args_signature(args) == args_signature(args)


@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "12:3",
        "a.b ",
        " ",
        "\n",
        "(",
        "    at f (a\n",
        "/tmp/",
        "Aa",
        "a:",
        '  File "',
        "12% ",
        "E  ",
        "0x",
        "\x1b[1",
        "-",
        "FAILED ",
        "1.",
        "[",
        "1h ",
        "error: ",
        "panic: ",
        "Mon ",
        "\r",
        "1-",
    ],
)
def test_twice_the_text_takes_at_most_about_twice_the_time(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * length)[:length]
        begin = time.process_time()
        result_signature(text)
        error_signature(text)
        canonical_args(text)
        return time.process_time() - begin

    short = max(min(seconds(16_384) for _ in range(2)), 0.004)

    assert seconds(131_072) < short * 8 * 5  # quadratic would be 64 times
