"""The sample hand-ins of the assignments: which there are, and in which language.

A sample is one kernel file below `reference/ASSIGNMENT/samples/VERDICT/NAME/`.
A folder with a file in each language is two samples of one name. The student's
own program may stand beside a CUDA C++ kernel and is handed in with it. Standard
library only, like `expectation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.commands.verify.expectation import Expectation, parse

SAMPLES = "samples"
LANGUAGES = {".cu": "cuda", ".py": "triton"}
PROGRAM = "main.cu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One kernel file; `file` is its path below `folder`, the hand-in."""

    assignment: str
    verdict: str
    name: str
    language: str
    folder: Path
    file: str

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.folder / self.file

    @property
    def title(self) -> str:
        """The sample's name in tables and test ids."""
        return f"{self.verdict}/{self.name}/{self.file}"

    @property
    def has_program(self) -> bool:
        """True if the student's own program is handed in as well: the fault may be there."""
        return (
            self.language == "cuda" and self.file != PROGRAM and (self.folder / PROGRAM).is_file()
        )

    @property
    def text(self) -> str:
        """What the file says; bytes that are not UTF-8 are replaced."""
        return self.path.read_text(encoding="utf-8", errors="replace")

    def expectation(self) -> Expectation | None:
        """Return what the first line promises, None if it promises nothing.

        Raises ValueError, with a sentence, if it is not well formed.
        """
        return parse(self.text.removeprefix("\ufeff"), self.verdict)


def find_samples(reference: Path) -> Iterator[Sample]:
    """Yield the samples of all assignments below `reference/`, in order."""
    for folder in sorted(reference.glob(f"*/{SAMPLES}")):
        yield from samples_of(folder.parent)


def samples_of(reference: Path) -> Iterator[Sample]:
    """Yield the samples of one assignment, whose solved files stand in `reference`."""
    for folder in sorted((reference / SAMPLES).glob("*/*")):
        files = [p for p in sorted(folder.rglob("*")) if p.suffix in LANGUAGES and p.is_file()]
        kernels = [path for path in files if path != folder / PROGRAM]
        accompanied = any(path.suffix == ".cu" for path in kernels)
        for path in kernels if accompanied else files:
            yield Sample(
                assignment=reference.name,
                verdict=folder.parent.name,
                name=folder.name,
                language=LANGUAGES[path.suffix],
                folder=folder,
                file=path.relative_to(folder).as_posix(),
            )


def stray_files(reference: Path) -> Iterator[Path]:
    """Yield the files below the samples that belong to none."""
    samples = list(samples_of(reference))
    known = {sample.path for sample in samples}
    known |= {sample.folder / PROGRAM for sample in samples if sample.has_program}
    for path in sorted((reference / SAMPLES).rglob("*")):
        if path.is_file() and path not in known and path.suffix != ".pyc":
            yield path
