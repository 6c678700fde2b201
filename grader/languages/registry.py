"""All languages. A new one is a module beside the others and a line here.

`register` adds a language from outside the package, for example from a test.
"""

from __future__ import annotations

from grader.assignment import dialects
from grader.assignment.dialects import Dialect
from grader.checks.check import LanguageSupport
from grader.languages.cuda_cpp import CudaCpp
from grader.languages.inline_cuda import InlineCuda
from grader.languages.numba_cuda import Numba
from grader.languages.triton import Triton
from grader.vocabulary import Language

_support: dict[Language, LanguageSupport] = {
    one.language: one for one in (CudaCpp(), Triton(), InlineCuda(), Numba())
}


def support_of(language: Language) -> LanguageSupport:
    """Return how a language is built, run, watched and counted."""
    return _support[language]


def register(support: LanguageSupport, dialect: Dialect | None = None) -> None:
    """Add a language that `Language.add` made known; without a dialect it has that of its base."""
    _support[support.language] = support
    if dialect is not None:
        dialects.register(support.language, dialect)


def unregister(support: LanguageSupport) -> None:
    """Remove a language that `register` added, and forget its name."""
    del _support[support.language]
    dialects.unregister(support.language)
    Language.remove(support.language)
