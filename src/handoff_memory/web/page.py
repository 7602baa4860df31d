"""What a page is made from and what it consists of; each page is a function from one to the other.

A page runs whole on one snapshot of the database, as every operation does, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from handoff_memory.core.author import Author
from handoff_memory.services.limits import Limits
from handoff_memory.settings import Settings
from handoff_memory.store.engine import Tx
from handoff_memory.web.checks import Checks


class Asked(NamedTuple):
    """A request, as far as a page looks at it.

    Attributes:
        who: Whose project is shown.
        settings: The settings in force.
        checks: The verifications and audits of this process.
        query: Fields of the query string, without the empty ones.
        named: What the path names.
    """

    who: Author
    settings: Settings
    checks: Checks
    query: Mapping[str, str]
    named: Mapping[str, str]

    def limits(self, reply_bytes: int) -> Limits:
        """The limits in force, for a page that has room for so much."""
        return self.settings.limits._replace(reply_bytes=reply_bytes)

    def number(self, field: str) -> int | None:
        """A field as a number from 0 on; None where it is missing or none."""
        text = self.query.get(field, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


class Page(NamedTuple):
    """A page before it is rendered.

    Attributes:
        template: Its file.
        title: What the window is called.
        values: What the template shows.
        live: Kinds of journal entries after which it may look different.
        status: HTTP status.
    """

    template: str
    title: str
    values: Mapping[str, Any]
    live: tuple[str, ...] = ()
    status: int = 200


Maker = Callable[[Tx, Asked], Page]
