"""Starting the server from the command line, with settings that may be wrong."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NoReturn

from handoff_memory.core.errors import MemoryFault
from handoff_memory.server.main import serve
from handoff_memory.settings import read_settings


def serve_or_exit(flags: Mapping[str, str] | None = None) -> NoReturn:
    """Serve one client; exit 2 with a sentence on stderr where a setting is wrong."""
    try:
        settings = read_settings(flags=flags)
    except MemoryFault as fault:
        sys.stderr.write(f"error: {fault.message}\nnext: {fault.next_step}\n")
        sys.exit(2)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(
            "handoff-memory: waiting for an MCP client on stdin; Ctrl-C ends, --help lists verbs\n"
        )
    serve(settings)
