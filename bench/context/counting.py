"""Exact token counts, and texts cut to an exact number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import cycle, islice

import toktok

TOKENIZER = "o200k_base"
SECOND_TOKENIZER = "cl100k_base"
# What stands between two messages in every chat format: one special token, which nothing crosses.
BETWEEN = "<|endoftext|>"
_WORDS = ("the", "new", "old", "next", "last", "same", "other", "first", "small", "late", "whole")


def count(text: str, tokenizer: str = TOKENIZER) -> int:
    """Tokens of one text."""
    return counts([text], tokenizer)[0]


def counts(texts: Iterable[str], tokenizer: str = TOKENIZER) -> list[int]:
    """Tokens of each text."""
    found: list[int] = toktok.batch_count(list(texts), tokenizer)
    return found


def count_joined(texts: Iterable[str], tokenizer: str = TOKENIZER) -> int:
    """Tokens of the texts as one transcript, counted in one go; the separators are left out."""
    messages = list(texts)
    joined = BETWEEN.join(messages)
    whole: int = toktok.batch_count([joined], tokenizer, with_special=True)[0]
    return whole - max(0, len(messages) - 1)


def cut(text: str, tokens: int) -> str:
    """The start of a text, of so many tokens."""
    found: str = toktok.truncate(text, tokens, TOKENIZER)[0]
    return found


def words(number: int) -> str:
    """So many words, each of which is one token."""
    return " ".join(islice(cycle(_WORDS), number))


def fitted(write: Callable[[int, int], str], size: int) -> str:
    """The text of exactly `size` tokens that `write(rows, words)` can make.

    As many rows as fit, then words into the place that the text has for them.

    Raises:
        ValueError: No number of rows and words gives that size.
    """
    low, high = 1, 2
    while count(write(high, 0)) <= size:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(write(middle, 0)) <= size else (low, middle)
    for rows in range(low, max(0, low - 3), -1):
        padding = size - count(write(rows, 0))
        for words_more in range(max(0, padding - 24), padding + 3):
            text = write(rows, words_more)
            if count(text) == size:
                return text
    raise ValueError(f"no text of exactly {size} tokens")
