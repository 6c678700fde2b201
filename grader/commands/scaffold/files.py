"""Write a draft's files: made and validated aside, then put in place, never over others."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grader
from grader.assignment.catalogue import ASSIGNMENTS
from grader.assignment.generated import REFERENCES, TEMPLATES, generated_for
from grader.assignment.model import ORACLE_FILE
from grader.assignment.reader import SPEC_FILE, read_assignment
from grader.commands.scaffold.cuda_text import cuda_samples, cuda_text
from grader.commands.scaffold.draft import Draft
from grader.commands.scaffold.oracle_text import oracle_text
from grader.commands.scaffold.spec_text import handout_text, spec_text
from grader.commands.scaffold.triton_text import triton_samples, triton_text
from grader.commands.verify.lints import FILL_IN
from grader.errors import GraderError, SpecError, UsageError
from grader.vocabulary import Language

_TREES = (ASSIGNMENTS, REFERENCES, TEMPLATES)
_SCHEMA = Path("grader/schemas/assignment.schema.json")
_SAMPLES = {Language.CUDA: cuda_samples, Language.TRITON: triton_samples}


@dataclass(frozen=True, slots=True)
class Gap:
    """A place that is to be filled in."""

    file: Path
    line: int
    text: str


def course_folder(start: Path) -> Path:
    """Return the nearest folder with `assignments/` in it, else `start` itself."""
    here = start.absolute()
    return next((f for f in (here, *here.parents) if (f / ASSIGNMENTS).is_dir()), here)


def write_files(draft: Draft, course: Path) -> tuple[Path, ...]:
    """Write the new assignment; return its files, relative to `course`, in order.

    Raises UsageError if any of its folders exists, or if the draft makes no valid
    spec (then nothing is written), GraderError if the disk refuses.
    """
    for tree in _TREES:
        if os.path.lexists(course / tree / draft.name):
            raise UsageError(
                f"{course / tree / draft.name} exists, and nothing is overwritten",
                tip="choose another name, or move it away",
            )
    try:
        with tempfile.TemporaryDirectory(dir=course, prefix=".new-") as name:
            aside = Path(name)
            aside.chmod(0o755)
            _make(draft, aside, _schema_of(course))
            files = sorted(p.relative_to(aside) for p in aside.rglob("*") if p.is_file())
            for tree in _TREES:
                (course / tree).mkdir(exist_ok=True)
                (aside / tree / draft.name).rename(course / tree / draft.name)
    except OSError as error:
        raise GraderError(f"cannot write in {course}: {error.strerror or error}") from error
    return tuple(files)


def gaps(files: tuple[Path, ...], course: Path) -> Iterator[Gap]:
    """Yield the places to fill in, but of stubs, which are made from the solved files."""
    for file in files:
        if file.parts[0] == TEMPLATES or "samples" in file.parts:
            continue
        lines = (course / file).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            if FILL_IN in line:
                yield Gap(file, number, line.strip())


def _make(draft: Draft, aside: Path, schema: str) -> None:
    for path, text in _texts(draft, schema):
        (aside / path).parent.mkdir(parents=True, exist_ok=True)
        (aside / path).write_text(text, encoding="utf-8")
    try:
        assignment = read_assignment(aside / ASSIGNMENTS / draft.name)
    except SpecError as error:
        # Of the spec's own words only what is wrong: the file is not there yet.
        reason = error.message.replace(f"{aside}{os.sep}", "")
        raise UsageError(f"this makes no assignment: {reason}") from None
    for file, text in generated_for(assignment, aside.resolve()):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _texts(draft: Draft, schema: str) -> Iterator[tuple[str, str]]:
    folder, solved = f"{ASSIGNMENTS}/{draft.name}", f"{REFERENCES}/{draft.name}"
    yield f"{folder}/{SPEC_FILE}", spec_text(draft, schema)
    yield f"{folder}/{ORACLE_FILE}", oracle_text(draft)
    yield f"{folder}/README.md", handout_text(draft)
    for language, file in draft.files.items():
        text = cuda_text(draft) if language is Language.CUDA else triton_text(draft)
        yield f"{solved}/{file}", text
        for sample, sample_text in _SAMPLES[language](draft):
            yield f"{solved}/samples/{sample}/{file}", sample_text


def _schema_of(course: Path) -> str:
    """Return where a spec's editor finds the schema: in the course, or in this package."""
    if (course / _SCHEMA).is_file():
        return f"../../{_SCHEMA.as_posix()}"
    return (Path(grader.__file__).resolve().parent / "schemas" / _SCHEMA.name).as_uri()
