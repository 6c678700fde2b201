"""Turn the oracle's `baseline` into a submission, so that it is run and timed like one."""

from __future__ import annotations

from pathlib import Path

from grader.assignment.model import Assignment
from grader.build.artifact import Built
from grader.errors import GraderError
from grader.report.evidence import BuildEvidence
from grader.vocabulary import Device, Language

_ENTRY = "grader_baseline"


def build_baseline(assignment: Assignment, device: Device, scratch: Path) -> Built:
    """Write a Python file into `scratch` whose entry calls `baseline`.

    Raises GraderError if the oracle cannot be read.
    """
    try:
        oracle = assignment.oracle.read_text(encoding="utf-8")
    except OSError as error:
        raise GraderError(f"{assignment.oracle}: {error.strerror}") from error
    signature = assignment.signature
    inputs = ", ".join(
        f'"{a.name}": {a.name}' for a in signature.arguments if not a.is_array or a.role.read
    )
    results = ", ".join(f'"{a.name}": {a.name}' for a in signature.outputs)
    baseline = f"baseline{assignment.oracle_suffix}"
    # Behind the arguments of a call may be a launch and the number of a type, for a submission.
    names = ", ".join([*(a.name for a in signature.arguments), "*_"])
    path = scratch / f"{_ENTRY}_{assignment.name}{assignment.oracle_suffix}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"{oracle}\n\ndef {_ENTRY}({names}):\n    {baseline}({{{inputs}}}, {{{results}}})\n",
        encoding="utf-8",
    )
    return Built(
        language=Language.TRITON,
        device=device,
        path=path,
        file=path.name,
        entry=_ENTRY,
        evidence=BuildEvidence(tool="torch", cached=False),
        torch_allowed=True,
    )
