"""The launchers, npm's and the plugin's: which Python they take, what they pass on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from handoff_memory import __version__

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(os.name == "nt", reason="the Pythons here are shell scripts"),
]

ROOT = Path(__file__).parents[2]
NPM = ROOT / "packages" / "npm" / "bin" / "handoff-memory-mcp.mjs"
PLUGIN = ROOT / "packages" / "claude-plugin" / "scripts" / "launch"
NO_RUNTIME = 127
HOOK = ("hook", "prompt", "--client", "claude-code")

# Answers the launchers' question if it has the package, then echoes the first line it is given.
PYTHON = """\
#!/bin/sh
echo "{name} $*" >> "{calls}"
[ "$1" = --quiet ] && shift 4
[ {has} = 1 ] || exit 1
[ "$1" = -P ] && shift
case "$1" in
    -c) echo "$0" ;;
    -m) shift 2; read -r line; echo "{name} $*: $line"; exit 5 ;;
esac
"""


@dataclass(frozen=True)
class Bench:
    """A folder of programs that is the whole PATH, and a launcher."""

    folder: Path
    launcher: Sequence[str]

    @property
    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def put(self, name: str, *, has: bool = True) -> Path:
        """Put a Python there, with or without the package."""
        calls = self.folder / "calls"
        return self.script(name, PYTHON.format(name=name, calls=calls, has=int(has)))

    def script(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, "utf-8")
        path.chmod(0o755)
        return path

    def environ(self, **env: str) -> dict[str, str]:
        return {"PATH": str(self.folder), "HOME": str(self.folder), **env}

    def run(
        self, *args: str, given: str = "", folder: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.launcher, *args],
            cwd=folder,
            env=self.environ(**env),
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(params=["npm", "plugin"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    if request.param == "npm":
        return Bench(tmp_path, [str(request.getfixturevalue("npm_bin") / "node"), str(NPM)])
    return Bench(tmp_path, ["/bin/sh", str(PLUGIN)])


@pytest.fixture
def plugin(tmp_path: Path) -> Bench:
    return Bench(tmp_path, ["/bin/sh", str(PLUGIN)])


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        ({"named": True, "uvx": True, "python3": True, "python": True}, "named"),
        ({"uvx": True, "python3": True, "python": True}, "uvx"),
        ({"uvx": False, "python3": True, "python": True}, "python3"),
        ({"python3": True, "python": True}, "python3"),
        ({"python3": False, "python": True}, "python"),
        ({"python": True}, "python"),
    ],
    ids=lambda given: given if isinstance(given, str) else "+".join(given),
)
def test_the_first_python_that_has_the_package_is_taken(
    bench: Bench, there: dict[str, bool], taken: str
) -> None:
    paths = {name: bench.put(name, has=has) for name, has in there.items()}
    named = {"OSIRIS_PYTHON": str(paths["named"])} if "named" in paths else {}

    done = bench.run("stats", given="a line\n", **named)

    assert done.stdout == f"{taken} stats: a line\n"


def test_arguments_stdin_and_the_exit_status_pass(bench: Bench) -> None:
    bench.put("python3")

    done = bench.run("write", "a b", "--json", "*", given="some text\nmore\n")

    assert done.stdout == "python3 write a b --json *: some text\n"
    assert done.returncode == 5


def test_uvx_is_asked_for_the_release_of_the_same_version(bench: Bench) -> None:
    bench.put("uvx")

    bench.run("stats")

    wanted = f"uvx --quiet --from handoff-memory-mcp=={__version__} python -P -c"
    assert bench.calls[0].startswith(wanted)


def test_a_named_python_without_the_package_is_told_and_passed_over(bench: Bench) -> None:
    bench.put("python3")

    done = bench.run("stats", OSIRIS_PYTHON=str(bench.folder / "nowhere"))

    assert done.stdout.startswith("python3 stats")
    assert f"OSIRIS_PYTHON={bench.folder / 'nowhere'} has no package" in done.stderr


def test_without_any_python_it_says_what_to_do(bench: Bench) -> None:
    bench.put("python3", has=False)

    done = bench.run("serve")

    assert done.returncode == NO_RUNTIME
    assert done.stdout == ""
    for way_out in ("install uv", "pip install handoff-memory-mcp==", "OSIRIS_PYTHON"):
        assert way_out in done.stderr


def test_a_signal_reaches_the_server(bench: Bench) -> None:
    code = (
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7));"
        "print('ready', flush=True); signal.pause()"
    )
    waiting = f"""\
        #!/bin/sh
        [ "$2" = -c ] && echo "$0" && exit
        exec {sys.executable} -c "{code}"
        """
    bench.script("python3", dedent(waiting))

    with subprocess.Popen(
        [*bench.launcher, "serve"], env=bench.environ(), stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGTERM)

        assert running.wait(timeout=30) == 7


def test_the_real_server_answers_through_it(bench: Bench, tmp_path: Path) -> None:
    done = bench.run("--version", OSIRIS_PYTHON=sys.executable)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c"}}
    hello["clientInfo"] |= {"version": "1"}
    line = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}

    served = bench.run(
        given=json.dumps(line) + "\n",
        OSIRIS_PYTHON=sys.executable,
        MEMORY_DB=str(tmp_path / "shared.db"),
    )

    assert done.stdout.split() == ["handoff-memory,", "version", __version__]
    assert json.loads(served.stdout)["result"]["serverInfo"]["name"] == "handoff-memory"


def test_a_projects_module_is_not_taken_for_ours(bench: Bench, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "handoff_memory").mkdir(parents=True)
    (project / "handoff_memory" / "__init__.py").touch()
    (project / "handoff_memory" / "__main__.py").write_text("print('taken over')\n")
    bench.script("python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n')

    for arguments in (["--version"], list(HOOK)):
        done = bench.run(*arguments, given="{}\n", folder=project)

        assert "taken over" not in done.stdout


@pytest.fixture
def started(plugin: Bench) -> Callable[[str], dict[str, str]]:
    """Let the plugin's server start on a Python; the environment of the hooks that follow."""

    def start(name: str) -> dict[str, str]:
        plugin.put(name)
        for program in ("mkdir", "mv"):
            (plugin.folder / program).symlink_to(str(shutil.which(program)))
        told = {"CLAUDE_PLUGIN_DATA": str(plugin.folder / "plugin data")}
        plugin.run("serve", **told)
        (plugin.folder / "calls").unlink()
        return told

    return start


