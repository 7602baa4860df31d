"""The four agent clients: how each is set up and started, headless, on a scripted model.

Nothing is inherited but the path of programs: no login, no key, no settings of the person at this
machine. Every agent has a home of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.model import Model, Use

PROGRAMS = Path(__file__).parent / "node_modules" / ".bin"
START_S = 60  # how long a client waits for a server on a machine that is busy
RUN_S = 180
_PATIENT_MS = START_S * 1000
_KEY = "dummy-not-a-key"


@dataclass(frozen=True)
class Desk:
    """Where an agent works.

    Attributes:
        agent: Its id.
        home: Its home folder.
        project: The folder that it works in.
        database: The file that it shares with others.
        model: The model that it thinks with.
        server: How the memory's server is started.
    """

    agent: str
    home: Path
    project: Path
    database: Path
    model: Model
    server: tuple[str, ...] = (sys.executable, "-m", "handoff_memory", "serve")

    @property
    def server_env(self) -> dict[str, str]:
        """What the server is told by the client's own settings."""
        return {
            "AGENT_ID": self.agent,
            "MEMORY_DB": str(self.database),
            "OSIRIS_HOME": str(self.home / ".osiris"),
        }

    def run(
        self, *command: str, status: int | None = 0, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end, as this agent's person would."""
        done = subprocess.run(
            command,
            cwd=self.project,
            env={
                "PATH": os.pathsep.join([str(PROGRAMS), os.environ["PATH"]]),
                "HOME": str(self.home),
                "LANG": "C.UTF-8",
                "TERM": "dumb",
                **env,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=RUN_S,
            check=False,
        )
        if status is not None:
            assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    def keep(self, name: str, content: Any) -> Path:
        """Write a settings file below the home folder."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        path.write_text(text, encoding="utf-8")
        return path


@dataclass(frozen=True)
class AgentClient:
    """A client that somebody else wrote.

    Attributes:
        name: What `handoff-memory install` calls it.
        configure: Writes its settings for a desk.
        command: Its program and arguments for a prompt.
        resumed: The same, in the session that was there last.
        shell: How its model runs a shell command.
        environ: What its environment holds beside the bare one.
    """

    name: str
    configure: Callable[[Desk], None]
    command: Callable[[str], Sequence[str]]
    resumed: Callable[[str], Sequence[str]]
    shell: Callable[[str], Use]
    environ: Callable[[Desk], Mapping[str, str]] = field(default=lambda _: {})

    def ask(self, desk: Desk, prompt: str, *, resumes: bool = False) -> str:
        """What the client prints when it is asked; it ends well."""
        command = self.resumed(prompt) if resumes else self.command(prompt)
        return desk.run(*command, **self.environ(desk)).stdout


def _stdio(desk: Desk) -> dict[str, Any]:
    program, *arguments = desk.server
    return {"command": program, "args": arguments, "env": desk.server_env}


# --- Claude Code -------------------------------------------------------------------------------


_CLAUDE_MAY = ("mcp__handoff-memory__*", "mcp__files__*", "Bash", "Read")


def _configure_claude(desk: Desk) -> None:
    desk.keep(".claude.json", {"mcpServers": {"handoff-memory": {"type": "stdio", **_stdio(desk)}}})


def _claude(prompt: str, *options: str) -> Sequence[str]:
    return ("claude", "-p", prompt, *options, "--allowedTools", *_CLAUDE_MAY)


def _claude_environ(desk: Desk) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": desk.model.address,
        "ANTHROPIC_API_KEY": _KEY,
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_TIMEOUT": str(_PATIENT_MS),
        "ENABLE_TOOL_SEARCH": "false",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


CLAUDE_CODE = AgentClient(
    "claude-code",
    _configure_claude,
    _claude,
    lambda prompt: _claude(prompt, "--continue"),
    lambda command: Use("^Bash$", {"command": command, "description": "Run it"}),
    _claude_environ,
)


# --- Codex -------------------------------------------------------------------------------------

_CODEX_MODEL = """\
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""

_CODEX_SERVER = """
[mcp_servers.handoff-memory]
command = {command}
args = {args}
startup_timeout_sec = {start_s}
required = true
default_tools_approval_mode = "approve"

[mcp_servers.handoff-memory.env]
"""


def _configure_codex(desk: Desk) -> None:
    command, *arguments = map(json.dumps, desk.server)
    env = "".join(f"{name} = {json.dumps(value)}\n" for name, value in desk.server_env.items())
    server = _CODEX_SERVER.format(
        command=command, args=f"[{', '.join(arguments)}]", start_s=START_S
    )
    desk.keep(".codex/config.toml", _CODEX_MODEL.format(address=desk.model.address) + server + env)


_CODEX_OPTIONS = ("--skip-git-repo-check", "--json", "--dangerously-bypass-hook-trust")
CODEX = AgentClient(
    "codex",
    _configure_codex,
    lambda prompt: ("codex", "exec", *_CODEX_OPTIONS, prompt),
    lambda prompt: ("codex", "exec", "resume", *_CODEX_OPTIONS, "--last", prompt),
    lambda command: Use("^exec_command$", {"cmd": command}),
    lambda _: {"SCRIPTED_KEY": _KEY},
)


# --- Gemini CLI --------------------------------------------------------------------------------


def _configure_gemini(desk: Desk) -> None:
    server = {**_stdio(desk), "timeout": _PATIENT_MS, "trust": True}
    desk.keep(
        ".gemini/settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "mcpServers": {"handoff-memory": server},
        },
    )


def _gemini(prompt: str, *options: str) -> Sequence[str]:
    always = ("-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-o", "json")
    return ("gemini", "-p", prompt, *always, *options)


def _gemini_environ(desk: Desk) -> Mapping[str, str]:
    return {
        "GEMINI_API_KEY": _KEY,
        "GOOGLE_GEMINI_BASE_URL": desk.model.address,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


GEMINI = AgentClient(
    "gemini",
    _configure_gemini,
    _gemini,
    lambda prompt: _gemini(prompt, "--resume", "latest"),
    lambda command: Use("^run_shell_command$", {"command": command}),
    _gemini_environ,
)


# --- opencode ----------------------------------------------------------------------------------


def _configure_opencode(desk: Desk) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{desk.model.address}/v1", "apiKey": _KEY},
        "models": {"scripted": {"name": "scripted"}},
    }
    server = {
        "type": "local",
        "command": list(desk.server),
        "environment": desk.server_env,
        "enabled": True,
        "timeout": _PATIENT_MS,
    }
    desk.keep(
        ".config/opencode/opencode.json",
        {
            "model": "scripted/scripted",
            "provider": {"scripted": provider},
            "mcp": {"handoff-memory": server},
        },
    )


def _opencode(prompt: str, *options: str) -> Sequence[str]:
    return ("opencode", "run", "--format", "json", *options, prompt)


def _opencode_environ(_: Desk) -> Mapping[str, str]:
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}


OPENCODE = AgentClient(
    "opencode",
    _configure_opencode,
    _opencode,
    lambda prompt: _opencode(prompt, "--continue"),
    lambda command: Use("^bash$", {"command": command, "description": "Run it"}),
    _opencode_environ,
)
