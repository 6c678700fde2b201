"""What an executor finds: folded by kind and line, counted; the sentences that all need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from grader.emulation.common.location import Location

MOST_FINDINGS = 50
Kind = Literal["out_of_bounds", "misaligned", "race", "uninitialized", "overflow", "barrier"]
Access = Literal["load", "store", "atomic"]
Severity = Literal["error", "warning"]
VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


@dataclass(slots=True, kw_only=True)
class Finding:
    """One finding; the same at the same line counts up.

    `Findings.add` adds the kernel, the place, and the kind's hint if there is no other. Of PTX a
    program is a block, which has threads.
    """

    kind: Kind
    severity: Severity = "error"
    message: str
    hint: str = ""
    kernel: str = ""
    access: Access
    file: str | None = None
    line: int | None = None
    column: int | None = None
    tensor: str | None = None
    element: int | None = None
    program: tuple[int, int, int]
    other_program: tuple[int, int, int] | None = None
    other_line: int | None = None
    thread: tuple[int, int, int] | None = None
    other_thread: tuple[int, int, int] | None = None
    other_access: Access | None = None
    block_size: tuple[int, int, int] | None = None
    space: Literal["global", "shared"] = "global"
    read_only: bool = False
    # How many programs there are, and elements from where one begins to where the next one does.
    program_step: tuple[int, int] | None = None
    count: int = 1


@dataclass(slots=True)
class Findings:
    """The findings of the launches of one call."""

    kernel: str = ""
    grid: tuple[int, int, int] = (1, 1, 1)
    hints: Mapping[Kind, str] = field(default_factory=dict)
    found: dict[tuple[object, ...], Finding] = field(default_factory=dict)
    occurrences: int = 0

    def add(self, finding: Finding, at: Location | None) -> None:
        """Record a finding of `finding.count` programs, or count one that is known."""
        self.occurrences += finding.count
        finding.kernel = self.kernel
        finding.hint = finding.hint or self.hints.get(finding.kind, "")
        if at is not None:
            at = at.in_kernels_file
            finding.file, finding.line, finding.column = at.file, at.line, at.column
        severity = finding.severity if finding.kind != "race" else None
        key = (self.kernel, finding.kind, severity, finding.access, finding.tensor, finding.line)
        known = self.found.get(key)
        if known is not None:
            known.count += finding.count
            # Programs that store the same in one place may store different values in another.
            if finding.severity in (known.severity, "warning"):
                return
            finding.count = known.count
        elif len(self.found) >= MOST_FINDINGS:
            return
        self.found[key] = finding

    def words(self, program: tuple[int, int, int]) -> str:
        """Return "program 3" in a grid of one dimension, "program (3,1,0)" otherwise."""
        if self.grid[1] == self.grid[2] == 1:
            return f"program {program[0]}"
        return f"program ({','.join(map(str, program))})"


def elements(number: int) -> str:
    """Return "1 element" or "24 elements"."""
    return f"{number:,} element{'' if number == 1 else 's'}"


def outside(access: Access, name: str, numbers: tuple[int, int, int], has: int) -> str:
    """Say that elements are outside; `numbers` are how many, the first and the last one's."""
    many, first, last = numbers
    where = "past the end" if first >= 0 else "before the start" if last < 0 else "on both sides"
    index = f"element {first:,}" if first == last else f"elements {first:,} to {last:,}"
    last_one = f"the last is {has - 1:,}" if has else "it is empty"
    return f"{VERBS[access]} {elements(many)} {where} of `{name}` ({index}; {last_one})"


def wild(access: Access, lanes: int, array: str) -> str:
    """Say that addresses belong to nothing; `array` is what an argument is called."""
    return f"{VERBS[access]} {elements(lanes)} at addresses that belong to no {array}"


def read_only(name: str, lanes: int) -> str:
    """Say that an input is written to."""
    return f"writes {elements(lanes)} of `{name}`, which is an input and must not change"


def misaligned(access: Access, name: str, size: int, remainder: int) -> str:
    """Say that an address is no multiple of the access's size."""
    return (
        f"{VERBS[access]} {size} bytes of `{name}` at an address that is {remainder} beyond "
        f"a multiple of {size}: a GPU stops there"
    )


def unwritten(name: str, lanes: int, first: int) -> str:
    """Say that memory is read which nothing has written."""
    return f"reads {elements(lanes)} of `{name}` that nothing has written yet, the first {first:,}"
