"""A ladder reads as a diff: one signature throughout, and little that changes from rung to rung."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from paths import REPOSITORY

from grader.assignment.catalogue import ASSIGNMENTS, find_assignments
from grader.assignment.generated import REFERENCES, TEMPLATES
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.vocabulary import Language

# Beyond, a rung is a new file and no longer a step.
MOST_CHANGED = 60
# Steps that are new files by nature, with the reason.
NEW_FILES = {
    # Three ideas, each a function or two of its own: register tile, vector access, double buffer.
    "v2_tiled.cu to v3_optimized.cu",
    # Three kernels in sequence become one.
    "v1_materialised.cu to v2_tiled.cu",
    "v1_materialised.py to v2_tiled.py",
}

COMMENT = {Language.CUDA: re.compile(r"//.*"), Language.TRITON: re.compile(r"#.*")}


def ladders() -> Iterator[tuple[Assignment, Language, tuple[str, ...]]]:
    """Yield every assignment of several kernels, with the files of each language in order."""
    for folder in find_assignments(REPOSITORY / ASSIGNMENTS):
        assignment = read_assignment(folder)
        if len(assignment.kernels) < 2:
            continue
        for language in Language:
            rungs = [k for k in assignment.kernels if not k.bonus]  # a bonus is no rung
            files = [k.files[language] for k in rungs if language in k.files]
            if len(files) > 1:
                yield assignment, language, tuple(files)


LADDERS = tuple(ladders())
NAMES = [f"{assignment.name}-{language}" for assignment, language, _ in LADDERS]


def text_of(tree: str, assignment: Assignment, file: str) -> str:
    return (REPOSITORY / tree / assignment.name / file).read_text(encoding="utf-8")


def entry(text: str, assignment: Assignment, language: Language) -> str:
    """Return the entry's declaration without comments and line breaks."""
    code = COMMENT[language].sub("", text)
    linkage = r"template <class T> void" if assignment.signature.variable else r'extern "C" void'
    start = {Language.CUDA: linkage, Language.TRITON: "def"}[language]
    name = assignment.signature.entry
    found = re.findall(rf"^{start} {name}\([^)]*\)", code, re.MULTILINE)
    assert len(found) == 1, f"{len(found)} definitions of {name}"
    return re.sub(r",?\s*\)", ")", re.sub(r"\(\s+", "(", " ".join(str(found[0]).split())))


def changed_lines(before: str, after: str) -> int:
    """Return how many lines differ; one that is replaced by another counts once."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return sum(
        max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"
    )


def test_there_is_a_ladder() -> None:
    assert {"transpose-cuda", "transpose-triton"} <= set(NAMES)


@pytest.mark.parametrize(("assignment", "language", "files"), LADDERS, ids=NAMES)
def test_all_rungs_and_stubs_have_one_signature(
    assignment: Assignment, language: Language, files: tuple[str, ...]
) -> None:
    declared = {
        f"{tree}/{file}": entry(text_of(tree, assignment, file), assignment, language)
        for file in files
        for tree in (REFERENCES, TEMPLATES)
    }
    assert len(set(declared.values())) == 1, declared


@pytest.mark.parametrize(("assignment", "language", "files"), LADDERS, ids=NAMES)
def test_adjacent_rungs_read_as_a_diff(
    assignment: Assignment, language: Language, files: tuple[str, ...]
) -> None:
    sizes = {
        f"{one} to {other}": changed_lines(
            text_of(REFERENCES, assignment, one), text_of(REFERENCES, assignment, other)
        )
        for one, other in pairwise(files)
    }
    for step, size in sizes.items():
        print(f"{assignment.name}, {language}: {step}: {size} lines changed")
    assert all(sizes.values()), sizes
    steps = {step: size for step, size in sizes.items() if step not in NEW_FILES}
    assert all(size <= MOST_CHANGED for size in steps.values()), steps


def test_a_replaced_line_counts_once() -> None:
    assert changed_lines("a\nb\nc\n", "a\nB\nc\nd\n") == 2
    assert changed_lines("a\n", "a\n") == 0
