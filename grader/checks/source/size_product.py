"""Sizes in host code as products of names and numbers: `rows * cols * sizeof(float)`.

Two sizes that are written in different ways can be compared so, without their values.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from grader.checks.source import cpp_code

_MOST_STEPS = 4  # from a variable to the value that it is set to, and so on
_MOST_CHARACTERS = 200  # of an expression
_INTEGER = r"(?:unsigned|signed|int|long|short|size_t|u?int\d+_t|std::size_t)"
_CAST = re.compile(rf"\(\s*{_INTEGER}(?:\s+{_INTEGER})*\s*\)|static_cast<[^<>]*>(?=\()")
_BYTES = {
    "float": 4, "int": 4, "unsigned": 4, "unsigned int": 4, "double": 8, "char": 1, "half": 2,
    "__half": 2, "short": 2, "float2": 8, "float4": 16, "int4": 16, "long long": 8,
}  # fmt: skip
# The types of which `sizeof` is shown in a product of bytes, by their size.
_SHOWN_TYPES = {"float": 4, "double": 8, "int": 4}


@dataclass(frozen=True, slots=True)
class Product:
    """A number times names, each as often as its power says."""

    number: Fraction
    powers: tuple[tuple[str, int], ...] = ()

    def __mul__(self, other: Product) -> Product:
        return self._with(other, 1)

    def __truediv__(self, other: Product) -> Product:
        return self._with(other, -1)

    def _with(self, other: Product, sign: int) -> Product:
        powers = Counter(dict(self.powers))
        for name, power in other.powers:
            powers[name] += sign * power
        number = self.number * other.number if sign > 0 else self.number / other.number
        return Product(number, tuple(sorted((n, p) for n, p in powers.items() if p)))

    @property
    def names(self) -> frozenset[str]:
        """The names in it, whatever their powers are."""
        return frozenset(name for name, _ in self.powers)

    @property
    def whole(self) -> bool:
        """True if nothing is divided by a name or has a fraction as its number."""
        return self.number.denominator == 1 and all(power > 0 for _, power in self.powers)

    def shown(self, type_name: str = "") -> str:
        """Return the product as code; with a type, as bytes: `rows * sizeof(float)`."""
        size = Fraction(_SHOWN_TYPES.get(type_name, 1))
        number = self.number / size
        bytes_ = [f"sizeof({type_name})"] if size != 1 and number.denominator == 1 else []
        number = number if bytes_ else self.number
        names = [name for name, power in self.powers for _ in range(power)]
        numbers = [str(number)] if number != 1 or not (names or bytes_) else []
        return " * ".join([*numbers, *names, *bytes_])


def product(expression: str, text: str = "", steps: int = _MOST_STEPS) -> Product | None:
    """Return an expression as a product, None if it is none.

    Variables are replaced by their values in `text`, which has no comments; one whose value is no
    product stands for itself.
    """
    if len(expression) > _MOST_CHARACTERS:
        return None
    expression = _CAST.sub("", expression).strip()
    while expression.startswith("(") and cpp_code.closing(expression, 0) == len(expression) - 1:
        expression = expression[1:-1].strip()
    parts = cpp_code.split(expression, "*")
    if len(parts) > 1:
        result = Product(Fraction(1))
        for part in parts:
            factor = product(part, text, steps)
            if factor is None:
                return None
            result *= factor
        return result
    if re.fullmatch(r"\d{1,9}[uUlL]*", expression):
        return Product(Fraction(int(expression.rstrip("uUlL"))))
    if (size := re.fullmatch(r"sizeof\s*\(?\s*([\w\s]+?)\s*(\*?)\s*\)?", expression)) is not None:
        of = 8 if size[2] else _BYTES.get(" ".join(size[1].split()))
        return None if of is None else Product(Fraction(of))
    if not re.fullmatch(r"[A-Za-z_]\w*", expression):
        return None
    value = cpp_code.only_value(text, expression) if steps else ""
    meant = product(value, text, steps - 1) if value and value != expression else None
    return meant or Product(Fraction(1), ((expression, 1),))


def constant(expression: str, text: str) -> int | None:
    """Return the value of a whole number that is the same in each call, None if it is none."""
    value = product(expression, text)
    return int(value.number) if value is not None and value.whole and not value.powers else None
