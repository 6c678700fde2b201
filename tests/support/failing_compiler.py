"""A compiler that prints what a test wants, and fails."""

from __future__ import annotations

from pathlib import Path

from grader.build.compiler import Compiled, Compiler, compile_file


def failing_compiler(folder: Path, says: str) -> Path:
    """Write the compiler, a shell script, into the folder."""
    tool = folder / "compiler"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\nexit 1\n")
    return tool


def compile_with(tool: Path) -> Compiled:
    """Compile an empty file with the script."""
    return compile_file(
        Compiler(
            name="tool",
            kind="test",
            suffix=".cc",
            key=str(tool),
            command=lambda source, include, output: ["/bin/sh", tool.name],
            parts=lambda: (tool,),
        ),
        trampoline='#include "silu.cu"\n',
        file="silu.cu",
        text="",
        header=("silu.h", ""),
        wall_s=20,
    )
