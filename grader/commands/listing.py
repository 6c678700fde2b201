"""`grade list`: the assignments of a course, or the kernels, points, cases and tiers of one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console

from grader.assignment.cases import Case
from grader.assignment.generated import TEMPLATES
from grader.assignment.handout import HANDOUT, asked, points_head, weight_words
from grader.assignment.model import Assignment, Kernel, by_week
from grader.formats.page import GAP, Page
from grader.text.numbers import points
from grader.text.sizes import case_text
from grader.vocabulary import CheckName, Device, Visibility

_ALL = ("assignment", "kernel", "files", "points")


def list_all(assignments: Iterable[Assignment], console: Console) -> None:
    """Print a table of all kernels; files that do not fit on a line get one each.

    If a spec has a week, a line above the assignments of each week names it; those without one
    come last.
    """
    page = Page(console)
    ordered = by_week(assignments)
    weeks = any(one.week for one in ordered)
    parts = [(a, kernel) for a in ordered for kernel in a.parts]
    others = [
        max(map(len, (_ALL[0], *(a.name for a, _ in parts)))),
        max(map(len, (_ALL[1], *(kernel.name for _, kernel in parts)))),
        len(_ALL[3]),
    ]
    room = page.width - sum(others) - GAP * len(others)
    rows: list[tuple[str, ...]] = []
    before: Assignment | None = None
    for assignment, kernel in parts:
        files = ["  ".join(kernel.paths)]
        if cell_len(files[0]) > room:
            files = list(kernel.paths)
        if weeks and (before is None or assignment.week != before.week):
            rows.append((f"week {assignment.week}" if assignment.week else "no week", "", "", ""))
        name = "" if assignment is before else assignment.name
        before = assignment
        rows.append((name, kernel.name, files[0], _points(kernel)))
        rows += [("", "", file, "") for file in files[1:]]
    page.table(_ALL, rows, indent=0, left=3)
    page.print()


def list_one(assignment: Assignment, console: Console) -> None:
    """Print what an assignment asks for and how it is scored."""
    page = Page(console)
    week = f", week {assignment.week}" if assignment.week else ""
    page.sentence((assignment.title, "bold"), f" ({assignment.name}){week}, ", _total(assignment))
    checks = [check for check in CheckName if any(check in k.points for k in assignment.parts)]
    header = ("kernel", "points", *checks)
    page.table(header, [_row(kernel, checks) for kernel in assignment.parts], indent=0)
    if bonus := [kernel.name for kernel in assignment.parts if kernel.bonus]:
        total = points(assignment.max_score)
        page.sentence(f"a bonus, on top of the {total} points: {', '.join(bonus)}")
    page.blank()
    cases = [case for one in assignment.of_entries for case in _cases(one)]
    checked = sum(case.memory for case in cases)
    page.sentence(
        f"{len(cases)} cases, {checked} of them for the memory check: "
        f"{_joined(case_text(case.name, case.sizes, case.title) for case in cases)}",
        most=12,
    )
    if hidden := assignment.hidden_cases:
        are, their = ("case is", "its") if hidden == 1 else ("cases are", "their")
        page.sentence(f"{hidden} more {are} hidden; the course draws {their} sizes")
    for words in weight_words(assignment):
        page.sentence(f"{words[0].lower()}{words[1:]}")
    if assignment.benchmarks and CheckName.PERFORMANCE in checks:
        names = _joined(benchmark.name for benchmark in assignment.benchmarks)
        page.sentence(f"timed, on a GPU only: {names}")
    timed = [kernel for kernel in assignment.kernels if CheckName.PERFORMANCE in kernel.points]
    if timed:
        page.sentence(f"{points_head(assignment, timed)}:")
    for kernel in timed:
        default = kernel.tiers.default
        groups = [
            *(("", language, tiers) for language, tiers in default.items()),
            *(
                (f" on {gpu} only", language, tiers)
                for gpu, group in kernel.tiers.on.items()
                for language, tiers in group.items()
                if tiers and not default.get(language)
            ),
        ]
        for where, language, tiers in groups:
            most = kernel.points[CheckName.PERFORMANCE]
            steps = ", ".join(f"{points(most * tier.share)} at {asked(tier)}" for tier in tiers)
            page.sentence(f"{kernel.name} in {language.phrase}{where}: {steps}", indent=2)
    if rule := assignment.late:
        page.sentence(
            f"late: {100 * rule.lose:.3g} % of the points for {rule.periods}, at most "
            f"{100 * rule.most:.3g} %"
        )
    here = Path.cwd()
    for name, path in (
        ("stubs", assignment.folder.parent.parent / TEMPLATES / assignment.name),
        ("handout", assignment.folder / HANDOUT),
    ):
        if path.exists():
            page.sentence(
                f"{name}: {path.relative_to(here) if path.is_relative_to(here) else path}"
            )
    page.print()


def _joined(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(name.replace(", ", " ") for name in names))


def _total(assignment: Assignment) -> str:
    return f"{points(assignment.max_score)} points"


def _row(kernel: Kernel, checks: Iterable[CheckName]) -> tuple[str, ...]:
    shares = (kernel.points.get(check, 0.0) for check in checks)
    return (kernel.name, _points(kernel), *(points(s) if s else "" for s in shares))


def _points(kernel: Kernel) -> str:
    return f"{'+' if kernel.bonus else ''}{points(kernel.max_score)}"


def _cases(assignment: Assignment) -> list[Case]:
    """Return the visible cases on the CPU, of the first language."""
    language = next(iter(assignment.kernels[0].files))
    drawn = assignment.draw_cases(Device.CPU, language, public_seed=0, secret_seed=0)
    return [case for case in drawn if case.visibility is Visibility.VISIBLE]
