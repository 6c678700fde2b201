"""JUnit's XML: a suite for each kernel in a language, a case for each check.

A failure's type is the verdict; what could not be judged is `skipped`, what the
grader broke is an `error`. Points are properties. The time is in seconds.
"""

from __future__ import annotations

from xml.etree import ElementTree

from grader.formats import told
from grader.report import KernelResult, Report
from grader.verdict import Verdict

_NOT_JUDGED = (Verdict.SKIPPED, Verdict.NOT_MEASURED, Verdict.NOT_SUBMITTED)


def junit(report: Report) -> str:
    """Return the document, with its declaration; text in it is XML 1.0's."""
    root = ElementTree.Element("testsuites", name=told.safe_line(report.assignment))
    entries = list(told.checks(report))
    for kernel in report.kernels:
        own = [entry for entry in entries if entry.kernel is kernel]
        root.append(_suite(report, kernel, own))
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    root.set("time", f"{report.wall_s:.3f}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _suite(report: Report, kernel: KernelResult, entries: list[told.Told]) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=told.safe_line(told.label(kernel)))
    verdicts = [entry.check.verdict for entry in entries]
    errors = sum(verdict is Verdict.GRADER_ERROR for verdict in verdicts)
    failures = sum(told.failed(entry.check) for entry in entries)
    suite.set("tests", str(len(entries)))
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    suite.set("skipped", str(sum(verdict in _NOT_JUDGED for verdict in verdicts)))
    suite.set("time", f"{sum(entry.check.wall_s for entry in entries):.3f}")
    if kernel.file is not None:
        suite.set("file", told.safe_line(kernel.file))
    _properties(
        suite,
        assignment=report.assignment,
        verdict=kernel.verdict.value,
        counted="yes" if kernel.counted else "no",
        score="" if kernel.score is None else told.points(kernel.score),
        max_score=told.points(kernel.max_score),
        pending=told.points(kernel.pending),
    )
    for entry in entries:
        suite.append(_case(entry, suite.get("name", "")))
    return suite


def _case(entry: told.Told, suite: str) -> ElementTree.Element:
    check = entry.check
    case = ElementTree.Element("testcase", name=told.safe_line(check.name), classname=suite)
    case.set("time", f"{check.wall_s:.3f}")
    if entry.kernel.file is not None:
        case.set("file", told.safe_line(entry.kernel.file))
    _properties(
        case,
        verdict=check.verdict.value,
        score="" if check.score is None else told.points(check.score),
        max_score=told.points(check.max_score),
        pending=told.points(check.pending),
    )
    text = entry.text
    first = told.safe_line(text.split("\n", 1)[0], 300)
    if told.failed(check):
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
        ElementTree.SubElement(listed, "property", name=name, value=told.safe_line(value))
