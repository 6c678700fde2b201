"""Findings of the interpreter's checks: folded, counted, put into words, told.

A finding is told when it is first seen, because the worker may not live to see
its second time; what was seen more often is told again at the end of the call,
with the count of what was not told yet. So counts add up. Whatever a loop
does, at most `TOLD` different findings are told in one call.
"""

from typing import Any

from grader.worker import worker_log

TOLD = 50

_VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


# What to do about it, in the words of a Triton kernel.
_HINTS = {
    "out_of_bounds": "the last program has lanes past the end: give every load and store a mask, "
    "as in `mask=offsets < n`",
    "misaligned": "an address must be a multiple of the size of what is read there",
    "race": "programs run in any order: let each write elements of its own, use an atomic "
    "operation, or end the kernel and launch another",
    "uninitialized": "something must write an element before it is read: fill it "
    "(`torch.zeros`), or store to it first",
}


BEFORE_HINT = (
    "an offset is negative: it is computed too small, or a product has overflowed 32 bits "
    "(make a factor 64 bits wide first, `.to(tl.int64)`)"
)


def mask_hint(line: int | None) -> str:
    """Say what to do about lanes that a load left undefined."""
    load = "a load" if line is None else f"the load in line {line}"
    return (
        f"{load} leaves the lanes that its mask switches off undefined: "
        "give it `other=`, of a value that does not change the result"
    )


class Ledger:
    """The findings of one worker."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._records: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.total = 0

    def begin(self) -> None:
        """Start a call: what it finds is folded and counted by itself."""
        self._records.clear()
        self.total = 0

    def known(
        self, kind: str, severity: str, access: str, tensor: str | None, line: int | None
    ) -> bool:
        """Count one more occurrence; True if it was found before and needs no words."""
        self.total += 1
        record = self._records.get((kind, severity, access, tensor, line))
        if record is None:
            return False
        record["count"] += 1
        return True

    def add(
        self,
        kind: str,
        message: str,
        *,
        access: str,
        tensor: str | None,
        line: int | None,
        offset: int | None,
        kernel: str,
        program: tuple[int, int, int],
        severity: str = "error",
        **more: object,
    ) -> None:
        """Record a finding that is not `known`, and tell it."""
        record = {
            "kind": kind,
            "severity": severity,
            "message": message,
            "hint": _HINTS[kind],
            "file": self._file,
            "line": line,
            "kernel": kernel,
            "program": list(program),
            "tensor": tensor,
            "offset": offset,
            "access": access,
            "count": 1,
            **more,
        }
        self._records[(kind, severity, access, tensor, line)] = record
        if len(self._records) <= TOLD:
            worker_log.tell("finding", **record)
        record["count"] = 0

    def end(self) -> None:
        """Tell the counts that were not told yet, and how many findings there are in all."""
        told = list(self._records.values())[:TOLD]
        for record in told:
            if record["count"]:
                worker_log.tell("finding", **record)
                record["count"] = 0
        worker_log.tell(
            "findings", told=len(told), distinct=len(self._records), occurrences=self.total
        )


def program_words(program: tuple[int, int, int], grid: tuple[int, ...]) -> str:
    """Return "program 3" in a grid of one dimension, "program (3, 1, 0)" otherwise."""
    if all(extent == 1 for extent in grid[1:]):
        return f"program {program[0]}"
    return f"program ({', '.join(map(str, program))})"


def elements(number: int) -> str:
    """Return "1 element" or "24 elements"."""
    return f"{number:,} element{'' if number == 1 else 's'}"


def outside(access: str, name: str, numbers: tuple[int, int, int], has: int) -> str:
    """Say that lanes are outside; `numbers` are lanes, first and last offset in elements."""
    lanes, first, last = numbers
    where = "past the end" if first >= 0 else "before the start" if last < 0 else "on both sides"
    index = f"element {first:,}" if first == last else f"elements {first:,} to {last:,}"
    last_one = f"the last is {has - 1:,}" if has else "it is empty"
    return f"{_VERBS[access]} {elements(lanes)} {where} of `{name}` ({index}; {last_one})"


def between(access: str, name: str, lanes: int) -> str:
    """Say that lanes fall between the rows of a view."""
    return (
        f"{_VERBS[access]} {elements(lanes)} between the rows of the view `{name}`, "
        "which do not belong to it"
    )


def wild(access: str, lanes: int) -> str:
    """Say that addresses belong to nothing."""
    return f"{_VERBS[access]} {elements(lanes)} at addresses that belong to no tensor argument"


def read_only(name: str, lanes: int) -> str:
    """Say that an input is written to."""
    return f"writes {elements(lanes)} of `{name}`, which is an input and must not change"


def misaligned(access: str, name: str, size: int, remainder: int) -> str:
    """Say that an address is no multiple of the access's size."""
    return (
        f"{_VERBS[access]} {size} bytes of `{name}` at an address that is {remainder} beyond "
        f"a multiple of {size}: a GPU stops there"
    )


def unwritten(name: str, lanes: int, first: int) -> str:
    """Say that memory is read which nothing has written."""
    return f"reads {elements(lanes)} of `{name}` that nothing has written yet, the first {first:,}"


def lanes_collide(name: str, lanes: int, first: int, *, same: bool) -> str:
    """Say that lanes of one store meet in one element."""
    values = "the same value" if same else "different values"
    return (
        f"several lanes of one store write {values} to the same element of `{name}` "
        f"({elements(lanes)}, the first {first:,})"
    )


def programs_collide(
    verbs: tuple[str, str], name: str, first: int, programs: tuple[str, str]
) -> str:
    """Say that two programs of a launch meet in one element with no order between them.

    `verbs` are the accesses of this and of the other program.
    """
    mine, others = (_VERBS[verb] for verb in verbs)
    also = " as well" if mine == others else ""
    return (
        f"{programs[0]} {mine} element {first:,} of `{name}`, which {programs[1]} {others}{also} "
        "in the same launch: nothing says which comes first"
    )


def garbage_stored(name: str, lanes: int, line: int | None) -> str:
    """Say that a value of a lane that was masked off went into a result."""
    return (
        f"stores {elements(lanes)} of `{name}` computed from lanes that the mask of the load "
        f"in line {line} switches off: without `other` their value is undefined"
    )


def false_promise(claim: int, value: int) -> str:
    """Say that `tl.multiple_of` was told an untruth."""
    return (
        f"tl.multiple_of promises a multiple of {claim}, the value is {value:,}: the compiler "
        "relies on it and may use accesses that a GPU stops as misaligned"
    )
