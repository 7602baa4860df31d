import hashlib

from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core import digest
from handoff_memory.core.digest import tagged

PARTS = st.lists(st.binary(max_size=12), max_size=5)


def test_no_other_split_of_the_same_bytes_hashes_alike() -> None:
    assert tagged(b"t\0", b"ab", b"c") != tagged(b"t\0", b"a", b"bc")
    assert tagged(b"t\0", b"abc") != tagged(b"t\0", b"abc", b"")


def test_a_tag_keeps_two_kinds_of_thing_apart() -> None:
    assert tagged(b"hm/head/1\0", b"x") != tagged(b"hm/tail/1\0", b"x")


def test_a_part_stands_behind_its_length_in_eight_big_endian_bytes() -> None:
    expected = hashlib.sha256(b"t\0" + bytes(7) + b"\x02ab" + bytes(8)).digest()

    assert tagged(b"t\0", b"ab", b"") == expected


@given(PARTS, PARTS)
def test_only_the_same_parts_hash_alike(one: list[bytes], two: list[bytes]) -> None:
    assert (tagged(b"t\0", *one) == tagged(b"t\0", *two)) == (one == two)


@given(st.binary(max_size=300))
def test_the_interpreters_own_hash_is_that_of_openssl(data: bytes) -> None:
    own = digest._built_in()

    assert own.__module__ in {"_sha2", "_sha256"}
    assert own(data).digest() == hashlib.sha256(data).digest() == digest.sha256(data).digest()
