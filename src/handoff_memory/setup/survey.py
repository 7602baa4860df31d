"""Which clients are here, in which version, and whether our hooks are enforced in them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handoff_memory.settings import Places
from handoff_memory.setup import canary, codex_trust
from handoff_memory.setup.canary import Sung
from handoff_memory.setup.clients import CLIENTS, Client
from handoff_memory.setup.standing import Standing, standings

_VERSION: Final = re.compile(r"\d+\.\d+[\w.+-]*")
_VERSION_S: Final = 8.0
_PACKAGE_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class Found:
    """A client that is here.

    Attributes:
        client: Which.
        program: Its program, or None where only its files are here.
        version: As the program says, or None.
        standings: What stands in its files.
        sung: How the canary fared; None where the client runs no hooks of ours.
    """

    client: Client
    program: str | None
    version: str | None
    standings: tuple[Standing, ...]
    sung: Sung | None

    @property
    def servers(self) -> tuple[Standing, ...]:
        """The scopes that have our server."""
        return tuple(one for one in self.standings if one.server is not None)

    @property
    def is_ours(self) -> bool:
        """Whether anything of ours stands in its files."""
        return any(one.server is not None or one.hooks for one in self.standings)


def survey(places: Places) -> Sequence[Found]:
    """All clients that are here, in the order of the table."""
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda client: _look(client, places), CLIENTS.values())
        return [one for one in found if one]


def _look(client: Client, places: Places) -> Found | None:
    names = (shutil.which(name, path=places.programs) for name in client.programs)
    program = next(filter(None, names), None)
    standing = tuple(standings(client, places))
    if program is None and not standing:
        return None
    sung = _sung(client, program, standing, places) if client.hooks else None
    return Found(client, program, _version(program), standing, sung)


def _sung(
    client: Client, program: str | None, standing: tuple[Standing, ...], places: Places
) -> Sung:
    hooked = [one for one in standing if one.hooks]
    if not hooked:
        way_out = f"Run: handoff-memory install {client.key} --hooks"
        return Sung(
            enforced=False, reason="none of our hooks stands in its settings", way_out=way_out
        )
    results = [_tried(client, program, one, places) for one in hooked]
    return next((one for one in results if one.enforced), results[0])


def _tried(client: Client, program: str | None, one: Standing, places: Places) -> Sung:
    if one.off:
        return Sung(enforced=False, reason=one.off, way_out="Turn hooks on again.")
    sung = canary.sing(client.key, one.hooks, places.project)
    if client.key != "codex" or not sung.enforced:
        return sung
    trusted = codex_trust.trusted(program, places.project) if program else None
    if one.is_trusted if trusted is None else trusted:
        return sung
    reason = "Codex has not been told to trust them as they stand"
    return Sung(enforced=False, reason=reason, way_out=f"{client.name} {client.note}.")


def _version(program: str | None) -> str | None:
    if program is None:
        return None
    if packed := _version_of_package(Path(program).resolve()):
        return packed
    try:
        done = subprocess.run(  # noqa: S603 - a client that this person installed
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_VERSION_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stdout)
    return found[0] if found else None


def _version_of_package(program: Path) -> str | None:
    """The version of the npm package that a program lies in: it need not start to say it."""
    for folder in program.parents[:_PACKAGE_DEPTH]:
        with suppress(OSError, ValueError):
            found = json.loads((folder / "package.json").read_text("utf-8"))
            return str(found["version"]) if isinstance(found, dict) and "version" in found else None
    return None
