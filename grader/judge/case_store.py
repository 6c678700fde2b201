"""The data of cases, computed once for all files and checks that use them.

The oracle needs up to half a second for a large case, and the checks of a submission ask for the
same cases again and again: ten files of GEMM, three checks each. The store belongs to the process,
and so is module state: a process that grades many submissions of a class gives all of them the same
visible cases.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from grader.assignment.cases import Case
from grader.judge.oracle import CaseData, Oracle
from grader.vocabulary import Language

_MOST_BYTES = 512 << 20

_stored: OrderedDict[Hashable, CaseData] = OrderedDict()
_bytes = 0
_lock = threading.Lock()


def stored_data(oracle: Oracle, assignment_hash: str, case: Case, language: Language) -> CaseData:
    """Return the oracle's data of a case, which must not be changed; see `Oracle.data`.

    `assignment_hash` identifies the oracle's file. Data that was not used for longest is forgotten.
    """
    of_case = (case.name, case.values, case.seed, *sorted(case.sizes.items()))
    key = (assignment_hash, oracle.types(case, language), of_case)
    global _bytes
    # A second thread that needs the same case waits for it.
    with _lock:
        if key in _stored:
            _stored.move_to_end(key)
            return _stored[key]
        data = _stored[key] = oracle.data(case, language)
        _bytes += _size(data)
        while len(_stored) > 1 and _bytes > _MOST_BYTES:
            _bytes -= _size(_stored.popitem(last=False)[1])
    return data


def _size(data: CaseData) -> int:
    """Return the memory of the arrays, bytes."""
    return sum(array.nbytes for array in (*data.inputs.values(), *data.expected.values()))
