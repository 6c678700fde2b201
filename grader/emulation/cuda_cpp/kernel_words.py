"""The names that a kernel may use if it is cut into loops over threads (`thread_loops`).

These are types, functions in which no thread waits, and what the file itself defines: constants,
and device functions that use such names only.
"""

from __future__ import annotations

import re

from grader.emulation.cuda_cpp.code import Code

NAME = re.compile(r"[^\W\d]\w*")
BARRIER = "__syncthreads"
MOST_TOKENS = 3000  # of a kernel or function: some queries take quadratic time
_MOST_WORDS = 40  # in front of a name


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TYPES = (
    _words("int unsigned signed long short char float double bool size_t __half")
    | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    | {f"{kind}{n}" for kind in ("int", "uint", "float", "double") for n in (2, 3, 4)}
)
QUALIFIERS = _words("const constexpr")
_SPECIFIERS = TYPES | QUALIFIERS
AFTER_TYPE = _words("const __restrict__ __restrict *")
KEYWORDS = _words("if else for while do return break continue")
WORDS = _words("true false nullptr sizeof static_cast reinterpret_cast static_assert")
INDICES = _words("threadIdx blockIdx blockDim gridDim warpSize")
ASSIGNMENTS = _words("= += -= *= /= %= &= |= ^= <<= >>= ++ --")
OPERATORS = _words("+ - * / % << >> & | ^ ~ ! ? : < > <= >= == != && || ( ) ,")
# Functions that no thread waits in, and whose result has no other use than its value.
FUNCTIONS = _words(
    "min max abs isnan isinf isfinite __expf __logf __powf __fdividef __sinf __cosf __ldg __fmaf_rn"
    " make_int2 make_int4 make_float2 make_float3 make_float4 __popc __clz __ffs"
) | {
    f"{name}{suffix}"
    for name in _words(
        "sqrt rsqrt exp exp2 exp10 log log2 log10 log1p expm1 pow sin cos tan sinh cosh tanh asin"
        " acos atan atan2 erf erfc fabs fmax fmin floor ceil round trunc rint fma fmod hypot cbrt"
    )
    for suffix in ("", "f")
}
ATOMICS = {f"atomic{name}" for name in _words("Add Sub Min Max And Or Xor Inc Dec")}


def directive(code: Code, place: int) -> int:
    """Return the number of the preprocessor directive of a place; 0 outside directives."""
    token = code.at(place)
    return token.directive if token else 0


class FileNames:
    """What a file defines: macros, constants, functions without barriers."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.macros: set[str] = set()
        self.constants: set[str] = set()
        self._no_constants: set[str] = set()  # macros of another kind
        self.bodies: dict[str, tuple[int, int]] = {}
        self.ambiguous: set[str] = set()
        for place in range(len(code.places)):
            self._learn(place)
        self.constants -= self._no_constants
        self._safe: dict[str, bool] = {}

    def _learn(self, place: int) -> None:
        code = self.code
        text = code.text(place)
        if text in ("define", "undef") and code.text(place - 1) == "#":
            name = code.text(place + 1)
            end = place + 2
            while code.same_region(place, end) and end < place + _MOST_WORDS:
                end += 1
            if text == "define" and self._is_constant(place + 2, end) and name not in self.macros:
                self.constants.add(name)
            else:
                self.constants.discard(name)
                self._no_constants.add(name)
            self.macros.add(name)
        elif directive(code, place):
            return
        elif text in QUALIFIERS and not code.in_function(place):
            end = place
            while code.text(end) in _SPECIFIERS and end < place + _MOST_WORDS:
                end += 1
            while NAME.fullmatch(code.text(end)) and code.text(end + 1) == "=":
                last = code.separator(end)
                if self._is_constant(end + 2, last):
                    self.constants.add(code.text(end))
                end = last + 1
        elif text == "__device__":
            self._learn_function(place)

    def _is_constant(self, first: int, end: int) -> bool:
        """True for an expression of numbers and constants."""
        words = [self.code.text(place) for place in range(first, min(end, first + _MOST_WORDS))]
        return 0 < len(words) < _MOST_WORDS - 2 and all(
            word in OPERATORS - {",", "?"} or word in self.constants or word[0].isdigit()
            for word in words
        )

    def _learn_function(self, place: int) -> None:
        code = self.code
        opened = place + 1
        while code.text(opened) not in ("(", ";", "{", "=", "", "["):
            opened += 1
            if opened > place + _MOST_WORDS:
                return
        close = code.closing(opened) if code.text(opened) == "(" else None
        if close is None or code.text(close + 1) != "{":
            return
        name, end = code.text(opened - 1), code.closing(close + 1)
        if end is None or name in self.bodies:
            self.ambiguous.add(name)
        else:
            self.bodies[name] = (opened, end)

    def is_safe(self, name: str) -> bool:
        """True for a device function of this file in which no thread waits or spins."""
        if name not in self._safe:
            self._safe[name] = False  # for recursion
            body = self.bodies.get(name)
            self._safe[name] = (
                body is not None
                and name not in self.ambiguous
                and name not in self.macros
                and body[1] - body[0] < MOST_TOKENS
                and all(self._is_harmless(place) for place in range(body[0], body[1]))
            )
        return self._safe[name]

    def _is_harmless(self, place: int) -> bool:
        code = self.code
        text = code.text(place)
        if directive(code, place):
            return code.text(place) != "if"
        if not NAME.fullmatch(text):
            return text not in ("<<<", "::")
        if text in self.macros:
            return text in self.constants
        if text in ("while", "do", "goto", "asm", "volatile", "static", "__shared__"):
            return text == "while" and code.text(place + 1) == "("
        if code.text(place + 1) != "(":
            return True
        if text in self.bodies or text in self.ambiguous:
            return self.is_safe(text)
        return text in FUNCTIONS | TYPES | KEYWORDS | WORDS
