"""Reserved names, and suggestions for unknown types.

A signature's names are used in two languages: the entry is a C function of the built
library and a Python function of a module, and arguments are parameters of both.
"""

from __future__ import annotations

import keyword
from collections.abc import Collection, Iterable

from grader.assignment.dialects import dialect
from grader.assignment.problem import choices
from grader.assignment.signature import ElementType
from grader.vocabulary import Language

# C++20's keywords that are no Python keywords, and CUDA C++'s built-in variables.
_CPP_WORDS = """
alignas alignof and_eq asm auto bitand bitor bool case catch char char8_t char16_t char32_t compl
concept const const_cast consteval constexpr constinit co_await co_return co_yield decltype default
delete do double dynamic_cast enum explicit export extern false float friend goto inline int long
mutable namespace new noexcept not_eq nullptr operator or_eq private protected public register
reinterpret_cast requires short signed sizeof static static_assert static_cast struct switch
template this thread_local throw true try typedef typeid typename union unsigned using virtual void
volatile wchar_t xor xor_eq threadIdx blockIdx blockDim gridDim warpSize
"""


def reserved(name: str, languages: Collection[Language]) -> str:
    """Return why `name` cannot be an identifier in these languages; "" if it can."""
    if keyword.iskeyword(name):
        return "a keyword of Python: choose another"
    if name in _CPP_WORDS.split():
        return "a keyword of CUDA C++: choose another"
    if name.startswith("_"):
        return "but the compiler reserves names with a leading underscore: choose another"
    return _first(dialect(one).reserved(name) for one in Language if one in languages)


def reserved_entry(name: str, languages: Collection[Language]) -> str:
    """Return why the entry cannot have this name; "" if it can."""
    if name == "main":
        return "which is the entry of the student's own program: choose another"
    why = _first(dialect(one).reserved_entry(name) for one in Language if one in languages)
    return why or reserved(name, languages)


def _first(reasons: Iterable[str]) -> str:
    return next(filter(None, reasons), "")


def type_meant(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean …", or the known types."""
    plain = word.lower()
    for kind in ElementType:
        if plain in kind.synonyms:
            return f"; did you mean `{kind.word}`?"
    return choices(word, known)
