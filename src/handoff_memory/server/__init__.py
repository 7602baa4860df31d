"""The MCP surface: parse, one service call, render."""
