"""What a verification finds wrong: which row, by kind, name and version, and what of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from handoff_memory.services.writing import Reply


class Finding(NamedTuple):
    """A problem and the seq that it stands at, for the order of what several walks find."""

    seq: int
    problem: Reply


def problem(kind: str, name: str, what: str, *, version: int | None = None, **more: Any) -> Reply:
    """One broken row."""
    found: Reply = {"kind": kind, "name": name}
    if version is not None:
        found["version"] = version
    return {**found, "what": what, **more}


def of_row(kind: str, row: Mapping[str, Any], what: str) -> Finding:
    """What is wrong with a row."""
    seq = row["seq"]
    if kind == "record":
        name = f"{row['scope']}/{row['key']}"
        return Finding(seq, problem(kind, name, what, version=row["version"], seq=seq))
    if kind == "outcome":
        return Finding(seq, problem(kind, f"seq {seq}", what, record_seq=row["record"]))
    if kind == "amfs_entry":
        name = f"{row['path']}/{row['key']}"
        return Finding(seq, problem(kind, name, what, version=row["version"], seq=seq))
    if kind == "amfs_document":
        name = f"{row['type']} {row['name']}"
    elif kind == "payload":
        name = f"r{row['alias']} mem://sha256:{row['ref']}"
    else:
        name = str(row["packet"] if kind in {"packet", "claim"} else row["task"])
    return Finding(seq, problem(kind, name, what, seq=seq))
