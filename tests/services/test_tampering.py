"""Every edit that somebody makes in the file, with the journal left as it is, is named by verify.

Source: memory.md §2, the first three rows of its table.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from actors import Agent, Clock
from handoff_memory.app import Makers, open_local
from handoff_memory.core.author import Author
from handoff_memory.services import verify
from handoff_memory.settings import Settings
from handoff_memory.store import journal, sealed

# Another process and another SQLite. It drops the triggers that refuse, edits, and puts them back.
EDITOR = """
import json, sqlite3, sys
for line in sys.stdin:
    path, keep, *statements = json.loads(line)
    conn = sqlite3.connect(path, isolation_level=None)
    triggers = conn.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    try:
        for name, _ in () if keep else triggers:
            conn.execute(f"DROP TRIGGER {name}")
        changes = [conn.execute(statement).rowcount for statement in statements]
        for _, sql in () if keep else triggers:
            conn.execute(sql)
        said = sum(changes)
    except sqlite3.Error as error:
        said = error
    conn.close()
    print(said, flush=True)
"""


@dataclass(frozen=True)
class Edit:
    """An edit, the problem that must name it, and how many problems it may make in all.

    Attributes:
        what: What was edited, in words.
        statements: How.
        kind: Kind of the problem.
        name: Name in the problem; `{pinned}` and `{open}` stand for the packets' ids.
        version: Version in the problem.
        beside: Other names that the edit damages, too.
        problems: At most so many are reported, of these names only.
    """

    what: str
    statements: tuple[str, ...]
    kind: str
    name: str
    version: int | None = None
    beside: tuple[str, ...] = ()
    problems: int = 2

    def __str__(self) -> str:
        return self.what


def route(what: str, change: str, *, version: int = 2, **more: Any) -> Edit:
    """An edit of a version of plan/route: seq 1, 2 and 3, the last one current."""
    statement = f"UPDATE records SET {change} WHERE seq = {version}"
    return Edit(what, (statement,), "record", "plan/route", version, **more)


def update(what: str, statement: str, kind: str, name: str, **more: Any) -> Edit:
    """An edit of a row that has no version."""
    return Edit(what, (f"UPDATE {statement}",), kind, name, **more)


def limit(what: str, *statements: str, **more: Any) -> Edit:
    """An edit of what is thought of site/limit@1: seq 4, its outcomes are 5, 6 and 7."""
    return Edit(what, statements, "record", "site/limit", 1, **more)


def swapped(table: str, one: int, other: int) -> tuple[str, ...]:
    """Two rows get each other's number."""
    steps = ((one, 1000), (other, one), (1000, other))
    return tuple(f"UPDATE {table} SET seq = {new} WHERE seq = {old}" for old, new in steps)


FORGET_TAIL = (
    "INSERT INTO current_text (current_text, rowid, name, tags, source, text)"
    " VALUES ('delete', 14, 'site/tail', '', '', 'a fact')"
)
INSERT = (
    "INSERT INTO records SELECT {seq}, project, scope, '{key}', {version}, confidence, tags,"
    " source, expires_at, agent, session, authn, at, op, prev, body_commit, salt, body FROM records"
    " WHERE seq = 3"
)

