"""The command line of a hook, read by hand: a parser would cost more than the hook itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from handoff_memory.hooks.event import KINDS, Event, Kind

CLIENTS: Final = ("claude-code", "codex", "gemini", "cursor")
USAGE: Final = f"""\
Usage: handoff-memory hook EVENT --client CLIENT [--agent-id ID] [--db FILE]

Answer a client's hook: its JSON on stdin, the answer in its own form on stdout.

EVENT   {", ".join(KINDS[:4])},
        {", ".join(KINDS[4:])}
CLIENT  {", ".join(CLIENTS)}

  --agent-id ID  who acts, else AGENT_ID, else the client's name
  --db FILE      database, else MEMORY_DB, else $OSIRIS_HOME/osiris.db

Exit status: always 0. A call is refused by the answer alone; whatever fails, it goes on, unless
a rule with fail_closed = true is about it.

Examples:
  handoff-memory hook before-tool --client claude-code < event.json
  handoff-memory hook session-start --client codex --agent-id codex --db shared.db
"""


class Options(NamedTuple):
    """What a hook was started with."""

    kind: Kind
    client: str
    agent: str | None = None
    database: str | None = None

    def flags(self) -> dict[str, str]:
        """What wins over the environment, under its names."""
        given = {"AGENT_ID": self.agent, "MEMORY_DB": self.database}
        return {name: value for name, value in given.items() if value}

    def folder(self, event: Event) -> Path | None:
        """Where the client works; None for Claude Code, which says it in the environment."""
        if event.folder is None or self.client == "claude-code":
            return None
        return Path(event.folder)


def parse(argv: Sequence[str]) -> Options | str:
    """The options, or the text for whoever asks for help or mistyped."""
    given: dict[str, str] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        if word in {"-h", "--help"}:
            return USAGE
        name, equals, value = word.partition("=") if word.startswith("--") else ("EVENT", "=", word)
        if name not in {"EVENT", "--client", "--agent-id", "--db"}:
            return f"error: no such option: {name}\n\n{USAGE}"
        given[name] = value if equals else words.pop(0) if words else ""
    kind = next((kind for kind in KINDS if kind == given.get("EVENT")), None)
    client = given.get("--client", "")
    if kind is None or client not in CLIENTS:
        return f"error: EVENT and --client are needed, each one of these\n\n{USAGE}"
    return Options(kind, client, given.get("--agent-id") or None, given.get("--db") or None)
