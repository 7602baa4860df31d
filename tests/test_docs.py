import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from handoff_memory.app import open_app
from handoff_memory.cli.main import cli
from handoff_memory.core.errors import error_types
from handoff_memory.rules.invariants import parse
from handoff_memory.server.governor_tools import GovernorTools
from handoff_memory.server.memory_tools import MemoryTools
from handoff_memory.services import limits
from handoff_memory.settings import read_home, read_settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text("utf-8")
STALE = "run: python scripts/generate_docs.py"


@pytest.fixture(scope="module")
def generate_docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "generate_docs", ROOT / "scripts/generate_docs.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_errors_is_current(generate_docs: ModuleType) -> None:
    assert (DOCS / "errors.md").read_text("utf-8") == generate_docs.errors_page(), STALE


def test_the_page_of_errors_has_each_code_once() -> None:
    page = (DOCS / "errors.md").read_text("utf-8")

    codes = re.findall(r"^\| `(\w+)` \|.*\| (?:yes|no) \|", page, re.MULTILINE)

    assert sorted(codes) == sorted(kind.code for kind in error_types())


def test_the_page_of_clients_is_current(generate_docs: ModuleType) -> None:
    assert (DOCS / "clients.md").read_text("utf-8") == generate_docs.clients_page(), STALE


def test_the_vectors_of_the_format_are_current(generate_docs: ModuleType) -> None:
    assert (DOCS / "format.md").read_text("utf-8") == generate_docs.format_page(), STALE


def test_a_stale_page_is_named_and_left_alone(
    generate_docs: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(generate_docs, "DOCS", tmp_path)
    monkeypatch.setattr(generate_docs, "PAGES", {"errors.md": lambda: "new"})
    monkeypatch.setattr(sys, "argv", ["generate_docs.py", "--check"])
    (tmp_path / "errors.md").write_text("old")

    status = generate_docs.main()

    assert status == 1
    assert "errors.md is out of date" in capsys.readouterr().out
    assert (tmp_path / "errors.md").read_text() == "old"


def test_the_readme_lists_every_variable_that_is_read() -> None:
    source = inspect.getsource(read_settings) + inspect.getsource(read_home)
    read = set(re.findall(r'env(?:\.get\(|\[|, )"([A-Z_]+)"', source))

    listed = re.findall(r"^\| `([A-Z_]+)` \|", README, re.MULTILINE)

    assert sorted(listed) == sorted(read)


def test_the_readme_shows_lines_that_the_demo_prints() -> None:
    shown = README.split("```text\n")[1].split("```")[0].splitlines()

    printed = (DOCS / "demo-transcript.md").read_text("utf-8").splitlines()

    assert [line for line in shown if line not in printed] == []


async def test_the_readme_lists_the_tools_in_their_order(tmp_path: Path) -> None:
    listed = re.findall(r"^\| `((?:memory|handoff)_\w+)` \|", README, re.MULTILINE)

    governing = re.findall(r"^\| `(osiris_\w+)` \|", README, re.MULTILINE)

    async with open_app(read_settings({"MEMORY_DB": str(tmp_path / "memory.db")})) as app:
        assert listed == list(MemoryTools(app).table)
        assert governing == list(GovernorTools(app).table)


def test_the_readme_lists_every_verb() -> None:
    table = README.split("\n| verb |")[1].split("\n\n")[0]
    first_cells = "".join(re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE))

    listed = {name.split()[0] for name in re.findall(r"`([^`]+)`", first_cells)}

    verbs = cli.list_commands(click.Context(cli))
    assert listed | {"serve"} == set(verbs)


def test_the_rules_that_the_readme_shows_are_rules() -> None:
    shown = next(text for text in README.split("```toml\n") if text.startswith("[[invariant]]"))

    book = parse(shown.split("```")[0])

    assert book.problems == ()
    assert len(book.rules) == 2


def test_the_readme_gives_the_limits_of_the_code() -> None:
    default = limits.Limits()

    assert f"| `MEMORY_MAX_VALUE_BYTES` | {default.value_bytes} |" in README
    assert f"| `MEMORY_REPLY_BYTES` | {default.reply_bytes} |" in README
    assert f"| `MEMORY_LEASE_S` | {default.lease_s} |" in README


def test_the_readme_gives_the_defaults_of_the_governor() -> None:
    default = read_settings({})

    assert f"| `OSIRIS_CACHE_TTL_S` | {default.cache_ttl_s} |" in README
    assert f"| `OSIRIS_PRUNE_MODE` | `{default.prune_mode}` |" in README
    assert f"| `OSIRIS_PRUNE_THRESHOLD_TOKENS` | {default.prune_threshold_tokens} |" in README
    assert f"| `OSIRIS_STUB_TOKENS` | `{default.stub_tokens}` |" in README
    assert f"| `OSIRIS_HOOK_DEADLINE_MS` | {default.hook_deadline_ms} |" in README
    assert f"| `MEMORY_TOOLS` | `{default.tools}` |" in README


@pytest.mark.parametrize(
    "page", [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"], ids=lambda p: p.name
)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", sorted((DOCS / "adr").glob("*.md")), ids=lambda p: p.stem)
def test_a_decision_fits_a_page(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()

    assert len(lines) <= 40
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == ["## Context", "## Decision", "## Consequences"]