EDITS = (
    # a value; an author, time, tag, source; a scope or key; two records swapped; a hash set to null
    route("a value", "body = CAST('\"south\"' AS BLOB)"),
    route("the current value", "body = CAST('\"south\"' AS BLOB)", version=3),
    route("a value erased, no redaction in the journal", "body = NULL, salt = NULL"),
    route("an author", "agent = 'mallory'"),
    route("a time", "at = at + 1"),
    route("a tag", "tags = '[\"approved\"]'"),
    route("a tag that is no JSON", "tags = 'approved'"),
    route("a source", "source = 'the boss'"),
    route("a source taken away", "source = NULL"),
    route("a session", "session = 's_9'"),
    route("how the author was authenticated", "authn = 'jwt'"),
    route("a request id", "op = 'r9'"),
    route("an expiry", "expires_at = 1"),
    route("a first confidence", "confidence = 990000"),
    limit("a first confidence that moved", "UPDATE records SET confidence = 1 WHERE seq = 4"),
    route("a project", "project = '/elsewhere'", problems=5),
    route("a scope", "scope = 'plot'", version=3, beside=("plot/route",), problems=5),
    route("a key", "key = 'detour'", version=3, beside=("plan/detour",), problems=5),
    Edit("a key in the middle", ("UPDATE records SET key = 'detour' WHERE seq = 2",),
         "record", "plan/detour", 2, beside=("plan/route",), problems=5),
    Edit("two records swapped", swapped("records", 1, 4), "record", "plan/route", 1,
         beside=("site/limit",), problems=10),
    Edit("two versions swapped", swapped("records", 2, 3), "record", "plan/route", 3, problems=6),
    Edit("two bodies swapped", (
        "CREATE TEMP TABLE kept AS SELECT body, salt, body_commit FROM records WHERE seq = 2",
        "UPDATE records SET (body, salt, body_commit) ="
        " (SELECT body, salt, body_commit FROM records WHERE seq = 4) WHERE seq = 2",
        "UPDATE records SET (body, salt, body_commit) = (SELECT * FROM kept) WHERE seq = 4",
    ), "record", "plan/route", 2, beside=("site/limit",)),
    route("a commitment zeroed", "body_commit = zeroblob(32)"),
    route("a salt", "salt = zeroblob(16)"),
    route("the hash of the version before, null", "prev = NULL"),
    route("the hash of the version before, zeroed", "prev = zeroblob(32)"),
    Edit("a row's hash zeroed", ("UPDATE journal SET entry_hash = zeroblob(32) WHERE seq = 2",),
         "record", "plan/route", 2),
    update("a commitment to a note, null", "outcomes SET body_commit = NULL WHERE seq = 6",
           "outcome", "seq 6"),
    # a confidence or a count; an outcome's before/after; a packet; a claim
    limit("a confidence", "UPDATE opinions SET confidence = 1000000 WHERE seq = 4"),
    limit("a count", "UPDATE opinions SET success = 99 WHERE seq = 4"),
    limit("an opinion deleted", "DELETE FROM opinions WHERE seq = 4"),
    Edit("an opinion without an outcome", (
        "INSERT INTO opinions VALUES (14, 1000000, 9, 0, 0, 0)",),
         "record", "site/tail", 1),
    limit("an outcome deleted with what it moved", "DELETE FROM outcomes WHERE seq = 7",
          "UPDATE opinions SET confidence = 494000, failure = 1 WHERE seq = 4",
          beside=("seq 7",), problems=3),
    update("an outcome's before", "outcomes SET before = 1 WHERE seq = 6", "outcome", "seq 6",
           beside=("site/limit",)),
    update("an outcome's after", "outcomes SET after = 990000 WHERE seq = 6", "outcome", "seq 6",
           beside=("site/limit",)),
    update("an outcome's note", "outcomes SET body = CAST('\"fine\"' AS BLOB) WHERE seq = 6",
           "outcome", "seq 6"),
    update("an outcome's kind", "outcomes SET outcome = 'success' WHERE seq = 6",
           "outcome", "seq 6", beside=("site/limit",), problems=4),
    update("an outcome's kind to none that exists", "outcomes SET outcome = 'won' WHERE seq = 6",
           "outcome", "seq 6", beside=("site/limit",), problems=5),
    update("an outcome's reporter", "outcomes SET agent = 'mallory' WHERE seq = 6",
           "outcome", "seq 6"),
    update("an outcome's record", "outcomes SET record = 3 WHERE seq = 7", "outcome", "seq 7",
           beside=("site/limit", "plan/route"), problems=6),
    update("an outcome's packet", "outcomes SET packet = 'h_0' WHERE seq = 6", "outcome", "seq 6"),
    update("a packet's body", "packets SET body = CAST('{}' AS BLOB) WHERE seq = 8",
           "packet", "{pinned}"),
    update("a packet's recipient", "packets SET recipient = 'mallory' WHERE seq = 8",
           "packet", "{pinned}"),
    update("a packet's pins", "packets SET pins = '[]' WHERE seq = 8", "packet", "{pinned}"),
    update("a packet's pins to no JSON", "packets SET pins = '[' WHERE seq = 8",
           "packet", "{pinned}"),
    update("a packet's priority", "packets SET priority = 3 WHERE seq = 8", "packet", "{pinned}"),
    update("a packet's author", "packets SET agent = 'mallory' WHERE seq = 8",
           "packet", "{pinned}"),
    update("a packet's expiry", "packets SET expires_at = 1 WHERE seq = 8", "packet", "{pinned}"),
    update("a packet's thread", "packets SET thread = 'h_0' WHERE seq = 12", "packet", "{back}"),
    update("a packet's id", "packets SET packet = 'h_0' WHERE seq = 11", "packet", "h_0",
           beside=("{open}",), problems=3),
    Edit("a packet deleted", ("DELETE FROM packets WHERE seq = 11",), "packet", "{open}"),
    Edit("a packet deleted with its state", (
        "DELETE FROM packets WHERE seq = 11", "DELETE FROM packet_states WHERE seq = 11"),
        "packet", "seq 11"),
    update("a claim's action", "claims SET action = 'read' WHERE seq = 9", "claim", "{pinned}",
           problems=3),
    update("a claim's action to none that exists", "claims SET action = 'stolen' WHERE seq = 9",
           "claim", "{pinned}", problems=4),
    update("a claim's agent", "claims SET agent = 'mallory' WHERE seq = 9", "claim", "{pinned}"),
    update("a claim's session", "claims SET session = 's_9' WHERE seq = 9", "claim", "{pinned}"),
    update("a claim's lease", "claims SET lease_us = 1 WHERE seq = 9", "claim", "{pinned}"),
    update("a claim's read-back", "claims SET body = CAST('\"ok\"' AS BLOB) WHERE seq = 10",
           "claim", "{pinned}"),
    update("a claim's packet", "claims SET packet = 'h_0' WHERE seq = 10", "claim", "h_0",
           beside=("{pinned}",), problems=3),
    Edit("a claim deleted", ("DELETE FROM claims WHERE seq = 13",), "claim", "seq 13",
         beside=("{pinned}",)),
    update("a state", "packet_states SET state = 'waiting' WHERE seq = 8", "packet", "{pinned}"),
    update("a holder", "packet_states SET holder = 'mallory' WHERE seq = 8",
           "packet", "{pinned}"),
    update("a token", "packet_states SET token = 99 WHERE seq = 8", "packet", "{pinned}"),
    update("a number of deliveries", "packet_states SET deliveries = 0 WHERE seq = 8",
           "packet", "{pinned}"),
    update("whom a packet is offered to", "packet_states SET recipient = 'mallory' WHERE seq = 11",
           "packet", "{open}"),
    update("the priority it is offered with", "packet_states SET priority = 3 WHERE seq = 11",
           "packet", "{open}"),
    update("the project it is offered in", "packet_states SET project = '/x' WHERE seq = 11",
           "packet", "{open}"),
    update("until when it is offered", "packet_states SET expires_at = 1 WHERE seq = 11",
           "packet", "{open}"),
    update("which packet a state is of", "packet_states SET seq = 99 WHERE seq = 11",
           "packet", "{open}"),
    Edit("a state deleted", ("DELETE FROM packet_states WHERE seq = 11",), "packet", "{open}"),
    # a version deleted in the middle; the newest ones; a whole key; a row inserted or reordered
    Edit("a version deleted in the middle", ("DELETE FROM records WHERE seq = 2",),
         "record", "plan/route", 2, problems=4),
    Edit("the first version deleted", ("DELETE FROM records WHERE seq = 1",),
         "record", "plan/route", 1, problems=3),
    Edit("the newest version deleted", ("DELETE FROM records WHERE seq = 3",),
         "record", "plan/route", 3, problems=4),
    Edit("the newest version deleted, the one before made current", (
        "DELETE FROM records WHERE seq = 3",
        "UPDATE heads SET seq = 2, version = 2 WHERE seq = 3"),
        "record", "seq 3", beside=("plan/route",), problems=3),
    Edit("a whole key deleted", ("DELETE FROM records WHERE seq <= 3",), "record", "plan/route", 3,
         beside=("seq 1", "seq 2"), problems=5),
    Edit("a whole key deleted with its head", (
        "DELETE FROM records WHERE seq = 14", "DELETE FROM heads WHERE seq = 14"),
        "record", "seq 14"),
    Edit("a whole key deleted with its head and its text", (
        "DELETE FROM records WHERE seq = 14", "DELETE FROM heads WHERE seq = 14", FORGET_TAIL),
        "record", "seq 14"),
    Edit("a record inserted at the end", (INSERT.format(seq=15, key="new", version=1),),
         "record", "plan/new", 1, problems=3),
    Edit("a version inserted as the newest",
         (INSERT.format(seq=15, key="route", version=4),
          "UPDATE heads SET seq = 15, version = 4 WHERE seq = 3"),
         "record", "plan/route", 4, problems=5),
    Edit("a record inserted in the middle", (INSERT.format(seq=5, key="new", version=1),),
         "record", "plan/new", 1, problems=3),
    *(Edit(f"an outcome inserted as {seq}", (
        f"INSERT INTO outcomes SELECT {seq}, record, outcome, before, after, packet, agent,"
        " session, authn, at, op, prev, body_commit, salt, body FROM outcomes WHERE seq = 5",),
        "outcome", f"seq {seq}") for seq in (15, 0, -1, -(2**63), 2**63 - 1)),
    Edit("a claim inserted", (
        "INSERT INTO claims SELECT 15, packet, action, lease_us, agent, session, authn, at, op,"
        " prev, body_commit, salt, body FROM claims WHERE seq = 9",), "claim", "{pinned}"),
    # the journal itself
    Edit("a journal line deleted", ("DELETE FROM journal WHERE seq = 4",), "journal", "seq 4",
         beside=("site/limit",)),
    Edit("the first journal line deleted", ("DELETE FROM journal WHERE seq = 1",),
         "journal", "seq 1", beside=("plan/route",), problems=3),
    Edit("the last journal line deleted", ("DELETE FROM journal WHERE seq = 14",),
         "record", "site/tail", 1),
    Edit("a journal line inserted", (
        "INSERT INTO journal SELECT 15, kind, v, entry_hash, chain FROM journal WHERE seq = 14",),
        "record", "seq 15"),
    Edit("journal lines reordered", swapped("journal", 2, 3), "record", "plan/route", 2,
         beside=("seq 4",), problems=4),
    Edit("journal lines of two kinds reordered", swapped("journal", 4, 5),
         "record", "site/limit", 1, beside=("seq 4", "seq 5", "seq 6"), problems=8),
    Edit("a journal line's chain", ("UPDATE journal SET chain = zeroblob(32) WHERE seq = 4",),
         "journal", "seq 4", beside=("seq 5",)),
    Edit("a journal line's kind", ("UPDATE journal SET kind = 'rumour' WHERE seq = 4",),
         "journal", "seq 4", beside=("site/limit",)),
    Edit("a journal line's format", ("UPDATE journal SET v = 9 WHERE seq = 4",),
         "record", "site/limit", 1),
    # what agents find
    Edit("a text taken out of the search", (FORGET_TAIL,), "record", "site/tail", 1),
    Edit("an older version made current",
         ("UPDATE heads SET seq = 2, version = 2 WHERE seq = 3",), "record", "plan/route", 3,
         problems=4),
    Edit("a head deleted", ("DELETE FROM heads WHERE seq = 14",), "record", "site/tail", 1),
    Edit("a head of nothing", ("INSERT INTO heads VALUES ('', 'plan', 'ghost', 99, 1)",),
         "record", "plan/ghost", 1),
)  # fmt: skip


