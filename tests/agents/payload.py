"""A log of more than 20,000 tokens, and how a model gets it back.

It stays below the 64 KiB of a command's output that Codex keeps, and it ends without a newline,
which Gemini CLI would strip.
"""

from __future__ import annotations

from agents.model import Copied, Use

_LINES = 2300
_LINES_A_CALL = 250
LOG = "\n".join(
    f"{n}: \U0001f600 {n * 7919 % 65521:x}-{n * 104729 % 65521:x} ok" for n in range(_LINES)
)


def recalls() -> list[Use]:
    """Calls of the recall tool that bring all lines of the log back."""
    ref = Copied(r"outside the context: (\w+),")
    return [
        Use("osiris_recall$", {"ref": ref, "op": "range", "args": {"first": first, "last": last}})
        for first in range(1, _LINES + 1, _LINES_A_CALL)
        for last in [min(first + _LINES_A_CALL - 1, _LINES)]
    ]
