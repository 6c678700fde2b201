"""A job on its way to another machine and back, as JSON in bytes.

    ──→ the assignment's folder, the files handed in, the terms     (a job folder)
    ←── the report's text, or a sentence that says why there is none

Nothing that a hand-in had a hand in is ever unpickled: bytes travel as they are.
"""

from __future__ import annotations

import base64
import functools
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import grader
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.commands.batch.job import Answer, Job, Outcome, Terms, grade_submission
from grader.errors import GraderError
from grader.pool.state import WorkerState
from grader.submission.reader import ELSEWHERE, SourceFile, Submission, read_submission
from grader.system.cache import content_key
from grader.vocabulary import Device

_MOST_BYTES = 8 << 20  # of an assignment's folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """A packed job, as the pool of the machine that grades it wants one."""

    data: bytes
    weight: float = 1.0


def pack(job: Job) -> bytes:
    """Read a job's folders and pack them. Raises GraderError."""
    assignment = read_assignment(job.assignment)
    submission = read_submission(job.source, assignment)
    terms = {**asdict(job.terms), "device": job.terms.device.value}
    parcel = {
        "grader": grader.__version__,
        "assignment": assignment.name,
        "folder": _folder(job.assignment),
        "name": job.name,
        "files": [asdict(file) for file in submission.files.values()],
        "others": list(submission.others),
        "terms": terms,
    }
    return json.dumps(parcel).encode()


def do(parcel: Parcel, state: WorkerState) -> bytes:
    """Grade what was packed: what a process of the pool calls on the other machine."""
    packed = json.loads(parcel.data)
    if packed["grader"] != grader.__version__:
        problem = f"a worker has version {grader.__version__}, not {packed['grader']}"
        return wrap(Answer(outcome=Outcome.FAILED, problem=problem))
    try:
        folder = json.dumps(packed["folder"])
        assignment = _assignment(packed["assignment"], folder, state.folder)
    except (GraderError, OSError) as error:
        return wrap(Answer(outcome=Outcome.FAILED, problem=str(error)))
    submission = Submission(
        source=Path(packed["name"]),
        files={file["path"]: SourceFile(**file) for file in packed["files"]},
        others=tuple(packed["others"]),
        called=ELSEWHERE,
    )
    terms = Terms(**{**packed["terms"], "device": Device(packed["terms"]["device"])})
    return wrap(grade_submission(assignment, submission, terms, state))


def wants_gpu(data: bytes) -> bool:
    """True if a packed job is to be graded on a GPU."""
    return Device(json.loads(data)["terms"]["device"]) is Device.CUDA


def wrap(answer: Answer) -> bytes:
    """Return an answer as it travels."""
    return json.dumps({**asdict(answer), "outcome": answer.outcome.value}).encode()


def unwrap(data: object) -> Answer:
    """Return the answer that came; what is none is a failed one."""
    try:
        if not isinstance(data, bytes):
            raise TypeError(type(data).__name__)
        values: dict[str, Any] = json.loads(data)
        answer = Answer(**{**values, "outcome": Outcome(values["outcome"])})
    except (ValueError, TypeError, KeyError) as error:
        return Answer(
            outcome=Outcome.FAILED, problem=f"a worker answered in no known form: {error}"
        )
    if answer.outcome is Outcome.GRADED and not answer.text:
        return replace(answer, outcome=Outcome.FAILED, problem="a worker answered with no report")
    return answer


def _folder(folder: Path) -> dict[str, str]:
    """Return the assignment's files by path, base64."""
    found: dict[str, str] = {}
    left = _MOST_BYTES
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            data = path.read_bytes()
            left -= len(data)
            if left < 0:
                raise GraderError(f"{folder} is larger than {_MOST_BYTES >> 20} MiB")
            found[path.relative_to(folder).as_posix()] = base64.b64encode(data).decode()
    return found


@functools.cache
def _assignment(name: str, folder: str, below: Path) -> Assignment:
    """Unpack an assignment, once in a process, into a folder below this one."""
    root = below / content_key(folder)
    for path, data in json.loads(folder).items():
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts:
            raise GraderError(f"{path} is no path within an assignment")
        file = root / name / parts
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(data))
    return read_assignment(root / name)
