"""Names: scopes, keys, tags, agent ids, and `scope/key@version` as one string."""

import unicodedata
from typing import NamedTuple

from handoff_memory.core import lazy
from handoff_memory.core.errors import InvalidNameError, ReservedScopeError

MAX_SCOPE = 256
MAX_KEY = 128
MAX_AGENT = 128
MAX_TAG = 64
RESERVED = "osiris"
_SHARED_SCOPES = ("global/", "agent/")
_NUMBER = lazy.pattern("[0-9]{1,19}")


class Name(NamedTuple):
    """A record's name, and the version where one is meant."""

    scope: str
    key: str
    version: int | None = None

    def __str__(self) -> str:  # type: ignore[explicit-override]
        plain = f"{self.scope}/{self.key}"
        return plain if self.version is None else f"{plain}@{self.version}"

    def at(self, version: int) -> "Name":
        """The same name with that version."""
        return Name(self.scope, self.key, version)


def name(scope: str, key: str, version: int | None = None) -> Name:
    """A checked, NFC-normalised name.

    Raises:
        InvalidNameError: Which rule of memory.md §1 was broken, and by what.
    """
    return Name(_scope(scope), _key(key), version)


def parse_name(text: str) -> Name:
    """The name of `scope/key` or `scope/key@version`.

    Raises:
        InvalidNameError: The text is neither.
    """
    scope, slash, tail = text.rpartition("/")  # a scope may hold '@', a key may not
    key, at, version = tail.partition("@")
    if not slash:
        raise InvalidNameError(f"{text!r} is no record name: use scope/key or scope/key@version")
    if not at:
        return name(scope, key)
    if not (_NUMBER.fullmatch(version) and 0 < int(version) < 2**63):
        raise InvalidNameError(f"{text!r}: after '@' stands a version number from 1 on")
    return name(scope, key, int(version))


def scope_prefix(text: str) -> str:
    """A scope, or the first segments of one, as a search filter; one trailing slash is forgiven."""
    return _scope(text.removesuffix("/"))


def writable(checked: Name) -> Name:
    """The name itself, where agents may write.

    Raises:
        ReservedScopeError: The scope is the governor's.
    """
    if checked.scope == RESERVED or checked.scope.startswith(RESERVED + "/"):
        raise ReservedScopeError(f"scope {checked.scope!r}: 'osiris/' is kept by the governor")
    return checked


def home(scope: str, project: str) -> str:
    """The project that a scope lives in: `global/…` and `agent/…` are seen from every project."""
    return "" if scope.startswith(_SHARED_SCOPES) else project


def agent_id(text: str) -> str:
    """The canonical form of an agent id: NFKC, trimmed, case-folded.

    Raises:
        InvalidNameError: Empty, too long, or with a control character.
    """
    folded = unicodedata.normalize("NFKC", text).strip().casefold()
    # Case folding can undo the normal form (such as for U+0345), and two spellings must meet.
    canonical = unicodedata.normalize("NFKC", folded).strip()
    try:
        return _plain("agent id", canonical, MAX_AGENT)
    except InvalidNameError as error:
        raise InvalidNameError(
            error.message, way_out="Name the agent plainly, such as AGENT_ID=researcher."
        ) from error


def tag(text: str) -> str:
    """A checked tag, NFC, at most 64 characters."""
    return _plain("tag", unicodedata.normalize("NFC", text), MAX_TAG)


def _scope(text: str) -> str:
    scope = _plain("scope", unicodedata.normalize("NFC", text), MAX_SCOPE)
    for segment in scope.split("/"):
        if segment in {"", ".", ".."}:
            raise InvalidNameError(
                f"scope {scope!r} has the segment {segment!r}: no empty, '.' or '..'"
            )
    return scope


def _key(text: str) -> str:
    key = _plain("key", unicodedata.normalize("NFC", text), MAX_KEY)
    if "/" in key or "@" in key:
        raise InvalidNameError(f"key {key!r} holds '/' or '@': put path segments into the scope")
    return key


def _plain(what: str, text: str, limit: int) -> str:
    if not 1 <= len(text) <= limit:
        raise InvalidNameError(f"a {what} has 1 to {limit} characters, this has {len(text)}")
    if text != text.strip():
        raise InvalidNameError(f"{what} {text!r} begins or ends with a blank")
    plain = text.isascii() and text.isprintable()
    if not plain and any(unicodedata.category(char) in {"Cc", "Cs"} for char in text):
        raise InvalidNameError(f"{what} {text!r} holds a control character or half a character")
    return text
