"""What is kept of a compilation: what the compiler wrote, and nothing that it did not."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.build.compiler import Compiled, Compiler, compile_file, failure
from grader.errors import GraderError


def compiled_by(script: str, dump: str = "", parts: tuple[Path, ...] = ()) -> Compiled:
    """Compile with a shell script that gets the source's and the product's names."""
    return compile_file(
        Compiler(
            name="tool",
            kind="test",
            suffix=".cc",
            key=script,
            command=lambda source, include, output: [
                *("/bin/sh", "-c", script, "tool", str(source), str(output))
            ],
            dump=dump,
            parts=lambda: parts,
        ),
        trampoline="first",
        file="silu.cu",
        text="the student's text",
        header=("silu.h", ""),
        wall_s=20,
    )


def test_the_product_and_what_lies_beside_it_are_kept() -> None:
    library = compiled_by('cat "$1" > "$2"; echo calls > dump', dump="dump").library
    assert library is not None
    assert library.read_text() == "first"
    assert library.with_name("dump").read_text() == "calls\n"


def test_a_compiler_that_writes_nothing_has_compiled_nothing() -> None:
    with pytest.raises(GraderError, match="tool ended without an error and wrote no kernel"):
        compiled_by("true")


def test_the_source_is_no_product() -> None:
    """The last source has the name that a student chose."""
    library = compiled_by('echo "$2" > "$2"').library
    assert library is not None
    assert library.read_text() == "kernel.so\n"


def test_a_large_part_is_shared_and_nobody_can_change_it(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_text("small")
    large.write_text("x" * (5 << 20))
    parts = (small, large)
    for script in ('cat small large > "$2"', 'echo y > large || cat small large > "$2"'):
        library = compiled_by(script, parts=parts).library
        assert library is not None
        assert library.read_text() == small.read_text() + large.read_text()


def test_a_part_is_not_replaced_by_a_students_file(tmp_path: Path) -> None:
    part = tmp_path / "silu.cu"
    part.write_text("x" * (5 << 20))
    library = compiled_by('cat silu.cu > "$2"', parts=(part,)).library
    assert library is not None
    assert library.read_text() == part.read_text()


@pytest.mark.parametrize(
    ("says", "kept"),
    [
        ("silu.cu:3:5: error: expected `;`", True),
        ("silu.cu(3): error: expected a `;`", True),
        ("silu.cu:1:10: fatal error: cub.h: No such file or directory", False),
        ("g++: fatal error: Killed signal terminated program cc1plus", False),
        ("header.h:3:5: error: expected `;`", False),
        ("", False),
    ],
)
def test_only_errors_in_the_file_are_kept(says: str, kept: bool) -> None:
    """What the machine may have caused is tried again."""
    first, second = (compiled_by(f"echo '{says}'; exit 1") for _ in range(2))
    assert (first.library, second.library) == (None, None)
    assert (first.evidence.cached, second.evidence.cached) == (False, kept)
    assert first.evidence.diagnostics == second.evidence.diagnostics
    assert second.ended is not None and not second.ended.ok
    assert failure(first, "wrong").verdict is failure(second, "wrong").verdict


def test_a_compiler_that_is_killed_leaves_nothing_although_it_told_an_error() -> None:
    killed = "echo 'silu.cu:3:5: error: no'; kill -9 $$"
    assert [compiled_by(killed).evidence.cached for _ in range(2)] == [False, False]
