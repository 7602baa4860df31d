"""Words for the full-text index, a query as match expressions, and previews.

The tokenizer splits at everything that is no letter or digit, which loses scripts that are written
without spaces. Each of their characters therefore becomes a word of its own, and a query's run of
them a phrase: that finds a run of any length, also one or two characters, at its exact place.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from handoff_memory.core import lazy

# Han, kana, Hangul, Thai, Lao, Khmer, Myanmar, Tibetan.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)
_RUN: Final = lazy.pattern(f"[{_UNSPACED}]+")
_WORD: Final = lazy.pattern(f"[^\\W_{_UNSPACED}]+|[{_UNSPACED}]+")
# Words that say nothing about which record is meant, left out once a query is taken word by word.
_STOP: Final = frozenset(
    (  # noqa: SIM905 - a sentence a person can read
        "a an and are as at be been but by can could did do does for from had has have how i if in "
        "into is it its me my no not of on or our should so than that the their them then there "
        "these they this to us was we were what when where which who why will with would you your"
    ).split()
)
_MAX_TERMS: Final = 64


@dataclass(frozen=True, slots=True)
class Query:
    """A search text as match expressions; empty strings where it holds no word.

    Attributes:
        all_words: Every part of the text, each as a phrase.
        any_word: At least one word, or one pair of characters of an unspaced script.
        terms: The words in lower case, for previews.
    """

    all_words: str
    any_word: str
    terms: tuple[str, ...]


def query(text: str) -> Query:
    """The match expressions of what an agent typed; any text is allowed."""
    normal = _normal(text)
    phrases = [spaced for chunk in normal.split() if (spaced := " ".join(_words(chunk)))]
    terms = [word.casefold() for word in _WORD.findall(normal)]
    singles = [word for word in terms if word not in _STOP] or terms
    pieces = [piece for word in singles for piece in _pieces(word)]
    return Query(
        all_words=" AND ".join(_quoted(phrases)),
        any_word=" OR ".join(_quoted(pieces)),
        terms=tuple(dict.fromkeys(terms)),
    )


def indexed(text: str) -> str:
    """A text as the tokenizer should see it."""
    return _RUN.sub(lambda run: f" {' '.join(run[0])} ", _normal(text))


def of_value(value: Any) -> str:
    """What is worth finding in a JSON value: its keys, strings and numbers."""
    return "\n".join(_leaves(value))


def preview(text: str, terms: tuple[str, ...], width: int) -> str:
    """At most `width` characters of a text, around its first hit; an ellipsis marks each cut."""
    if len(text) <= width:
        return text
    folded = text.casefold()
    hits = [at for term in terms if (at := folded.find(term)) >= 0]
    start = max(0, min(min(hits, default=0) - width // 4, len(text) - width))
    head = "…" if start else ""
    tail = "…" if start + width < len(text) else ""
    return head + text[start + len(head) : start + width - len(tail)] + tail


def _normal(text: str) -> str:
    # A NUL ends a text for the tokenizer, and half a character cannot be given to it.
    whole = text.encode("utf-8", "replace").decode()
    return unicodedata.normalize("NFKC", whole).replace("\0", " ")


def _words(chunk: str) -> Iterator[str]:
    for word in _WORD.findall(chunk):
        yield from word if _RUN.fullmatch(word) else (word,)


def _pieces(word: str) -> Iterator[str]:
    if len(word) == 1 or not _RUN.fullmatch(word):
        yield word
    else:
        yield from (f"{one} {two}" for one, two in pairwise(word))


def _quoted(phrases: list[str]) -> list[str]:
    return [f'"{phrase}"' for phrase in list(dict.fromkeys(phrases))[:_MAX_TERMS]]


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield key
            yield from _leaves(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _leaves(child)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
