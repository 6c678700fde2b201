"""Which thread wrote which element of an output: the checked host build's records of a small case.

The records come from the process that ran the submission. They are drawn and decide nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from grader.assignment.cases import Case
from grader.checks.common.case_run import RunSetup
from grader.report.evidence import Writers

MOST_ARRAYS = 2
MOST_ELEMENTS = 1152  # 36 rows of 32
_COLUMNS = 32  # of a vector
_WORD_BYTES = 4
_RUN = re.compile(r"(?:-|(\d{1,18})\.(\d{1,4}))\+(\d{1,4})")
_RUNS = re.compile(rf"{_RUN.pattern}(?: {_RUN.pattern})*")
_NUMBER = re.compile(r"\d{1,4}")
_MOST_CHARACTERS = 200


def small_writers(
    records: Iterable[Mapping[str, Any]], setup: RunSetup, cases: Mapping[str, Case]
) -> tuple[Writers, ...]:
    """Return the writers of each output in a small case, with several blocks if there is one.

    `cases` are the cases that may be drawn, by name. Raises ValueError if the runtime cannot have
    written a record.
    """
    signature = setup.assignment.signature
    outputs = {array.name: array for array in signature.arrays if array.role.written}
    parts: dict[tuple[str, str], list[_Part]] = {}
    for record in records:
        if record.get("record") != "writers" or record.get("buffer") not in outputs:
            continue
        part = _part(record)  # a later call of the case replaces the earlier one
        parts.setdefault((str(record["buffer"]), str(record.get("case"))), []).append(part)
    best: dict[str, tuple[tuple[bool, int], Callable[[], Writers]]] = {}
    for (name, case), found in parts.items():
        if case not in cases:
            continue
        array = outputs[name]
        of_case = setup.assignment.signature_of(cases[case])
        size = of_case.element_type(array, setup.built.language).size
        shape = of_case.shape(array, cases[case].sizes)
        elements = math.prod(shape)
        # Of elements that are smaller than words nobody knows the writers.
        if size % _WORD_BYTES or not 0 < elements <= MOST_ELEMENTS:
            continue
        # How well the case shows the grid: several blocks, then many elements.
        rank = math.prod(found[-1].grid) > 1, elements
        if name not in best or rank > best[name][0]:
            draw = partial(_writers, name, case, shape, size // _WORD_BYTES, found)
            best[name] = rank, draw
    return tuple(draw() for _, draw in islice(best.values(), MOST_ARRAYS))


class _Part(NamedTuple):
    """A record: the writers of words from the `first` on, and those with several."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    first: int
    runs: list[tuple[str, str, str]]  # BLOCK and THREAD of the first word, and how many
    doubles: list[int]

    def words(self) -> Iterator[str]:
        """Yield of each word "BLOCK.THREAD" or "-"."""
        for block, thread, length in self.runs:
            if not block:
                yield from ["-"] * int(length)
                continue
            start = int(thread)
            yield from (f"{int(block)}.{n}" for n in range(start, start + int(length)))


def _part(record: Mapping[str, Any]) -> _Part:
    """Return a record's part. Raises ValueError if the runtime cannot have written it."""
    first, text = record.get("first"), str(record.get("writers"))
    if type(first) is not int or first < 0:
        raise ValueError(f"first is {first!r}")
    runs = _RUN.findall(text)
    if not _RUNS.fullmatch(text) or sum(int(length) for _, _, length in runs) > MOST_ELEMENTS:
        raise ValueError(f"not the writers of words: {text!r:.100}")
    return _Part(
        kernel=str(record.get("kernel"))[:_MOST_CHARACTERS],
        grid=_triple(record.get("grid")),
        block=_triple(record.get("block")),
        first=first,
        runs=runs,
        doubles=_numbers(record.get("doubles")),
    )


def _numbers(text: object) -> list[int]:
    found = str(text).split()
    if not all(_NUMBER.fullmatch(one) for one in found):
        raise ValueError(f"not the numbers of words: {text!r:.100}")
    return list(map(int, found))


def _writers(
    name: str, case: str, shape: tuple[int, ...], words: int, parts: Sequence[_Part]
) -> Writers:
    """Return the record for the report; an element has so many words."""
    by_word: dict[int, str] = {}
    doubles: set[int] = set()
    for part in parts:
        found = list(part.words())
        by_word.update(enumerate(found, part.first))
        doubles -= set(range(part.first, part.first + len(found)))
        doubles |= {part.first + number for number in part.doubles}
    elements = math.prod(shape)
    cells = [by_word.get(number * words, "-") for number in range(elements)]
    marks = "".join(".x"[number * words in doubles] for number in range(elements))
    columns = min(shape[-1] if len(shape) > 1 else _COLUMNS, elements)
    rows = range(0, elements, columns)
    return Writers(
        kernel=parts[-1].kernel,
        array=name,
        case=case,
        grid=parts[-1].grid,
        block_size=parts[-1].block,
        elements=elements,
        columns=columns,
        cells=tuple(" ".join(cells[first : first + columns]) for first in rows),
        doubles=tuple(marks[first : first + columns] for first in rows if "x" in marks),
    )


def _triple(value: object) -> tuple[int, int, int]:
    if isinstance(value, list) and len(value) == 3:
        x, y, z = value
        if all(type(number) is int and 0 < number < 2**32 for number in (x, y, z)):
            return x, y, z
    raise ValueError(f"{value!r} is no size of a grid")
