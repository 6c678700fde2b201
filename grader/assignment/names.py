"""Names and types that a signature cannot have, and why.

A name goes into two languages at once: the entry is a C function of the built
library and a Python function of a module, an argument a parameter of both.
"""

from __future__ import annotations

import ctypes
import functools
import keyword
import sys
from collections.abc import Collection, Iterable

from grader.assignment.problem import choices
from grader.vocabulary import Language

# C++20's keywords that are no Python keywords, and what CUDA C++ adds.
_CPP_WORDS = """
alignas alignof and_eq asm auto bitand bitor bool case catch char char8_t char16_t char32_t compl
concept const const_cast consteval constexpr constinit co_await co_return co_yield decltype default
delete do double dynamic_cast enum explicit export extern false float friend goto inline int long
mutable namespace new noexcept not_eq nullptr operator or_eq private protected public register
reinterpret_cast requires short signed sizeof static static_assert static_cast struct switch
template this thread_local throw true try typedef typeid typename union unsigned using virtual void
volatile wchar_t xor xor_eq threadIdx blockIdx blockDim gridDim warpSize
"""
# What the headers that every CUDA C++ file has replace by something else.
_CPP_MACROS = """
NULL EOF NAN INFINITY HUGE_VAL RAND_MAX BUFSIZ EXIT_SUCCESS EXIT_FAILURE M_PI M_E assert errno
stdin stdout stderr linux unix
"""
# CUDA C++ has these two outside every namespace.
_CUDA_FUNCTIONS = frozenset({"max", "min"})
_PYTHON_MODULES = frozenset({"torch", "triton", "tl"})
# A file of such a name would hide the module that it, or the grader's worker, imports.
MODULES = frozenset(sys.stdlib_module_names) | {"torch", "triton", "numpy"}

# What people write for the types that there are, and for those that there are not.
_TYPE_WORDS = {
    "float": "did you mean `float32`?",
    "double": "did you mean `float64`?",
    "half": "did you mean `float16`?",
    "int": "did you mean `int32`?",
    "long": "did you mean `int64`?",
    "char": "did you mean `int8`?",
    "bool": "take `int8`, with 0 and 1",
    "uint8": "take `int8`, or `int32` for values beyond 127",
    "int16": "take `int32`",
    "uint16": "take `int32`",
    "uint32": "take `int32`, or `int64` for values beyond 2147483647",
    "uint64": "take `int64`",
    "complex64": "take `float32` with a last extent of 2",
}
_SAME_WORDS = {
    "fp16": "half", "fp32": "float", "fp64": "double", "f16": "half", "f32": "float",
    "f64": "double", "__half": "half", "short": "int16", "byte": "uint8", "uchar": "uint8",
    "boolean": "bool", "int1": "bool", "unsigned": "uint32", "uint": "uint32", "size_t": "uint64",
    "integer": "int", "float2": "float", "float4": "float", "int4": "int", "complex": "complex64",
}  # fmt: skip


def reserved(name: str, languages: Collection[Language]) -> str:
    """Return why `name` cannot be an identifier in these languages, "" if it can."""
    if keyword.iskeyword(name):
        return "a keyword of Python: choose another"
    if name in _CPP_WORDS.split():
        return "a keyword of CUDA C++: choose another"
    if name.startswith("_"):
        return "and names with an underscore first are the compiler's: choose another"
    if Language.CUDA in languages and name in _CPP_MACROS.split():
        return "a macro of C: choose another"
    if Language.TRITON in languages and name in _PYTHON_MODULES:
        return f"which would hide the module `{name}` in Triton: choose another"
    return ""


def reserved_entry(name: str, languages: Collection[Language]) -> str:
    """Return why the entry cannot have this name, "" if it can."""
    if name == "main":
        return "where the student's own program starts"
    if Language.CUDA in languages and (name in _CUDA_FUNCTIONS or _in_c_library(name)):
        return f"a function that CUDA C++ has already: choose another, as in `gpu_{name}`"
    return reserved(name, languages)


def type_meant(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean …", or the types that there are."""
    plain = word.lower()
    meant = _TYPE_WORDS.get(_SAME_WORDS.get(plain, plain))
    return f"; {meant}" if meant else choices(word, known)


def _in_c_library(name: str) -> bool:
    """True if a library built from CUDA C++ would take the place of a function it calls itself."""
    return any(hasattr(library, name) for library in _c_libraries())


@functools.cache
def _c_libraries() -> tuple[ctypes.CDLL, ...]:
    found = []
    for file in ("libc.so.6", "libm.so.6"):
        try:
            found.append(ctypes.CDLL(file))
        except OSError:  # another C library: its compiler will say so
            continue
    return tuple(found)
