"""How many o200k tokens a text has, estimated without a vocabulary.

The tokenizer cuts a text into words by case, digits by three, runs of punctuation and white space;
the estimate counts these and weighs them. Characters of unspaced scripts are counted one by one,
and hex and base64, which hold no words, by length. `bench/tokens.py --fit` finds the weights and
measures the error. What another model counts differs by a ratio that is not looked for here.

Source: the pattern of o200k_base in openai/tiktoken; the weights are fitted.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from handoff_memory.core import lazy

SAMPLED_CHARS: Final = 64 << 10
_WINDOWS: Final = 12
_WINDOW_CHARS: Final = 4096

# Feature and weight. Printed by `python bench/tokens.py --fit`.
WEIGHTS: Final[dict[str, float]] = {
    "hex": 0.571,
    "base64": 0.680,
    "word": 0.973,
    "long word": 0.188,
    "letters beyond 8": 0.024,
    "further capitals": 0.060,
    "word after mark": -0.497,
    "word after low line": -0.500,
    "digits": 0.943,
    "spaced digits": 0.801,
    "marks": 1.078,
    "further marks": 0.126,
    "break": 1.521,
    "spaces": 0.678,
    "han": 0.680,
    "han before kana": 0.200,
    "hiragana": 0.794,
    "katakana": 0.364,
    "hangul": 0.600,
    "wide mark": 1.100,
    "foreign letter": 0.250,
    "symbol": 1.500,
}

# Runs without words: hex of at least 4 digits with a letter, and base64 if `_blobs` agrees.
_HEX: Final = lazy.pattern(
    r"(?<![A-Za-z0-9])(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{4,}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])(?=[A-F]*[0-9])(?=[0-9]*[A-F])[0-9A-F]{8,}(?![A-Za-z0-9])"
)
_SHORTEST_BASE64: Final = 24
_BASE64: Final = lazy.pattern(r"[A-Za-z0-9+/]{24,}={0,2}|[A-Za-z0-9_-]{32,}")
_WORD: Final = lazy.pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_AFTER_MARK: Final = lazy.pattern(r"(?<=[^\sA-Za-z0-9_])[A-Za-z]")
_AFTER_LOW_LINE: Final = lazy.pattern(r"(?<=_)[A-Za-z]")
_DIGITS: Final = lazy.pattern(r"[0-9]{1,3}")
_SPACED_DIGITS: Final = lazy.pattern(r"[ \t](?=[0-9])")
_MARKS: Final = lazy.pattern(r"[!-/:-@\[-`{-~]+")
_BREAK: Final = lazy.pattern(r"(?<![!-/:-@\[-`{-~\n])\n+")
_SPACED: Final = ("  ", "\t", "\n ")
_SPACES: Final = lazy.pattern(r"(?<=[^ \t])[ \t]{2,}|(?<=\n)[ \t]+(?=[^\s])|\t")
_HAN: Final = lazy.pattern(r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_HAN_BEFORE_KANA: Final = lazy.pattern(r"[\u3400-\u9fff](?=[\u3040-\u30ff])")
_HIRAGANA: Final = lazy.pattern(r"[\u3040-\u309f]")
_KATAKANA: Final = lazy.pattern(r"[\u30a0-\u30ff\u31f0-\u31ff]")
_WIDE_MARK: Final = lazy.pattern(r"[\u3000-\u303f\uff00-\uffef\u2010-\u2027]")
_FOREIGN: Final = lazy.pattern(r"[^\W\d_\x00-\x7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HANGUL: Final = lazy.pattern(r"[\uac00-\ud7af]")
_SYMBOL: Final = lazy.pattern(r"[^\w\s\x00-\x7f\u3000-\u303f\uff00-\uffef\u2010-\u2027]")


def estimate(text: str) -> int:
    """About how many o200k tokens the text has; of a long text, samples are counted and scaled."""
    if len(text) <= SAMPLED_CHARS:
        return _estimate(text)
    step = (len(text) - _WINDOW_CHARS) // (_WINDOWS - 1)
    windows = [text[at * step : at * step + _WINDOW_CHARS] for at in range(_WINDOWS)]
    return round(sum(map(_estimate, windows)) * len(text) / (_WINDOWS * _WINDOW_CHARS))


def at_most(text: str) -> int:
    """A bound of the estimate that costs nothing: no character weighs two tokens."""
    return 2 * len(text)


def _estimate(text: str) -> int:
    if not text:
        return 0
    found = features(text)
    weighed = sum(WEIGHTS[name] * count for name, count in found.items())
    return max(round(weighed), 1)


def features(text: str) -> dict[str, float]:
    """What is weighed, by name; the same names for every text."""
    found = {"hex": 0.0, "base64": 0.0}

    def take_hex(run: re.Match[str]) -> str:
        found["hex"] += len(run[0])
        return "\x00"

    def take_base64(run: re.Match[str]) -> str:
        if not _is_blob(run[0]):
            return run[0]
        found["base64"] += len(run[0])
        return "\x00"

    if max(map(len, text.split()), default=0) >= _SHORTEST_BASE64:
        text = _BASE64.sub(take_base64, text)
    text = _HEX.sub(take_hex, text)
    words = _WORD.findall(text)
    capitals = [word for word in words if word.isupper()]
    marks = _MARKS.findall(text)
    found |= _lengths(words) | {
        "further capitals": sum(map(len, capitals)) - len(capitals),
        "word after mark": len(_AFTER_MARK.findall(text)),
        "word after low line": len(_AFTER_LOW_LINE.findall(text)) if "_" in text else 0,
        "digits": len(_DIGITS.findall(text)),
        "spaced digits": len(_SPACED_DIGITS.findall(text)),
        "marks": len(marks),
        "further marks": sum(min(len(run), 4) for run in marks) - len(marks),
        "break": len(_BREAK.findall(text)) if "\n" in text else 0,
        "spaces": len(_SPACES.findall(text)) if any(map(text.__contains__, _SPACED)) else 0,
    }
    return found | _foreign(text)


def _lengths(words: list[str]) -> dict[str, float]:
    lengths = Counter(map(len, words))
    return {
        "word": len(words),
        "long word": sum(count for length, count in lengths.items() if length > 6),
        "letters beyond 8": sum((min(n, 40) - 8) * count for n, count in lengths.items() if n > 8),
    }


def _foreign(text: str) -> dict[str, float]:
    highest = max(text, default="")
    return {
        name: len(pattern.findall(text)) if highest >= lowest else 0
        for name, lowest, pattern in (
            ("han", "\u3400", _HAN),
            ("han before kana", "\u3400", _HAN_BEFORE_KANA),
            ("hiragana", "\u3040", _HIRAGANA),
            ("katakana", "\u30a0", _KATAKANA),
            ("hangul", "\uac00", _HANGUL),
            ("wide mark", "\u2010", _WIDE_MARK),
            ("foreign letter", "\x80", _FOREIGN),
            ("symbol", "\x80", _SYMBOL),
        )
    }


def _is_blob(run: str) -> bool:
    """Whether a long run is base64 rather than a path or a name: digits and capitals all over."""
    digits = sum(map(str.isdigit, run))
    capitals = sum(map(str.isupper, run))
    return digits * 30 >= len(run) and capitals * 5 >= len(run) and digits < len(run) // 2
