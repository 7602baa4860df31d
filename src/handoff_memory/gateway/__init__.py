"""The governor in front of programs that know nothing of it: other MCP servers, shell commands."""
