"""Words for the full-text index, a query as match expressions, and previews.

The tokenizer splits at everything that is no letter or digit, which loses scripts that are written
without spaces. Each of their characters therefore becomes a word of its own, and a query's run of
them a phrase: that finds a run of any length, also one or two characters, at its exact place.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

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
        "a about after again all also am an and any are as at be because been before being "
        "below between both but by can could did do does doing down during each few for from "
        "further had has have having he her here hers him his how i if in into is it its just "
        "long many me more most much my no nor not now of off often on once only or other our "
        "out over own per same she should so some such than that the their them then there "
        "these they this those through to too under until up us very was we were what when "
        "where which while who whom whose why will with would you your"
    ).split()
)
_MAX_TERMS: Final = 64
_MAX_WEIGHED: Final = 24
_AS_ONE: Final = 3.0  # a path, a name, a code: it says best which record is meant
_MET_BY_CHANCE: Final = 0.3
_BELONG_TOGETHER: Final = 1.0  # "retry policy" counts as a word of its own
_OFTEN: Final = 0.5  # how often two words meet that may be a name, to sharing a text by chance
_IN_A_NAME: Final = 0.15  # what more a word counts there
_NEAR: Final = 1.0  # what more a word counts close to the most telling one
_WINDOW: Final = 8  # words between two that are still close
_MOST_SPELLINGS: Final = 3
_SHORTEST_PART: Final = 3
_SPLIT_LENGTHS: Final = range(2 * _SHORTEST_PART, 21)


class Piece(NamedTuple):
    """A word of a query, or two that stand side by side, as match expressions.

    Attributes:
        spellings: Phrases that mean the same: as it was typed, and as one word or as two.
        share: How much of its weight counts at least: two words that are typed as one are more than
            each, two that happen to meet are little more.
        words: Of two that may have met by chance, how each of them is spelled as a piece.
    """

    spellings: tuple[str, ...]
    share: float = 1.0
    words: tuple[str, ...] = ()

    @property
    def match(self) -> str:
        """The expression for any of its spellings."""
        return _any_of(self.spellings)

    def spelled(self, counts: Sequence[int]) -> Piece:
        """The same with the spellings that stand in a text, as many as count; the first stays."""
        kept = [
            phrase for phrase, texts in zip(self.spellings[1:], counts[1:], strict=True) if texts
        ]
        return self._replace(spellings=(self.spellings[0], *kept[: _MOST_SPELLINGS - 1]))

    @property
    def in_a_name(self) -> str:
        """The expression for it in the name of a record."""
        return f"{{name}} : {self.match}"

    def near(self, other: Piece) -> str:
        """The expression for another close to it, or in a record that has it in its name."""
        close = [
            f"NEAR({one} {two}, {_WINDOW})" for one in self.spellings for two in other.spellings
        ]
        return _any_of([*close, f"(({self.in_a_name}) AND {other.match})"])


@dataclass(frozen=True, slots=True)
class Query:
    """A search text as match expressions; empty strings where it holds no word.

    Attributes:
        all_words: Every part of the text, each as a phrase.
        any_word: At least one word, or one pair of characters of an unspaced script.
        terms: The words in lower case, for previews.
        text: What was typed.
        pieces: What `any_word` asks for, each on its own.
    """

    all_words: str
    any_word: str
    terms: tuple[str, ...]
    text: str = ""
    pieces: tuple[Piece, ...] = ()


def query(text: str) -> Query:
    """The match expressions of what an agent typed; any text is allowed."""
    normal = _normal(text)
    phrases = [phrase for chunk in normal.split() if (phrase := _phrase([*_words(chunk)]))]
    terms = [word.casefold() for word in _WORD.findall(normal)]
    singles = [word for word in terms if word not in _STOP] or terms
    words = _distinct([f'"{piece}"' for word in singles for piece in _pieces(word)])
    return Query(
        all_words=" AND ".join(_distinct(phrases)),
        any_word=" OR ".join(words),
        terms=tuple(dict.fromkeys(terms)),
        text=text,
        pieces=tuple(Piece((word, *_split(word.strip('"')))) for word in words),
    )


def neighbours(text: str, absent: Set[str] = frozenset()) -> list[Piece]:
    """Each two words of a query that stand side by side once those that stand in no text are out.

    Args:
        text: The query.
        absent: The words to leave out, quoted.
    """
    return list(dict.fromkeys(_neighbours(_normal(text).casefold(), absent)))


def weighed(found: Iterable[tuple[Piece, int]], total: int, most: int) -> list[tuple[str, float]]:
    """Match expressions for the pieces of a query, each with what it tells of a text it stands in.

    Where the pieces stand in more texts than can be ranked, the rarest alone decide which texts
    these are, and the others add to them: the newest texts with a common word may all be about
    something else.

    Args:
        found: Pieces, and in how many texts each of them stands, at least one.
        total: How many texts there are.
        most: How many can be ranked.

    Returns:
        Nothing where even the rarest piece stands in more.
    """
    known = sorted(found, key=lambda one: one[1])[:_MAX_WEIGHED]
    sums = accumulate(count for _, count in known)
    telling = sum(texts <= most for texts in sums)
    if not telling:
        return []
    counts = {piece.spellings[0]: count for piece, count in known}
    name = _name([piece for piece, _ in known[:telling]], counts, total)
    weighed = [
        (piece, _share(piece, name, counts, total) * _rarity(count, total))
        for piece, count in known
    ]
    few, many = weighed[:telling], weighed[telling:]
    among = " OR ".join(piece.match for piece, _ in few)
    best = name or max(few, key=lambda one: one[1])[0]
    return [
        *((piece.match, weight) for piece, weight in few),
        *((piece.in_a_name, weight * _IN_A_NAME) for piece, weight in few),
        *((f"({among}) AND {piece.match}", weight) for piece, weight in many),
        *((best.near(piece), weight * _NEAR) for piece, weight in weighed if _adds(piece, best)),
    ]


def indexed(text: str) -> str:
    """A text as the tokenizer should see it."""
    if text.isascii():
        return text.replace("\0", " ")  # most are, and nothing else below would change them
    return _RUN.sub(lambda run: f" {' '.join(run[0])} ", _normal(text))


def of_value(value: Any) -> str:
    """What is worth finding in a JSON value: its keys, strings and numbers."""
    found: list[str] = []
    _collect(value, found)
    return "\n".join(found)


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


def _neighbours(text: str, absent: Set[str]) -> Iterator[Piece]:
    last: str | None = None
    for chunk in text.split():
        words = _WORD.findall(chunk)
        if len(words) == 1 and f'"{words[0]}"' in absent:
            continue
        if last and words and not _STOP & {last, words[0]}:
            yield _met(last, words[0])
        for one, two in pairwise(words):
            end = _cut_short(two) if two is words[-1] else ""
            yield Piece((f'"{_spaced(one)} {_spaced(two)}"{end}',), _AS_ONE)
        last = words[-1] if words else None


def _met(one: str, two: str) -> Piece:
    apart = f'"{_spaced(one)} {_spaced(two)}"'
    joined = () if _RUN.search(one + two) else (f'"{one}{two}"',)
    return Piece((apart, *joined), _MET_BY_CHANCE, (f'"{one}"', f'"{two}"'))


def _split(word: str) -> Iterator[str]:
    """The word as two, wherever it may be cut: most cuts stand in no text, and cost little."""
    if word.isalpha() and word.isascii() and len(word) in _SPLIT_LENGTHS:
        for at in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
            yield f'"{word[:at]} {word[at:]}"'


def _phrase(words: list[str]) -> str:
    if not words:
        return ""
    end = _cut_short(words[-1]) if len(words) > 1 else ""
    return f'"{" ".join(words)}"{end}'


def _cut_short(word: str) -> str:
    # The last segment of a path, or the end of a name, may be cut short.
    return " *" if len(word) > 2 else ""


def _adds(piece: Piece, best: Piece) -> bool:
    """Whether a piece is a word of its own beside the best one, and no part of it."""
    inside = {word for phrase in best.spellings for word in _WORD.findall(phrase)}
    return piece.share == 1.0 and inside.isdisjoint(_WORD.findall(piece.spellings[0]))


def _name(pieces: Sequence[Piece], counts: Mapping[str, int], total: int) -> Piece | None:
    """The two words that are the name of what is asked about, where none is typed as one.

    "payment bridge" is far rarer than either of its words, "primary region" hardly than "primary".
    """
    if any(piece.share == _AS_ONE for piece in pieces):
        return None

    def beyond(piece: Piece) -> float:
        return min(counts[word] for word in piece.words) / counts[piece.spellings[0]]

    pairs = [piece for piece in pieces if _surely_met(piece, counts, total) >= _OFTEN]
    return max(pairs, key=beyond, default=None)


def _share(piece: Piece, name: Piece | None, counts: Mapping[str, int], total: int) -> float:
    """What counts of a piece: words belong together that meet as often as they share a text."""
    if piece == name:
        return _AS_ONE
    if not _known(piece, counts):
        return piece.share
    return min(_BELONG_TOGETHER, max(piece.share, _met_to_chance(piece, counts, total)))


def _surely_met(piece: Piece, counts: Mapping[str, int], total: int) -> float:
    """How often two words meet at least, but for chance, to how often they share a text by it."""
    if not _known(piece, counts):
        return 0.0
    spread = 2 / math.sqrt(counts[piece.spellings[0]])
    return max(0.0, 1 - spread) * _met_to_chance(piece, counts, total)


def _met_to_chance(piece: Piece, counts: Mapping[str, int], total: int) -> float:
    by_chance = math.prod(counts[word] for word in piece.words) / total
    return counts[piece.spellings[0]] / by_chance


def _known(piece: Piece, counts: Mapping[str, int]) -> bool:
    return bool(piece.words) and all(word in counts for word in piece.words)


def _spaced(word: str) -> str:
    return " ".join(_words(word))


def _rarity(count: int, total: int) -> float:
    """What BM25 counts a word for that stands in so many of all texts."""
    return math.log(1 + (max(0, total - count) + 0.5) / (count + 0.5))


def _any_of(expressions: Sequence[str]) -> str:
    joined = " OR ".join(expressions)
    return f"({joined})" if len(expressions) > 1 else joined


def _distinct(expressions: list[str]) -> list[str]:
    return list(dict.fromkeys(expressions))[:_MAX_TERMS]


def _collect(value: Any, found: list[str]) -> None:
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, dict):
        for key, child in value.items():
            found.append(key)
            _collect(child, found)
    elif isinstance(value, list | tuple):
        for child in value:
            _collect(child, found)
    elif value is not None and not isinstance(value, bool):
        found.append(str(value))
