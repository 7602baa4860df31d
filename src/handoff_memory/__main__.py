"""Where the program starts: serving needs none of the command line's machinery."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Serve where nothing else is asked for, else run a command."""
    if sys.argv[1:2] == ["hook"]:
        gc.disable()  # it ends before garbage could matter: 5 ms
        from handoff_memory.hooks.main import main as hook  # noqa: PLC0415

        hook(sys.argv[2:])
    if sys.argv[1:] in ([], ["serve"]):
        _serve()
    from handoff_memory.cli.main import cli  # noqa: PLC0415 - serving must not wait for it

    cli(prog_name="handoff-memory")


def memory_stats() -> None:
    """The console script `memory_stats`: the command `stats` under the name of the tool."""
    from handoff_memory.cli.stats import stats  # noqa: PLC0415 - serving must not wait for it

    stats(prog_name="memory_stats")


def osiris() -> None:
    """The console script `osiris`: the governor's verbs."""
    if sys.argv[1:] == ["serve"]:
        _serve()
    from handoff_memory.cli.main import osiris as verbs  # noqa: PLC0415

    verbs(prog_name="osiris")


def _serve() -> None:
    # Importing makes a hundred thousand objects that stay: no use looking for garbage in them.
    gc.disable()
    from handoff_memory.cli.serving import (  # noqa: PLC0415
        serve_or_exit,
    )

    gc.freeze()
    gc.enable()
    serve_or_exit()


if __name__ == "__main__":
    main()
