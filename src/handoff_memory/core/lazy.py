"""Patterns that are compiled when they are first used: a hook starts for each call of a tool.

A process of a hook meets few of the program's patterns, and compiling all of them takes longer than
all that it is started for (docs/adr/0012).
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast


class _Pattern(Generic[AnyStr]):
    """Stands for a pattern; what is asked of it, it asks of the compiled one, and keeps."""

    def __init__(self, form: AnyStr, flags: int) -> None:
        self._form: AnyStr = form
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Only asked for what is not kept yet; `re` itself remembers what it has compiled.
        found = getattr(re.compile(self._form, self._flags), name)
        setattr(self, name, found)
        return found


def pattern(form: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, but an error in the form, as its cost, comes with the first use."""
    return cast("re.Pattern[AnyStr]", _Pattern(form, flags))
