"""Messages of the counters check: the line, its figure, the minimum, the bound."""

from __future__ import annotations

from collections.abc import Sequence

from grader.assignment.counter_bounds import CountName, FigureName
from grader.checks.counters.totals import AccessCounts, belongs
from grader.report.evidence import BoundedCount, CounterFigure, CounterLine, CountersEvidence
from grader.text.hints import hints
from grader.vocabulary import Language

TAMPERED = "the submission wrote into the counters' report"
WRONG_OUTPUTS = "outputs were wrong in the run that counts accesses, so its figures do not count"
INCOMPLETE = "the counters' report is incomplete, so its figures do not count"
NO_LAUNCH = "no kernel was launched in this run, so nothing was counted"
OTHER_LAUNCHES = (
    "every run of the same case launches other kernels, so their accesses are not counted"
)
NO_BOUNDS = "the assignment has no bound for this language: these points come with right cases"
HOST_WROTE = (
    "host code wrote results into `{}` in the run that counts accesses: kernels must do all of "
    "the work"
)

# A line with a higher ratio is named even if no bound is broken.
_RATIO_SHOWN = 1.25

# Of the bytes that are moved, the share that threads ask for: all come again, or few are used.
_ASKED_FOR, _UNUSED = 0.9, 0.5


def summary(evidence: CountersEvidence) -> str:
    """Return all figures in one line, and the worst line of the file if its ratio is high.

    Bounds that are not met follow: if they had points, the message would be another.
    """
    ratios = {figure.name: figure.ratio for figure in evidence.figures}
    figures = [
        f"{word} {ratio:.2f}×"
        for word, ratio in (
            ("loads", ratios["load_sectors"]),
            ("stores", ratios["store_sectors"]),
            ("traffic", ratios["traffic"]),
        )
        if ratio is not None
    ]
    parts = [f"{', '.join(figures)} the least"] if figures else []
    shared = ratios["shared_wavefronts"]
    if shared is not None:
        conflicts = f"{shared:.2f}× the shared wavefronts by bank conflicts"
        parts.append(conflicts if shared > 1 else "no bank conflicts")
    worst = evidence.lines[0] if evidence.lines else None
    if worst is not None and worst.ratio >= _RATIO_SHOWN:
        parts.append(f"most in line {worst.line}: {_cost(worst)}")
    beyond = [f"{one.name} (at most {one.allowed:g})" for one in evidence.figures if one.broken]
    beyond += [
        f"{one.name} {one.counted} ({_bounds(one)})" for one in evidence.counts if one.broken
    ]
    if beyond:
        parts.append(f"beyond a bound without points: {', '.join(beyond)}")
    return "; ".join(parts)


def _bounds(one: BoundedCount) -> str:
    ends = (("at least", one.at_least), ("at most", one.at_most))
    return ", ".join(f"{words} {number}" for words, number in ends if number is not None)


def broken_bound(
    figure: CounterFigure, counted: AccessCounts, language: Language, *, more: int
) -> tuple[str, str]:
    """Return message and hint for a figure beyond its bound; `more` counts the other ones."""
    among = [line for line in counted.lines if belongs(line, figure.name)]
    cause: str = figure.name
    assert figure.ratio is not None and figure.allowed is not None and among
    if figure.name == "traffic":
        worst = max(among, key=lambda line: line.transactions)
        cause = _cause_of_traffic(worst, counted.asked_bytes / figure.measured)
        what = (
            f"{_percent(worst, among)} of the traffic is here; kernels move {figure.ratio:.1f} "
            f"times the bytes of the arrays, the assignment allows {figure.allowed:g}"
        )
    else:
        worst = max(among, key=lambda line: line.transactions - line.least)
        what = (
            f"{_cost(worst)}; in all, {_SUBJECTS[figure.name]} {figure.ratio:.2f} times the "
            f"fewest, the assignment allows {figure.allowed:g}"
        )
    place = worst.file if worst.line is None else f"{worst.file}:{worst.line}"
    others = f" (and {more} more broken)" if more else ""
    hint = hints("counter")[cause]
    if language.base is Language.TRITON:
        hint = hints("counter_triton").get(cause, hint)
    return f"{place}: {what}{others}", hint


def _cause_of_traffic(worst: CounterLine, asked: float) -> str:
    """Return the cause of too much traffic; `asked` is the share that threads have asked for."""
    if worst.access == "atomic":
        return "traffic_of_atomics"
    if asked >= _ASKED_FOR:
        return "traffic_repeated"
    return "traffic_unused" if asked <= _UNUSED else "traffic"


_SUBJECTS: dict[FigureName, str] = {
    "load_sectors": "loads take",
    "store_sectors": "stores take",
    "shared_wavefronts": "shared memory takes",
}


# One, several, and of what.
_COUNTED: dict[CountName, tuple[str, str, str]] = {
    "launches": ("kernel launch", "kernel launches", "in one call"),
    "shared_bytes": ("byte", "bytes", "of shared memory in a block"),
    "registers": ("register", "registers", "of a thread"),
    "barriers": ("barrier", "barriers", "passed by a block"),
    "atomics": ("request", "requests", "of warps for atomic operations"),
    "global_atomics": ("request", "requests", "of warps for atomic operations on global memory"),
    "global_loads": ("request", "requests", "of warps for loads from global memory"),
}


def broken_count(file: str, count: BoundedCount, *, more: int) -> tuple[str, str]:
    """Return message and hint for a count outside its bound; `more` counts the other ones."""
    assert count.counted is not None
    above = count.at_most is not None and count.counted > count.at_most
    bound = f"allows at most {count.at_most}" if above else f"asks for at least {count.at_least}"
    others = f" (and {more} more broken)" if more else ""
    one, several, of = _COUNTED[count.name]
    what = f"{one if count.counted == 1 else several} {of}"
    message = f"{file}: {count.counted} {what}, the assignment {bound}{others}"
    return message, hints("count_above" if above else "count_below")[count.name]


def uncounted(names: Sequence[CountName], *, others: bool) -> str:
    """Return which bounds are not decided here; the `others`, if there are any, are kept."""
    listed = ", ".join(f"`{name}` ({' '.join(_COUNTED[name][1:])})" for name in names)
    return (
        f"the bound on {listed} is not decided on this machine: no compiler for the course's GPU "
        f"told it{'; the other bounds are kept' if others else ''}"
    )


def missing_accesses(launches: int, *, read: tuple[int, int], written: tuple[int, int]) -> str:
    """Return why the counted accesses are too few to do the work, "" if they are enough.

    `read` and `written` are (counted, needed) in bytes.
    """
    if not launches:
        return NO_LAUNCH
    for verb, (counted, needed) in (("read", read), ("write", written)):
        if counted < needed:
            return (
                f"kernels {verb} {counted} bytes, but the arrays to {verb} have {needed} bytes: "
                "kernels must do all of the work"
            )
    return ""


def _cost(line: CounterLine) -> str:
    """Return "32.0 sectors per store request, 4.0 would do"."""
    unit = "sectors" if line.space == "global" else "wavefronts"
    where = "" if line.space == "global" else "shared "
    least = line.least / line.requests
    return f"{line.per_request:.1f} {unit} per {where}{line.access} request, {least:.1f} would do"


def _percent(worst: CounterLine, among: list[CounterLine]) -> str:
    return f"{100 * worst.transactions // sum(line.transactions for line in among)} %"
