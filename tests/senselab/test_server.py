"""AMFS's own MCP server on this adapter, spoken to by a real client; needs amfs-mcp-server."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("amfs")
pytest.importorskip("amfs_mcp")

from mcp import Client, StdioServerParameters

from handoff_memory.app import open_local
from handoff_memory.core.names import Name
from handoff_memory.services import reading, verify
from handoff_memory.settings import Settings


def said(reply: Any) -> Any:
    assert not reply.is_error, reply
    return json.loads(reply.content[0].text)


async def test_a_client_of_that_server_writes_into_the_shared_memory(
    settings: Settings, tmp_path: Path
) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "handoff_memory.amfs", "--transport", "stdio"],
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "MEMORY_DB": str(settings.database),
            "OSIRIS_HOME": str(settings.home),
            "AMFS_AGENT_ID": "scout",
            "AMFS_DATA_DIR": str(tmp_path / "files"),
        },
    )
    name = {"entity_path": "listing/553", "key": "assessment"}

    async with Client(server) as client:
        said(await client.call_tool("amfs_write", {**name, "value": "apply", "confidence": 0.7}))
        read = said(await client.call_tool("amfs_read", name))
        said(
            await client.call_tool(
                "amfs_commit_outcome", {"outcome_ref": "run", "outcome_type": "success"}
            )
        )
        report = said(await client.call_tool("amfs_verify", {}))

    assert read["value"] == "apply"
    assert report["chain_breaks"] == []
    with open_local(settings) as local:
        row = local.read(lambda tx: reading.get(tx, "", Name("listing/553", "assessment")))
        assert reading.text_of_value(row) == "apply"
        assert local.read(verify.verify)["problems"] == []
    assert not (tmp_path / "files").exists()
