"""JSON that clients write and a strict reader refuses: a call must not go by unjudged for it.

JavaScript writes half a character where it cut a text; others write NaN, numbers beyond 64 bits, a
byte order mark, or bytes that are no UTF-8.
"""

import json
import math
from typing import Any, Final

import orjson

_DIGITS: Final = 18  # so many have 64 bits; of more than 4,300 Python makes no number at all


def loads(data: bytes) -> Any:
    """The value, whose texts are whole characters and whose numbers have 64 bits.

    Raises:
        ValueError: It is no JSON for anybody.
    """
    found = json.loads(
        data.decode("utf-8-sig", "replace"),
        parse_int=_integer,
        parse_float=_float,
        parse_constant=str,
    )
    return orjson.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))


def _integer(text: str) -> int | str:
    return int(text) if len(text) <= _DIGITS else text


def _float(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text
