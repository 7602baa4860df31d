"""Which project a folder belongs to: what git itself would say."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from actors import git
from handoff_memory import workspace


def said_by_git(folder: Path) -> str:
    done = subprocess.run(
        ["git", "-C", folder, "rev-parse", "--path-format=absolute", "--git-common-dir"],
        capture_output=True,
        text=True,
        check=True,
    )
    return str(Path(done.stdout.strip()).resolve())


def test_a_checkout_and_each_folder_in_it_are_one_project(checkout: Path) -> None:
    inner = checkout / "src" / "deep"
    inner.mkdir(parents=True)

    assert workspace.project(inner) == workspace.project(checkout) == said_by_git(inner)


def test_worktrees_share_the_project_of_their_repository(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")

    found = workspace.project(tmp_path / "tree")

    assert found == workspace.project(checkout) == said_by_git(tmp_path / "tree")


def test_a_submodule_is_a_project_of_its_own(checkout: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q", "-b", "main")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(checkout), "part")

    found = workspace.project(outer / "part")

    assert found == said_by_git(outer / "part")
    assert found != workspace.project(outer)


def test_a_link_leads_to_the_project_that_it_points_into(checkout: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    try:
        link.symlink_to(checkout, target_is_directory=True)
    except OSError:
        pytest.skip("no links here")

    assert workspace.project(link) == workspace.project(checkout)


@pytest.mark.parametrize("said", ["", "gitdir: ", "nonsense", "gitdir: ../nowhere"])
def test_a_folder_without_git_is_its_own_project(tmp_path: Path, said: str) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / ".git").mkdir()

    assert workspace.project(plain) == str(plain.resolve())
    assert workspace.project(plain / "missing") == str(plain.resolve() / "missing")

    (plain / ".git").rmdir()
    (plain / ".git").write_text(said)
    assert workspace.project(plain) == str(plain.resolve())


def test_an_edit_that_nobody_told_of_is_seen(checkout: Path) -> None:
    before = time.time_ns() // 1000 - 1_000_000
    later = before + 3_600_000_000

    assert not workspace.is_edited_since(checkout, before)

    (checkout / "new name.txt").write_text("x")
    assert workspace.is_edited_since(checkout, before)
    assert not workspace.is_edited_since(checkout, later)
    assert not workspace.is_edited_since(checkout, before, but_for=[checkout / "new name"])

    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "two")
    assert not workspace.is_edited_since(checkout, before)

    (checkout / "a.txt").write_text("two")
    assert workspace.is_edited_since(checkout, before)
    (checkout / "a.txt").unlink()
    assert not workspace.is_edited_since(checkout, before)


def test_outside_a_checkout_no_edit_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")

    assert not workspace.is_edited_since(tmp_path, 0)
