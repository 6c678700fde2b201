"""Shows each hint, and each output of the student's code, once per kernel.

Several checks call the same function on the same data. A repeated hint or
output would look like a second mistake.
"""

from __future__ import annotations

from grader.formats.page import Page

INDENT = 4  # columns, for everything below the line of a check
MOST_REPEATED = 40  # lines of a repeated block, such as a traceback


class Deduplicator:
    """Adds hints and output to a page, unless the page has them already."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._hints: set[str] = set()
        self._printed: set[str] = set()
        self._lead = ""
        self._shown: list[object] = []
        self.has_lead = False  # True if the block began with a diagnosis and its hint

    def hint(self, hint: str, *, indent: int) -> None:
        """Add the hint if it is neither empty nor on the page."""
        if hint and hint not in self._hints:
            self._hints.add(hint)
            self._page.sentence(("hint: ", "bold"), hint, indent=indent, hanging=6)

    def lead(self, message: str, shown: object) -> None:
        """Note the finding or diagnostic that begins the kernel's block: it is not shown again."""
        self.has_lead = True
        self._lead = message
        self._shown.append(shown)

    def unless_lead(self, message: str) -> str:
        """Return the message, or "" if it began the block."""
        return "" if message == self._lead else message

    def has(self, finding: object) -> bool:
        """True if the finding began the block."""
        return finding in self._shown

    def output(self, output: str, *, head: int, tail: int) -> None:
        """Add what the student's code printed, unless the page has every line already."""
        lines = output.strip("\n").splitlines()
        if not output.strip() or self._printed.issuperset(lines):
            return
        self._printed.update(lines)
        once, times = _repetition(lines)
        often = f" (repeated {times} times)" if times > 1 else ""
        self._page.sentence(f"what your code printed{often}:", indent=INDENT)
        self._page.quote("\n".join(once), indent=INDENT, head=head, tail=tail)


def _repetition(lines: list[str]) -> tuple[list[str], int]:
    """Return the shortest block whose repetition gives the lines, and the number of repetitions."""
    for size in range(1, min(len(lines) // 2, MOST_REPEATED) + 1):
        if len(lines) % size == 0 and lines[size:] == lines[:-size]:
            return lines[:size], len(lines) // size
    return lines, 1
