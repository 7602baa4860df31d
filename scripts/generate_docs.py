"""Write the pages of docs/ that are made from the code; `--check` only says which are out of date.

docs/errors.md comes from the error classes, docs/clients.md from the tables of clients and hooks,
the test vectors of docs/format.md from core.entry and rules.prefix, and docs/demo-transcript.md
from a run of the demo.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from handoff_memory.core import entry
from handoff_memory.core.digest import tagged
from handoff_memory.core.errors import (
    InputError,
    MemoryFault,
    StateError,
    StorageError,
    error_types,
)
from handoff_memory.hooks.capabilities import CLIENTS, Client, Power
from handoff_memory.rules import prefix
from handoff_memory.settings import Places
from handoff_memory.setup import clients as setup_clients
from handoff_memory.setup import entries
from handoff_memory.setup.commands import Launch

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
_BEGIN: Final = "<!-- vectors: written by scripts/generate_docs.py -->\n"
_END: Final = "<!-- end of vectors -->\n"
_BEGIN_SEAL: Final = "<!-- seal: written by scripts/generate_docs.py -->\n"
_END_SEAL: Final = "<!-- end of seal -->\n"

_ERRORS_HEAD: Final = """\
# Errors

Every error of a tool, a command or the library has a stable code. This page is written by
`python scripts/generate_docs.py` from `handoff_memory.core.errors`; a test compares them.

A tool that fails answers with `isError` and a JSON object:

| field | what it is |
|---|---|
| `code` | one of the codes below; never changes its meaning |
| `message` | one sentence for people; may change |
| `retryable` | whether the same call may succeed later, unchanged |
| `next` | what to do now |
| others | facts for deciding: the current version, the holder, the limit, the nearest names |

After `database_io`, or where a reply was lost on its way, a write may have landed all the same.
Send it again with the same `request_id`: what was done is not done twice, and the reply says
`replayed: true`.
"""
_CLIENTS_HEAD: Final = """\
# Clients

This page is written by `python scripts/generate_docs.py` from `handoff_memory.setup.clients` and
`handoff_memory.hooks.capabilities`; a test compares them.

`handoff-memory install CLIENT` puts the server into the client's own file, and with `--hooks` its
hooks. What stands in a file stays to the byte: comments, order, indentation, line ends. The file as
it was is kept beside it as `NAME.handoff-memory.bak`; `uninstall` gives it back where nobody else
changed anything since, and else takes out what is ours. A second `install` changes nothing. A link
is followed. For a client whose file is not edited, the entry is printed.

`CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `GEMINI_CLI_HOME`, `XDG_CONFIG_HOME` and `APPDATA` move these
files, as they do for the clients.
"""
_BY_HAND: Final = """
## The entry by hand

Paths are absolute: a client starts servers without your folder and `PATH`, and some without your
environment. Each client gets an agent id of its own, and all the same database.
"""
_HOOKS_HEAD: Final = """
## Hooks

What `handoff-memory hook` can do in each client that has hooks.

`handoff-memory doctor` says what is in force on this machine: `enforced` only after the client's
own hook command has refused a canary, else `advisory`. A hook never grants a permission, never
changes a call's arguments, never stops a compaction, and ends with exit status 0.

Where a client has no hooks, or a hook cannot replace an output, `handoff-memory wrap` stands in
front of an MCP server and `handoff-memory run` around a shell command.
"""
_EXAMPLE: Final = Launch(
    "/abs/.venv/bin/handoff-memory",
    ("serve",),
    {"AGENT_ID": "scout-agent", "MEMORY_DB": "/abs/shared.db"},
)
_SYSTEMS: Final = {"linux": "", "darwin": "macOS: ", "win32": "Windows: "}
_FAMILIES: Final[dict[type[MemoryFault], str]] = {
    InputError: "The call is wrong",
    StateError: "The memory is not as the call assumed",
    StorageError: "The database cannot serve",
    MemoryFault: "Anything else",
}

# Fixed values, in this order: a first version, a second one, an outcome, a packet and its claim, a
# task, an event of it, the payload `hello` with a line feed, and what AMFS keeps: of an entry that
# is a record, and a commit.
_AUTHOR: Final = {"agent": "scout-agent", "session": "s_000000000001", "authn": "declared"}
_NAME: Final = {"project": "", "scope": "listing/553", "key": "assessment"}
_ROWS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    (
        "record",
        {
            **_AUTHOR,
            **_NAME,
            "at": 1_700_000_000_000_000,
            "op": None,
            "version": 1,
            "confidence": 700_000,
            "tags": ["assessment", "größe"],
            "source": 'board "example"',
            "expires_at": None,
            "body": '{"verdict":"apply"}',
        },
    ),
    (
        "record",
        {
            **_AUTHOR,
            **_NAME,
            "at": 1_700_000_060_000_000,
            "op": "retry-1",
            "version": 2,
            "confidence": 500_000,
            "tags": [],
            "source": None,
            "expires_at": 1_700_003_660_000_000,
            "body": '{"verdict":"maybe","why":"預算減少"}',
        },
    ),
    (
        "outcome",
        {
            **_AUTHOR,
            "at": 1_700_000_120_000_000,
            "op": None,
            "record": 2,
            "outcome": "failure",
            "before": 500_000,
            "after": 325_000,
            "packet": None,
            "body": None,
        },
    ),
    (
        "packet",
        {
            **_AUTHOR,
            "at": 1_700_000_180_000_000,
            "op": None,
            "project": "",
            "packet": "h_1f4089bf",
            "recipient": "executor-agent",
            "status": None,
            "priority": 1,
            "expires_at": None,
            "in_reply_to": None,
            "thread": "h_1f4089bf",
            "pins": [{"scope": "listing/553", "key": "assessment", "version": 1, "hash": ""}],
            "body": '{"next":["start here"],"summary":"one line"}',
        },
    ),
    (
        "claim",
        {
            "agent": "executor-agent",
            "session": "s_000000000002",
            "authn": "declared",
            "at": 1_700_000_240_000_000,
            "op": None,
            "packet": "h_1f4089bf",
            "action": "claimed",
            "lease_us": 3_600_000_000,
            "body": None,
        },
    ),
    (
        "task",
        {
            **_AUTHOR,
            "at": 1_700_000_300_000_000,
            "op": None,
            "project": "",
            "task": "t3f9a",
            "body": None,
        },
    ),
    (
        "event",
        {
            **_AUTHOR,
            "at": 1_700_000_360_000_000,
            "op": None,
            "task": "t3f9a",
            "event": "lesson",
            "body": '{"text":"the log lies about the line"}',
        },
    ),
    (
        "payload",
        {
            **_AUTHOR,
            "at": 1_700_000_420_000_000,
            "op": None,
            "ref": hashlib.sha256(b"hello\n").hexdigest(),
            "alias": 1,
            "size_bytes": 6,
            "redacted_bytes": 0,
            "media_type": "text/plain",
            "body": None,
        },
    ),
    (
        "amfs_entry",
        {
            **_AUTHOR,
            "at": 1_700_000_480_000_000,
            "op": None,
            "project": "",
            "namespace": "default",
            "branch": "main",
            "path": "listing/553",
            "key": "assessment",
            "version": 3,
            "record": 2,
            "wrote": 0,
            "writer": "Scout-Agent",
            "body": '{"confidence":0.8181818181818182,"last_outcome":"success"}',
        },
    ),
    (
        "amfs_document",
        {
            **_AUTHOR,
            "at": 1_700_000_540_000_000,
            "op": None,
            "project": "",
            "namespace": "default",
            "branch": "main",
            "type": "commit",
            "name": "de907f7174aa",
            "stamp": 1_700_000_539_999_000,
            "body": '{"message":"handoff"}',
        },
    ),
)
_ZONES: Final = prefix.Zones(
    system_head=hashlib.sha256(b"You are a careful engineer.").hexdigest(),
    rules=("no-test-edit ask: Modifying test suites requires explicit approval",),
    objective="fix PowerShell profile bug",
    global_plan=("reproduce", "mend", "test"),
    tool_contract="bash\nread_file",
    constraints=("größe stays a number",),
    decisions=("keep the old format", "預算減少"),
)


def errors_page() -> str:
    """docs/errors.md."""
    parts = [_ERRORS_HEAD]
    for family, heading in _FAMILIES.items():
        parts += [
            f"\n## {heading}\n\n",
            "| code | when | retryable | what to do |\n|---|---|---|---|\n",
        ]
        for kind in error_types():
            if _family(kind) is family:
                when = "An exception nobody foresaw." if kind is MemoryFault else _when(kind)
                retry = "yes" if kind.retryable else "no"
                parts.append(f"| `{kind.code}` | {when} | {retry} | {kind.way_out} |\n")
    return "".join(parts)


def vectors() -> list[dict[str, Any]]:
    """The test vectors of docs/format.md, one chain of entries."""
    found: list[dict[str, Any]] = []
    chain, records = entry.GENESIS, []
    for seq, (kind, given) in enumerate(_ROWS, start=1):
        body, salt = given["body"], bytes([seq]) * entry.SALT_BYTES
        row = {field: value for field, value in given.items() if field != "body"}
        if kind == "packet":
            row["pins"] = [{**pin, "hash": records[0].hex()} for pin in row["pins"]]
        commit = None if body is None else entry.commit_body(salt, body.encode())
        previous = records[-1] if kind == "record" and records else None
        columns = {**row, "seq": seq, "body_commit": commit, "prev": previous}
        for listed in {"tags", "pins"} & row.keys():
            columns[listed] = json.dumps(row[listed])
        data = entry.entry_bytes(kind, 1, columns)
        chain = entry.next_chain(chain, data)
        if kind == "record":
            records.append(entry.entry_hash(data))
        found.append(
            {
                "kind": kind,
                "v": 1,
                "seq": seq,
                "row": row,
                "salt": None if body is None else salt.hex(),
                "body": body,
                "body_commit": None if commit is None else commit.hex(),
                "prev": None if previous is None else previous.hex(),
                "entry": data.decode(),
                "entry_hash": entry.entry_hash(data).hex(),
                "chain": chain.hex(),
            }
        )
    return found


def seal_vector() -> dict[str, Any]:
    """The test vector of a seal, and of two digests that show how parts are kept apart."""
    found = prefix.hashes(_ZONES)
    return {
        "tagged": [
            {"tag": "hm/list/1", "parts": parts, "digest": _list(parts)}
            for parts in (["ab", "c"], ["a", "bc"], [])
        ],
        "zones": _ZONES._asdict(),
        "hashes": found.plain(),
        "seal": prefix.seal(found),
    }


def format_page() -> str:
    """docs/format.md with fresh vectors; what people wrote around them stays."""
    page = (DOCS / "format.md").read_text("utf-8")
    page = _with_block(page, _BEGIN, _END, vectors())
    return _with_block(page, _BEGIN_SEAL, _END_SEAL, seal_vector())


def _with_block(page: str, begin: str, end: str, document: Any) -> str:
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    block = json.dumps(document, ensure_ascii=False, indent=1)
    return f"{before}{begin}\n```json\n{block}\n```\n\n{end}{after}"


def _list(parts: list[str]) -> str:
    return tagged(b"hm/list/1\0", *(part.encode() for part in parts)).hex()


def transcript_page() -> str:
    """docs/demo-transcript.md, from a run of the demo."""
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(ROOT / "demo" / "run.py"), "--transcript"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    return done.stdout


def clients_page() -> str:
    """The text of docs/clients.md."""
    known = setup_clients.CLIENTS.values()
    head = (
        "| client | on the command line | your file | the project's file | your hooks | install |"
    )
    files = [head, "|---|---|---|---|---|---|", *map(_files, known)]
    by_hand: dict[tuple[str, str], list[str]] = {}
    for client in known:
        text = entries.snippet(client, _EXAMPLE)
        by_hand.setdefault((_language(client), text), []).append(client.name)
    hand = (
        f"\n{', '.join(names)}:\n\n```{language}\n{text}```"
        for (language, text), names in by_hand.items()
    )
    hooks = map(_client, CLIENTS.values())
    return "\n".join([_CLIENTS_HEAD, *files, _BY_HAND.rstrip("\n"), *hand, _HOOKS_HEAD, *hooks])


def _files(client: setup_clients.Client) -> str:
    cells = [client.name, f"`{client.key}`"]
    cells += [_places(client.files.get(scope)) for scope in setup_clients.SCOPES]
    cells += [_places(client.hooks.files["user"]) if client.hooks else ""]
    cells += ["edits" if client.edited else "prints"]
    cells[2] = cells[2] or client.note
    return f"| {' | '.join(cells)} |"


def _places(at: setup_clients.At | None) -> str:
    if at is None:
        return ""
    found: dict[str, str] = {}
    for system, name in _SYSTEMS.items():
        places = Places(Path("~"), Path(), appdata=Path("%APPDATA%"), system=system)
        found.setdefault(at(places).as_posix(), name)
    return "; ".join(f"{name}`{path}`" for path, name in found.items())


def _language(client: setup_clients.Client) -> str:
    return {"codex": "toml", "continue": "yaml", "goose": "yaml"}.get(client.shape, "json")


def _client(client: Client) -> str:
    observed = f"version {client.observed}" if client.observed else "none: from its documents"
    lines = [
        f"### {client.name}\n",
        f"Observed: {observed}.{f' Also: {client.note}.' if client.note else ''}\n",
        "| event | of the client | refuses a call | replaces outputs | tells the model | note |",
        "|---|---|---|---|---|---|",
        *(_power(kind, power) for kind, power in client.powers.items()),
    ]
    return "\n".join(lines) + "\n"


def _power(kind: str, power: Power) -> str:
    cells = [f"`{kind}`", power.event]
    cells += ["yes" if power.blocks else "", power.replaces]
    cells += ["yes" if power.adds_context else "", power.note]
    return f"| {' | '.join(cells)} |"


PAGES: Final[dict[str, Callable[[], str]]] = {
    "errors.md": errors_page,
    "clients.md": clients_page,
    "format.md": format_page,
    "demo-transcript.md": transcript_page,
}


def main() -> int:
    """Write the pages, or with `--check` only compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a page is stale")
    check = parser.parse_args().check
    stale = []
    for name, page in PAGES.items():
        path, text = DOCS / name, page()
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(text, "utf-8", newline="\n")
        print(f"{name} {'is out of date' if check else 'was written'}")
    return 1 if check and stale else 0


def _family(kind: type[MemoryFault]) -> type[MemoryFault]:
    return next(family for family in _FAMILIES if issubclass(kind, family))


def _when(kind: type[MemoryFault]) -> str:
    return " ".join((inspect.getdoc(kind) or "").split())


if __name__ == "__main__":
    sys.exit(main())
