"""The sample hand-ins of the assignments: which there are, and in which language.

A sample is one kernel file below `reference/ASSIGNMENT/samples/VERDICT/NAME/`.
A folder with a file in each language is two samples of one name. Standard
library only, like `expectation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.verify.expectation import Expectation, parse

SAMPLES = "samples"
LANGUAGES = {".cu": "cuda", ".py": "triton"}


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
    def text(self) -> str:
        """What the file says; bytes that are not UTF-8 are replaced."""
        return self.path.read_text(encoding="utf-8", errors="replace")

    def expectation(self) -> Expectation | None:
        """Return what the first line promises, None if it promises nothing.

        Raises ValueError, with a sentence, if it is not well formed.
        """
        return parse(self.text, self.verdict)


def find_samples(reference: Path) -> Iterator[Sample]:
    """Yield the samples of all assignments below `reference/`, in order."""
    for folder in sorted(reference.glob(f"*/{SAMPLES}")):
        yield from samples_of(folder.parent)


def samples_of(reference: Path) -> Iterator[Sample]:
    """Yield the samples of one assignment, whose solved files stand in `reference`."""
    for folder in sorted((reference / SAMPLES).glob("*/*")):
        for path in sorted(folder.rglob("*")):
            if path.suffix in LANGUAGES and path.is_file():
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
    known = {sample.path for sample in samples_of(reference)}
    for path in sorted((reference / SAMPLES).rglob("*")):
        if path.is_file() and path not in known and path.suffix != ".pyc":
            yield path
