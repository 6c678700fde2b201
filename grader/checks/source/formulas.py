"""What the source shows about a formula: an exponent that is never negative, a part left out.

Asked only where numbers were wrong; the words are a hint, never part of a verdict. What the text
does not prove is not said.
"""

from __future__ import annotations

import re
from collections import Counter

from grader.checks.source import cpp_code
from grader.vocabulary import Language

_MOST_SHOWN = 60  # characters of an expression
_LARGEST = re.compile(
    r"(?<![\w.])(\w+)\s*=(?!=)\s*(?:f?maxf?|fmax|std::max|tl\.maximum|tl\.max)\s*\("
)
_PART = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?:\s*\[[\w\s+*]{1,20}\])?\.([xyzw])\b")
_FRACTION = re.compile(r"\d\.\d*f?\b|\b(?:r?sqrt|exp|log|__exp)f?\s*\(")
_BUILT_IN = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})


def exponent_hint(text: str, language: Language) -> str:
    """Return where a power has the largest number as its positive part, "" if nowhere."""
    bare = _code(text, language)
    for largest in dict.fromkeys(_LARGEST.findall(bare)):
        word = re.escape(largest)
        power = re.search(rf"\b(?:__)?exp2?f?\s*\(\s*{word}\s*-\s*([\w.\[\]]+)\s*\)", bare)
        if power is not None:
            line, other = cpp_code.line_at(bare, power.start()), power[1]
            return (
                f"`{largest}` is a maximum, and `{largest} - {other}` in line {line} begins with "
                f"it, so that the power can be infinite: write `{other} - {largest}`"
            )
    return ""


def left_out_part_hint(text: str) -> str:
    """Return which part of a float4 a sum has twice, and which not at all; "" if none."""
    bare = cpp_code.without_comments(text)
    line = 1
    for statement in re.split(r"(?<=[;{}])", bare):
        begin = line + len(statement[: len(statement) - len(statement.lstrip())].split("\n")) - 1
        line += statement.count("\n")
        parts: dict[str, Counter[str]] = {}
        for name, part in _PART.findall(statement):
            parts.setdefault(name, Counter())[part] += 1
        for name, counts in parts.items():
            total, rest = divmod(sum(counts.values()), 4)
            odd = [part for part in "xyzw" if counts[part] != total]
            if name in _BUILT_IN or rest or total < 1 or len(odd) != 2 or len(counts) < 3:
                continue
            less, more = sorted(odd, key=lambda part: counts[part])
            shown = " ".join(statement.split())
            shown = shown if len(shown) <= _MOST_SHOWN else shown[:_MOST_SHOWN] + " …"
            return (
                f"`{shown}` in line {begin} has `{name}.{more}` once too often, and lacks "
                f"`{name}.{less}`"
            )
    return ""


def cast_hint(text: str) -> str:
    """Return where a number with a fraction is cast to a whole one, "" if nowhere."""
    bare = cpp_code.without_comments(text)
    for found in re.finditer(r"\((?:int|long|unsigned)\)\s*(\()?|static_cast<int>(\()", bare):
        begin = found.end() - 1
        end = cpp_code.closing(bare, begin) if bare[begin] == "(" else begin
        cast = " ".join(bare[begin : end + 1].split())
        if _FRACTION.search(cast) and len(cast) <= _MOST_SHOWN:
            line = cpp_code.line_at(bare, begin)
            return f"the cast to a whole number in line {line} drops the fraction of `{cast}`"
    return ""


def float_bits_hint(text: str) -> str:
    """Return where the bits of any float are compared as whole numbers, "" if nowhere.

    With both functions, or with bits that are changed before, negative numbers are in order, too.
    """
    bare = cpp_code.without_comments(text)
    found = re.search(r"\b(atomicMax|atomicMin)\s?\([^;]{0,200}__float_as_u?int\s?\(", bare)
    if found is None or len(set(re.findall(r"\batomicM(?:ax|in)\b", bare))) > 1:
        return ""
    if re.search(r"\^|~|>>\s?31|\bfabs", bare):
        return ""
    line = cpp_code.line_at(bare, found.start())
    return (
        f"{found[1]} in line {line} compares the bits of floats as whole numbers, which orders "
        "negative numbers backwards: atomicMax fits numbers from 0 on, atomicMin on unsigned bits "
        "the others"
    )


def _code(text: str, language: Language) -> str:
    if language is Language.CUDA:
        return cpp_code.without_comments(text)
    return re.sub("#[^\n]*", "", text) if len(text) <= cpp_code.MOST_CHARACTERS else ""
