import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from handoff_memory.core import entry
from handoff_memory.rules import prefix as prefixes

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text("utf-8")
VECTORS: list[dict[str, Any]] = json.loads(PAGE.split("```json\n")[1].split("```")[0])
SEAL: dict[str, Any] = json.loads(PAGE.split("```json\n")[2].split("```")[0])
LISTS = {"tags", "pins"}


def each_vector(test: Any) -> Any:
    return pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['seq']}-{v['kind']}")(test)


def sha256(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def tagged(tag: str, *parts: bytes) -> bytes:
    lengthened = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hashlib.sha256(tag.encode() + b"\0" + lengthened).digest()


def listed(texts: list[str]) -> bytes:
    return tagged("hm/list/1", *(text.encode() for text in texts))


def columns(vector: dict[str, Any]) -> dict[str, Any]:
    row = {name: json.dumps(v) if name in LISTS else v for name, v in vector["row"].items()}
    hashes = {name: vector[name] for name in ("body_commit", "prev")}
    return {
        **row,
        "seq": vector["seq"],
        **{name: None if text is None else bytes.fromhex(text) for name, text in hashes.items()},
    }


def test_the_page_has_a_vector_for_every_kind() -> None:
    assert {(vector["kind"], vector["v"]) for vector in VECTORS} == set(entry.FIELDS)


@each_vector
def test_the_vectors_follow_from_the_page_alone(vector: dict[str, Any]) -> None:
    fields = {name: vector[name] for name in ("v", "seq", "kind", "body_commit", "prev")}
    data = json.dumps(
        {**fields, **vector["row"]}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
    before = bytes.fromhex(VECTORS[vector["seq"] - 2]["chain"]) if vector["seq"] > 1 else bytes(32)

    assert vector["entry"] == data.decode()
    assert vector["entry_hash"] == sha256(b"hm/entry/1\0", data)
    leaf = bytes.fromhex(sha256(b"\0", data))
    assert vector["chain"] == sha256(b"hm/chain/1\0", before, leaf)
    if vector["body"] is None:
        assert vector["body_commit"] is None
    else:
        salt = bytes.fromhex(vector["salt"])
        assert vector["body_commit"] == sha256(b"hm/body/1\0", salt, vector["body"].encode())


@each_vector
def test_the_code_gives_the_vectors_of_the_page(vector: dict[str, Any]) -> None:
    data = entry.entry_bytes(vector["kind"], vector["v"], columns(vector))
    before = bytes.fromhex(VECTORS[vector["seq"] - 2]["chain"]) if vector["seq"] > 1 else bytes(32)

    assert data.decode() == vector["entry"]
    assert entry.entry_hash(data).hex() == vector["entry_hash"]
    assert entry.next_chain(before, data).hex() == vector["chain"]
    if vector["body"] is not None:
        salt = bytes.fromhex(vector["salt"])
        commit = entry.commit_body(salt, vector["body"].encode())
        assert commit.hex() == vector["body_commit"]


@each_vector
def test_every_field_of_a_kind_is_hashed(vector: dict[str, Any]) -> None:
    whole = entry.entry_bytes(vector["kind"], vector["v"], columns(vector))
    for field in (*entry.FIELDS[vector["kind"], vector["v"]], "body_commit", "prev", "seq"):
        other = b"\1" * 32 if field in {"body_commit", "prev"} else '"altered"'

        changed = entry.entry_bytes(vector["kind"], vector["v"], {**columns(vector), field: other})

        assert entry.entry_hash(changed) != entry.entry_hash(whole), field


def test_the_second_version_names_the_hash_of_the_first() -> None:
    first, second = [vector for vector in VECTORS if vector["kind"] == "record"]

    assert first["prev"] is None
    assert second["prev"] == first["entry_hash"]


def test_the_page_names_every_field() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))

    assert {field for fields in entry.FIELDS.values() for field in fields} <= named


def test_a_kind_of_a_newer_program_is_not_guessed() -> None:
    with pytest.raises(KeyError):
        entry.entry_bytes("record", 2, columns(VECTORS[0]))


def test_the_ref_of_a_payload_is_what_sha256sum_says_of_it() -> None:
    (payload,) = [vector["row"] for vector in VECTORS if vector["kind"] == "payload"]

    assert payload["ref"] == sha256(b"hello\n")
    assert payload["size_bytes"] == len(b"hello\n")


def test_the_seal_follows_from_the_page_alone() -> None:
    zones, hashes = SEAL["zones"], SEAL["hashes"]

    head = tagged("hm/head/1", zones["system_head"].encode(), listed(zones["rules"]))
    zone_b = tagged(
        "hm/zone-b/1",
        zones["objective"].encode(),
        listed(zones["global_plan"]),
        zones["tool_contract"].encode(),
    )
    tail = tagged("hm/tail/1", listed(zones["constraints"]), listed(zones["decisions"]))
    prefix = tagged("hm/prefix/1", head, zone_b)

    assert hashes["head"] == head.hex()
    assert hashes["zone_b"] == zone_b.hex()
    assert hashes["tail"] == tail.hex()
    assert hashes["prefix"] == prefix.hex()
    assert hashes["zone_a"] == tagged("hm/zone-a/1", head, tail).hex()
    assert SEAL["seal"] == tagged("hm/seal/1", prefix, tail).hex()
    for kind in ("constraint", "decision"):
        assert hashes["items"][f"{kind}s"] == [
            tagged(f"hm/{kind}/1", text.encode()).hex() for text in zones[f"{kind}s"]
        ]


def test_no_two_splits_of_a_text_have_one_digest() -> None:
    for vector in SEAL["tagged"]:
        parts = [part.encode() for part in vector["parts"]]
        assert vector["digest"] == tagged(vector["tag"], *parts).hex()

    assert len({vector["digest"] for vector in SEAL["tagged"]}) == len(SEAL["tagged"])


def test_the_code_gives_the_seal_of_the_page() -> None:
    texts = {k: tuple(v) if isinstance(v, list) else v for k, v in SEAL["zones"].items()}

    found = prefixes.hashes(prefixes.Zones(**texts))

    assert json.loads(json.dumps(found.plain())) == SEAL["hashes"]
    assert prefixes.seal(found) == SEAL["seal"]
