"""The shared memory under SenseLab's AMFS SDK: an adapter, and its MCP server on that adapter.

Needs the extra `handoff-memory-mcp[amfs]`. Translation only; what is decided is decided in
`services.amfs`, and how the two models meet stands in docs/senselab-amfs.md.
"""

from amfs.factory import register_adapter

from handoff_memory.amfs.adapter import MemoryAdapter

__all__ = ["MemoryAdapter", "register"]


def register() -> None:
    """Let an amfs.yaml say `adapter: handoff-memory`; its options are those of the adapter."""
    register_adapter("handoff-memory", MemoryAdapter)