@dataclass(frozen=True)
class Original:
    """A database file that is as it was written, and the ids of its packets."""

    settings: Settings
    packets: dict[str, str]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    folder = tmp_path_factory.mktemp("original")
    settings = Settings(folder, folder / "memory.db", folder, durable=False)
    makers = Makers(clock=Clock(), entropy=random.Random(7).randbytes)
    with open_local(settings, makers) as local:
        scout = Agent(local, Author("scout", "s_1"))
        executor = Agent(local, Author("executor", "s_2"))
        for way in ("north", "east", "west"):
            scout.write("plan/route", way, tags=["draft"], source="the map", request_id=way)
        scout.write("site/limit", 60, source="trial")
        executor.report("site/limit", "success")
        executor.report("site/limit", "partial", note="mostly")
        executor.report("site/limit", "failure")
        pinned = scout.create(to="executor", pins=["plan/route"])["packet_id"]
        token = executor.pickup()["token"]
        executor.pickup(read_back="go west", token=token)
        still_open = scout.create("For anybody")["packet_id"]
        back = executor.hand_back(pinned, "done")["packet_id"]  # two lines: the packet, the claim
        scout.write("site/tail")
        assert local.read(journal.head).seq == 14
    return Original(settings, {"pinned": pinned, "open": still_open, "back": back})


