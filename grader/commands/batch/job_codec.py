"""Packs jobs for another machine and the answers for the way back, as JSON in bytes.

    job       the assignment's folder, the submission's files, device and seed
    answer    the report's text, or the problem

Data that a submission could have influenced is never unpickled.
"""

from __future__ import annotations

import base64
import functools
import json
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

import grader
from grader.assignment.model import Assignment
from grader.assignment.reader import COURSE_FILE, read_assignment, read_course
from grader.commands.batch.job import Answer, Job, Outcome, failure, grade_submission
from grader.errors import GraderError
from grader.gpu.target import use_target
from grader.pool.state import WorkerState
from grader.submission.reader import ELSEWHERE, SourceFile, Submission, read_submission
from grader.system.cache import content_key
from grader.vocabulary import Device

_MOST_BYTES = 8 << 20  # of an assignment's folder


def pack_job(job: Job) -> bytes:
    """Read the assignment and the submission, and pack them. Raises GraderError."""
    assignment = read_assignment(job.assignment)
    submission = read_submission(job.source, assignment)
    values = {
        "grader": grader.__version__,
        "assignment": assignment.name,
        "folder": _folder(job.assignment),
        "course": _course(job.assignment.parent),
        "name": job.name,
        # A submission's own files have no `headers` yet.
        "files": [asdict(file, dict_factory=_filled) for file in submission.files.values()],
        "others": list(submission.others),
        "device": job.device.value,
        "secret_seed": job.secret_seed,
    }
    return json.dumps(values).encode()


def _filled(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in fields if value}


def do(job: bytes, state: WorkerState) -> bytes:
    """Grade a packed job in a pool worker on the other machine."""
    packed = json.loads(job)
    if packed["grader"] != grader.__version__:
        problem = f"a worker has version {grader.__version__}, not {packed['grader']}"
        return pack_answer(failure(problem))
    try:
        folder = json.dumps(packed["folder"])
        assignment = _assignment(packed["assignment"], folder, packed["course"], state.folder)
    except (GraderError, OSError) as error:
        return pack_answer(failure(str(error)))
    submission = Submission(
        source=Path(packed["name"]),
        files={file["path"]: SourceFile(**file) for file in packed["files"]},
        others=tuple(packed["others"]),
        shown_as=ELSEWHERE,
    )
    device = Device(packed["device"])
    answer = grade_submission(assignment, submission, device, packed["secret_seed"], state)
    return pack_answer(answer)


def wants_gpu(data: bytes) -> bool:
    """True if the job is for a GPU."""
    return Device(json.loads(data)["device"]) is Device.CUDA


def pack_answer(answer: Answer) -> bytes:
    """Return an answer as bytes."""
    return json.dumps(asdict(answer)).encode()


def unpack_answer(data: object) -> Answer:
    """Return the answer in these bytes; a failure if they are not valid."""
    try:
        if not isinstance(data, bytes):
            raise TypeError(type(data).__name__)
        values: dict[str, Any] = json.loads(data)
        answer = Answer(**{**values, "outcome": Outcome(values["outcome"])})
    except (ValueError, TypeError, KeyError) as error:
        return failure(f"a worker's answer is not valid: {error}")
    if answer.outcome is Outcome.GRADED and not answer.text:
        return failure("a worker's answer has no report")
    return answer


def _course(root: Path) -> str:
    """Return the course's file of what assignments share, in base64, "" without one."""
    file = root / COURSE_FILE
    return base64.b64encode(file.read_bytes()).decode() if file.is_file() else ""


def _folder(folder: Path) -> dict[str, str]:
    """Return the content of the assignment's files by path, in base64."""
    files: dict[str, str] = {}
    left = _MOST_BYTES
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            data = path.read_bytes()
            left -= len(data)
            if left < 0:
                raise GraderError(f"{folder} is larger than {_MOST_BYTES >> 20} MiB")
            files[path.relative_to(folder).as_posix()] = base64.b64encode(data).decode()
    return files


@functools.cache
def _assignment(name: str, folder: str, course: str, parent: Path) -> Assignment:
    """Unpack an assignment into a folder of `parent`, once per process, and read it.

    `course` is the course's file in base64, "" without one.
    """
    root = parent / content_key(folder, course)
    for path, data in json.loads(folder).items():
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts:
            raise GraderError(f"{path} is outside the assignment's folder")
        file = root / name / parts
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(data))
    if course:
        (root / COURSE_FILE).write_bytes(base64.b64decode(course))
    use_target(read_course(root).target)
    return read_assignment(root / name)
