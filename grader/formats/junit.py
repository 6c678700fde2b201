"""JUnit's XML: a suite for each kernel and language, a case for each check.

A failure's type is the verdict. A check without a judgement is `skipped`, a
grader error is an `error`. Points are properties; times are in seconds.
"""

from __future__ import annotations

from xml.etree import ElementTree

from grader.formats import student_view
from grader.formats.output_format import NO_EXTRAS, Extras, OutputFormat
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.text.numbers import points

_NOT_JUDGED = (Verdict.SKIPPED, Verdict.NOT_MEASURED, Verdict.NOT_SUBMITTED)


class JUnit(OutputFormat):
    """JUnit's XML."""

    name = "junit"

    def file(self, report: Report, extras: Extras = NO_EXTRAS) -> str | None:
        """Return the XML 1.0 document with its declaration."""
        root = ElementTree.Element("testsuites", name=student_view.safe_line(report.assignment))
        entries = list(student_view.checks(report))
        for kernel in report.kernels:
            root.append(_suite(report, kernel, [e for e in entries if e.kernel is kernel]))
        for count in ("tests", "failures", "errors", "skipped"):
            root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
        root.set("time", f"{report.wall_s:.3f}")
        ElementTree.indent(root)
        xml = ElementTree.tostring(root, "unicode")
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{xml}\n'


def _suite(
    report: Report, kernel: KernelResult, entries: list[student_view.VisibleCheck]
) -> ElementTree.Element:
    name = student_view.safe_line(student_view.label(kernel))
    verdicts = [entry.check.verdict for entry in entries]
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": name,
            "tests": str(len(entries)),
            "failures": str(sum(student_view.failed(entry.check) for entry in entries)),
            "errors": str(verdicts.count(Verdict.GRADER_ERROR)),
            "skipped": str(sum(verdict in _NOT_JUDGED for verdict in verdicts)),
            "time": f"{sum(entry.check.wall_s for entry in entries):.3f}",
            **_file(kernel),
        },
    )
    _properties(
        suite,
        assignment=report.assignment,
        verdict=kernel.verdict.value,
        counted="yes" if kernel.counted else "no",
        **_points(kernel),
    )
    suite.extend(_case(entry, name) for entry in entries)
    return suite


def _case(entry: student_view.VisibleCheck, suite: str) -> ElementTree.Element:
    check, verdict, text = entry.check, entry.check.verdict, entry.text
    case = ElementTree.Element(
        "testcase",
        {
            "name": student_view.safe_line(check.name),
            "classname": suite,
            "time": f"{check.wall_s:.3f}",
            **_file(entry.kernel),
        },
    )
    _properties(case, verdict=verdict.value, **_points(check))
    message = student_view.safe_line(text.split("\n", 1)[0], 300)
    if student_view.failed(check):
        ElementTree.SubElement(case, "failure", message=message, type=verdict.value).text = text
    elif verdict is Verdict.GRADER_ERROR:
        ElementTree.SubElement(case, "error", message=message, type=verdict.value).text = text
    elif verdict in _NOT_JUDGED:
        ElementTree.SubElement(case, "skipped", message=message)
    else:
        ElementTree.SubElement(case, "system-out").text = text
    return case


def _file(kernel: KernelResult) -> dict[str, str]:
    return {} if kernel.file is None else {"file": student_view.safe_line(kernel.file)}


def _points(result: KernelResult | CheckResult) -> dict[str, str]:
    return {
        "score": "" if result.score is None else points(result.score),
        "max_score": points(result.max_score),
        "pending": points(result.pending),
    }


def _properties(parent: ElementTree.Element, **values: str) -> None:
    properties = ElementTree.SubElement(parent, "properties")
    for name, value in values.items():
        ElementTree.SubElement(
            properties, "property", name=name, value=student_view.safe_line(value)
        )
