"""How far an output may be off, by language, type, output and case; and the spec's rules for it.

These tables may say something about an output, each key by key in place of those before it:

    [tolerance]               all outputs
    [tolerance.triton]        the same in one language
    [tolerance.float16]       the same for cases of a type, if cases choose one
    [tolerance.mean]          one output, by its name, and in it again one language
    tolerance = { … }         of a case, with the same tables in it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.assignment.problem import Problem, named
from grader.assignment.signature import Signature
from grader.assignment.toml_locations import KeyPath
from grader.text.did_you_mean import did_you_mean
from grader.vocabulary import Language

BOUNDS = ("exact", "atol", "rtol", "max_wrong_fraction")

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Accept an element iff |actual - expected| <= atol + rtol * |expected|.

    With `exact`, accept only the same bits. An output is right if at most `max_wrong_fraction` of
    its elements are not accepted, and all of these are written. `judge.compare` applies the
    tolerance; NaN is accepted only where NaN is expected.
    """

    atol: float = 0.0
    rtol: float = 0.0
    exact: bool = False
    max_wrong_fraction: float = 0.0

    def wrong_allowed(self, elements: int) -> int:
        """Return how many of an output's elements may be wrong."""
        # 0.1 of 30 elements are 3: the product in binary may lie just below.
        return int(self.max_wrong_fraction * elements * (1 + 1e-12))


# The tolerance of each output, by language.
Tolerances = Mapping[Language, Mapping[str, Tolerance]]


def tolerances(tables: Sequence[Table], outputs: Sequence[str], dtype: str = "") -> Tolerances:
    """Return the tolerance of every output in every language; later tables replace earlier ones.

    `tables` are that of the spec and that of a case, if it has one; `dtype` is the case's choice.
    """
    return {
        language: {
            output: _merged(
                [part for one in tables for part in _parts(one, language, dtype, output)]
            )
            for output in outputs
        }
        for language in Language
    }


def general_tolerance(table: Table, language: Language) -> Tolerance:
    """Return the tolerance of an output that has no table of its own."""
    return _merged(list(_of_language(table, language)))


def _parts(table: Table, language: Language, dtype: str, output: str) -> Iterator[Table]:
    """Yield the tables that say something about an output, the general one first."""
    yield from _of_language(table, language)
    yield from _of_language(table.get(dtype, {}), language)
    yield from _of_language(table.get(output, {}) if output not in Language else {}, language)


def _of_language(table: Table, language: Language) -> Iterator[Table]:
    """Yield a table, and what it says about a language."""
    yield table
    yield from (table.get(word, {}) for word in language.tables)


def _merged(tables: Sequence[Table]) -> Tolerance:
    merged: dict[str, Any] = {}
    for table in tables:
        if "exact" in table:
            merged |= {"atol": 0.0, "rtol": 0.0}
        elif "atol" in table or "rtol" in table:
            merged["exact"] = False
        merged |= {key: table[key] for key in BOUNDS if key in table}
    exact = merged.pop("exact", False)
    return Tolerance(exact=exact, **{key: float(value) for key, value in merged.items()})


def tolerance_problems(
    data: Table, signature: Signature | None, languages: set[str]
) -> Iterator[Problem]:
    """Yield the problems of the spec's table and of its cases.

    `languages` have files. Without a valid signature outputs are not looked up.
    """
    table = data["tolerance"]
    dtypes = [kind.word for kind in signature.dtypes] if signature is not None else []
    names = [] if signature is None else [one.name for one in signature.outputs]
    outputs = None if signature is None else [*dtypes, *names]
    yield from _table_problems(table, ("tolerance",), outputs)
    missing: dict[KeyPath, Problem] = {}
    for language in sorted(languages):
        by_type = bool(dtypes) and set(dtypes) <= set(table)
        by_output = bool(names) and all(_says(table.get(name), language) for name in names)
        if _says(table, language) or by_type or by_output:
            continue
        # With tables of some types, those of the others are missing.
        lacking = [kind for kind in dtypes if kind not in table]
        of_types = len(lacking) < len(dtypes)
        message = f"is missing, and so is what holds in every {'type' if of_types else 'language'}"
        for key in lacking if of_types else [language]:
            problem = f"{message}: add `exact = true`, or `atol` and `rtol`"
            missing[("tolerance", key)] = Problem(("tolerance", key), problem)
    yield from missing.values()
    for index, case in enumerate(data["cases"]):
        at: KeyPath = ("cases", index, "tolerance")
        if "tolerance" in case:
            yield from _table_problems(case["tolerance"], at, outputs)
            if "exact" in case:
                yield Problem(at, "excludes `exact` of the case: remove it, or that")


def _says(table: Any, language: str) -> bool:
    """True if a table says when an element is right in a language."""
    keys = {"exact", "atol", "rtol", *Language(language).tables}
    return isinstance(table, Mapping) and bool(keys & set(table))


def _table_problems(
    table: Table, at: KeyPath, outputs: Sequence[str] | None = None
) -> Iterator[Problem]:
    """Yield the problems of a table and those in it; keys are looked up if `outputs` are given."""
    if "exact" in table and ("atol" in table or "rtol" in table):
        yield Problem((*at, "exact"), "excludes atol and rtol: remove it, or them")
    known = [*BOUNDS, *Language, *(outputs or ())]
    for key, value in table.items():
        if key in BOUNDS:
            continue
        if outputs is not None and key not in known:
            meant = did_you_mean(key, known) or f"; known: {named(known)}"
            yield Problem((*at, key), f"is no key of a tolerance, and no output{meant}")
        elif isinstance(value, Mapping):
            yield from _table_problems(value, (*at, key))
        else:
            yield Problem((*at, key), "must be a table, such as { atol = 1e-6, rtol = 1e-5 }")
