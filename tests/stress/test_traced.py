"""A trace is read as the calls that it tells of."""

from __future__ import annotations

import pytest

from stress.traced import Call, Step, steps

DATABASE = r"\x2f\x64"  # /d


def test_a_call_that_nothing_interrupts_is_entered_and_returns() -> None:
    line = rf'7 pwrite64(3<{DATABASE}>, "\x00\x2c\x29", 3, 32) = 3'

    call = Call(7, "pwrite64", "3", "/d", (b"\0,)",), (3, 32))
    assert list(steps([line])) == [Step(call), Step(call, 3)]


def test_the_halves_of_an_interrupted_call_are_joined_by_their_thread() -> None:
    lines = [
        f"7 fdatasync(3<{DATABASE}> <unfinished ...>\n",
        f"12  fsync(4<{DATABASE}> <unfinished ...>\n",
        "7 <... fdatasync resumed>)          = 0\n",
        "12  <... fsync resumed>)          = -1 EIO (Input/output error)\n",
    ]

    first, second = (
        Call(7, "fdatasync", "3", "/d", (), ()),
        Call(12, "fsync", "4", "/d", (), ()),
    )
    assert list(steps(lines)) == [Step(first), Step(second), Step(first, 0), Step(second, -1)]


def test_a_file_that_was_deleted_has_no_path() -> None:
    (step, _) = steps([f"7 fsync(3<{DATABASE}>(deleted)) = 0"])

    assert step.call.path == ""


def test_a_name_is_a_text_and_the_folder_it_is_in_a_descriptor() -> None:
    (step, _) = steps([rf'7 unlinkat(AT_FDCWD<{DATABASE}>, "\x2f\x78", 0) = 0'])

    assert step.call == Call(7, "unlinkat", "AT_FDCWD", "/d", (b"/x",), (0,))


def test_a_call_that_its_end_cuts_off_never_returns() -> None:
    assert [step.result for step in steps(["7 fsync(3<>) = ?"])] == [None]


def test_a_text_that_was_cut_short_is_refused() -> None:
    with pytest.raises(AssertionError, match="cut short"):
        list(steps([rf'7 write(3<{DATABASE}>, "\x00"..., 900) = 900']))
