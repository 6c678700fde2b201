"""Parse JSON that a submission may have written: ordinary values of bounded size.

Python's parser accepts `Infinity`, `1e400` and integers of any length. Such a number has no
place in a report: `int()` of it raises OverflowError, and other JSON readers refuse the file.
No program of the grader writes one.
"""

from __future__ import annotations

import json
import math
from typing import Any

_MAX_BITS = 64  # of an integer without its sign; an address has as many
_MAX_DIGITS = 21  # of such an integer, with its sign
_MAX_DEPTH = 20
_SHOWN_CHARACTERS = 200


def parse(text: str, *, strict: bool = False) -> Any:
    """Return the value of a JSON text.

    A number that is not finite, or an integer of more than 64 bits, becomes None, so that a
    forged record stays recognisable; with `strict` it raises a ValueError that names the number.
    Raises JSONDecodeError, which is a ValueError, for wrong syntax, and ValueError for values that
    are nested too deeply.
    """

    def too_large(digits: str) -> Any:
        if strict:
            raise ValueError(f"{digits[:_SHOWN_CHARACTERS]} is too large a number")
        return None

    def integer(digits: str) -> int | None:
        fits = len(digits) <= _MAX_DIGITS and int(digits).bit_length() <= _MAX_BITS
        return int(digits) if fits else too_large(digits)

    def number(digits: str) -> float | None:
        value = float(digits)
        return value if math.isfinite(value) else too_large(digits)

    def constant(name: str) -> None:
        if strict:
            raise ValueError(f"JSON has no number {name}")

    try:
        value = json.loads(text, parse_int=integer, parse_float=number, parse_constant=constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if text.count("[") + text.count("{") < _MAX_DEPTH:  # as in nearly all records
        return value
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return value
    raise ValueError("it is nested too deeply")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
