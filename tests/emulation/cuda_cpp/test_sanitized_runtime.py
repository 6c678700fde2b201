"""The runtime itself, under the compiler's sanitizers, in the programs that check its results.

Their reports would come from the student's hooks, of which the runtime has its own. So undefined
behaviour traps. Stacks are left out, because the runtime switches between its own.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from grader.emulation.cuda_cpp import Mode
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.compile_commands import HEADER, OBJECT, runtime_command
from grader.emulation.cuda_cpp.standalone import build, run

HERE = Path(__file__).parent
PROGRAMS = (
    *("programs/atomics", "programs/grids", "programs/host_memory", "programs/launches"),
    *("programs/shared_forms", "programs/symbol_addresses", "programs/warps"),
    *("covered/graph_replay", "covered/grid_sync", "covered/kernel_malloc", "covered/textures"),
    *("covered/launches_by_kernels", "covered/named_barriers", "covered/ptx_copies"),
    *("faults/host_loop_one_row_too_far", "faults/overlapping_bytes"),
    *("faults/barrier_in_a_divergent_loop", "faults/pinned_memory_reused_before_the_copy_ends"),
)
SANITIZERS = (
    "-fsanitize=address,undefined",
    "-fsanitize-undefined-trap-on-error",
    "--param=asan-stack=0",
)


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the checked runtime with sanitizers, and a compiler that links their library."""
    folder = tmp_path_factory.mktemp("sanitized")
    command = runtime_command(compiler="g++", mode=Mode.CHECKED, output=folder / OBJECT)
    subprocess.run(
        ["-O1" if word == "-O2" else word for word in [*command, *SANITIZERS]], check=True
    )
    shutil.copy(runtime_object(Mode.CHECKED).with_name(HEADER), folder / HEADER)
    compiler = folder / "g++"
    # First of all libraries.
    compiler.write_text('#!/bin/sh\nexec g++ -Wl,--no-as-needed -lasan "$@"\n')
    compiler.chmod(0o755)
    return folder / OBJECT, compiler


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_runtime_has_no_memory_error_and_no_undefined_behaviour(
    name: str, sanitized: tuple[Path, Path], tmp_path: Path
) -> None:
    runtime, compiler = sanitized
    program = build(
        HERE / f"{name}.cu",
        mode=Mode.CHECKED,
        folder=tmp_path,
        runtime=runtime,
        compiler=str(compiler),
    )
    assert program.executable, program.diagnostics
    result = run(program, timeout_s=60, capture=True)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.report.complete
