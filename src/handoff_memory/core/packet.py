"""The life of a handoff packet: states, leases and tokens as pure functions.

A claim is a lease: once it has run out, the packet waits again at that instant. Nothing sweeps;
whoever looks computes. Every change of state is a journaled claim entry, so the same functions give
the same state when verification replays the journal.
"""

from typing import Final, Literal, NamedTuple, get_args

Status = Literal["done", "returned", "released", "withdrawn"]
STATUSES: Final[tuple[Status, ...]] = get_args(Status)
State = Literal["waiting", "claimed", "done", "returned", "withdrawn", "expired"]
Action = Literal[
    "claimed",
    "resumed",
    "renewed",
    "read_back",
    "read",
    "done",
    "returned",
    "released",
    "withdrawn",
]
ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
Priority = Literal["low", "normal", "high", "urgent"]
PRIORITIES: Final[tuple[Priority, ...]] = get_args(Priority)

MAX_CHARS: Final = 12_000
WARN_CHARS: Final = 6_000
MAX_PINS: Final = 100


class PacketState(NamedTuple):
    """Who has a packet.

    Attributes:
        state: As stored; `effective` says what it is at a given time.
        holder: Agent of the newest claim, kept after its lease ran out.
        holder_session: Session of that claim.
        token: Fencing token: the seq of the claim's entry, so a later claim has a higher one.
        renewed_at: When the lease began to run anew, microseconds.
        lease_us: Length of the lease, microseconds.
        deliveries: How often the packet was handed to a session.
    """

    state: State
    holder: str | None = None
    holder_session: str | None = None
    token: int | None = None
    renewed_at: int | None = None
    lease_us: int | None = None
    deliveries: int = 0


class Claim(NamedTuple):
    """One journaled change of a packet's state."""

    action: Action
    token: int | None
    lease_us: int | None
    agent: str
    session: str
    at: int


def first_state(*, status: str | None, author: str, recipient: str | None) -> PacketState:
    """The state of a packet that was just written; news for nobody but its author is closed."""
    told_to_itself = status == "withdrawn" and recipient == author
    return PacketState("done" if told_to_itself else "waiting")


def lease_until(state: PacketState) -> int:
    """When the lease ends, microseconds; 0 where nobody claimed."""
    return (state.renewed_at or 0) + (state.lease_us or 0)


def is_held(state: PacketState, now: int) -> bool:
    """Whether a claim is in force.

    A clock that was set back by more than a lease must not keep a packet for years: a lease that
    seems to begin that far in the future counts as run out.
    """
    if state.state != "claimed":
        return False
    return (state.renewed_at or 0) - (state.lease_us or 0) <= now < lease_until(state)


def effective(state: PacketState, expires_at: int | None, now: int) -> State:
    """The state at that time: leases and expiry taken into account."""
    if state.state not in {"waiting", "claimed"} or is_held(state, now):
        return state.state
    return "expired" if expires_at is not None and expires_at <= now else "waiting"


def renewed(state: PacketState, session: str, at: int) -> PacketState:
    """The state after any write of a session: a lease of its own, if in force, runs anew."""
    if state.holder_session == session and is_held(state, at):
        return state._replace(renewed_at=at)
    return state


def applied(state: PacketState, claim: Claim) -> PacketState:
    """The state after a claim entry."""
    match claim.action:
        case "claimed" | "resumed":
            return PacketState(
                "claimed",
                claim.agent,
                claim.session,
                claim.token,
                claim.at,
                claim.lease_us,
                state.deliveries + 1,
            )
        case "renewed" | "read_back":
            return state._replace(renewed_at=claim.at)
        case "read":
            return state._replace(state="done", deliveries=state.deliveries + 1)
        case "done" | "returned" | "withdrawn":
            return state._replace(state=claim.action)
        case "released":
            return PacketState("waiting", deliveries=state.deliveries)
