"""The figures as HTML inside another page: Gradescope's, which shows each check's text itself.

The platform's sanitiser decides what stays. So there is no style sheet and no script; figures are
images, and each has its sentence as text beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.formats import student_view
from grader.formats.html.document import kernel_views, ladder_panels
from grader.formats.html.environment import environment
from grader.formats.html.image import image
from grader.report.model import Report

# Gradescope documents no limit. Results are kept for each submission, and sent to each reader.
MOST_BYTES = 400_000


def embedded(report: Report, notes: Sequence[str] = (), most: int = MOST_BYTES) -> str:
    """Return the result, then the figures of each kernel while they fit into `most` bytes."""
    template = environment().get_template("embedded.html")
    views = [view for view in kernel_views(report) if any(one.is_drawn for one in view.checks)]
    head = {"result": (*notes, *student_view.result(report).split("\n")), "kernel": None}
    text = template.render(image=image, ladders=ladder_panels(report), **head)
    if len(text.encode()) > most:
        text = template.render(image=image, ladders=(), **head)
    left_out = 0
    for view in views:
        part = template.render(image=image, kernel=view)
        if len((text + part).encode()) > most:
            left_out += 1
        else:
            text += part
    if left_out:
        text += f"<p>The figures of {left_out} more are left out: they are too large.</p>\n"
    return text
