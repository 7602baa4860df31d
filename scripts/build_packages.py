"""Write what packages/ says of the project, then build all packages into build/packages.

Versions, names and descriptions come from pyproject.toml, the name in the MCP registry from the
README (where PyPI's copy proves who owns it), hooks from what set-up writes for the client.
`--check` builds nothing, and only says which files are out of date.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from handoff_memory.setup.clients import CLIENTS
from handoff_memory.setup.entries import groups

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ROOT / "packages"
BUILT: Final = ROOT / "build" / "packages"
PLUGIN: Final = "handoff-memory"

_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_OWNER_MARK: Final = re.compile(r"<!-- mcp-name: (\S+) -->")
_RELEASE: Final = re.compile(r"\d+\.\d+\.\d+")
_REGISTRY_CHARS: Final = 100
_VARIABLES: Final = {
    "MEMORY_DB": ("The SQLite file that the agents share", "filepath"),
    "AGENT_ID": ("Who writes; give each agent an id of its own", "string"),
}


@dataclass(frozen=True)
class Project:
    """What the packages say of the project.

    Attributes:
        name: The distribution's, the same on PyPI and npm.
        version: Of every package.
        description: One line.
        licence: SPDX expression.
        keywords: For the registries.
        registered: The server's name in the MCP registry.
    """

    name: str
    version: str
    description: str
    licence: str
    keywords: list[str]
    registered: str

    @property
    def claim(self) -> str:
        """The description up to its colon, short enough for the MCP registry."""
        return self.description.partition(":")[0]


def read_project() -> Project:
    """The project as pyproject.toml and the README have it.

    Raises:
        ValueError: Something there does not fit one of the registries.
    """
    given = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    owned = _OWNER_MARK.search((ROOT / "README.md").read_text("utf-8"))
    if owned is None:
        raise ValueError("README.md has no <!-- mcp-name: … -->")
    if _RELEASE.fullmatch(given["version"]) is None:
        raise ValueError(f"npm and PyPI spell {given['version']} differently: use X.Y.Z")
    project = Project(
        *(given[field] for field in ("name", "version", "description", "license", "keywords")),
        owned[1],
    )
    if len(project.claim) > _REGISTRY_CHARS:
        raise ValueError(f"the description has over {_REGISTRY_CHARS} characters before its colon")
    return project


def plugin(project: Project) -> dict[str, Any]:
    """The Claude Code plugin's manifest."""
    return {
        "name": PLUGIN,
        "version": project.version,
        "description": project.claim,
        "author": {"name": PLUGIN},
        "license": project.licence,
        "keywords": project.keywords,
    }


def marketplace(project: Project) -> dict[str, Any]:
    """The marketplace that offers the plugin beside it."""
    offer = {"name": PLUGIN, "source": "./claude-plugin", "description": project.claim}
    return {
        "name": PLUGIN,
        "owner": {"name": PLUGIN},
        "description": project.description,
        "plugins": [offer],
    }


def hooks(project: Project) -> dict[str, Any]:
    """The plugin's hooks: every event of Claude Code that the governor acts on."""
    entries = {event: [group] for event, group in groups(CLIENTS["claude-code"], _hook).items()}
    return {"description": f"{project.claim}, without being asked", "hooks": entries}


def _hook(kind: str) -> str:
    launch = '"${CLAUDE_PLUGIN_ROOT}/scripts/launch"'
    return f"sh {launch} hook {kind} --client claude-code || exit 0"


def npm(project: Project) -> dict[str, Any]:
    """The manifest of the npm launcher."""
    script = f"bin/{project.name}.mjs"
    return {
        "name": project.name,
        "version": project.version,
        "description": project.description,
        "license": project.licence,
        "keywords": project.keywords,
        "mcpName": project.registered,
        "type": "module",
        "bin": {project.name: script},
        "files": [script],
        "engines": {"node": ">=18"},
    }


def server(project: Project) -> dict[str, Any]:
    """The entry in the MCP registry."""
    variables = [
        {"name": name, "description": text, "format": form}
        for name, (text, form) in _VARIABLES.items()
    ]
    packages = [
        {
            "registryType": registry,
            "identifier": project.name,
            "version": project.version,
            "runtimeHint": runner,
            "transport": {"type": "stdio"},
            "environmentVariables": variables,
        }
        for registry, runner in (("pypi", "uvx"), ("npm", "npx"))
    ]
    return {
        "$schema": _SCHEMA,
        "name": project.registered,
        "title": "Handoff memory",
        "description": project.claim,
        "version": project.version,
        "packages": packages,
    }


DOCUMENTS: Final[dict[str, Callable[[Project], dict[str, Any]]]] = {
    ".claude-plugin/marketplace.json": marketplace,
    "claude-plugin/.claude-plugin/plugin.json": plugin,
    "claude-plugin/hooks/hooks.json": hooks,
    "npm/package.json": npm,
    "server.json": server,
}


def written(project: Project) -> dict[str, str]:
    """The texts of the files in packages/ that are written from here."""
    texts = {
        name: json.dumps(document(project), indent=2, ensure_ascii=False) + "\n"
        for name, document in DOCUMENTS.items()
    }
    requirement = f"{project.name}=={project.version}\n"
    return {**texts, "claude-plugin/scripts/requirement": requirement}


def refresh(project: Project, *, check: bool) -> list[str]:
    """Write the files that are out of date, or only name them."""
    stale = []
    for name, text in written(project).items():
        path = PACKAGES / name
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
    return stale


def build() -> list[Path]:
    """The packages, alone in their folder: sdist, wheel, npm launcher, plugin, registry entry."""
    packing = shutil.which("npm")
    if packing is None:
        raise FileNotFoundError("npm packs the launcher: install Node.js")
    shutil.rmtree(BUILT, ignore_errors=True)
    BUILT.mkdir(parents=True)
    _run(sys.executable, "-m", "build", "--outdir", str(BUILT), str(ROOT))
    with TemporaryDirectory() as folder:
        launcher = shutil.copytree(PACKAGES / "npm", folder, dirs_exist_ok=True)
        shutil.copy(ROOT / "LICENSE", launcher)
        _run(packing, "pack", "--silent", "--pack-destination", str(BUILT), launcher)
    for part in (".claude-plugin", "claude-plugin"):
        shutil.copytree(PACKAGES / part, BUILT / "marketplace" / part)
    shutil.copy(PACKAGES / "server.json", BUILT)
    return sorted(BUILT.iterdir())


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own tools


def main() -> int:
    """Refresh and build, or with `--check` only compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="build nothing; 1 if a file is stale")
    check = parser.parse_args().check
    project = read_project()
    stale = refresh(project, check=check)
    for name in stale:
        print(f"{name} {'is out of date' if check else 'was written'}")
    if check:
        return 1 if stale else 0
    for path in build():
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
