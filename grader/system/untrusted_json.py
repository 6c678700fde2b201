"""JSON that a hand-in may have written: plain values of ordinary size and nothing else.

Python's parser takes `Infinity`, `1e400` and integers of any length, and returns
what has no place in a report: `int()` of it raises an OverflowError, and other
readers refuse the file. None of our programs writes such a thing.
"""

from __future__ import annotations

import json
import math
from typing import Any

_BITS = 64  # as many as an address has, and a sign
_MOST_DIGITS = 20  # of a number of so many bits
_DEEPEST = 20


def parse(text: str) -> Any:
    """Return the value of a JSON text, with None for each number that is none of ours.

    So a forged record stays one that can be told from a true one. Whatever else
    is wrong with the text is a ValueError.
    """
    try:
        value = json.loads(
            text, parse_int=_integer, parse_float=_number, parse_constant=lambda _: None
        )
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return value
    raise ValueError("nested too deeply")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _integer(digits: str) -> int | None:
    value = int(digits) if len(digits) <= _MOST_DIGITS + 1 else None
    return value if value is not None and value.bit_length() <= _BITS else None


def _number(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None