@pytest.fixture
def copy(original: Original, tmp_path: Path) -> Settings:
    path = tmp_path / "memory.db"
    shutil.copyfile(original.settings.database, path)
    return original.settings._replace(database=path)


@pytest.fixture(scope="module")
def edit() -> Iterator[Callable[..., str]]:
    """How another process edits the file; says how many rows it changed, or why it could not."""
    command = [sys.executable, "-c", EDITOR]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin
        assert stdout

        def run(settings: Settings, *statements: str, keep_triggers: bool = False) -> str:
            print(json.dumps([str(settings.database), keep_triggers, *statements]), file=stdin)
            return stdout.readline().strip()

        yield run
        stdin.close()


def verified(settings: Settings) -> dict[str, Any]:
    with open_local(settings) as local:
        return local.read(verify.verify)


def verified_in_spans(settings: Settings, seq: int) -> dict[str, Any]:
    """As two processes share it: up to a line, and from there on."""
    with open_local(settings) as local:
        upto = local.read(lambda tx: sealed.last_upto(tx, seq))
        first = local.read(lambda tx: verify.first_lines(tx, upto))
        return local.read(lambda tx: verify.verify(tx, upto=upto, first=lambda *_: first))


@pytest.mark.parametrize("forgery", EDITS, ids=str)
def test_an_edit_in_the_file_is_found_and_named_and_nothing_else_is_blamed(
    forgery: Edit, original: Original, copy: Settings, edit: Callable[..., str]
) -> None:
    assert int(edit(copy, *forgery.statements)) > 0

    report = verified(copy)

    names = {name.format(**original.packets) for name in (forgery.name, *forgery.beside)}
    name = forgery.name.format(**original.packets)
    found = [(p["kind"], p["name"], p.get("version")) for p in report["problems"]]
    assert not report["ok"]
    assert (forgery.kind, name, forgery.version) in found
    assert {name for _, name, _ in found} <= names
    assert len(found) <= forgery.problems
    assert all(verified_in_spans(copy, seq) == report for seq in (1, 4, 9))


