"""Samples as patches: they apply by their text, or say why not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.commands.verify.patches import make_patch, patched_files
from grader.commands.verify.samples import patched_samples, stray_files

SOLVED = "one\ntwo\nthree\ntwo\nfive\n"


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    (tmp_path / "samples" / "wrong_answer").mkdir(parents=True)
    (tmp_path / "a.cu").write_text(SOLVED, encoding="utf-8")
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    return tmp_path


def write(reference: Path, text: str) -> Path:
    patch = reference / "samples" / "wrong_answer" / "off.patch"
    patch.write_text(text, encoding="utf-8")
    return patch


def test_a_patch_of_two_files_is_two_samples_with_their_own_expectations(reference: Path) -> None:
    text = '// expect: line=3\n# expect: message="two words"\n'
    text += make_patch(SOLVED, SOLVED.replace("three", "3"), "a.cu")
    text += make_patch("x = 1\n", "x = 2\n", "a.py")
    patch = write(reference, text)
    cuda, triton = patched_samples(patch, reference)
    assert (cuda.title, cuda.text) == ("wrong_answer/off/a.cu", SOLVED.replace("three", "3"))
    assert (triton.language, triton.text) == ("triton", "x = 2\n")
    expected = cuda.expectation(), triton.expectation()
    assert [e and (e.lines, e.message) for e in expected] == [((3,), None), ((), "two words")]
    assert list(stray_files(reference)) == []


def test_a_hunk_is_found_by_its_text_nearest_to_its_line(reference: Path) -> None:
    (reference / "a.cu").write_text(f"zero\n{SOLVED}", encoding="utf-8")
    patch = write(reference, "--- a/a.cu\n+++ b/a.cu\n@@ -5 +5 @@\n-two\n+2\n")
    assert patched_files(patch, reference)["a.cu"] == "zero\none\ntwo\nthree\n2\nfive\n"


def test_the_edited_copy_may_have_another_name(reference: Path) -> None:
    patch = write(reference, "--- course/a.cu\t2026\n+++ /tmp/x.cu\t2026\n@@ -2 +2 @@\n-two\n+2\n")
    assert list(patched_files(patch, reference)) == ["a.cu"]


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("", "off.patch changes nothing: write the output of `diff -U1 OLD NEW`"),
        ("--- a.cu\n+++ a.cu\n", "changes nothing"),
        ("@@ -1 +1 @@\n-one\n+1\n", "off.patch:1: `@@ -1 +1 @@` is no head of a hunk: write lines"),
        ("--- a.cu\n+++ a.cu\n@@ 7 @@\n-six\n+6\n", "off.patch:3: `@@ 7 @@` is no head of a hunk"),
        ("--- a.cu\n+++ a.cu\n@@ -1 +1 @@\n-six\n+6\n", "off.patch:3 does not apply"),
        ("--- a.cu\n+++ a.cu\n@@ -1 +1 @@\n-six\n+6\n", "it has no line `six`"),
        ("--- b.cu\n+++ b.cu\n@@ -1 +1 @@\n-six\n+6\n", "but there is no"),
        ("--- a.c\n+++ a.c\n@@ -1 +1 @@\n-six\n+6\n", "off.patch:2: `a.c` is no .cu, .cuh, .h or"),
        ("+++ a.cu\n@@ -1 +1 @@\n-one\n+1\n+++ a.cu\n", "off.patch:5: `a.cu` occurs twice"),
    ],
)
def test_a_patch_that_does_not_apply_says_why(reference: Path, text: str, phrase: str) -> None:
    with pytest.raises(ValueError, match=re.escape(phrase)):
        patched_files(write(reference, text), reference)
