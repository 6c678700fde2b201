"""The code tokens of a file, with matched brackets and scopes.

A place is the index of a code token; whitespace and comments have none. Brackets are
matched within one region: a preprocessor directive's line, or the file without its
directives.

All repeated queries of the rewriter are precomputed in a single pass, because the
rewriter runs inside the judge, and a hostile file causes queries at every token.
"""

from __future__ import annotations

from collections.abc import Iterable

from grader.emulation.cuda_cpp.tokens import Token

OPENERS = frozenset("([{")
CLOSERS = frozenset(")]}")
MARKS = frozenset({"__device__", "__constant__", "__managed__"})
_NAMESPACE_WORDS = 12


class Code:
    """The tokens of a file, and the places of those that are code."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.places = [i for i, token in enumerate(tokens) if token.is_code]
        code = [tokens[i] for i in self.places]
        self._texts = [token.text for token in code]
        self._directives = [token.directive for token in code]
        self._matches = self._matched_by_region()
        self._any_matches = _matched(self._texts, range(len(code)))
        self._runs = self._numbered_runs()
        self._separators = self._next_separators()
        self._in_function = self._function_scopes()
        self._before = self._previous_in_region()

    def at(self, at: int) -> Token | None:
        """Return the token at a place; None beyond the file."""
        return self.tokens[self.places[at]] if 0 <= at < len(self.places) else None

    def text(self, at: int) -> str:
        """Return the text at a place; empty beyond the file."""
        return self._texts[at] if 0 <= at < len(self._texts) else ""

    def same_region(self, at: int, other: int) -> bool:
        """True if both places are in the same directive, or both outside directives."""
        size = len(self.places)
        inside = 0 <= at < size and 0 <= other < size
        return inside and self._directives[at] == self._directives[other]

    def before(self, at: int) -> str:
        """Return the previous text in the region of `at`; empty at the region's start."""
        return self.text(self._before[at])

    def closing(self, at: int) -> int | None:
        """Return the place of the bracket that closes the one at `at`, in its region."""
        return self._matches.get(at)

    def opening(self, at: int) -> int | None:
        """Return the place of the bracket that `at` closes, without a directive between them."""
        opened = self._matches.get(at)
        return opened if opened is not None and self._runs[opened] == self._runs[at] else None

    def closing_anywhere(self, at: int) -> int:
        """Return the place of the bracket that closes the one at `at`, else the file's end.

        Directives count as code here.
        """
        return self._any_matches.get(at, len(self.places))

    def opening_anywhere(self, at: int) -> int | None:
        """Return the place of the bracket that the one at `at` closes, in any region."""
        return self._any_matches.get(at)

    def separator(self, at: int) -> int:
        """Return the place of the next comma or semicolon outside brackets.

        The file's end if there is none, or if another variable's mark comes before it.
        """
        return self._separators[at]

    def in_function(self, at: int) -> bool:
        """True unless every brace open at `at` belongs to a namespace or linkage block."""
        return self._in_function[at]

    def spelling(self, first: int, last: int) -> str:
        """Return the code of a range on one line, without comments."""
        spelling = ""
        for place in range(first, last + 1):
            text = self.text(place)
            if spelling and (spelling[-1].isidentifier() or spelling[-1].isdigit()):
                spelling += " " if text[0].isidentifier() or text[0].isdigit() else ""
            elif spelling.endswith(","):
                spelling += " "
            spelling += text
        return spelling

    def _matched_by_region(self) -> dict[int, int]:
        regions: dict[int, list[int]] = {}
        for place, directive in enumerate(self._directives):
            regions.setdefault(directive, []).append(place)
        matches: dict[int, int] = {}
        for places in regions.values():
            matches.update(_matched(self._texts, places))
        return matches

    def _numbered_runs(self) -> list[int]:
        """Number the runs of tokens between the boundaries of directives."""
        runs: list[int] = []
        run, before = 0, 0
        for directive in self._directives:
            run += directive != before
            before = directive
            runs.append(run)
        return runs

    def _next_separators(self) -> list[int]:
        size = len(self._texts)
        separators = [size] * (size + 1)
        for place in range(size - 1, -1, -1):
            text = self._texts[place]
            if text in (",", ";"):
                separators[place] = place
            elif text in MARKS:
                separators[place] = size
            elif text in OPENERS:
                separators[place] = separators[min(self.closing_anywhere(place) + 1, size)]
            else:
                separators[place] = separators[place + 1]
        return separators

    def _previous_in_region(self) -> list[int]:
        last: dict[object, int] = {}
        previous = []
        for at, region in enumerate(self._directives):
            previous.append(last.get(region, -1))
            last[region] = at
        return previous

    def _function_scopes(self) -> list[bool]:
        inside: list[bool] = []
        opened = [False]  # for each open brace: is it inside a function?
        for place, text in enumerate(self._texts):
            inside.append(opened[-1])
            if text == "{":
                opened.append(opened[-1] or not self._is_namespace(place))
            elif text == "}" and len(opened) > 1:
                opened.pop()
        return inside

    def _is_namespace(self, brace: int) -> bool:
        """True if the brace opens a namespace or a linkage block."""
        words: list[str] = []
        for text in reversed(self._texts[max(0, brace - _NAMESPACE_WORDS) : brace]):
            if text in (";", "{", "}", ")"):
                break
            words.append(text)
        linkage = "extern" in words[-2:] or '"C"' in words or '"C++"' in words
        return "namespace" in words or linkage


def _matched(texts: list[str], places: Iterable[int]) -> dict[int, int]:
    """Return each bracket's counterpart among the places; unmatched ones are left out."""
    matches: dict[int, int] = {}
    opened: list[int] = []
    for place in places:
        if texts[place] in OPENERS:
            opened.append(place)
        elif texts[place] in CLOSERS and opened:
            matches[place] = opened.pop()
            matches[matches[place]] = place
    return matches
