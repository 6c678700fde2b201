"""All checks. A new check is a folder beside the others and a line here.

`register` adds a check from outside the package, for example from a test.
"""

from __future__ import annotations

from typing import Any

from grader.checks.check import Check
from grader.checks.correctness.check import CorrectnessCheck
from grader.checks.counters.check import CountersCheck
from grader.checks.memory.check import MemoryCheck
from grader.checks.performance.check import PerformanceCheck
from grader.checks.program.check import ProgramCheck
from grader.checks.rules.check import KernelRulesCheck, ProgramRulesCheck
from grader.vocabulary import CheckName

_checks: list[Check[Any]] = [
    CorrectnessCheck(),
    KernelRulesCheck(),
    ProgramCheck(),
    ProgramRulesCheck(),
    MemoryCheck(),
    CountersCheck(),
    PerformanceCheck(),
]


def checks() -> tuple[Check[Any], ...]:
    """Return all checks in the order in which they run: by cost."""
    return tuple(sorted(_checks, key=lambda check: check.cost))


def named(name: CheckName) -> Check[Any]:
    """Return the check of this name."""
    return next(check for check in _checks if check.name == name)


def register(check: Check[Any]) -> None:
    """Add a check, whose name specs, options and reports may use from now on."""
    CheckName.add(check.name)
    _checks.append(check)


def unregister(check: Check[Any]) -> None:
    """Remove a check that `register` added."""
    _checks.remove(check)
    CheckName.remove(check.name)
