"""Servers in processes of their own, as a client starts them, and what they cost in tokens."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import toktok
from mcp import Client, StdioServerParameters

from actors import Tools


@asynccontextmanager
async def served(folder: Path, **env: str) -> AsyncIterator[Tools]:
    """A client of a server process on the database of a folder."""
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    environment = {
        "MEMORY_DB": str(folder / "memory.db"),
        "OSIRIS_HOME": str(folder / "home"),
        "CLAUDE_PROJECT_DIR": str(work),
        "MEMORY_DURABILITY": "relaxed",
        "AGENT_ID": "scout",
        **env,
    }
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "handoff_memory"], env=environment
    )
    async with Client(server) as client:
        yield Tools(client)


def counted(*texts: Any) -> int:
    """Tokens as a model of today counts them; what is no text counts as compact JSON."""
    plain = [text if isinstance(text, str) else orjson.dumps(text).decode() for text in texts]
    return sum(toktok.batch_count(plain, "o200k_base"))


def big(word: str, lines: int = 120) -> str:
    """A log that is worth keeping outside the prompt."""
    return "".join(f"{word} line {n}: module {n % 7} did its work\n" for n in range(1, lines + 1))
