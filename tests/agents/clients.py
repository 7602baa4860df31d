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
OURS = Path(sys.executable).with_name("handoff-memory")
RUN_S = 180
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
    """

    agent: str
    home: Path
    project: Path
    database: Path
    model: Model

    @property
    def server_env(self) -> dict[str, str]:
        """Who it is, and which memory it shares."""
        return {"AGENT_ID": self.agent, "MEMORY_DB": str(self.database)}

    def run(
        self, *command: str, status: int | None = 0, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end, as this agent's person would."""
        done = subprocess.run(
            command,
            cwd=self.project,
            env=self._environ(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=RUN_S,
            check=False,
        )
        if status is not None:
            assert done.returncode == status, f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *command: str, **env: str) -> subprocess.Popen[str]:
        """Start a program that is spoken with."""
        return subprocess.Popen(
            command,
            cwd=self.project,
            env=self._environ(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def _environ(self, more: Mapping[str, str]) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(PROGRAMS), os.environ["PATH"]]),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "OSIRIS_HOOK_DEADLINE_MS": "4000",  # a machine may be busy
            **more,
        }

    def ours(self, *arguments: str) -> str:
        """What our own command line says to this agent's person."""
        return self.run(str(OURS), *arguments, **self.server_env).stdout

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
        configure: Writes what it needs to think with the desk's model.
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

    def set_up(self, desk: Desk, *options: str) -> None:
        """Have it think with the desk's model, and our installer give it the memory."""
        self.configure(desk)
        printed = desk.ours("install", self.name, *options)
        if self is OPENCODE:  # its file is not edited: a person adds what is printed
            path = desk.home / _OPENCODE_FILE
            desk.keep(_OPENCODE_FILE, json.loads(path.read_text("utf-8")) | json.loads(printed))

    def ask(self, desk: Desk, prompt: str, *, resumes: bool = False) -> str:
        """What the client prints when it is asked; it ends well."""
        command = self.resumed(prompt) if resumes else self.command(prompt)
        return desk.run(*command, **self.environ(desk)).stdout


# --- Claude Code -------------------------------------------------------------------------------


_CLAUDE_MAY = ("mcp__handoff-memory__*", "mcp__files__*", "Bash", "Read", "Write")


def _configure_claude(_: Desk) -> None:
    """All of it stands in the environment."""


def _claude(prompt: str, *options: str) -> Sequence[str]:
    return ("claude", "-p", prompt, *options, "--allowedTools", *_CLAUDE_MAY)


def _claude_environ(desk: Desk) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": desk.model.address,
        "ANTHROPIC_API_KEY": _KEY,
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_TIMEOUT": "60000",  # a machine may be busy
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


def _configure_codex(desk: Desk) -> None:
    desk.keep(".codex/config.toml", _CODEX_MODEL.format(address=desk.model.address))


_CODEX_OPTIONS = ("--skip-git-repo-check", "--json")
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
    auth = {"selectedType": "gemini-api-key"}
    desk.keep(".gemini/settings.json", {"security": {"auth": auth}})


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


_OPENCODE_FILE = ".config/opencode/opencode.json"


def _configure_opencode(desk: Desk) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{desk.model.address}/v1", "apiKey": _KEY},
        "models": {"scripted": {"name": "scripted"}},
    }
    model = {"model": "scripted/scripted", "provider": {"scripted": provider}}
    desk.keep(_OPENCODE_FILE, model)


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
