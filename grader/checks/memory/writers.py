"""Which thread wrote which element of an output: the checked host build's records of a small case.

The records come from the process that ran the submission. They are drawn and decide nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from grader.assignment.cases import Case
from grader.assignment.signature import Argument
from grader.checks.common.case_run import RunSetup
from grader.report.evidence import Writers

MOST_ARRAYS = 2
MOST_ELEMENTS = 1152  # 36 rows of 32
_COLUMNS = 32  # of a vector
_WORD_BYTES = 4
_RUN = re.compile(r"(-|(\d{1,18})\.(\d{1,4}))\+(\d{1,4})")
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
    words: dict[tuple[str, str], dict[int, str]] = {}
    doubles: dict[tuple[str, str], set[int]] = {}
    launches: dict[tuple[str, str], Mapping[str, Any]] = {}
    for record in records:
        if record.get("record") != "writers" or record.get("buffer") not in outputs:
            continue
        key = str(record["buffer"]), str(record.get("case"))
        launches[key] = record
        first = record.get("first")
        if type(first) is not int or first < 0:
            raise ValueError(f"first is {first!r}")
        # A later call of the case replaces the earlier one.
        found = _expanded(record.get("writers"))
        words.setdefault(key, {}).update(enumerate(found, first))
        several = doubles.setdefault(key, set())
        several -= set(range(first, first + len(found)))
        several |= {first + number for number in _numbers(record.get("doubles"))}
    best: dict[str, Writers] = {}
    for (name, case), by_word in words.items():
        if case not in cases:
            continue
        array = outputs[name]
        of_case = setup.assignment.signature_of(cases[case])
        size = of_case.element_type(array, setup.built.language).size
        shape = of_case.shape(array, cases[case].sizes)
        launch, several = launches[name, case], doubles[name, case]
        drawn = _writers(array, shape, size, by_word, several, launch, case)
        if drawn and (name not in best or _rank(drawn) > _rank(best[name])):
            best[name] = drawn
    return tuple(best.values())[:MOST_ARRAYS]


def _rank(found: Writers) -> tuple[bool, int]:
    """Return how well the case shows the grid: several blocks, then many elements."""
    return math.prod(found.grid) > 1, found.elements


def _expanded(text: object) -> list[str]:
    """Return of each word "BLOCK.THREAD" or "-"."""
    found: list[str] = []
    for run in str(text).split(" "):
        match = _RUN.fullmatch(run)
        if match is None or len(found) > MOST_ELEMENTS:
            raise ValueError(f"not the writers of words: {run!r:.100}")
        whole, block, thread, length = match.groups()
        first = 0 if whole == "-" else int(thread)
        numbers = range(first, first + int(length))
        found += ["-" if whole == "-" else f"{int(block)}.{number}" for number in numbers]
    return found


def _numbers(text: object) -> list[int]:
    found = str(text).split()
    if not all(_NUMBER.fullmatch(one) for one in found):
        raise ValueError(f"not the numbers of words: {text!r:.100}")
    return list(map(int, found))


def _writers(
    array: Argument,
    shape: tuple[int, ...],
    size: int,
    by_word: Mapping[int, str],
    several: set[int],
    launch: Mapping[str, Any],
    case: str,
) -> Writers | None:
    """Return the record for the report; None if elements are smaller than words, or too many."""
    elements = math.prod(shape)
    words, rest = divmod(size, _WORD_BYTES)
    if rest or not 0 < elements <= MOST_ELEMENTS:
        return None
    cells = [by_word.get(number * words, "-") for number in range(elements)]
    marks = "".join(".x"[number * words in several] for number in range(elements))
    columns = min(shape[-1] if len(shape) > 1 else _COLUMNS, elements)
    rows = range(0, elements, columns)
    return Writers(
        kernel=str(launch.get("kernel"))[:_MOST_CHARACTERS],
        array=array.name,
        case=case,
        grid=_triple(launch.get("grid")),
        block_size=_triple(launch.get("block")),
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
