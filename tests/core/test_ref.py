import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.core import ref
from handoff_memory.core.errors import InvalidRefError
from handoff_memory.core.ref import Alias, Ref, RefPrefix

DIGEST = hashlib.sha256(b"a log").hexdigest()


def test_a_ref_is_the_hash_of_the_bytes() -> None:
    made = ref.of(b"a log")

    assert str(made) == f"mem://sha256:{DIGEST}"
    assert made.names(b"a log")
    assert not made.names(b"a l0g")


@given(st.binary())
def test_the_canonical_form_reads_back(data: bytes) -> None:
    made = ref.of(data)

    assert ref.parse(str(made)) == made


@pytest.mark.parametrize("start", ["", "sha256:", "mem://sha256:", "MEM://SHA256:", "  "])
def test_a_ref_may_be_written_with_and_without_its_scheme(start: str) -> None:
    assert ref.parse(f"{start}{DIGEST}") == Ref(DIGEST)
    assert ref.parse(f"{start}{DIGEST.upper()}") == Ref(DIGEST)
    assert ref.parse(f"{start}{DIGEST[:8]}") == RefPrefix(DIGEST[:8])
    assert ref.parse(f"{start}{DIGEST[:63]}") == RefPrefix(DIGEST[:63])


def test_an_alias_reads_back() -> None:
    assert ref.parse("r12") == Alias(12)
    assert str(Alias(12)) == "r12"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "r",
        "r0",
        "r012",
        "r-1",
        "r\u0661\u0662",
        "r" + "9" * 19,
        "3f9a1c",
        "mem://",
        "sha256:3f9a1cg0",
        DIGEST + "0",
        "mem://md5:3f9a1c00",
        "3f9a1c00…c21b",
        "\ud800",
    ],
)
def test_anything_else_is_no_ref(text: str) -> None:
    with pytest.raises(InvalidRefError):
        ref.parse(text)


def test_a_long_text_is_not_repeated_whole() -> None:
    with pytest.raises(InvalidRefError) as caught:
        ref.parse("x" * 10_000)

    assert len(caught.value.message) < 120


@given(st.text())
def test_any_text_is_a_ref_or_refused(text: str) -> None:
    try:
        found = ref.parse(text)
    except InvalidRefError:
        return
    assert isinstance(found, Ref | RefPrefix | Alias)
