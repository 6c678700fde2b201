"""JUnit's XML: a suite for each kernel in a language, a case for each check.

A failure's type is the verdict; what could not be judged is `skipped`, what the
grader broke is an `error`. Points are properties. The time is in seconds.
"""

from __future__ import annotations

from xml.etree import ElementTree

from grader.formats import student_view
from grader.report.model import KernelResult, Report
from grader.report.verdict import Verdict

_NOT_JUDGED = (Verdict.SKIPPED, Verdict.NOT_MEASURED, Verdict.NOT_SUBMITTED)


def junit(report: Report) -> str:
    """Return the document, with its declaration; text in it is XML 1.0's."""
    root = ElementTree.Element("testsuites", name=student_view.safe_line(report.assignment))
    entries = list(student_view.checks(report))
    for kernel in report.kernels:
        own = [entry for entry in entries if entry.kernel is kernel]
        root.append(_suite(report, kernel, own))
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    root.set("time", f"{report.wall_s:.3f}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _suite(
    report: Report, kernel: KernelResult, entries: list[student_view.Told]
) -> ElementTree.Element:
    suite = ElementTree.Element(
        "testsuite", name=student_view.safe_line(student_view.label(kernel))
    )
    verdicts = [entry.check.verdict for entry in entries]
    errors = sum(verdict is Verdict.GRADER_ERROR for verdict in verdicts)
    failures = sum(student_view.failed(entry.check) for entry in entries)
    suite.set("tests", str(len(entries)))
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    suite.set("skipped", str(sum(verdict in _NOT_JUDGED for verdict in verdicts)))
    suite.set("time", f"{sum(entry.check.wall_s for entry in entries):.3f}")
    if kernel.file is not None:
        suite.set("file", student_view.safe_line(kernel.file))
    _properties(
        suite,
        assignment=report.assignment,
        verdict=kernel.verdict.value,
        counted="yes" if kernel.counted else "no",
        score="" if kernel.score is None else student_view.points(kernel.score),
        max_score=student_view.points(kernel.max_score),
        pending=student_view.points(kernel.pending),
    )
    for entry in entries:
        suite.append(_case(entry, suite.get("name", "")))
    return suite


def _case(entry: student_view.Told, suite: str) -> ElementTree.Element:
    check = entry.check
    case = ElementTree.Element("testcase", name=student_view.safe_line(check.name), classname=suite)
    case.set("time", f"{check.wall_s:.3f}")
    if entry.kernel.file is not None:
        case.set("file", student_view.safe_line(entry.kernel.file))
    _properties(
        case,
        verdict=check.verdict.value,
        score="" if check.score is None else student_view.points(check.score),
        max_score=student_view.points(check.max_score),
        pending=student_view.points(check.pending),
    )
    text = entry.text
    first = student_view.safe_line(text.split("\n", 1)[0], 300)
    if student_view.failed(check):
        ElementTree.SubElement(case, "failure", message=first, type=check.verdict.value).text = text
    elif check.verdict is Verdict.GRADER_ERROR:
        ElementTree.SubElement(case, "error", message=first, type=check.verdict.value).text = text
    elif check.verdict in _NOT_JUDGED:
        ElementTree.SubElement(case, "skipped", message=first)
    else:
        ElementTree.SubElement(case, "system-out").text = text
    return case


def _properties(parent: ElementTree.Element, **values: str) -> None:
    listed = ElementTree.SubElement(parent, "properties")
    for name, value in values.items():
        ElementTree.SubElement(listed, "property", name=name, value=student_view.safe_line(value))
