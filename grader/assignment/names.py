"""Reserved names, and suggestions for unknown types.

A signature's names are used in two languages: the entry is a C function of the built
library and a Python function of a module, and arguments are parameters of both.
"""

from __future__ import annotations

import ctypes
import functools
import keyword
import sys
from collections.abc import Collection, Iterable

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
# Macros of the headers that every CUDA C++ file includes.
_CPP_MACROS = """
NULL EOF NAN INFINITY HUGE_VAL RAND_MAX BUFSIZ EXIT_SUCCESS EXIT_FAILURE M_PI M_E assert errno
stdin stdout stderr linux unix
"""
# CUDA C++ declares these in the global namespace, with the header of half precision.
_CUDA_FUNCTIONS = frozenset({"half", "half2", "max", "min"})
_PYTHON_MODULES = frozenset({"torch", "triton", "tl"})
# A Python file with such a name would hide a module that it or the worker imports.
MODULES = frozenset(sys.stdlib_module_names) | {"torch", "triton", "numpy"}


def reserved(name: str, languages: Collection[Language]) -> str:
    """Return why `name` cannot be an identifier in these languages; "" if it can."""
    if keyword.iskeyword(name):
        return "a keyword of Python: choose another"
    if name in _CPP_WORDS.split():
        return "a keyword of CUDA C++: choose another"
    if name.startswith("_"):
        return "but the compiler reserves names with a leading underscore: choose another"
    if Language.CUDA in languages and name in _CPP_MACROS.split():
        return "a macro of C: choose another"
    if Language.TRITON in languages and name in _PYTHON_MODULES:
        return f"which would hide the module `{name}` in Triton: choose another"
    return ""


def reserved_entry(name: str, languages: Collection[Language]) -> str:
    """Return why the entry cannot have this name; "" if it can."""
    if name == "main":
        return "which is the entry of the student's own program: choose another"
    if Language.CUDA in languages and (name in _CUDA_FUNCTIONS or _in_c_library(name)):
        return f"a name of CUDA C++: choose another, such as `gpu_{name}`"
    return reserved(name, languages)


def type_meant(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean …", or the known types."""
    plain = word.lower()
    for kind in ElementType:
        if plain in kind.synonyms:
            return f"; did you mean `{kind.word}`?"
    return choices(word, known)


def _in_c_library(name: str) -> bool:
    """True if libc or libm has such a function, which the built library would replace."""
    return any(hasattr(library, name) for library in _c_libraries())


@functools.cache
def _c_libraries() -> tuple[ctypes.CDLL, ...]:
    libraries = []
    for file in ("libc.so.6", "libm.so.6"):
        try:
            libraries.append(ctypes.CDLL(file))
        except OSError:  # another C library: the compiler reports a clash
            continue
    return tuple(libraries)
