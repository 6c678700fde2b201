"""`grade doctor`: what this machine can grade, and how to fix what is missing.

    collection ─→ facts ─→ machine, device, packages ─→ rows ─→ table
    (inspects)   (data)    (judge, with ability, fixes)         (prints)

Only `collection` touches the machine. The judging modules are pure functions
from facts to rows, so that a test can describe any machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from grader.commands.doctor.ability import Ability, ability
from grader.commands.doctor.collection import collect
from grader.commands.doctor.device import (
    judge_driver,
    judge_gpus,
    judge_nvcc,
    judge_sanitizer,
    judge_target,
)
from grader.commands.doctor.facts import Facts
from grader.commands.doctor.fixes import Fixes
from grader.commands.doctor.machine import (
    judge_cxx,
    judge_isolation,
    judge_python,
    judge_storage,
    judge_system,
)
from grader.commands.doctor.packages import judge_numba, judge_numpy, judge_torch, judge_triton
from grader.commands.doctor.rows import Row, RowState
from grader.commands.doctor.table import print_ability, print_rows
from grader.errors import ExitCode

__all__ = ["Ability", "Diagnosis", "Facts", "Row", "RowState", "diagnose", "main"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All rows in display order, and what the machine can grade."""

    rows: tuple[Row, ...]
    ability: Ability


def diagnose(facts: Facts | None = None) -> Diagnosis:
    """Judge the machine with these facts; None means this machine."""
    facts = collect() if facts is None else facts
    fixes = Fixes(facts)
    rows = (
        judge_system(facts.system),
        judge_python(facts.python, fixes),
        *judge_gpus(facts, fixes),
        *judge_driver(facts, fixes),
        *judge_nvcc(facts, fixes),
        judge_sanitizer(facts, fixes),
        judge_target(facts),
        *judge_cxx(facts, fixes),
        judge_torch(facts, fixes),
        judge_triton(facts, fixes),
        judge_numpy(facts, fixes),
        judge_numba(facts, fixes),
        *judge_storage(facts.storage),
        *judge_isolation(facts.isolation),
    )
    return Diagnosis(rows=rows, ability=ability(facts))


def main(console: Console | None = None) -> ExitCode:
    """Print the diagnosis of this machine; incomplete if nothing can be graded."""
    console = console or Console()
    diagnosis = diagnose()
    print_ability(diagnosis.ability, console)
    print_rows(diagnosis.rows, console)
    return ExitCode.of(complete=diagnosis.ability.anything)
