"""A file's code tokens, addressed by place.

A place is the index of a token that is code; white space and comments have
none. Brackets are matched within one region: a preprocessor directive's line,
or the file without its directives.
"""

from __future__ import annotations

from grader.host.tokens import Token, tokenize

OPENERS = frozenset("([{")
CLOSERS = frozenset(")]}")


class Code:
    """The tokens of a file, and the places of those that are code."""

    def __init__(self, text: str) -> None:
        self.tokens = tokenize(text)
        self.places = [i for i, token in enumerate(self.tokens) if token.is_code]

    def at(self, at: int) -> Token | None:
        """Return the token at a place; None beyond the file."""
        return self.tokens[self.places[at]] if 0 <= at < len(self.places) else None

    def text(self, at: int) -> str:
        """Return the text at a place; empty beyond the file."""
        token = self.at(at)
        return token.text if token else ""

    def same_region(self, at: int, other: int) -> bool:
        """True if both stand in the same directive, or both in none."""
        a, b = self.at(at), self.at(other)
        return a is not None and b is not None and a.directive == b.directive

    def closing(self, at: int) -> int | None:
        """Return the place of the bracket that closes the one at `at`."""
        depth = 0
        for place in range(at, len(self.places)):
            if not self.same_region(at, place):
                if self.at(at).directive:  # type: ignore[union-attr]  # `at` is a token
                    return None
                continue  # a directive in the middle of a statement
            text = self.text(place)
            if text in OPENERS:
                depth += 1
            elif text in CLOSERS:
                depth -= 1
                if depth == 0:
                    return place
        return None

    def opening(self, at: int) -> int | None:
        """Return the place of the bracket that the one at `at` closes."""
        depth = 0
        for place in range(at, -1, -1):
            if not self.same_region(at, place):
                return None
            text = self.text(place)
            if text in CLOSERS:
                depth += 1
            elif text in OPENERS:
                depth -= 1
                if depth == 0:
                    return place
        return None

    def spelling(self, first: int, last: int) -> str:
        """Return the code of a range on one line, comments and breaks left out."""
        spelling = ""
        for place in range(first, last + 1):
            text = self.text(place)
            if spelling and (spelling[-1].isidentifier() or spelling[-1].isdigit()):
                spelling += " " if text[0].isidentifier() or text[0].isdigit() else ""
            elif spelling.endswith(","):
                spelling += " "
            spelling += text
        return spelling
