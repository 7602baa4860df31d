"""AMFS's part of a verification: its version map against records and entries, in journal order.

Recall counts are left out: nobody hashes them. The entries' own hashes are the journal's matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from handoff_memory.core import names
from handoff_memory.services import amfs as service
from handoff_memory.store import amfs as rows
from handoff_memory.store.amfs import EntryName
from handoff_memory.store.engine import Row, Tx

Finding = tuple[str, int, str]  # name, version, what is wrong


def problems(tx: Tx) -> Iterator[Finding]:
    """Name, version and what is wrong, of every version that is not on the map as it should be."""
    newest: dict[EntryName, int] = {}
    mapped = 0
    for row in rows.written(tx):
        if row["scope"].partition("/")[0] == names.RESERVED and row["entry"] is None:
            continue
        name = _name(row)
        version = newest[name] = newest.get(name, 0) + 1
        mapped += 1
        if row["version"] not in (None, version):
            yield str(name), version, f"it is numbered {row['version']}"
        yield from _off_map(tx, name, version, row)
    if rows.count_versions(tx) != mapped:
        yield from _extra(tx, newest)


def _name(row: Row) -> EntryName:
    if row["entry"] is None:
        return EntryName(
            row["project"], service.NAMESPACE, service.BRANCH, row["scope"], row["key"]
        )
    return EntryName(row["project"], row["namespace"], row["branch"], row["scope"], row["key"])


def _off_map(tx: Tx, name: EntryName, version: int, row: Row) -> Iterator[Finding]:
    found = rows.mapped(tx, name, version)
    if found is None:
        yield str(name), version, "it is missing from the version map"
    elif (found["entry"], found["record"]) != (row["entry"], row["record"]):
        yield str(name), version, "the version map points elsewhere"


def _extra(tx: Tx, newest: dict[EntryName, int]) -> Iterator[Finding]:
    for row in rows.mapping(tx):
        name = EntryName(row["project"], row["namespace"], row["branch"], row["path"], row["key"])
        if row["version"] > newest.get(name, 0):
            yield str(name), row["version"], "the version map has a version that nobody wrote"
