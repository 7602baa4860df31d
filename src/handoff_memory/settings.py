"""Settings: the only reader of the environment, one frozen value for every surface."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from handoff_memory.core import names
from handoff_memory.core.errors import InvalidArgumentError
from handoff_memory.services.limits import Limits

DATABASE_NAME: Final = "osiris.db"
ALLOWED_NAME: Final = "not-secret.txt"
_PRUNE_MODES: Final = ("cache_ttl", "conservative", "balanced", "aggressive")


class Settings(NamedTuple):
    """What the environment and the command line say.

    Attributes:
        home: Folder for the default database and reports (`OSIRIS_HOME`).
        database: The file that agents share (`MEMORY_DB`), absolute.
        folder: Where the client works.
        agent: Canonical agent id (`AGENT_ID`), or None for the name that the client announces.
        session: Session id that the host gave (`CLAUDE_CODE_SESSION_ID`), or None.
        project: `MEMORY_PROJECT`, or None for the one that the folder belongs to.
        durable: Whether a commit is synced before it is acknowledged (`MEMORY_DURABILITY`).
        deadline_s: How long a write may wait for other processes (`MEMORY_DEADLINE_S`).
        colors: Whether a terminal may be coloured; not with any `NO_COLOR`.
        tools: Which tools are listed (`MEMORY_TOOLS`): `memory`, `governor` or `all`.
        dotted: Whether the governor's tools are listed with a dot (`OSIRIS_TOOL_NAMES`).
        dispatch_only: Whether `osiris_call` alone is listed (`OSIRIS_DISPATCH_ONLY`).
        roots: Folders below which files may be read (`OSIRIS_ROOTS`, separated by `;`).
        cache_ttl_s: Lifetime of a prompt cache (`OSIRIS_CACHE_TTL_S`).
        prune_threshold_tokens: `OSIRIS_PRUNE_THRESHOLD_TOKENS`.
        prune_mode: `OSIRIS_PRUNE_MODE`.
        stub_tokens: From how many tokens on hooks, the gateway and `run` put a stub in the place of
            a result that is read for the first time (`OSIRIS_STUB_TOKENS`).
        hook_deadline_ms: How long a hook may hold up a call or a prompt, and half of what it may
            take elsewhere (`OSIRIS_HOOK_DEADLINE_MS`).
        limits: Sizes (`MEMORY_MAX_VALUE_BYTES`, `MEMORY_REPLY_BYTES`), leases (`MEMORY_LEASE_S`),
            and the lines of `$OSIRIS_HOME/not-secret.txt`, which are never redacted.
    """

    home: Path
    database: Path
    folder: Path
    agent: str | None = None
    session: str | None = None
    project: str | None = None
    durable: bool = True
    deadline_s: float = 10.0
    colors: bool = True
    tools: str = "all"
    dotted: bool = False
    dispatch_only: bool = False
    roots: tuple[Path, ...] = ()
    cache_ttl_s: int = 300
    prune_threshold_tokens: int = 40_000
    prune_mode: str = "cache_ttl"
    stub_tokens: int = 400
    hook_deadline_ms: int = 1500
    limits: Limits = Limits()

    @property
    def in_home_database(self) -> bool:
        """Whether projects are kept apart: only in the home database are they."""
        home = self.home / DATABASE_NAME
        return self.database == home or self.database.resolve() == home.resolve()


def read_settings(
    environ: Mapping[str, str] | None = None, *, flags: Mapping[str, str] | None = None
) -> Settings:
    """The settings of this process.

    Args:
        environ: Environment to read instead of the process's own.
        flags: What the command line says, under the same names; it wins.

    Raises:
        InvalidArgumentError: A variable has a value that it cannot have; the message names it.
        InvalidNameError: `AGENT_ID` is no agent id.
    """
    env = {**(os.environ if environ is None else environ), **(flags or {})}
    home = read_home(env)
    agent = env.get("AGENT_ID", "").strip()
    return Settings(
        home=home,
        database=_path(env["MEMORY_DB"]) if env.get("MEMORY_DB") else home / DATABASE_NAME,
        folder=_path(env.get("CLAUDE_PROJECT_DIR") or "."),
        agent=names.agent_id(agent) if agent else None,
        session=env.get("CLAUDE_CODE_SESSION_ID") or None,
        project=env.get("MEMORY_PROJECT") or None,
        durable=_choice(env, "MEMORY_DURABILITY", ("full", "relaxed")) == "full",
        deadline_s=_number(env, "MEMORY_DEADLINE_S", 10, 1, 600),
        colors=not env.get("NO_COLOR"),
        tools=_choice(env, "MEMORY_TOOLS", ("all", "memory", "governor")),
        dotted=_choice(env, "OSIRIS_TOOL_NAMES", ("underscore", "dotted")) == "dotted",
        dispatch_only=_choice(env, "OSIRIS_DISPATCH_ONLY", ("0", "1")) == "1",
        roots=_roots(env.get("OSIRIS_ROOTS") or ""),
        cache_ttl_s=_number(env, "OSIRIS_CACHE_TTL_S", 300, 1, 86_400),
        prune_threshold_tokens=_number(
            env, "OSIRIS_PRUNE_THRESHOLD_TOKENS", 40_000, 100, 10_000_000
        ),
        stub_tokens=_number(env, "OSIRIS_STUB_TOKENS", 400, 200, 10_000_000),
        prune_mode=_choice(env, "OSIRIS_PRUNE_MODE", _PRUNE_MODES),
        hook_deadline_ms=_number(env, "OSIRIS_HOOK_DEADLINE_MS", 1500, 100, 60_000),
        limits=Limits(
            value_bytes=_number(env, "MEMORY_MAX_VALUE_BYTES", 1 << 20, 1, 512 << 20),
            reply_bytes=_number(env, "MEMORY_REPLY_BYTES", 16 << 10, 1024, 8 << 20),
            lease_s=_number(env, "MEMORY_LEASE_S", 3600, 1, 30 * 86_400),
            allowed=_allowed(home / ALLOWED_NAME),
        ),
    )


def read_home(environ: Mapping[str, str] | None = None) -> Path:
    """The home folder alone, which is known whatever else is wrong."""
    env = os.environ if environ is None else environ
    return _path(env.get("OSIRIS_HOME") or "~/.osiris")


class Places(NamedTuple):
    """Where the clients of this person keep their files, as far as the environment says.

    Attributes:
        home: The person's folder (`HOME`, `USERPROFILE` on Windows).
        project: The folder that project files lie in.
        claude: `CLAUDE_CONFIG_DIR`, or None.
        codex: `CODEX_HOME`, or None.
        gemini: `GEMINI_CLI_HOME`, or None.
        config: `XDG_CONFIG_HOME`, else `~/.config`.
        appdata: `APPDATA`, as on Windows.
        programs: `PATH`.
        system: As `sys.platform` names it.
    """

    home: Path
    project: Path
    claude: Path | None = None
    codex: Path | None = None
    gemini: Path | None = None
    config: Path = Path("~/.config")
    appdata: Path = Path("~/AppData/Roaming")
    programs: str = ""
    system: str = sys.platform


def read_places(environ: Mapping[str, str] | None = None) -> Places:
    """Where clients keep their files.

    Args:
        environ: Environment to read instead of the process's own.
    """
    env = os.environ if environ is None else environ
    home = _path(env.get("USERPROFILE" if sys.platform == "win32" else "HOME") or "~")

    def folder(name: str) -> Path | None:
        return _path(env[name]) if env.get(name) else None

    return Places(
        home=home,
        project=_path("."),
        claude=folder("CLAUDE_CONFIG_DIR"),
        codex=folder("CODEX_HOME"),
        gemini=folder("GEMINI_CLI_HOME"),
        config=folder("XDG_CONFIG_HOME") or home / ".config",
        appdata=folder("APPDATA") or home / "AppData" / "Roaming",
        programs=env.get("PATH", ""),
    )


def _path(text: str) -> Path:
    # Not resolved: a symlink in the database's own place must be seen, not followed.
    return Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100


def _roots(text: str) -> tuple[Path, ...]:
    # ';' on every platform: a colon stands in Windows paths.
    return tuple(_path(part.strip()) for part in text.split(";") if part.strip())


def _choice(env: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    given = env.get(name) or allowed[0]
    if given not in allowed:
        raise InvalidArgumentError(f"{name} is {' or '.join(allowed)}, not {given!r}")
    return given


def _number(env: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    given = env.get(name) or str(default)
    if not given.isascii() or not given.isdigit() or not low <= int(given) <= high:
        raise InvalidArgumentError(f"{name} is a number from {low} to {high}, not {given!r}")
    return int(given)


def _allowed(path: Path) -> frozenset[str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))
