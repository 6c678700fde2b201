"""`grade doctor`: what this machine can grade, and what mends what is missing.

    collection ─→ Facts ─→ machine, device, packages ─→ Row… ─→ table
    (looks)      (data)    (judge; pure)                        (prints)

Only `collection` touches the machine; a judgement is a function from data to
rows, so that every machine a course will ever meet can be a test.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from grader.commands.doctor.ability import Ability, ability
from grader.commands.doctor.collection import collect
from grader.commands.doctor.device import judge_driver, judge_gpus, judge_nvcc, judge_sanitizer
from grader.commands.doctor.facts import Facts
from grader.commands.doctor.machine import (
    judge_cxx,
    judge_isolation,
    judge_python,
    judge_storage,
    judge_system,
)
from grader.commands.doctor.packages import judge_numpy, judge_torch, judge_triton
from grader.commands.doctor.remedy import remedies
from grader.commands.doctor.rows import Row, RowState
from grader.commands.doctor.table import print_ability, print_rows

__all__ = ["Ability", "Diagnosis", "Facts", "Row", "RowState", "diagnose", "main"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All rows, in the order of reading, and what follows for grading."""

    rows: tuple[Row, ...]
    ability: Ability


def diagnose(facts: Facts | None = None) -> Diagnosis:
    """Judge a machine: this one, unless its facts are given."""
    facts = collect() if facts is None else facts
    commands = remedies(facts)
    driver = judge_driver(facts, commands)
    rows = (
        judge_system(facts.system),
        judge_python(facts.python, commands),
        *judge_gpus(facts, commands),
        *([driver] if driver else []),
        *judge_nvcc(facts, commands),
        judge_sanitizer(facts, commands),
        *judge_cxx(facts, commands),
        judge_torch(facts, commands),
        judge_triton(facts, commands),
        judge_numpy(facts, commands),
        *judge_storage(facts.storage),
        *judge_isolation(facts.isolation),
    )
    return Diagnosis(rows=rows, ability=ability(facts))


def main(console: Console | None = None) -> int:
    """Print the diagnosis of this machine; return 0 if anything can be graded, else 1."""
    console = console or Console()
    diagnosis = diagnose()
    print_rows(diagnosis.rows, console)
    print_ability(diagnosis.ability, console)
    return 0 if diagnosis.ability.anything else 1
