"""`grade merge`: merge two reports, or two folders of reports by path.

Exit codes: 0 all reports are merged; 1 some were refused or left out, and stderr says why.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from grader.commands.output import reports_folder, write_text
from grader.errors import ExitCode, UsageError
from grader.grading.merge import merge
from grader.report.model import json_text, to_json
from grader.report.reader import read_report, read_values


def run_merge(first: Path, second: Path, output: Path | None) -> ExitCode:
    """Merge two reports or two folders of reports; return the exit code."""
    if first.is_dir() != second.is_dir():
        raise UsageError(
            f"{first} and {second}: one is a folder", tip="name two reports or two folders"
        )
    stderr = Console(stderr=True, soft_wrap=True, highlight=False)
    if not first.is_dir():
        text = _merged(first, second, f"{first} and {second}", first.name, stderr)
        if output is None:
            print(text, end="")
        else:
            write_text(output, text, parents=True)
        return ExitCode.COMPLETE
    if output is None:
        raise UsageError("two folders are merged into a third", tip="name it with --output")
    return _merge_folders(first, second, output, stderr)


def _merge_folders(first: Path, second: Path, output: Path, stderr: Console) -> ExitCode:
    """Merge the reports that have the same path; print why a report is not merged."""
    first_paths, second_paths = _report_paths(first), _report_paths(second)
    if not first_paths:
        raise UsageError(f"there are no reports in {first}")
    written = refused = left_out = 0
    for path in sorted(first_paths | second_paths):
        try:
            if path not in first_paths:
                raise UsageError(
                    f"{path}: only in {second}, so there is no report for it to fill in"
                )
            text = json_text(read_values(first / path))
        except UsageError as error:
            left_out += 1
            stderr.print(f"{error.message}: left out of {output}", markup=False)
            continue
        if path not in second_paths:
            stderr.print(f"{path}: not in {second}; copied unchanged", markup=False)
        else:
            try:
                text = _merged(first / path, second / path, str(path), str(path), stderr)
            except UsageError as error:
                refused += 1
                stderr.print(f"{error.message}: {first / path} is copied unchanged", markup=False)
        write_text(output / path, text, parents=True)
        written += 1
    counts = f"{written} reports in {output}, {refused} of them refused"
    if left_out:
        counts += f"; {left_out} left out: grade them again, or remove them, and merge again"
    stderr.print(counts, markup=False)
    return ExitCode.of(complete=not (refused or left_out))


def _report_paths(folder: Path) -> set[Path]:
    """Return the paths of the reports in a folder, relative to it."""
    found = reports_folder(folder).rglob("*.json")
    # A broken link is no folder: reading it reports the problem.
    return {path.relative_to(folder) for path in found if not path.is_dir()}


def _merged(first: Path, second: Path, names: str, title: str, stderr: Console) -> str:
    """Return the text of the merged report; print what differs. Raises UsageError."""
    merged = merge(read_report(first), read_report(second), names)
    if not merged.filled:
        stderr.print(f"{title}: the second report fills in no pending check", markup=False)
    for difference in merged.differences:
        stderr.print(f"{title}: the reports differ: {difference}", markup=False)
    return json_text(to_json(merged.report))
