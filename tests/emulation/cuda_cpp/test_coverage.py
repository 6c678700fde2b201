"""Programs in the style of samples and textbooks: right as they are, and with one planted fault.

Each file of `covered/` is two programs. As it is, it is right in every order of threads. With
the macro PLANTED it has the fault of its `// FAULT kind` line, and no other finding. The first
lines may name the language (`// std: c++20`) and nvcc's options; `benchmarks/host_coverage.py`
compares the outputs of the right programs with a GPU's.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from slow import slow_unless

from grader.emulation.cuda_cpp import INCLUDE_DIR, Mode, rewrite, without_unused_includes
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.coverage import ROWS, Row, State, table
from grader.emulation.cuda_cpp.printing import print_report
from grader.emulation.cuda_cpp.standalone import Program, Run, build, run

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "covered").glob("*.cu"))
QUICK = {"grid_sync", "pipeline_primitives"}
FAULT = re.compile(r"// FAULT (\w+)$")
STANDARD = re.compile(r"^// std: (\S+)$", re.MULTILINE)


def compiled(source: Path, folder: Path, *, mode: Mode = Mode.CHECKED, planted: bool) -> Program:
    standard = STANDARD.search(source.read_text())
    program = build(
        source,
        mode=mode,
        folder=folder,
        runtime=runtime_object(mode),
        defines=["PLANTED"] if planted else [],
        standard=standard[1] if standard else "c++17",
    )
    assert program.executable, (program.unsupported, program.diagnostics)
    return program


def found(result: Run, marked: int) -> set[tuple[str, str, int | None]]:
    """Return severity, kind and line of each finding; of a race's two lines the marked one."""
    return {
        (f.severity, f.kind, f.other_line if f.other_line == marked else f.line)
        for f in result.report.findings
    }


def fault_of(source: Path) -> tuple[str, int]:
    lines = source.read_text().splitlines()
    marks = [(m[1], n) for n, line in enumerate(lines, 1) if (m := FAULT.search(line))]
    assert len(marks) == 1, f"{source.name} marks {len(marks)} faults"
    return marks[0]


def cases() -> list[object]:
    return slow_unless(lambda path: path.stem in QUICK, PROGRAMS)


@pytest.mark.parametrize("source", cases(), ids=lambda path: path.stem)
def test_right_program(source: Path, tmp_path: Path) -> None:
    program = compiled(source, tmp_path, planted=False)
    outputs = set()
    for schedule in ("forward", "reverse", "random"):
        settings = f"schedule={schedule} seed=3"
        result = run(program, settings=settings, timeout_s=30, capture=True)
        assert result.exit_code == 0, (result.stdout, result.stderr)
        assert found(result, 0) == set(), schedule
        outputs.add(result.stdout)
    assert len(outputs) == 1
    assert outputs != {""}


@pytest.mark.slow
def test_counters_know_the_kernels_of_a_library(tmp_path: Path) -> None:
    source = HERE / "covered" / "thrust_vectors.cu"
    report = run(compiled(source, tmp_path, planted=False), timeout_s=30, capture=True).report
    own = {kernel.kernel for kernel in report.kernels if not kernel.of_library}
    assert own == {"reverse"} < {kernel.kernel for kernel in report.kernels}
    shown = io.StringIO()
    print_report(report, counters=True, to=shown)
    assert "launch; a library's accesses are not counted" in shown.getvalue()
    assert "grader_host" not in shown.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_fast_build_computes_the_same(source: Path, tmp_path: Path) -> None:
    outputs = set()
    for mode in Mode:
        folder = tmp_path / mode.value
        folder.mkdir()
        program = compiled(source, folder, mode=mode, planted=False)
        outputs.add(run(program, timeout_s=30, capture=True).stdout)
    assert len(outputs) == 1


@pytest.mark.parametrize("source", cases(), ids=lambda path: path.stem)
def test_planted_fault(source: Path, tmp_path: Path) -> None:
    kind, line = fault_of(source)
    result = run(compiled(source, tmp_path, planted=True), timeout_s=30, capture=True)
    assert found(result, line) == {("error", kind, line)}


def test_a_read_before_an_asynchronous_copy_has_ended_says_so(tmp_path: Path) -> None:
    source = HERE / "covered" / "ptx_copies.cu"
    result = run(compiled(source, tmp_path, planted=True), timeout_s=20, capture=True)
    assert {one.message for one in result.report.findings} == {
        "shared memory is read before an asynchronous copy into it has ended"
    }


def test_every_supported_row_of_the_table_names_programs_that_exist() -> None:
    there = {path.stem for path in HERE.rglob("*.cu")}
    for row in ROWS:
        assert bool(row.programs) == (row.state is not State.NOT), row.subject
        assert set(row.programs) <= there, row.subject


def test_every_program_is_in_a_row() -> None:
    assert {path.stem for path in PROGRAMS} <= {name for row in ROWS for name in row.programs}


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.state is State.NOT], ids=lambda row: row.subject
)
def test_what_is_not_supported_is_said_with_its_line(row: Row) -> None:
    rewritten = rewrite(f"\n{row.refused}\n", file="k.cu")
    assert [use.message for use in rewritten.unsupported][:1], row.refused
    assert rewritten.unsupported[0].message.startswith("k.cu:2 uses ")


def test_an_include_alone_is_no_use_of_a_library() -> None:
    header = rewrite("#include <cublas_v2.h>", file="k.cu").unsupported
    called = rewrite("#include <curand.h>\ncurandGenerator_t g;", file="k.cu").unsupported
    left = without_unused_includes((*header, *called))
    assert {(use.feature, use.line) for use in left} == {
        ("the cuRAND library", 1),
        ("the cuRAND library", 2),
    }
    assert (INCLUDE_DIR / "cublas_v2.h").is_file()


def test_the_documentation_has_the_table() -> None:
    page = (HERE.parents[2] / "docs" / "host-coverage.md").read_text()
    assert table() in page
