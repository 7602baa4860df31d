from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from shell import Shell


@pytest.fixture
def journaled(shell: Shell) -> Shell:
    shell.json("write", "s/k", "1")
    shell.json("write", "s/k", "2")
    shell.json("outcome", "s/k", "success")
    return shell


def test_every_write_has_its_line_oldest_first(journaled: Shell) -> None:
    lines = journaled("log").stdout.splitlines()

    assert [line.split()[0] for line in lines] == ["1", "2", "3"]
    assert "ada" in lines[0]
    assert lines[2].endswith("s/k@2")
    assert "outcome success" in lines[2]


def test_json_is_one_document_a_line(journaled: Shell) -> None:
    lines = journaled("log", "--json").stdout.splitlines()

    entries = [json.loads(line) for line in lines]
    assert [(entry["seq"], entry["kind"], entry["subject"]) for entry in entries] == [
        (1, "record", "s/k@1"),
        (2, "record", "s/k@2"),
        (3, "outcome", "s/k@2"),
    ]
    assert entries[0]["hash"] == journaled.json("read", "s/k@1")["hash"]


@pytest.mark.parametrize(
    ("args", "seqs"),
    [
        (("--limit", "2"), ["2", "3"]),
        (("--after", "1"), ["2", "3"]),
        (("--after", "0", "--limit", "1"), ["1"]),
        (("--after", "3"), []),
    ],
)
def test_it_begins_where_it_is_told(
    journaled: Shell, args: tuple[str, ...], seqs: list[str]
) -> None:
    assert [line.split()[0] for line in journaled("log", *args).stdout.splitlines()] == seqs


def test_a_reader_that_leaves_at_once_is_no_error(journaled: Shell) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-m", "handoff_memory", "log"],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=journaled.environ(),
        timeout=60,
        check=False,
    )

    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="no signals, no poll")
class TestFollowing:
    def test_what_is_written_meanwhile_is_shown(self, journaled: Shell) -> None:
        with journaled.start("log", "--follow", "--json") as following:
            assert following.stdout
            seen = [json.loads(following.stdout.readline())["seq"] for _ in range(3)]
            journaled.json("write", "s/new", "1")
            news = json.loads(following.stdout.readline())
            following.send_signal(signal.SIGINT)
            rest = following.communicate(timeout=60)

        assert seen == [1, 2, 3]
        assert (news["seq"], news["subject"]) == (4, "s/new@1")
        assert (following.returncode, rest) == (0, ("", ""))

    def test_it_ends_when_its_reader_leaves_though_nothing_is_written(
        self, journaled: Shell
    ) -> None:
        with journaled.start("log", "--follow") as following:
            assert following.stdout
            assert following.stderr
            following.stdout.readline()
            following.stdout.close()
            status = following.wait(timeout=60)
            said = following.stderr.read()

        assert (status, said) == (0, "")