def test_a_hook_starts_the_python_of_the_server_and_no_other(
    plugin: Bench, started: Callable[[str], dict[str, str]]
) -> None:
    told = started("uvx")
    plugin.put("python3")
    kept = Path(told["CLAUDE_PLUGIN_DATA"], "python")
    kept.write_text(f"{plugin.put('kept')}\n")  # as uvx would say where its interpreter is

    done = plugin.run(*HOOK, given="{}\n", **told)

    assert done.returncode == 0
    assert plugin.calls[0].startswith("kept -P -m handoff_memory hook prompt")
    assert not any(call.startswith("uvx") for call in plugin.calls)


def test_the_server_keeps_what_it_found_for_the_hooks(
    plugin: Bench, started: Callable[[str], dict[str, str]]
) -> None:
    told = started("python")

    assert Path(told["CLAUDE_PLUGIN_DATA"], "python").read_text() == f"{plugin.folder}/python\n"
    assert list(Path(told["CLAUDE_PLUGIN_DATA"]).iterdir()) == [
        Path(told["CLAUDE_PLUGIN_DATA"], "python")
    ]


def test_a_hook_falls_through_to_the_next_python_with_its_event_unread(plugin: Bench) -> None:
    plugin.put("python3", has=False)
    good = PYTHON.replace("exit 5", "exit 0")
    plugin.script("python", good.format(name="python", calls=plugin.folder / "calls", has=1))

    done = plugin.run(*HOOK, given='{"an": "event"}\n')

    assert done.stdout == 'python hook prompt --client claude-code: {"an": "event"}\n'
    assert done.returncode == 0


def test_a_hook_without_any_python_is_as_if_there_were_none(plugin: Bench) -> None:
    plugin.put("python3", has=False)

    done = plugin.run(*HOOK, given="{}\n")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
