"""What a power cut may leave of a file: all that was synced, and of the rest anything."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import pytest

from stress.disk import SECTOR, Disk
from stress.traced import Call, Step

PATH = "/d"


def call(name: str, *numbers: int, data: bytes = b"", pid: int = 1) -> Call:
    return Call(pid, name, "3", PATH, (data,) if data else (), numbers)


def write(at: int, data: bytes) -> Step:
    return Step(call("pwrite64", len(data), at, data=data), len(data))


def sync(pid: int = 1, result: int = 0) -> Iterator[Step]:
    return (Step(call("fdatasync", pid=pid), value) for value in (None, result))


def after(*steps: Step | None) -> set[bytes]:
    """All that a thousand power cuts leave; None stands for a drop."""
    return {cut(steps, random.Random(seed)) for seed in range(1000)}


def cut(steps: Iterable[Step | None], chance: random.Random) -> bytes:
    disk = Disk({PATH})
    for step in steps:
        if step is None:
            disk.drop(PATH, chance)
        else:
            disk.take(step)
    return disk.left(chance).get(PATH, b"gone")


def test_what_was_written_before_a_sync_stays() -> None:
    assert after(write(0, b"ab"), write(1, b"c"), *sync()) == {b"ac"}


def test_what_was_not_synced_is_there_or_not_and_nothing_else() -> None:
    assert after(write(0, b"ab"), *sync(), write(0, b"cd")) == {b"ab", b"cd"}


def test_what_was_written_after_a_sync_was_entered_may_be_lost() -> None:
    entered, returned = sync()

    assert after(write(0, b"a"), entered, write(0, b"b"), returned) == {b"a", b"b"}


def test_a_sync_that_failed_or_has_not_returned_promises_nothing() -> None:
    entered, failed = sync(result=-1)

    written = [write(0, b"o"), *sync(), write(0, b"n"), entered]

    assert after(*written) == after(*written, failed) == {b"o", b"n"}


def test_syncs_that_overlap_cover_what_each_found() -> None:
    first, second = sync(1), sync(2)

    left = after(
        write(0, b"a"), next(first), write(0, b"b"), next(second), next(second), next(first)
    )

    assert left == {b"b"}


def test_a_write_is_torn_between_sectors_only() -> None:
    old, new = (letter * SECTOR for letter in (b"o", b"n"))

    left = after(write(0, old * 2), *sync(), write(0, new * 2))

    assert left == {old * 2, new * 2, old + new, new + old}


def test_a_later_write_may_stay_where_an_earlier_one_is_lost_and_leaves_a_hole() -> None:
    left = after(write(0, b"a" * SECTOR), write(SECTOR, b"b"))

    assert bytes(SECTOR) + b"b" in left


def test_a_sector_is_kept_with_all_that_was_written_to_it_before() -> None:
    assert after(write(0, b"--"), *sync(), write(0, b"a"), write(1, b"b")) == {b"--", b"a-", b"ab"}


def test_a_size_that_was_not_synced_may_be_any_that_the_file_had() -> None:
    shrunk = Step(call("ftruncate", 1), 0)

    assert after(write(0, b"abc"), *sync(), shrunk) == {b"abc", b"a"}
    assert b"a\0\0" in after(write(0, b"abc"), *sync(), shrunk, Step(call("ftruncate", 3), 0))


def test_a_size_may_be_there_without_what_was_written() -> None:
    assert after(write(0, b"a")) == {b"", b"a", bytes(1)}


def test_what_was_dropped_is_there_or_not_and_no_later_sync_brings_it() -> None:
    old, new, last = (letter * SECTOR for letter in (b"o", b"n", b"l"))

    left = after(write(0, old * 2), *sync(), write(0, new), None, write(SECTOR, last), *sync())

    assert left == {old + last, new + last}


def test_what_was_dropped_and_is_written_anew_stays_after_a_sync() -> None:
    assert after(write(0, b"a"), *sync(), write(0, b"b"), None, write(0, b"b"), *sync()) == {b"b"}


def test_a_sector_that_is_written_to_again_brings_what_was_dropped_of_it() -> None:
    written = [write(0, b"--"), *sync(), write(0, b"a"), None, write(1, b"b")]

    assert after(*written) == {b"--", b"a-", b"ab"}
    assert after(*written, *sync()) == {b"ab"}


def test_a_size_that_was_dropped_comes_back_as_far_as_what_is_written_again() -> None:
    grown = [write(0, b"a"), *sync(), write(SECTOR, b"b"), None, write(0, b"c"), *sync()]

    sector = b"c".ljust(SECTOR, b"\0")
    assert after(*grown) == {sector, sector + b"\0", sector + b"b"}


def test_a_sync_in_progress_comes_before_a_drop() -> None:
    entered, returned = sync(2)

    assert after(write(0, b"a"), entered, write(0, b"b"), None, returned) == {b"a", b"b"}


def test_a_file_that_was_deleted_is_gone() -> None:
    deleted = Step(Call(1, "unlink", "", "", (PATH.encode(),), ()), 0)

    assert after(write(0, b"a"), *sync(), deleted) == {b"gone"}


def test_a_way_of_writing_that_is_not_simulated_is_refused() -> None:
    renamed = Step(Call(1, "rename", "", "", (b"/x", PATH.encode()), ()), 0)

    with pytest.raises(NotImplementedError):
        after(Step(call("fallocate", 0, 0, 9), 0))
    with pytest.raises(NotImplementedError):
        after(renamed)
