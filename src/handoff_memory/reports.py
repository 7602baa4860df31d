"""Completion reports as files: written beside the database, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from handoff_memory.core.errors import DatabaseIoError
from handoff_memory.services import checkpointing


def write(folder: Path, found: Mapping[str, Any]) -> list[str]:
    """Write `<task>.md` and `<task>.json`; the paths of both.

    Raises:
        DatabaseIoError: The folder cannot be written.
    """
    name = found["task"]
    contents = {
        f"{name}.md": checkpointing.as_markdown(found).encode(),
        f"{name}.json": orjson.dumps(dict(found), option=orjson.OPT_INDENT_2),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for file, data in contents.items():
            unfinished = folder / f".{file}.{os.getpid()}"
            unfinished.write_bytes(data)
            unfinished.replace(folder / file)
    except OSError as error:
        raise DatabaseIoError(
            f"the report cannot be written: {error}", way_out="Check OSIRIS_HOME and its disk."
        ) from error
    return [str(folder / file) for file in contents]
