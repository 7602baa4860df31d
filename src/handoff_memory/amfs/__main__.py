"""AMFS's own MCP server on this adapter: `MEMORY_DB=shared.db python -m handoff_memory.amfs`.

Arguments and `AMFS_*` variables are that server's, but for those that choose a store.
"""

from __future__ import annotations

import sys

from handoff_memory.amfs import MemoryAdapter

_MISSING = "AMFS's MCP server is not installed: pip install 'amfs-mcp-server>=0.7.48,<0.8'"


def main() -> None:
    """Serve until the client leaves."""
    try:
        from amfs_mcp import server  # noqa: PLC0415 - 70 packages that only this needs
    except ImportError:
        sys.exit(_MISSING)
    # Its one adapter a process. The public way needs a file in the working folder, and three
    # variables of the environment come before it.
    server._adapter = MemoryAdapter()
    server.main()


if __name__ == "__main__":
    main()
