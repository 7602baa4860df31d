"""Parts of a client's file that are ours: each is put into a text, and taken out of one.

Taking out leaves what others wrote, and the objects around it where the text had them before us.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from handoff_memory.setup import jsonc, toml_text
from handoff_memory.setup.commands import NAME, is_hook
from handoff_memory.setup.entries import Groups


class Part(Protocol):
    """Something of ours in a text."""

    @property
    def blank(self) -> str:
        """What an empty file of that kind holds."""

    def put(self, text: str) -> str:
        """The text with it."""

    def drop(self, text: str, before: str | None) -> str:
        """The text without it; `before` is the text that it once was put into."""


@dataclass(frozen=True, slots=True)
class JsonServer:
    """The server in a JSON file."""

    top: str
    entry: Mapping[str, Any]
    blank: str = "{}\n"

    def put(self, text: str) -> str:
        """The text with the server."""
        return jsonc.put(text, (self.top, NAME), self.entry)

    def drop(self, text: str, before: str | None) -> str:
        """The text without the server."""
        without = jsonc.drop(text, (self.top, NAME))
        return without if without == text else _pruned(without, (self.top,), before)


@dataclass(frozen=True, slots=True)
class TomlServer:
    """The server in a TOML file."""

    top: str
    entry: Mapping[str, Any]
    blank: str = ""

    def put(self, text: str) -> str:
        """The text with the server."""
        return toml_text.put_table(text, (self.top, NAME), self.entry)

    def drop(self, text: str, before: str | None) -> str:
        """The text without the server."""
        return toml_text.drop_table(text, (self.top, NAME))


@dataclass(frozen=True, slots=True)
class Hooks:
    """Hooks in a JSON file."""

    groups: Groups
    preset: Mapping[str, Any] = field(default_factory=dict)
    blank: str = "{}\n"

    def put(self, text: str) -> str:
        """The text with our hooks, one group for each event."""
        for name, value in self.preset.items():
            if jsonc.find(text, (name,)) is None:
                text = jsonc.put(text, (name,), value)
        for event in _events(text):
            if event not in self.groups:
                text = _without(text, event)
        for event, group in self.groups.items():
            text = _with(text, event, group)
        return text

    def drop(self, text: str, before: str | None) -> str:
        """The text without our hooks."""
        without = text
        for event in _events(text):
            fewer = _without(without, event)
            without = without if fewer == without else _pruned(fewer, ("hooks", event), before)
        if without == text:
            return text
        without = _pruned(without, ("hooks",), before)
        if jsonc.parse(without) == self.preset:
            for name in self.preset:
                known = before is not None and jsonc.find(before, (name,)) is not None
                without = without if known else jsonc.drop(without, (name,))
        return without


def commands(text: str) -> Iterator[tuple[str, str, Any]]:
    """The commands of ours in a text: event, command, and the matcher of the group."""
    for event in _events(text):
        for group in _groups(text, event):
            for command in _commands(group):
                if is_hook(command):
                    yield event, command, group.get("matcher")


def _with(text: str, event: str, group: dict[str, Any]) -> str:
    ours = [(at, old) for at, old in enumerate(_groups(text, event)) if _has_ours(old)]
    if len(ours) == 1 and all(map(is_hook, _commands(ours[0][1]))):
        return jsonc.put(text, ("hooks", event, ours[0][0]), group)
    text = _without(text, event)
    return jsonc.put(text, ("hooks", event, len(_groups(text, event))), group)


def _without(text: str, event: str) -> str:
    for at, group in reversed(list(enumerate(_groups(text, event)))):
        ours = [is_hook(command) for command in _commands(group)]
        if ours and all(ours):
            text = jsonc.drop(text, ("hooks", event, at))
            continue
        for index in reversed(range(len(ours))):
            if ours[index]:
                text = jsonc.drop(text, ("hooks", event, at, "hooks", index))
    return text


def _has_ours(group: Any) -> bool:
    return any(map(is_hook, _commands(group)))


def _commands(group: Any) -> list[Any]:
    if not isinstance(group, dict):
        return []
    if isinstance(inner := group.get("hooks"), list):
        return [one.get("command") if isinstance(one, dict) else None for one in inner]
    return [group.get("command")]


def _events(text: str) -> list[str]:
    found = jsonc.find(text, ("hooks",))
    return list(found) if isinstance(found, dict) else []


def _groups(text: str, event: str) -> list[Any]:
    found = jsonc.find(text, ("hooks", event))
    return found if isinstance(found, list) else []


def _pruned(text: str, path: tuple[str, ...], before: str | None) -> str:
    if jsonc.find(text, path) not in ({}, []):
        return text
    known = before is not None and jsonc.find(before, path) is not None
    return text if known else jsonc.drop(text, path)
