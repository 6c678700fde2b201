"""Prints the result: differences first, then every row, then a line with the result.

2 differences                              expected and actual
silu                                       an assignment
  proof …                                  a property of the assignment
  graded  build  correctness … result      a graded submission
2 of 130 differ · …                        the last line: the result
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grader.commands.verify.row import Row, State
from grader.formats.page import Page, Piece

_STYLE = {
    State.AGREES: "green",
    State.ELSEWHERE: "yellow",
    State.WARNING: "bold yellow",
    State.DIFFERS: "bold red",
    State.FAILED: "bold magenta",
}
_FIRST = (
    (State.FAILED, "grader error", "grader errors"),
    (State.DIFFERS, "difference", "differences"),
    (State.WARNING, "warning", "warnings"),
)
# By check: what causes other differences comes first, and what `--update` writes anew last.
_RANK = {"is there": -1, "signature": -1, "applies": -1, "current": 1}
_MOST_SUBJECT = 42
_MOST_NAMED = 4  # subjects with the same cause
# Short forms, so that seven columns fit into a line of 100 characters.
_SHORT = {
    "accepted": "ok",
    "skipped": "-",
    "wrong answer": "wrong",
    "runtime error": "runtime",
    "compile error": "compile",
    "memory error": "memory",
    "time limit": "time",
}
_SHORT_CHECK = {"correctness": "correct", "correctness, hidden": "hidden"}


def print_rows(
    rows: Sequence[Row], console: Console, *, title: str, wall_s: float, undone: str = ""
) -> None:
    """Print all rows, with the result in the last line; `undone` says what was not done."""
    page = Page(console)
    page.sentence((title, "bold"), most=3)
    for state, singular, plural in _FIRST:
        of_state = [row for row in rows if row.state is state]
        of_state.sort(key=lambda row: (row.assignment, _RANK.get(row.check, 0)))
        if of_state:
            page.blank()
            count = len(of_state)
            page.sentence((f"{count} {singular if count == 1 else plural}", _STYLE[state]))
            for same in _by_cause(of_state):
                _explained(page, same[0])
                if len(same) > 1:
                    page.row(Text("    the same  "), f"in {_several(same[1:])}", most=3)
    for assignment in dict.fromkeys(row.assignment for row in rows):
        page.blank()
        page.sentence((assignment, "bold"))
        about_it = [row for row in rows if row.assignment == assignment]
        _proofs(page, [row for row in about_it if not row.verdicts and not _of_sample(row)])
        _graded(page, [row for row in about_it if row.verdicts or _of_sample(row)])
    page.blank()
    page.sentence(*_result(rows, wall_s, undone))
    page.print()


def _by_cause(rows: Sequence[Row]) -> list[list[Row]]:
    """Group grader errors by cause, so that a broken oracle is explained once."""
    groups: dict[object, list[Row]] = {}
    for place, row in enumerate(rows):
        alike = row.state is State.FAILED and row.note
        groups.setdefault((row.assignment, row.note) if alike else place, []).append(row)
    return list(groups.values())


def _several(rows: Sequence[Row]) -> str:
    subjects = list(dict.fromkeys(row.subject for row in rows))
    more = f"; and {len(subjects) - _MOST_NAMED} more" if len(subjects) > _MOST_NAMED else ""
    return "; ".join(subjects[:_MOST_NAMED]) + more


def _explained(page: Page, row: Row) -> None:
    page.sentence((f"{row.assignment} · {row.subject} · {row.check}", "bold"), indent=2)
    for label, words in ("expected", row.expected), ("actual", row.actual), ("note", row.note):
        if words:
            page.row(Text(f"    {label:<8}  "), words)


def _proofs(page: Page, rows: Sequence[Row]) -> None:
    leads = _columns([[page.clipped(t, _MOST_SUBJECT) for t in (r.subject, r.check)] for r in rows])
    for row, lead in zip(rows, leads, strict=True):
        words = row.expected if row.state is State.AGREES else row.actual
        note = f" ({row.note})" if row.note and row.state is State.AGREES else ""
        page.row(Text(lead), (_word(row), _STYLE[row.state]), f": {words}{note}", most=2)


def _graded(page: Page, rows: Sequence[Row]) -> None:
    if not rows:
        return
    columns = list(dict.fromkeys(check for row in rows for check, _ in row.verdicts))
    table = [["graded", *(_SHORT_CHECK.get(column, column) for column in columns)]]
    for row in rows:
        verdicts = dict(row.verdicts)
        words = (verdicts.get(column, "") for column in columns)
        name = page.clipped(_name(row), _MOST_SUBJECT)
        table.append([name, *(_SHORT.get(word, word) for word in words)])
    head, *leads = _columns(table)
    page.row(Text(head, style="dim"), ("result", "dim"))
    for row, lead in zip(rows, leads, strict=True):
        note = f": {row.note}" if row.note and row.state is not State.DIFFERS else ""
        page.row(Text(lead), (_word(row), _STYLE[row.state]), note, most=2)


def _columns(table: Sequence[Sequence[str]]) -> list[str]:
    """Return each row as a line in which the columns are aligned."""
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    return [
        "".join(
            f"  {cell}{' ' * (width - cell_len(cell))}"
            for cell, width in zip(row, widths, strict=True)
        )
        + "  "
        for row in table
    ]


def _of_sample(row: Row) -> bool:
    return row.subject.startswith("sample ")


def _name(row: Row) -> str:
    name = row.subject.removeprefix("sample ")
    return name if row.check == "verdict" else f"{name}, {row.check}"


def _word(row: Row) -> str:
    """Return the state as a word, in capitals if wrong, so that it shows without colours."""
    return row.state.value.upper() if row.state.wrong else row.state.value


def _result(rows: Sequence[Row], wall_s: float, undone: str) -> list[Piece]:
    count = Counter(row.state for row in rows)
    judged = len(rows) - count[State.ELSEWHERE]
    words, style = f"all {judged} agree", _STYLE[State.AGREES]
    if undone:
        words, style = f"all {judged} so far agree", _STYLE[State.ELSEWHERE]
    if count[State.DIFFERS]:
        words, style = f"{count[State.DIFFERS]} of {judged} differ", _STYLE[State.DIFFERS]
    if count[State.FAILED]:
        failures = f"{count[State.FAILED]} could not be judged"
        words = f"{words} · {failures}" if count[State.DIFFERS] else failures
        style = _STYLE[State.FAILED]
    rest = f" · {undone}" if undone else ""
    rest += f" · {count[State.ELSEWHERE]} not on this device" if count[State.ELSEWHERE] else ""
    warnings = count[State.WARNING]
    rest += f" · {warnings} warning{'s' if warnings > 1 else ''}" if warnings else ""
    return [(words, f"bold {style}"), f"{rest} · {wall_s:.1f} s"]
