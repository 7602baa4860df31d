"""Installing and uninstalling: what changes in which file is settled first, then done.

The copy beside a file is the file as it was without us. Where putting our parts into the copy gives
what stands there now, nobody else changed anything, and uninstalling gives the copy back.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from handoff_memory.core.errors import ClientFileError
from handoff_memory.rules import redact
from handoff_memory.settings import Places
from handoff_memory.setup import files
from handoff_memory.setup.clients import Client, Scope
from handoff_memory.setup.commands import Launch
from handoff_memory.setup.entries import entry, groups
from handoff_memory.setup.jsonc import JsoncError
from handoff_memory.setup.parts import Hooks, JsonServer, Part, TomlServer
from handoff_memory.setup.toml_text import TomlTextError

_CONTEXT_LINES: Final = 2
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_STRINGS: Final = re.compile(r'\[\s*""(?:,\s*"")*\s*\]')
Commanded = Callable[[str], str]
Outcome = Literal["unchanged", "created", "changed", "restored", "removed"]


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file.

    Attributes:
        path: As the client names it.
        outcome: In one word.
        before: Its bytes, or None where there is no file.
        after: What they become, or None where the file goes.
        keeps: Whether a copy is put beside it.
        folder: The client's own folder, which goes with the file when it is empty.
    """

    path: Path
    outcome: Outcome
    before: bytes | None
    after: bytes | None
    keeps: bool = False
    folder: str | None = None

    def diff(self) -> Iterator[str]:
        """The change as people read it, without the secrets that such files hold."""
        old, new = (_lines(self.path, content) for content in (self.before, self.after))
        name = str(self.path)
        for line in difflib.unified_diff(old, new, name, name, n=_CONTEXT_LINES, lineterm=""):
            yield redact.redact_text(line, frozenset()).value


def installing(
    client: Client, places: Places, scope: Scope, started: Launch, command: Commanded | None
) -> list[Change]:
    """What installing changes.

    Args:
        client: One whose files are edited.
        places: Where they lie.
        scope: For the person, or for the project.
        started: How the server is started.
        command: Gives the command of a hook for a kind of event; None for no hooks.

    Raises:
        ClientFileError: A file cannot be read or edited; nothing was changed.
    """
    parts = _parts(client, places, scope, started, command)
    return [_installed(path, owned) for path, owned in parts.items()]


def uninstalling(client: Client, places: Places, scope: Scope) -> list[Change]:
    """What uninstalling changes, hooks or not.

    Raises:
        ClientFileError: A file cannot be read or edited; nothing was changed.
    """
    # Any entry does: it is put into the copy only to be compared, and taken out again.
    some = Launch("-", (), {})
    parts = _parts(client, places, scope, some, lambda _: "handoff-memory hook ")
    return [_uninstalled(path, owned) for path, owned in parts.items()]


def carry_out(change: Change) -> Path | None:
    """Do it; gives where an older copy was moved to.

    Raises:
        ClientFileError: The file cannot be written, or was changed meanwhile.
    """
    if change.outcome == "unchanged":
        return None
    if change.after is None:
        files.remove(change.path, change.before or b"", change.folder)
        return None
    moved = files.keep(change.path, change.before or b"") if change.keeps else None
    files.replace(change.path, change.before, change.after)
    if change.outcome in {"restored", "removed"}:
        files.forget(change.path, change.after)
    return moved


def _parts(
    client: Client, places: Places, scope: Scope, started: Launch, command: Commanded | None
) -> dict[Path, list[Part]]:
    at = client.files[scope](places)
    server = TomlServer if client.shape == "codex" else JsonServer
    parts: dict[Path, list[Part]] = {at: [server(client.top, entry(client, started))]}
    if client.hooks and command:
        hooks = Hooks(groups(client, command), dict(client.hooks.preset or {}))
        parts.setdefault(client.hooks.files[scope](places), []).append(hooks)
    return parts


def _installed(path: Path, parts: Sequence[Part]) -> Change:
    before = files.read(path)
    text = files.text_of(path, before or b"")
    with _told(path):
        edited = _put(text, parts)
        without = _dropped(text, parts, None)
    after = edited.encode()
    if before == after:
        return Change(path, "unchanged", before, before)
    if before is None:
        return Change(path, "created", None, after)
    kept = files.read(files.backup_of(path))
    has_ours = without != text
    made_by_us = kept is None and without == parts[0].blank and _is_our_writing(text, parts)
    keeps = not (has_ours and (made_by_us or kept is not None))
    return Change(path, "changed", before, after, keeps=keeps)


def _is_our_writing(text: str, parts: Sequence[Part]) -> bool:
    """Whether nothing but strings sets a text apart from what we write into an empty file."""
    written = (_put("", parts[:count]) for count in range(1, len(parts) + 1))
    return _skeleton(text) in map(_skeleton, written)


def _skeleton(text: str) -> str:
    return _STRINGS.sub('[""]', _STRING.sub('""', text))


def _uninstalled(path: Path, parts: Sequence[Part]) -> Change:
    before = files.read(path)
    if before is None:
        return Change(path, "unchanged", None, None)
    text = files.text_of(path, before)
    kept = files.read(files.backup_of(path))
    with _told(path):
        whole = _dropped(text, parts, None)
        if whole == text:
            return Change(path, "unchanged", before, before)
        if kept is None:
            if whole == parts[0].blank:
                name = path.parent.name
                folder = name if name.startswith(".") else None
                return Change(path, "removed", before, None, folder=folder)
            return Change(path, "removed", before, whole.encode())
        original = _text_or_none(kept)
        if original is not None and _is_all_that_changed(text, original, parts):
            return Change(path, "restored", before, kept)
        return Change(path, "removed", before, _dropped(text, parts, original).encode())


def _is_all_that_changed(text: str, original: str, parts: Sequence[Part]) -> bool:
    """Whether a text is the original with our parts in it, or with some of them."""
    some = (parts[:count] for count in range(1, len(parts) + 1))
    try:
        clean = _dropped(original, parts, None) == original
        left = _dropped(text, parts, original)
        likely = [_dropped(_put(original, few), parts, original) for few in some]
    except (JsoncError, TomlTextError):
        return False
    # Where the original has ours by another hand, that is taken out as well.
    return clean and left in [original, *likely]


def _put(text: str, parts: Sequence[Part]) -> str:
    if not text.strip("\ufeff \t\r\n"):
        text += parts[0].blank
    for part in parts:
        text = part.put(text)
    return text


def _dropped(text: str, parts: Sequence[Part], before: str | None) -> str:
    if not text.strip("\ufeff \t\r\n"):
        return text
    known = before if before is None or before.strip("\ufeff \t\r\n") else parts[0].blank
    for part in reversed(parts):
        text = part.drop(text, known)
    return text


def _text_or_none(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _lines(path: Path, content: bytes | None) -> list[str]:
    return files.text_of(path, content or b"").splitlines()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except (JsoncError, TomlTextError) as error:
        where = f", line {error.line}" if error.line else ""
        raise ClientFileError(f"{path}{where}: {error.reason}; nothing was changed") from error
