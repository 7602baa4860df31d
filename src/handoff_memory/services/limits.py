"""What a caller may send and get, and what the governor goes by: sizes, defaults, exceptions."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from handoff_memory.core.errors import SecretRefusedError
from handoff_memory.rules import redact

if TYPE_CHECKING:
    from handoff_memory.rules.invariants import Rule

MAX_PAGE: Final = 100
MAX_NAMES: Final = 100
MAX_TAGS: Final = 32
MAX_SOURCE_CHARS: Final = 2000
MAX_NOTE_CHARS: Final = 2000
MAX_QUERY_CHARS: Final = 2000
MAX_REQUEST_ID: Final = 128
_ENVELOPE_BYTES: Final = 512


class Limits(NamedTuple):
    """Limits of one installation.

    Attributes:
        value_bytes: Largest value, in canonical bytes.
        reply_bytes: Ceiling of a reply.
        payload_bytes: Largest file that is taken up as a payload.
        lease_s: How long a claim holds without a sign of life.
        allowed: Strings that look like secrets and are none.
    """

    value_bytes: int = 1 << 20
    reply_bytes: int = 16 << 10
    payload_bytes: int = 64 << 20
    lease_s: int = 3600
    allowed: frozenset[str] = frozenset()

    @property
    def room(self) -> int:
        """Bytes of a reply that its records may take; the rest holds cursor, counts, warnings."""
        return self.reply_bytes - _ENVELOPE_BYTES


class Governing(NamedTuple):
    """What the governor goes by beside the task.

    Attributes:
        limits: Sizes and false alarms.
        rules: One line for each active invariant: part of the sealed head.
        cache_ttl_s: Lifetime of a prompt cache.
        prune_threshold_tokens: From how many tokens on pruning is worth a thought.
        prune_mode: When what leaves.
        window_tokens: Size of the model's context window.
    """

    limits: Limits
    rules: tuple[str, ...] = ()
    cache_ttl_s: int = 300
    prune_threshold_tokens: int = 40_000
    prune_mode: str = "cache_ttl"
    window_tokens: int = 200_000


def lines_of(rules: "Iterable[Rule]") -> tuple[str, ...]:
    """One line for each rule: what the sealed head says of it."""
    return tuple(f"{rule.id} {rule.verdict}: {rule.message}" for rule in rules)


def refuse_secret(limits: Limits, what: str, given: str) -> None:
    """Refuse a name that holds a secret; the message does not repeat it.

    Raises:
        SecretRefusedError: It looks like one.
    """
    if kinds := redact.secret_kinds(given, limits.allowed):
        raise SecretRefusedError(f"the {what} looks like a secret ({', '.join(kinds)})")
