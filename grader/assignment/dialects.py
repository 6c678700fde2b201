"""What a spec can say of a language: a row for each.

A language without a row of its own has that of its base. `register` adds one from outside the
package, for example from a test.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from grader.assignment.signature import ElementType, Signature
from grader.vocabulary import Language

# Macros of the headers that every CUDA C++ file includes.
_CPP_MACROS = """
NULL EOF NAN INFINITY HUGE_VAL RAND_MAX BUFSIZ EXIT_SUCCESS EXIT_FAILURE M_PI M_E assert errno
stdin stdout stderr linux unix
"""
# CUDA C++ declares these in the global namespace, with the header of half precision.
_CUDA_FUNCTIONS = frozenset({"half", "half2", "max", "min"})
_PYTHON_MODULES = frozenset({"torch", "triton", "tl"})
# A Python file with such a name would hide a module that it or the worker imports.
_HIDDEN_MODULES = frozenset(sys.stdlib_module_names) | {"torch", "triton", "numpy", "numba"}


def _free(name: str) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What a spec can say of a language, and what it cannot.

    `declarations` returns the entry as a student may write it, the usual form first. The next
    three return why a name cannot be an identifier, the entry's name or a file's stem, "" if it
    can. `lacks` are element types that the language has not, with what to use instead; `uncounted`
    the counters that are not counted in it. With `includes`, a file may include headers and given
    files, and use libraries. With `powers_of_two`, the extents of a launch's block must be powers
    of two. A case that is counted has sizes that are multiples of `counted_multiples`, if there is
    one. A text looks like the language if the regular expression `mark` is found in it.
    """

    declarations: Callable[[Signature], tuple[str, ...]]
    reserved: Callable[[str], str] = _free
    reserved_entry: Callable[[str], str] = _free
    reserved_stem: Callable[[str], str] = _free
    lacks: Mapping[ElementType, str] = field(default_factory=dict)
    uncounted: frozenset[str] = frozenset()
    includes: bool = False
    powers_of_two: bool = False
    counted_multiples: int = 1
    mark: str = ""


def _c_macro(name: str) -> str:
    return "a macro of C: choose another" if name in _CPP_MACROS.split() else ""


def _c_function(name: str) -> str:
    if name in _CUDA_FUNCTIONS or _in_c_library(name):
        return f"a name of CUDA C++: choose another, such as `gpu_{name}`"
    return ""


def _triton_module(name: str) -> str:
    if name in _PYTHON_MODULES:
        return f"which would hide the module `{name}` in Triton: choose another"
    return ""


def _numba_module(name: str) -> str:
    if name in ("numba", "cuda"):
        return f"which would hide the module `{name}` in Numba: choose another"
    return ""


def _hidden_module(stem: str) -> str:
    return f"which would hide the module `{stem}`" if stem in _HIDDEN_MODULES else ""


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


_dialects: dict[Language, Dialect] = {
    Language.CUDA: Dialect(
        declarations=lambda signature: (signature.c_declaration,),
        reserved=_c_macro,
        reserved_entry=_c_function,
        includes=True,
        mark=r'^\s*#\s*include\s*[<"]|__global__|\bextern\s+"C"|<<<',
    ),
    Language.TRITON: Dialect(
        declarations=lambda signature: (signature.python_declaration,),
        reserved=_triton_module,
        reserved_stem=_hidden_module,
        lacks={ElementType.COMPLEX64: "use float32 with a last extent of 2"},
        # The compiler lays shared memory out and sets barriers.
        uncounted=frozenset({"shared_wavefronts", "barriers"}),
        powers_of_two=True,
        mark=r"^\s*(import|from)\s+(triton|torch)\b|^\s*@triton\.|^def\s+\w+\s*\(",
        counted_multiples=16,  # the compiler splits wide accesses of others
    ),
}
_dialects[Language.NUMBA] = Dialect(
    declarations=lambda signature: (signature.numba_declaration,),
    reserved=_numba_module,
    reserved_stem=_hidden_module,
    lacks=dict.fromkeys(
        (ElementType.BFLOAT16, ElementType.FLOAT8_E4M3, ElementType.FLOAT8_E5M2),
        "use float32, or float16: the arrays are numpy's",
    ),
    uncounted=frozenset({"shared_wavefronts", "barriers", "registers", "shared_bytes"}),
    mark=r"^\s*(import|from)\s+numba\b|^\s*@cuda\.jit",
)
_dialects[Language.INLINE_CUDA] = replace(
    _dialects[Language.CUDA],
    declarations=lambda signature: tuple(
        filter(None, (signature.tensor_declaration, signature.c_declaration))
    ),
    mark=r"\bload_inline\s*\(",
)


def dialect(language: Language) -> Dialect:
    """Return the row of a language, or that of its base."""
    return _dialects.get(language) or _dialects[language.base]


def may_include(file: str) -> bool:
    """True if a file with this ending may include the generated header."""
    own = (one for one in Language if one.base is one and file.endswith(one.suffix))
    return any(dialect(one).includes for one in own)


def register(language: Language, row: Dialect) -> None:
    """Add the row of a language that `Language.add` made known."""
    _dialects[language] = row


def unregister(language: Language) -> None:
    """Remove the row that `register` added, if it did."""
    _dialects.pop(language, None)
