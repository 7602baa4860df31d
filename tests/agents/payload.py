"""A log of more than 20,000 tokens, and how a model gets it back."""

from __future__ import annotations

from agents.model import Copied, Use

LOG = "".join(f"{n:05} worker {n % 7}: \U0001f600 took {n * 37 % 911} ms\n" for n in range(1, 2001))
_LINES_A_CALL = 250


def recalls() -> list[Use]:
    """Calls of the recall tool that bring all lines of the log back."""
    ref = Copied(r"outside the context: (\w+),")
    count = LOG.count("\n")
    return [
        Use("osiris_recall$", {"ref": ref, "op": "range", "args": {"first": first, "last": last}})
        for first in range(1, count + 1, _LINES_A_CALL)
        for last in [min(first + _LINES_A_CALL - 1, count)]
    ]
