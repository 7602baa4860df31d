"""What stands in a client's files now: our server, our hooks, and what keeps hooks from running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handoff_memory.core.errors import ClientFileError
from handoff_memory.settings import Places
from handoff_memory.setup import files, jsonc, parts, toml_text
from handoff_memory.setup.clients import Client, Scope
from handoff_memory.setup.commands import NAME


@dataclass(frozen=True, slots=True)
class Standing:
    """One scope of a client, as its files say.

    Attributes:
        scope: For the person, or for the project.
        file: Where its servers stand.
        server: Our entry, or None.
        hooks: Our commands: event, command, matcher.
        off: Which setting keeps the client from running hooks, or None.
        is_trusted: Whether Codex was told to trust a hook in that place.
        problem: Why a file could not be read, or None.
    """

    scope: Scope
    file: Path
    server: Mapping[str, Any] | None = None
    hooks: tuple[tuple[str, str, Any], ...] = ()
    off: str | None = None
    is_trusted: bool = False
    problem: str | None = None

    @property
    def agent(self) -> str | None:
        """The agent id in the entry."""
        found = self.env.get("AGENT_ID")
        return found if isinstance(found, str) else None

    @property
    def env(self) -> Mapping[str, Any]:
        """The environment that the server is started with."""
        found = (self.server or {}).get("env") or (self.server or {}).get("environment")
        return found if isinstance(found, dict) else {}

    @property
    def command(self) -> str | None:
        """The program that the server is started with."""
        found = (self.server or {}).get("command")
        first = found[0] if isinstance(found, list) and found else found
        return first if isinstance(first, str) else None


def standings(client: Client, places: Places) -> Iterator[Standing]:
    """What stands in each of a client's scopes that has a file."""
    seen = set()
    for scope in client.scopes:
        file = client.files[scope](places)
        hook_file = client.hooks.files[scope](places) if client.hooks else file
        if file in seen:  # the person's own folder is the project
            continue
        seen.add(file)
        if _is_there(file) or _is_there(hook_file):
            yield _standing(client, scope, file, hook_file)


def _standing(client: Client, scope: Scope, file: Path, hook_file: Path) -> Standing:
    try:
        document = _document(client, file)
        top = document.get(client.top)
        server = top.get(NAME) if isinstance(top, dict) else None
        text = _text(hook_file) if client.hooks else ""
        hooks = tuple(parts.commands(text)) if text else ()
        settings = document if client.shape == "codex" else jsonc.parse(text) if text else {}
    except (ClientFileError, jsonc.JsoncError, toml_text.TomlTextError) as error:
        return Standing(scope, file, problem=str(error))
    entry = server if isinstance(server, dict) else None
    trusted = client.shape == "codex" and _is_trusted(document, hook_file)
    return Standing(scope, file, entry, hooks, _off(client, settings), is_trusted=trusted)


def _is_there(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:  # it lies in a folder that is closed to this user; reading it says so
        return True


def _document(client: Client, file: Path) -> dict[str, Any]:
    text = _text(file)
    if not text:
        return {}
    if client.shape == "codex":
        return toml_text.parse(text)
    if file.suffix == ".yaml":  # read by people only
        return {client.top: {NAME: {}}} if NAME in text else {}
    found = jsonc.parse(text)
    return found if isinstance(found, dict) else {}


def _text(file: Path) -> str:
    text = files.text_of(file, files.read(file) or b"")
    return text if text.strip("\ufeff \t\r\n") else ""


def _off(client: Client, settings: Any) -> str | None:
    settings = settings if isinstance(settings, dict) else {}
    match client.key:
        case "claude-code":
            return "disableAllHooks is set" if settings.get("disableAllHooks") else None
        case "gemini":
            on = _table(settings, "hooksConfig").get("enabled", True)
            return None if on else "hooksConfig.enabled is false"
        case "codex":
            features = _table(settings, "features")
            on = features.get("hooks", features.get("codex_hooks", True))
            return None if on else "features.hooks is false"
        case _:
            return None


def _is_trusted(settings: Mapping[str, Any], hook_file: Path) -> bool:
    # Kept under the file, the event and the place of a hook.
    kept = _table(_table(settings, "hooks"), "state")
    names = {f"{file}:pre_tool_use:" for file in (hook_file, hook_file.resolve())}
    return any(
        key.startswith(tuple(names)) and "trusted_hash" in state
        for key, state in kept.items()
        if isinstance(state, dict)
    )


def _table(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, dict) else {}