def test_a_file_that_nobody_edited_is_whole(original: Original) -> None:
    report = verified(original.settings)

    assert report["ok"]
    assert report["problems"] == []
    assert report["checked"] == {
        "journal": 14,
        "record": 5,
        "outcome": 3,
        "packet": 3,
        "claim": 3,
        "task": 0,
        "event": 0,
        "payload": 0,
    }


def test_a_dropped_trigger_is_named(copy: Settings, edit: Callable[..., str]) -> None:
    edit(copy, "DROP TRIGGER records_keep_values", keep_triggers=True)

    (problem,) = verified(copy)["problems"]

    assert (problem["kind"], problem["name"]) == ("schema", "trigger records_keep_values")


@pytest.mark.parametrize("table", ["journal", "records", "outcomes", "packets", "claims"])
def test_the_triggers_refuse_to_change_or_delete_a_hashed_row(
    table: str, copy: Settings, edit: Callable[..., str]
) -> None:
    changed = edit(copy, f"UPDATE {table} SET seq = seq + 100", keep_triggers=True)
    deleted = edit(copy, f"DELETE FROM {table}", keep_triggers=True)

    assert changed.endswith("append-only")
    assert deleted.endswith("append-only")
    assert verified(copy)["ok"]


def test_the_command_line_ends_with_status_one_and_names_the_row(
    copy: Settings, edit: Callable[..., str]
) -> None:
    edit(copy, "UPDATE records SET agent = 'mallory' WHERE seq = 2")
    command = [sys.executable, "-m", "handoff_memory", "stats", "--verify"]
    where = {"MEMORY_DB": str(copy.database), "OSIRIS_HOME": str(copy.home), "AGENT_ID": "auditor"}

    done = subprocess.run(command, env=where, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "plan/route@2" in done.stdout
    assert "a field was altered" in done.stdout
