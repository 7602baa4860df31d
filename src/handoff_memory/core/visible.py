"""Text that people look at: what would act instead of being seen is shown by its number."""

from __future__ import annotations

import re
from typing import Final

# What moves the cursor, colours, renames the window, or turns the reading direction round.
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_UNSAFE_IN_BLOCK: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def line(text: str) -> str:
    """One line of text with every control character shown instead of obeyed."""
    return _UNSAFE.sub(_shown, text)


def block(text: str) -> str:
    """Text with its lines and tabs, every other control character shown instead of obeyed."""
    return _UNSAFE_IN_BLOCK.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    return {10: "⏎", 9: " "}.get(code) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
