"""Payloads: kept once, named in several ways, shared at once, and checked on every read."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors import Tools
from handoff_memory.app import Local
from handoff_memory.core import media
from handoff_memory.core.author import Author
from handoff_memory.core.errors import CorruptRefError, NotFoundError
from handoff_memory.services import refs
from handoff_memory.services.limits import Limits
from processes import big, served

Connect = Callable[..., AbstractAsyncContextManager[Tools]]
SCOUT = Author("scout", "s_1")


@pytest.fixture
def era() -> str:
    """Payloads do not depend on the era of the protocol."""
    return "auto"


def drafted(data: bytes, name: str | None = None) -> refs.PayloadDraft:
    return refs.draft(Limits(), data, media.sniff(data, name))


def keep(local: Local, data: bytes) -> dict[str, Any]:
    return dict(local.write(lambda tx: refs.keep(tx, SCOUT, drafted(data))))


def read(local: Local, text: str) -> bytes:
    return local.read(lambda tx: refs.read(tx, refs.find(tx, text)))


# --- kept and found ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [b"", b"x", "語🙂".encode(), bytes(range(256)) * 9000, b"a" * (1 << 20), b"\xff\xfea\0"],
    ids=["nothing", "a byte", "unicode", "parts that do not shrink", "parts that do", "utf-16"],
)
def test_a_payload_comes_back_to_the_byte(data: bytes, local: Local) -> None:
    row = keep(local, data)

    assert read(local, f"r{row['alias']}") == data
    assert row["ref"] == hashlib.sha256(data).hexdigest()
    assert row["size_bytes"] == len(data)


def test_the_same_bytes_are_kept_once(local: Local) -> None:
    one, two, other = keep(local, b"same"), keep(local, b"same"), keep(local, b"other")

    assert (one["alias"], two["alias"], other["alias"]) == (1, 1, 2)
    (parts,) = local.read(lambda tx: tx.all("SELECT count(*) AS n FROM payload_parts"))
    assert parts["n"] == 2


def test_a_ref_is_found_by_alias_whole_or_by_a_unique_beginning(local: Local) -> None:
    digest = keep(local, b"data")["ref"]

    for text in (
        *("r1", "R1", " r1 ", digest, digest.upper(), f"sha256:{digest}"),
        *(f"mem://sha256:{digest}", digest[:8], f"sha256:{digest[:20]}"),
    ):
        assert read(local, text) == b"data"


@pytest.mark.parametrize("text", ["r2", "r0", "rx", "", "abc", "0" * 64, "mem://", "sha256:", "%"])
def test_what_names_no_ref_is_not_found_and_says_how_to_name_one(text: str, local: Local) -> None:
    keep(local, b"data")

    with pytest.raises(NotFoundError) as raised:
        read(local, text)

    assert "r<number>" in raised.value.next_step


def test_a_beginning_of_two_refs_is_ambiguous(local: Local) -> None:
    one, two = (b"6131", b"150366")  # found by search: both begin with the same eight digits
    rows = [keep(local, one), keep(local, two)]
    shared = rows[0]["ref"][:8]
    if rows[1]["ref"][:8] != shared:
        local.write(lambda tx: tx.run("DROP TRIGGER payloads_keep_values"))
        forged = shared + rows[1]["ref"][8:]
        local.write(lambda tx: tx.run("UPDATE payloads SET ref = :ref WHERE alias = 2", ref=forged))

    with pytest.raises(NotFoundError, match="more than one ref begins so"):
        read(local, shared)


@given(st.binary(max_size=400))
def test_a_draft_holds_what_it_was_made_of(data: bytes) -> None:
    draft = drafted(data)

    if not draft.kinds:
        assert refs.joined(draft) == data
    assert refs.joined(draft) == refs.joined(drafted(refs.joined(draft)))
    assert hashlib.sha256(refs.joined(draft)).hexdigest() == draft.ref


def test_a_secret_is_replaced_before_it_is_hashed_and_its_bytes_are_counted(local: Local) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    draft = drafted(f"token: {secret} end".encode())

    assert draft.kinds == ("github-token",)
    assert draft.redacted_bytes == len(secret)
    assert refs.joined(draft) == b"token: [redacted:github-token] end"


@pytest.mark.processes
async def test_a_ref_that_one_process_keeps_is_read_by_another_at_once(tmp_path: Path) -> None:
    async with served(tmp_path) as one, served(tmp_path, AGENT_ID="executor") as other:
        await one("osiris_plan", task="t1", objective="x")
        for n in range(3):
            log = await one(
                "osiris_observe", tool="Bash", args={"command": f"{n}"}, result=big(f"log{n}")
            )
            back = await other("osiris_recall", ref=log["ref"], args={"lines": 1})
            assert back["text"].startswith(f"log{n} line 1:")


# --- recall --------------------------------------------------------------------------------------


async def observed(call: Tools, file: Path) -> str:
    await call("osiris_plan", task=f"t{time.monotonic_ns()}", objective="x")
    ref: str = (await call("osiris_observe", path=str(file)))["ref"]
    return ref


async def test_a_reply_never_exceeds_its_ceiling_not_even_of_one_line_of_twenty_megabytes(
    connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "long.txt"
    file.write_bytes(b"x" * (20 << 20) + b"y")
    asked: list[tuple[str, dict[str, Any]]] = [
        ("head", {"lines": 1}),
        ("tail", {"lines": 3}),
        ("range", {"first": 1, "last": 9}),
        ("range", {"unit": "bytes", "first": 5}),
        ("grep", {"pattern": "xx"}),
        ("grep", {"pattern": "x+y", "regex": True}),
        ("outline", {}),
    ]
    async with connect(roots=(tmp_path,)) as call:
        ref = await observed(call, file)

        replies = [await call("osiris_recall", ref=ref, op=op, args=args) for op, args in asked]

    for one, reply in zip(asked, replies, strict=True):
        assert len(orjson.dumps(reply)) <= Limits().reply_bytes, one
        assert reply["text"], one


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("head", {"lines": 100_000}),
        ("range", {}),
        ("range", {"unit": "bytes"}),
        ("range", {"first": 1, "last": 100_000}),
    ],
)
async def test_what_is_left_is_said_and_the_slices_join_to_the_whole(
    op: str, args: dict[str, Any], connect: Connect, tmp_path: Path
) -> None:
    text = big("make", 1500) + 'a "quoted" \\ line\n' * 500 + "語🙂" * 3000
    file = tmp_path / "log.txt"
    file.write_text(text)
    async with connect(roots=(tmp_path,)) as call:
        ref = await observed(call, file)
        slices: list[str] = []
        cursor = None
        while cursor or not slices:
            asked = {**args, "cursor": cursor} if cursor else args
            reply = await call("osiris_recall", ref=ref, op=op, args=asked)
            assert ("left" in reply) == ("next_cursor" in reply)
            slices.append(reply["text"])
            cursor = reply.get("next_cursor")

    assert "".join(slices) == text
    assert len(slices) > 3


async def test_a_cursor_belongs_to_its_question(connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_text(big("make", 2000))
    async with connect(roots=(tmp_path,)) as call:
        ref = await observed(call, file)
        asked = {"lines": 5000}
        cursor = (await call("osiris_recall", ref=ref, args=asked))["next_cursor"]

        other = await call.refused("osiris_recall", ref=ref, args={"lines": 9, "cursor": cursor})
        nonsense = await call.refused("osiris_recall", ref=ref, args={**asked, "cursor": "abc"})

    assert other["code"] == nonsense["code"] == "invalid_cursor"


@pytest.mark.parametrize("pattern", ["(a|aa)+$", "(a+)+$", "(.*a){20}$", "(x+x+)+y"])
async def test_a_pattern_that_would_never_end_ends_within_a_second(
    pattern: str, connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "log.txt"
    file.write_text(("a" * 5000 + "b\n" + "x" * 5000 + "\n") * 30)
    async with connect(roots=(tmp_path,)) as call:
        ref = await observed(call, file)
        await call("osiris_recall", ref=ref)  # what is imported is imported
        began = time.monotonic()
        reply = await call.client.call_tool(
            "osiris_recall",
            {"ref": ref, "op": "grep", "args": {"pattern": pattern, "regex": True}},
        )
        took_s = time.monotonic() - began

    found = reply.structured_content
    assert found
    assert took_s < 2
    assert found["code"] == "pattern_too_slow" if reply.is_error else "text" in found


async def test_a_binary_payload_is_said_to_be_binary_and_read_as_bytes(
    connect: Connect, tmp_path: Path
) -> None:
    data = bytes(range(256)) * 40
    file = tmp_path / "a.bin"
    file.write_bytes(data)
    async with connect(roots=(tmp_path,)) as call:
        ref = await observed(call, file)
        head = await call("osiris_recall", ref=ref)
        grep = await call("osiris_recall", ref=ref, op="grep", args={"pattern": "x"})
        sixteen = {"unit": "bytes", "first": 250, "last": 260, "form": "hex"}
        some = await call("osiris_recall", ref=ref, op="range", args=sixteen)

    assert "binary" in str(head)
    assert "binary" in str(grep)
    assert bytes.fromhex(some["text"].replace(" ", "").replace("\n", "")) == data[250:261]


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("grep", {}),
        ("grep", {"pattern": ""}),
        ("head", {"lines": -1}),
        ("head", {"lines": "9"}),
        ("head", {"colour": 1}),
        ("range", {"unit": "pages"}),
        ("jump", {}),
    ],
)
async def test_a_question_that_makes_no_sense_is_refused(
    op: str, args: dict[str, Any], connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "log.txt"
    file.write_text(big("make"))
    async with connect(roots=(tmp_path,)) as call:
        ref = await observed(call, file)

        refusal = await call.refused("osiris_recall", ref=ref, op=op, args=args)

    assert refusal["code"] == "invalid_argument"


async def test_a_large_payload_keeps_no_small_write_waiting(
    connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "large.bin"
    file.write_bytes(bytes(range(251)) * ((12 << 20) // 251))
    async with connect(roots=(tmp_path,)) as call:
        await call("osiris_plan", task="t1", objective="x")
        large = asyncio.create_task(call("osiris_observe", path=str(file)))
        written = 0
        while not large.done():
            await call("memory_write", scope="a", key=f"k{written}", value=1)
            written += 1
        ref = (await large)["ref"]
        reply = await call("osiris_recall", ref=ref)

    assert written > 3
    assert reply["ref"] == ref


# --- altered -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "bytes = CAST(X'00' || substr(bytes, 2) AS BLOB)",
        "bytes = zeroblob(4)",
        "codec = 'plain'",
        "codec = 'lzma'",
    ],
)
def test_altered_bytes_are_never_given_out_and_others_are(change: str, local: Local) -> None:
    for data in (b"one" * 5000, b"two" * 5000):
        keep(local, data)
    local.write(lambda tx: tx.run("DROP TRIGGER payload_parts_keep_values"))
    (first,) = local.read(lambda tx: tx.all("SELECT ref FROM payloads WHERE alias = 1"))
    local.write(
        lambda tx: tx.run(f"UPDATE payload_parts SET {change} WHERE ref = :ref", ref=first["ref"])
    )

    with pytest.raises(CorruptRefError) as raised:
        read(local, "r1")

    assert raised.value.code == "ref_corrupt"
    assert first["ref"][:12] in raised.value.message
    assert read(local, "r2") == b"two" * 5000
