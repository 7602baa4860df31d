"""The git checkout that a client works in: what a packet says of it, and which project it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

_PATIENCE_S: Final = 3
# A checkout's own configuration may name programs to run; none of them is wanted here.
_GIT: Final = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_POINTS: Final = "gitdir: "


def state(folder: Path) -> dict[str, Any] | None:
    """Branch, commit and dirtiness of the checkout, or None where there is none."""
    said = _git(folder, "status", "--porcelain=v2", "--branch", "--no-renames")
    if said is None:
        return None
    found: dict[str, Any] = {"branch": None, "commit": None, "dirty": False}
    for line in said.splitlines():
        if line.startswith("# branch.head "):
            found["branch"] = line.removeprefix("# branch.head ")
        elif line.startswith("# branch.oid "):
            found["commit"] = line.removeprefix("# branch.oid ")
        elif not line.startswith("#"):
            found["dirty"] = True
    return found


def is_edited_since(folder: Path, at_us: int, *, but_for: Sequence[Path] = ()) -> bool:
    """Whether a file that differs from the checkout's commit was changed after that time.

    Outside a checkout nothing is known, so no.

    Args:
        folder: In the checkout.
        at_us: Microseconds since 1970 UTC.
        but_for: Files and folders, with what is named like them and a suffix, that do not count.
    """
    said = _git(folder, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
    top = _git(folder, "rev-parse", "--show-toplevel")
    if said is None or top is None:
        return False
    paths = (Path(top.strip(), entry[3:]) for entry in said.split("\0") if len(entry) > 3)
    own = tuple(str(path.resolve()) for path in but_for)
    return any(not str(path).startswith(own) and _changed_us(path) > at_us for path in paths)


def _changed_us(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns // 1000
    except OSError:  # deleted: when, nobody knows
        return 0


def project(folder: Path) -> str:
    """What the folder belongs to: its repository, which worktrees share, else itself.

    Read from the files that git itself goes by: starting it would cost each hook 10 ms.
    """
    whole = folder.resolve()
    for place in (whole, *whole.parents):
        if (found := _common(place / ".git")) is not None:
            return str(found.resolve())
    return str(whole)


def _common(place: Path) -> Path | None:
    """The folder that the worktrees of a repository share; None where that is no repository."""
    try:
        if place.is_dir():
            return place if (place / "HEAD").is_file() else None
        said = place.read_text("utf-8")
        if not said.startswith(_POINTS):
            return None
        home = place.parent / said.removeprefix(_POINTS).strip()
        if not home.is_dir():
            return None
        shared = home / "commondir"
        return home / shared.read_text("utf-8").strip() if shared.is_file() else home
    except (OSError, UnicodeDecodeError):
        return None


def _git(folder: Path, *arguments: str) -> str | None:
    import subprocess  # noqa: PLC0415 - most calls of a hook ask git nothing

    try:
        done = subprocess.run(  # noqa: S603 - fixed program and arguments
            [*_GIT, "-C", str(folder), *arguments],
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
