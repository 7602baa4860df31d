"""The clients: where each keeps its servers and hooks, and in which form. One table for all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from handoff_memory.settings import Places

Scope = Literal["user", "project"]
Shape = Literal["plain", "typed", "codex", "opencode", "zed", "continue", "goose"]
Shell = Literal["sh", "cmd", "powershell"]
At = Callable[[Places], Path]

SCOPES: Final[tuple[Scope, ...]] = ("user", "project")


@dataclass(frozen=True, slots=True)
class HookForm:
    """How a client's hooks are written.

    Attributes:
        files: Where, by scope.
        flat: Whether a command stands in an event's list itself, not in a group of commands.
        matcher: What covers all tools; None where leaving it out does.
        timeout: How long the client waits, in its own unit.
        preset: Members that the file must have besides.
        on_windows: The shell that it gives a command to there.
    """

    files: Mapping[Scope, At]
    flat: bool = False
    matcher: str | None = None
    timeout: int = 10
    preset: Mapping[str, int] | None = None
    on_windows: Shell = "cmd"

    @property
    def shell(self) -> Shell:
        """The shell that it gives a command to here."""
        return self.on_windows if sys.platform == "win32" else "sh"


@dataclass(frozen=True, slots=True)
class Client:
    """A client.

    Attributes:
        key: Its name on our command line, and the agent id where none is given.
        name: As people call it.
        top: The member that holds the servers.
        files: Where the servers stand, by scope.
        shape: The form of an entry.
        edited: Whether we write the file; else the entry is printed.
        programs: Names of its program.
        hooks: How its hooks are written, or None where it runs none of ours.
        note: What is to be known.
    """

    key: str
    name: str
    top: str
    files: Mapping[Scope, At]
    shape: Shape = "plain"
    edited: bool = False
    programs: tuple[str, ...] = ()
    hooks: HookForm | None = None
    note: str = ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that it has a file for."""
        return tuple(scope for scope in SCOPES if scope in self.files)


def _claude(places: Places) -> Path:
    return places.claude or places.home / ".claude"


def _codex(places: Places) -> Path:
    return places.codex or places.home / ".codex"


def _gemini(places: Places) -> Path:
    return (places.gemini or places.home) / ".gemini"


def _application(places: Places) -> Path:
    """Where programs with windows keep their settings."""
    if places.system == "darwin":
        return places.home / "Library" / "Application Support"
    return places.appdata if places.system == "win32" else places.config


def _goose(places: Places) -> Path:
    if places.system == "win32":
        return places.appdata / "Block" / "goose" / "config" / "config.yaml"
    return places.config / "goose" / "config.yaml"


def _zed(places: Places) -> Path:
    folder = places.appdata / "Zed" if places.system == "win32" else places.config / "zed"
    return folder / "settings.json"


_ROWS: Final = (
    Client(
        "claude-code",
        "Claude Code",
        "mcpServers",
        {
            "user": lambda at: (at.claude or at.home) / ".claude.json",
            "project": lambda at: at.project / ".mcp.json",
        },
        shape="typed",
        edited=True,
        programs=("claude",),
        hooks=HookForm(
            {
                "user": lambda at: _claude(at) / "settings.json",
                "project": lambda at: at.project / ".claude" / "settings.json",
            },
            matcher="*",
        ),
    ),
    Client(
        "codex",
        "Codex",
        "mcp_servers",
        {
            "user": lambda at: _codex(at) / "config.toml",
            "project": lambda at: at.project / ".codex" / "config.toml",
        },
        shape="codex",
        edited=True,
        programs=("codex",),
        hooks=HookForm(
            {
                "user": lambda at: _codex(at) / "hooks.json",
                "project": lambda at: at.project / ".codex" / "hooks.json",
            },
        ),
        note="runs hooks only after you trust them: start codex and open /hooks",
    ),
    Client(
        "gemini",
        "Gemini CLI",
        "mcpServers",
        {
            "user": lambda at: _gemini(at) / "settings.json",
            "project": lambda at: at.project / ".gemini" / "settings.json",
        },
        edited=True,
        programs=("gemini",),
        hooks=HookForm(
            {
                "user": lambda at: _gemini(at) / "settings.json",
                "project": lambda at: at.project / ".gemini" / "settings.json",
            },
            matcher="*",
            timeout=10_000,
            on_windows="powershell",
        ),
    ),
    Client(
        "cursor",
        "Cursor",
        "mcpServers",
        {
            "user": lambda at: at.home / ".cursor" / "mcp.json",
            "project": lambda at: at.project / ".cursor" / "mcp.json",
        },
        edited=True,
        programs=("cursor", "cursor-agent"),
        hooks=HookForm(
            {
                "user": lambda at: at.home / ".cursor" / "hooks.json",
                "project": lambda at: at.project / ".cursor" / "hooks.json",
            },
            flat=True,
            preset={"version": 1},
        ),
    ),
    Client(
        "vscode",
        "VS Code",
        "servers",
        {
            "user": lambda at: _application(at) / "Code" / "User" / "mcp.json",
            "project": lambda at: at.project / ".vscode" / "mcp.json",
        },
        shape="typed",
        edited=True,
        programs=("code",),
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        "mcpServers",
        {"user": lambda at: _application(at) / "Claude" / "claude_desktop_config.json"},
    ),
    Client(
        "windsurf",
        "Windsurf",
        "mcpServers",
        {"user": lambda at: at.home / ".codeium" / "windsurf" / "mcp_config.json"},
        programs=("windsurf",),
    ),
    Client(
        "opencode",
        "opencode",
        "mcp",
        {
            "user": lambda at: at.config / "opencode" / "opencode.json",
            "project": lambda at: at.project / "opencode.json",
        },
        shape="opencode",
        programs=("opencode",),
    ),
    Client(
        "cline",
        "Cline",
        "mcpServers",
        {"user": lambda at: at.home / ".cline/data/settings/cline_mcp_settings.json"},
        programs=("cline",),
    ),
    Client(
        "continue",
        "Continue",
        "mcpServers",
        {"user": lambda at: at.home / ".continue" / "config.yaml"},
        shape="continue",
        programs=("cn",),
    ),
    Client(
        "zed",
        "Zed",
        "context_servers",
        {"user": _zed, "project": lambda at: at.project / ".zed" / "settings.json"},
        shape="zed",
        programs=("zed",),
    ),
    Client("goose", "goose", "extensions", {"user": _goose}, shape="goose", programs=("goose",)),
    Client(
        "minimax-code",
        "MiniMax Code",
        "mcpServers",
        {},
        note="takes the entry as JSON in its own settings for MCP servers",
    ),
)
CLIENTS: Final[Mapping[str, Client]] = {client.key: client for client in _ROWS}
