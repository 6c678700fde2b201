"""Runs the archive for a platform on this machine as the platform would, without root.

    FOLDER/autograder/source        the archive, unpacked
                      submission    a copy of the submission
                      submission_metadata.json    a sample, or the file that is given
                      results/results.json

The archive's own `run_autograder` runs with this Python and with the grader of the archive. What
`setup.sh` installs in the image must be here already.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

from grader.commands.release.targets import entries_of
from grader.errors import GraderError, UsageError
from grader.grading.selection import chosen_assignments

SAMPLE = "submission_metadata.json"


def try_gradescope(name: str, submission: Path, output: Path | None, given: Path | None) -> int:
    """Run Gradescope's archive on a submission, print the result, and return the exit code.

    `output` gets the result file, `given` is the metadata. Raises UsageError for a submission that
    cannot be copied, GraderError if the archive writes no result.
    """
    assignment = chosen_assignments((name,))[0]
    repository = assignment.folder.parent.parent
    with tempfile.TemporaryDirectory(prefix="grade-try-") as made:
        root = Path(made, "autograder")
        for entry in entries_of("gradescope", [assignment], repository):
            file = root / "source" / entry.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(entry.data)
            file.chmod(entry.mode)
        _copy(submission, root / "submission")
        (root / SAMPLE).write_text(_metadata(given), encoding="utf-8")
        environment = {**os.environ, "GRADE_ROOT": made, "GRADE_PYTHON": sys.executable}
        environment.pop("PYTHONPATH", None)  # the archive's own grader
        command = ["bash", str(root / "source" / "run_autograder")]
        done = subprocess.run(command, env=environment, check=False, stdout=subprocess.DEVNULL)
        written = root / "results" / "results.json"
        if done.returncode != 0 or not written.is_file():
            raise GraderError(f"run_autograder ended with exit code {done.returncode}, no result")
        text = written.read_text(encoding="utf-8")
        if output is not None:
            shutil.copyfile(written, output)
    _show(json.loads(text))
    return 0


def _copy(submission: Path, folder: Path) -> None:
    try:
        if submission.is_dir():
            shutil.copytree(submission, folder)
        else:
            folder.mkdir(parents=True)
            shutil.copy(submission, folder)
    except OSError as error:
        raise UsageError(f"--from: cannot copy {submission}: {error.strerror or error}") from error


def _metadata(given: Path | None) -> str:
    if given is None:
        sample = resources.files("grader") / "commands" / "release" / "files" / "trial" / SAMPLE
        return sample.read_text(encoding="utf-8")
    try:
        return given.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--metadata: cannot read {given}: {error.strerror or error}") from error


def _show(result: dict[str, object]) -> None:
    """Print what Gradescope shows a student, as text."""
    print(f"score {result.get('score')}")
    tests = result.get("tests")
    for test in tests if isinstance(tests, list) else []:
        won = f" ({test['score']} / {test['max_score']})" if "max_score" in test else ""
        print(f"{test.get('number', '')} {test.get('name', '')}{won}")
