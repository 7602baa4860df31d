"""Starting the server from the command line, with settings that may be wrong."""

from __future__ import annotations

import sys
from typing import NoReturn

from handoff_memory.core.errors import MemoryFault
from handoff_memory.server.main import serve
from handoff_memory.settings import read_settings


def serve_or_exit() -> NoReturn:
    """Serve one client; exit 2 with a sentence on stderr where a setting is wrong."""
    try:
        settings = read_settings()
    except MemoryFault as fault:
        sys.stderr.write(f"handoff-memory: {fault.message} {fault.next_step}\n")
        sys.exit(2)
    serve(settings)
