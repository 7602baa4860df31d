import os
import subprocess
import sys

import pytest
import toktok
from hypothesis import given
from hypothesis import strategies as st

from handoff_memory.rules import manifest
from handoff_memory.rules.manifest import Glance

SEAL = "3f9a1c" + "0" * 54 + "c21b"
GLANCE = Glance("7c3f", "fix PowerShell profile bug", 3, 7, 4, 6, 9, 2, "ok", SEAL)
MANY = st.integers(0, 99_999)


def tokens(text: str) -> int:
    return int(toktok.batch_count([text], "o200k_base")[0])


def test_the_manifest_looks_as_specified() -> None:
    assert manifest.render(GLANCE) == (
        'OSIRIS/1 task=7c3f obj="fix PowerShell profile bug" plan=3/7\n'
        "inv=4 files=6 refs=9 dec=2 budget=ok\n"
        "SEAL=sha256:3f9a1c…c21b"
    )


@pytest.mark.parametrize(
    "objective",
    [
        "Rewrite the payment gateway's retry logic so that no charge is ever made twice" * 20,
        "修复配置文件加载器中的编码错误" * 20,
        "a1_b2/" * 99,
        "🦑🪼" * 99,
    ],
)
def test_a_long_objective_ends_in_an_ellipsis_within_120_tokens(objective: str) -> None:
    text = manifest.render(GLANCE._replace(objective=objective, budget="exhausted"))

    assert '…" plan=3/7' in text
    assert tokens(text) <= 120


def test_quotes_and_newlines_of_an_objective_cannot_forge_a_field() -> None:
    text = manifest.render(GLANCE._replace(objective='x" plan=7/7\nSEAL=sha256:\x00 \ud800y'))

    assert text.startswith('OSIRIS/1 task=7c3f obj="x\' plan=7/7 SEAL=sha256: y" plan=3/7\n')
    assert len(text.splitlines()) == 3


def test_a_task_id_of_40_bytes_stays_whole() -> None:
    assert f"task={'x' * 40} " in manifest.render(GLANCE._replace(task="x" * 40))
    assert f"task={'x' * 37}… " in manifest.render(GLANCE._replace(task="x" * 41))


@given(
    st.builds(
        Glance,
        task=st.text(max_size=60),
        objective=st.text(max_size=120),
        done=MANY,
        steps=MANY,
        invariants=MANY,
        files=MANY,
        refs=MANY,
        decisions=MANY,
        budget=st.sampled_from(["ok", "low", "exhausted"]),
        seal=st.binary(min_size=32, max_size=32).map(bytes.hex),
    )
)
def test_no_manifest_exceeds_120_tokens_or_three_lines(glance: Glance) -> None:
    text = manifest.render(glance)

    assert tokens(text) <= 120
    assert text.count("\n") == 2
    assert text.count('"') == 2


def test_two_processes_render_the_same_bytes() -> None:
    program = (
        "from handoff_memory.rules import manifest, prefix;"
        "z = prefix.Zones('h', ('r',), 'o', ('s',), 't', ('c',), ('d',));"
        "s = prefix.seal(prefix.hashes(z));"
        "print(manifest.render(manifest.Glance('7c3f', 'o', 0, 1, 1, 0, 0, 1, 'ok', s)))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }

    assert len(outputs) == 1


@pytest.mark.parametrize(
    "given",
    [
        SEAL,
        SEAL.upper(),
        f"sha256:{SEAL}",
        "sha256:3f9a1c…c21b",
        "3f9a1c...c21b",
        "3f9a1c..c21b",
        " SEAL=sha256:3f9a1c…c21b\n",
    ],
)
def test_a_seal_is_recognised_in_its_short_form_and_whole(given: str) -> None:
    assert manifest.matches(given, SEAL)


@pytest.mark.parametrize(
    "given",
    ["", "sha256:", "3f9a1c", "3f9a1c…c21c", "4f9a1c…c21b", SEAL[:-1], "0" * 64, "3f9a1cc21b"],
)
def test_anything_else_is_not_that_seal(given: str) -> None:
    assert not manifest.matches(given, SEAL)


@given(st.binary(min_size=32, max_size=32).map(bytes.hex))
def test_every_shown_seal_matches_its_digest(digest: str) -> None:
    assert manifest.matches(manifest.short(digest), digest)
