"""The job board of the demo: a fixture file that answers as a web site would, without a network.

It has what makes two visits differ: a listing that is edited in between, and a rate limit that is
stricter than it looks at first. Waiting costs no time here; a caller says how long it waited.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FIXTURE: Final = Path(__file__).with_name("board.json")


class ThrottledError(Exception):
    """The board answers 429: too many requests, come back later."""


@dataclass(frozen=True, slots=True)
class Posting:
    """A listing as its card on the board shows it."""

    id: int
    title: str
    budget_usd: int
    hours: int
    applicants: int
    open_question: str | None = None
    objection: str | None = None

    @property
    def hourly_usd(self) -> float:
        """What an hour of the work would earn."""
        return self.budget_usd / self.hours


class Board:
    """The board, from the first look at it on."""

    def __init__(self) -> None:
        self._fixture: dict[str, Any] = json.loads(FIXTURE.read_text("utf-8"))
        self.name: str = self._fixture["board"]
        self.page_count = len(self._fixture["pages"])

    def page(self, number: int, *, waited_s: int = 0) -> list[Posting]:
        """The cards of a page, counted from 1.

        Raises:
            ThrottledError: The caller did not wait.
        """
        limit = self._fixture["rate_limit"]
        if number == limit["throttled_page"] and waited_s < limit["scout_waited_s"]:
            raise ThrottledError
        return [self._posting(listing) for listing in self._fixture["pages"][number - 1]]

    def detail(self, listing: int) -> str:
        """What the page of a listing adds to its card."""
        return str(self._fixture["details"][str(listing)])

    def look_again(self, listing: int) -> Posting:
        """The card as it is now, after the client has edited it."""
        return self._posting(listing, **self._fixture["edits"].get(str(listing), {}))

    def apply(self, listing: int, *, waited_s: int) -> str:
        """The client's answer to an application.

        Raises:
            ThrottledError: The penalty window has not passed yet.
        """
        if waited_s < self._fixture["rate_limit"]["penalty_s"]:
            raise ThrottledError
        return str(self._fixture["replies"][str(listing)])

    def _posting(self, listing: int, **edited: int) -> Posting:
        return Posting(id=listing, **{**self._fixture["listings"][str(listing)], **edited})
