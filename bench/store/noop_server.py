"""The SDK's own stdio server with one tool that does nothing: the bar for a call over stdio."""

from mcp.server import MCPServer

server = MCPServer("noop")


@server.tool()
def noop(scope: str, key: str, value: dict[str, object]) -> dict[str, object]:
    """Nothing."""
    return {"scope": scope, "key": key}


if __name__ == "__main__":
    server.run("stdio")
