"""Who calls: the agent, its session, how it was authenticated, and the project it works in."""

from typing import Literal, NamedTuple

Authn = Literal["declared", "token", "jwt"]


class Author(NamedTuple):
    """The author of a call.

    Attributes:
        agent: Canonical agent id.
        session: Session id: the host's own where it gives one, else one per process.
        project: Project inside the home database, empty elsewhere.
        authn: How the agent id was established; `declared` on stdio.
        pid: Process id, for telling whether the session is alive; not hashed.
        host: Where that process id counts; not hashed.
    """

    agent: str
    session: str
    project: str = ""
    authn: Authn = "declared"
    pid: int | None = None
    host: str | None = None
