"""Find the assignments, kernels, submission and device that a command line selects."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grader.assignment import catalogue
from grader.assignment.generated import TEMPLATES
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.errors import ToolError, UsageError
from grader.gpu import nvml
from grader.gpu.nvml import Gpu
from grader.gpu.target import course_target
from grader.text.did_you_mean import did_you_mean


def chosen_assignments(names: tuple[str, ...]) -> list[Assignment]:
    """Return the named assignments, or all of the course if no name is given.

    Raises UsageError if the current folder belongs to no course or a name is unknown.
    """
    root = catalogue.assignment_root(Path.cwd())
    if root is None:
        raise UsageError(
            "there are no assignments here",
            tip="run this in the course's folder, or set GRADE_ASSIGNMENTS to its assignments/",
        )
    folders = [catalogue.assignment_folder(name, root) for name in dict.fromkeys(names)]
    return [read_assignment(folder) for folder in folders or catalogue.find_assignments(root)]


def check_kernels(names: Iterable[str], assignments: list[Assignment]) -> None:
    """Raise UsageError if no kernel of the assignments has one of the names."""
    known = [kernel.name for assignment in assignments for kernel in assignment.parts]
    for name in names:
        if name not in known:
            raise UsageError(
                f"there is no kernel `{name}`{did_you_mean(name, known)}",
                tip=f"known: {', '.join(known)}",
            )


def default_source() -> Path:
    """Return the default folder of a submission: the course's stubs, else the current folder."""
    here = Path.cwd()
    in_a_course = (here / TEMPLATES).is_dir() and (here / catalogue.ASSIGNMENTS).is_dir()
    return here / TEMPLATES if in_a_course else here


def chosen_device(requested: str) -> Gpu | None:
    """Return the GPU to grade on, None for the CPU; `requested` is "auto", "cpu" or "cuda".

    Raises ToolError if a GPU is required and this machine has none, UsageError if the CPU grades
    and the course's GPU is not known.
    """
    if requested == "cpu":
        course_target()
        return None
    gpus = nvml.visible(nvml.state().gpus)
    if gpus:
        return gpus[0]
    if requested == "cuda":
        raise ToolError("this machine has no usable NVIDIA GPU", tip="`grade doctor` says why")
    course_target()
    return None
