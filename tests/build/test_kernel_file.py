"""Compiler output becomes messages at the student's lines: g++, nvcc and Python's parser."""

from __future__ import annotations

import ctypes
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from paths import HAND_INS, REPOSITORY
from slow import slow_unless

from grader.assignment.libraries import LIBRARIES, allowed_libraries, link_flags
from grader.assignment.reader import read_assignment
from grader.assignment.signature import Signature
from grader.build import diagnostics
from grader.build.artifact import Rejected
from grader.build.compiler import Compiler, compile_file
from grader.build.entry_mismatch import entry_problem, kernel_entry
from grader.build.host_compiler import host_compiler, prepare
from grader.build.kernel_file import build, decide_with_nvcc
from grader.build.nvcc import nvcc_compiler, nvcc_gate
from grader.build.trampoline import trampoline
from grader.emulation.cuda_cpp import features
from grader.report.evidence import BuildEvidence, Diagnostic
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.system import toolchain
from grader.system.toolchain import Tool
from grader.vocabulary import Device


@pytest.fixture(scope="module")
def silu() -> Signature:
    return read_assignment(REPOSITORY / "assignments" / "silu").signature


def compiler_called(name: str) -> Compiler:
    if name == "g++":
        cxx = toolchain.find_cxx()
        assert cxx is not None
        return host_compiler(cxx)
    nvcc = toolchain.find_nvcc()
    if nvcc is None:
        pytest.skip("no nvcc here")
    return nvcc_gate(nvcc)


WANTED = "expected: void silu(const float* input, float* output, int n)"
ENTRIES = [
    ("entry_missing.cu", "silu.cu defines no function `silu`"),
    ("entry_misspelt.cu", "silu.cu defines no function `silu`; did you mean `sliu`?"),
    (
        "entry_with_other_parameters.cu",
        "silu.cu:8: `silu` has a wrong parameter list; found: void silu(int, const float*)",
    ),
    (
        "entry_with_a_wrong_type.cu",
        "silu.cu:8: `silu` has a wrong parameter list; "
        "found: void silu(const double*, double*, int)",
    ),
    (
        "entry_in_a_namespace.cu",
        "silu.cu:9: `silu` is inside a namespace or class; move it out",
    ),
    (
        "entry_static_method.cu",
        "silu.cu:9: `silu` is inside a namespace or class; move it out",
    ),
    ("entry_twice.cu", "silu.cu:8: `silu` is defined more than once, see line 13"),
    ("syntax_error.cu", None),
    ("missing_header.cu", None),
    ("undefined_function.cu", None),
]


@pytest.mark.parametrize("tool", ["g++", "nvcc"])
@pytest.mark.parametrize(("file", "message"), ENTRIES)
def test_the_entry(silu: Signature, tool: str, file: str, message: str | None) -> None:
    text = (HAND_INS / file).read_text()
    if tool == "g++":
        prepared = prepare(SourceFile(path="silu.cu", text=text))
        assert isinstance(prepared, str)
        compiled_text = prepared
    else:
        compiled_text = text
    compiled = compile_file(
        compiler_called(tool),
        trampoline=trampoline(silu, "silu.cu"),
        file="silu.cu",
        text=compiled_text,
        header=("silu.h", silu.header()),
        wall_s=60,
    )
    output = compiled.ended.output if compiled.ended else ""
    found = entry_problem(silu, "silu.cu", text, output)
    assert found == (None if message is None else (message, WANTED))


@pytest.mark.parametrize("tool", ["g++", "nvcc"])
def test_a_students_macros_mean_nothing_to_the_trampoline(silu: Signature, tool: str) -> None:
    text = (HAND_INS / "defines_common_names.cu").read_text()
    prepared = prepare(SourceFile(path="silu.cu", text=text))
    assert isinstance(prepared, str)
    compiled = compile_file(
        compiler_called(tool),
        trampoline=trampoline(silu, "silu.cu"),
        file="silu.cu",
        text=prepared if tool == "g++" else text,
        header=("silu.h", silu.header()),
        wall_s=60,
    )
    assert compiled.library is not None, compiled.evidence.output


KERNEL = "__global__ void silu(const float* a, float* b, int n) {}\n"
LAUNCHER = "void silu(const float* a, float* b, int n) { kernel<<<1, 1>>>(a, b, n); }\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (KERNEL, 1),
        ("/* two\nlines */\n" + KERNEL, 3),
        ('extern "C" ' + KERNEL, 1),
        (KERNEL.replace("void", "void __launch_bounds__(256)"), 1),
        (KERNEL.replace(" void", "\nvoid"), 2),
        (LAUNCHER, None),
        ("// " + KERNEL + LAUNCHER, None),
        (KERNEL.replace("silu", "silu_kernel") + LAUNCHER, None),
        (KERNEL.replace("silu", "kernel") + LAUNCHER, None),
        (KERNEL + LAUNCHER, None),  # two definitions, which the compiler reports
        ('const char* s = "__global__ void silu(";\n' + LAUNCHER, None),
    ],
)
def test_a_kernel_for_an_entry(silu: Signature, text: str, line: int | None) -> None:
    found = kernel_entry(silu, "silu.cu", text)
    if line is None:
        assert found is None
    else:
        assert found is not None
        assert found[0].startswith(f"silu.cu:{line}: `silu` is a __global__ kernel")


GCC = """\
In file included from trampoline.cpp:7:
silu.cu:6:21: warning: unused variable 'x' [-Wunused-variable]
silu.cu: In function 'void silu_kernel()':
silu.cu:7:5: error: expected ',' or ';' before 'output'
    7 |     output[i] = x;
silu.cu:7:5: error: expected ',' or ';' before 'output'
/usr/include/c++/12/vector:60:1: error: something in a header
"""
EDG = """\
silu.cu(7): error: expected a ";"
          output[i] = x;
          ^
silu.cu(9): warning #177-D: variable "y" was declared but never referenced
silu.cu(11): catastrophic error: cannot open source file "mine.h"
ptxas error   : Entry function 'k' uses too much shared data (0x1c000 bytes, 0xc000 max)
"""


def test_the_messages_of_gcc() -> None:
    first, header, warning = diagnostics.parse(GCC, "silu.cu")
    assert (first.line, first.column, first.severity) == (7, 5, "error")
    assert first.message == "expected ',' or ';' before 'output'"
    assert (header.line, header.message) == (None, "something in a header")
    assert (warning.line, warning.severity) == (6, "warning")


# What g++ prints around an error in a template, and in a call of one.
TEMPLATE = """\
v4.cu: In instantiation of ‘void kernel(const float*) [with int BM = 96; bool WIDE = true]’:
v4.cu:209:33:   required from here
v4.cu:122:27: error: static assertion failed: whole warps
  122 |     static_assert(BM % 64 == 0, "whole warps");
v4.cu:122:27: note: the comparison reduces to ‘(32 == 0)’
v4.cu:87:14: error: no matching function for call to ‘load4(const float*&)’
v4.cu:47:17: note:   template argument deduction/substitution failed:
v4.cu:87:14: note:   couldn’t deduce template parameter ‘WIDE’
v4.cu:90:14: error: too few arguments to function ‘void other(int)’
"""


def test_the_notes_of_gcc_say_why() -> None:
    failed, call, other = diagnostics.parse(TEMPLATE, "v4.cu")
    assert failed.message == (
        "static assertion failed: whole warps (32 == 0 is false, for BM = 96, as line 209 uses it)"
    )
    assert call.message.endswith(
        "the template argument `WIDE` is missing, and no parameter shows it"
    )
    assert "name<value>(arguments)" in diagnostics.advice(call.message)
    assert other.message == "too few arguments to function ‘void other(int)’"


def test_a_function_of_nvccs_headers_has_its_plain_name() -> None:
    name = "_ZN44_INTERNAL_1e25e576_13_trampoline_cu_ff77f26d15__shfl_xor_syncE1?1?1?1?"
    message = f'calling a __device__ function("{name}") from a __host__ function("sum")'
    (found,) = diagnostics.parse(f"silu.cu(7): error: {message} is not allowed", "silu.cu")
    assert 'calling a __device__ function("__shfl_xor_sync") from a' in found.message
    assert "write `__device__` before" in diagnostics.advice(found.message)


def test_too_much_shared_memory_names_the_array_and_its_line() -> None:
    text = "\n__global__ void k()\n{\n    __shared__ float tile[128][128];\n}\n"
    message = (
        "ptxas error   : Entry function '_Z1kv' uses too much shared data "
        "(0x10000 bytes, 0xc000 max)"
    )
    (found,) = diagnostics.parse(message, "silu.cu", text)
    assert found.message == "`tile`: 65,536 bytes of shared memory, 49,152 allowed"
    assert found.line == 4
    assert "smaller tiles" in diagnostics.advice(found.message)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("‘grader_type_As’ was not declared", "‘As’ was not declared"),
        (
            "cannot convert ‘grader_type_As’ {aka ‘float [16][16]’} to ‘float’",
            "cannot convert ‘float [16][16]’ to ‘float’",
        ),
        (
            "size of array ‘grader_type_tile’ is not constant",
            "size of array ‘tile’ is not constant",
        ),
    ],
)
def test_a_shared_variable_has_the_students_name(message: str, shown: str) -> None:
    (found,) = diagnostics.parse(f"silu.cu:7:3: error: {message}", "silu.cu")
    assert found.message == shown


def test_a_host_function_in_a_kernel_names_what_to_use_and_no_flag() -> None:
    message = (
        'silu.cu(7): error: calling a constexpr __host__ function("max") from a __global__ '
        "function(\"k\") is not allowed. The experimental flag '--expt-relaxed-constexpr' can be "
        "used to allow this."
    )
    (found,) = diagnostics.parse(message, "silu.cu")
    assert found.message.endswith("is not allowed.")
    assert "fmaxf" in diagnostics.advice(found.message)


def test_the_messages_of_nvcc() -> None:
    found = [(d.line, d.severity, d.message[:22]) for d in diagnostics.parse(EDG, "silu.cu")]
    assert found == [
        (7, "error", 'expected a ";"'),
        (11, "error", "cannot open source fil"),
        (None, "error", "the kernel's `__shared"),
        (9, "warning", 'variable "y" was decla'),
    ]


def test_a_column_in_a_line_that_was_rewritten_is_not_reported() -> None:
    output = "silu.cu:1:9: error: one\nsilu.cu:2:112: error: two\n"
    text = "int i;\n(::grader::Launch(1, 256))\n"
    found = diagnostics.parse(output, "silu.cu", text)
    assert [(one.line, one.column) for one in found] == [(1, 9), (2, None)]


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            "invalid operands of types ‘void(int)’ and ‘int’ to binary ‘operator<<’",
            "three brackets",
        ),
        ("a host function call cannot be configured", "`__global__` before"),
        ("a __global__ function call must be configured", "kernel<<<blocks"),
        (
            'calling a __host__ function("sig(float)") from a __global__ function("k") is not '
            "allowed",
            "`__device__`",
        ),
        (
            'calling a __host__ function("std::basic_ostream<char>::operator <<(int)") from a '
            '__global__ function("k") is not allowed',
            "printf",
        ),
        ("cannot convert ‘float’ to ‘const float*’", "each argument"),
        ("silu.cu:7: expected ‘,’ or ‘;’ before ‘output’", "a semicolon or bracket"),
        ('silu.cu:7: expected a ";"', "a semicolon or bracket"),
        ('silu.cu:7: expected a ")"', "a semicolon or bracket"),
        ("silu.cu:2: mine.h: No such file or directory", "only this file"),
        ('silu.cu:2: cannot open source file "mine.h"', "only this file"),
        ("silu.cu:2: nvfunctional: No such file or directory", "this machine lacks"),
        ('silu.cu:2: cannot open source file "cuda/annotated_ptr"', "this machine lacks"),
        ("silu.cu:2: ‘x’ was not declared in this scope", "misspelt"),
        ('silu.cu:2: identifier "x" is undefined', "misspelt"),
        ("silu.cu:2: division by zero", ""),
    ],
)
def test_advice(message: str, advice: str) -> None:
    found = diagnostics.advice(message)
    assert found.startswith(advice) if advice in ("", "a semicolon or bracket") else advice in found
    assert bool(found) == bool(advice)


WHERE = """
extern "C" __attribute__((visibility("default"))) const char* where() { return __FILE__; }
"""


def test_file_names_in_a_library_are_the_students(silu: Signature) -> None:
    prepared = prepare(SourceFile(path="silu.cu", text=(HAND_INS / "right.cu").read_text() + WHERE))
    assert isinstance(prepared, str)
    compiled = compile_file(
        compiler_called("g++"),
        trampoline=trampoline(silu, "silu.cu"),
        file="silu.cu",
        text=prepared,
        header=("silu.h", silu.header()),
        wall_s=60,
    )
    assert compiled.library is not None
    where = ctypes.CDLL(str(compiled.library)).where
    where.restype = ctypes.c_char_p
    assert where() == b"silu.cu"


def test_a_library_that_is_forbidden_on_a_gpu_is_no_way_out() -> None:
    for text, library in (
        ("#include <cublas_v2.h>\ncublasHandle_t handle;\n", "cuBLAS"),
        ("#include <thrust/sort.h>\n", "Thrust"),
    ):
        found = prepare(SourceFile(path="silu.cu", text=text))
        assert isinstance(found, Rejected)
        assert found.verdict is Verdict.NOT_MEASURED
        assert library in found.message
        assert "by hand may not use it" in found.hint
    found = prepare(SourceFile(path="silu.cu", text="#include <surface_functions.h>\n"))
    assert isinstance(found, Rejected)
    assert found.hint == "grade it on a machine with a GPU"


def test_an_emulated_library_that_no_spec_names_is_said_once() -> None:
    text = "#include <cub/cub.cuh>\nusing R = cub::BlockReduce<int, 32>;\ncudaSurfaceObject_t s;\n"
    found = prepare(SourceFile(path="silu.cu", text=text))
    assert isinstance(found, Rejected)
    assert found.message == (
        "silu.cu:1 uses the CUB library, which runs without a GPU only if the assignment allows it."
    )
    assert [(one.line, one.message[:12]) for one in found.evidence.diagnostics] == [
        (1, "uses the CUB"),
        (3, "uses surface"),
    ]


@pytest.mark.parametrize(
    ("text", "allowed", "verdict", "phrase"),
    [
        (
            "#include <cublas_v2.h>",
            frozenset(),
            Verdict.FORBIDDEN,
            "uses the cuBLAS library, which",
        ),
        ("#include <cudnn.h>", frozenset({"cublas"}), Verdict.FORBIDDEN, "the cuDNN library"),
        ("void f() { cub::a(); }", frozenset({"cublas"}), Verdict.FORBIDDEN, "the CUB library"),
        (
            "#include <cublas_v2.h>\ncublasHandle_t h;",
            frozenset({"cublas"}),
            Verdict.NOT_MEASURED,
            "only a GPU",
        ),
        ("#include <cub/agent.cuh>", frozenset({"cub"}), Verdict.NOT_MEASURED, "only a GPU"),
        ("void f() { thrust::unique(); }", frozenset({"thrust"}), Verdict.NOT_MEASURED, "a GPU"),
        ("cudaSurfaceObject_t s;", frozenset(), Verdict.NOT_MEASURED, "only a GPU"),
    ],
)
def test_a_spec_decides_on_libraries_without_a_gpu(
    text: str, allowed: frozenset[str], verdict: Verdict, phrase: str
) -> None:
    found = prepare(SourceFile(path="silu.cu", text=f"{text}\n"), allowed=allowed)
    assert isinstance(found, Rejected)
    assert found.verdict is verdict
    assert phrase in found.message
    assert ("by hand" in found.hint) == (verdict is Verdict.FORBIDDEN)


def test_an_allowed_library_runs_as_far_as_the_emulation_has_it() -> None:
    text = "#include <cub/cub.cuh>\nvoid f() { using R = cub::BlockReduce<int, 32>; }\n"
    assert prepare(SourceFile(path="silu.cu", text=text), allowed=frozenset({"cub"})) == text
    random = "#include <curand_kernel.h>\n__device__ curandState state;\n"
    assert isinstance(prepare(SourceFile(path="silu.cu", text=random)), str)


def test_what_is_declared_by_hand_is_left_to_the_linker() -> None:
    text = "typedef struct cublasContext* cublasHandle_t;\ncublasHandle_t h;\n"
    assert prepare(SourceFile(path="silu.cu", text=text)) == text


def test_an_include_that_nothing_uses_needs_no_gpu() -> None:
    assert isinstance(prepare(SourceFile(path="silu.cu", text="#include <cublas_v2.h>\n")), str)


def test_every_library_of_a_spec_is_known_to_the_emulation() -> None:
    assert set(LIBRARIES.values()) <= set(features._HEADERS.values())


def test_nvcc_links_with_allowed_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "nvcc_link_flags", lambda _: ())
    folder = tmp_path / "silu"
    shutil.copytree(REPOSITORY / "assignments" / "silu", folder)
    spec = folder / "assignment.toml"
    rules = 'rules = { libraries = ["thrust", "cublas"] }\n\n[kernels.tiers]'
    spec.write_text(spec.read_text().replace("[kernels.tiers]", rules, 1))
    assignment = read_assignment(folder)
    allowed = allowed_libraries(assignment, "silu.cu")
    assert allowed == frozenset({"thrust", "cublas", "cub"})
    assert allowed_libraries(assignment, "other.cu") is None
    nvcc = Tool(name="nvcc", path=Path("nvcc"), version="0")
    for compiler in (
        nvcc_gate(nvcc, links=link_flags(allowed)),
        nvcc_compiler(nvcc, (9, 0), link_flags(allowed)),
    ):
        command = compiler.command(Path("a.cu"), Path("b"), Path("c.so"))
        assert "-lcublas" in command
        assert "-lthrust" not in command
    assert nvcc_gate(nvcc, links=()).key != nvcc_gate(nvcc, links=link_flags(allowed)).key


@pytest.mark.parametrize(
    ("text", "line", "message", "wins"),
    [
        ("#include <surface_functions.h>\n", 3, 'expected a ";"', True),
        ("#include <surface_functions.h>\n", None, "silu.cu defines no function `silu`", True),
        ("#include <surface_functions.h>\n", None, "ptxas fatal: unknown", False),
        ("#include <cutlass/a.h>\n", 1, "cutlass/a.h: No such file or directory", False),
        ("#include <cutlass/a.h>\n", 1, 'cannot open source file "cutlass/a.h"', False),
        ("auto c = cg::this_cluster();\n", 1, "no member this_cluster", False),
        ("int f();\n", 3, 'expected a ";"', False),  # g++'s message
    ],
)
def test_a_mistake_is_one_on_a_machine_that_could_not_run_the_file(
    text: str, line: int | None, message: str, wins: bool
) -> None:
    """Only a missing header, or code for a newer GPU than the gate's, leaves it undecided."""
    ours = prepare(SourceFile(path="silu.cu", text=text))
    found = Diagnostic(file="silu.cu", line=line, severity="error", message=message)
    evidence = BuildEvidence(tool="nvcc", cached=False, diagnostics=(found,), diagnostics_total=1)
    theirs = Rejected(
        verdict=Verdict.COMPILE_ERROR,
        message=message if message.startswith("silu.cu") else f"silu.cu: {message}",
        evidence=evidence,
    )
    if isinstance(ours, str):
        ours = replace(theirs, message="g++ says so")
    assert decide_with_nvcc(ours, theirs, "silu.cu") is (theirs if wins else ours)


# Files that only a GPU machine would accept leave no points pending.
ONE_COMPILER_ONLY = {
    "an #error": "#ifndef __NVCC_DIAG_PRAGMA_SUPPORT__\n#error not here\n#endif\n",
    "a section of the linker's": '__attribute__((section(".symtab"))) int odd = 1;\n',
}


@pytest.mark.parametrize("name", slow_unless({"an #error"}.__contains__, ONE_COMPILER_ONLY))
def test_a_file_for_one_compiler_is_a_compile_error(name: str, tmp_path: Path) -> None:
    compiler_called("nvcc")  # skips without it
    text = ONE_COMPILER_ONLY[name] + 'extern "C" void silu(const float*, float*, int) {}\n'
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    built = build(
        assignment, SourceFile(path="silu.cu", text=text), Device.CPU, architecture=None
    )  # fmt: skip
    assert isinstance(built, Rejected)
    assert built.verdict is Verdict.COMPILE_ERROR, built.message


@pytest.mark.parametrize(
    ("sample", "phrase"),
    [
        ("kernel-without-global", "silu.cu:12: a host function call cannot be configured"),
        ("helper-without-device", 'silu.cu:9: calling a __host__ function("sigmoid<float>")'),
    ],
)
def test_a_forgotten_mark_is_a_compile_error_without_nvcc(
    sample: str, phrase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)
    folder = REPOSITORY / "reference" / "silu" / "samples" / "compile_error" / sample
    text = (folder / "silu.cu").read_text()
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    built = build(
        assignment, SourceFile(path="silu.cu", text=text), Device.CPU, architecture=None
    )  # fmt: skip
    assert isinstance(built, Rejected)
    assert built.verdict is Verdict.COMPILE_ERROR
    assert built.message.startswith(phrase)
    assert built.hint
    assert built.evidence.diagnostics[0].line == int(phrase.split(":")[1])


@pytest.mark.parametrize("driver", ["g++", "c++", "g++-13", "x86_64-linux-gnu-g++-14"])
def test_a_compilers_driver_is_known_by_any_of_its_names(driver: str) -> None:
    said = f"{driver}: fatal error: Killed signal terminated program cc1plus"
    (found,) = diagnostics.parse(said, "silu.cu")
    assert (found.severity, found.line) == ("error", None)
    assert found.message == "Killed signal terminated program cc1plus"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("for (int p = 0; p < n; ++p) {\n  float sum = p;\n  }\nint z = 0;\nx[0] = sum;", "line 3"),
        ("for (int sum = 0; sum < n; ++sum) z += sum;\nx[0] = sum;", "line 2"),
        ("x[0] = sum;", ""),
        ("z = 1;\n}\nvoid other() {\n  float sum = 1;\n}\nvoid g() {\nx[0] = sum;", ""),
    ],
)
def test_a_name_of_a_block_that_has_ended(body: str, words: str) -> None:
    text = f"void f(float* x, int n) {{\n{body}\n}}\n"
    line = text[: text.rindex("x[0]")].count("\n") + 1
    said = f"silu.cu:{line}:8: error: ‘sum’ was not declared in this scope"
    (found,) = diagnostics.parse(said, "silu.cu", text)
    assert found.message.partition("scope")[2].startswith(f": {words}" if words else words)
    assert ("ends with the block" in diagnostics.advice(found.message)) == bool(words)


@pytest.mark.parametrize(
    ("message", "shown", "advice"),
    [
        (
            "typedef ‘grader_type_As’ is initialized (use ‘decltype’ instead)",
            "a `__shared__` variable cannot have an initial value: `As`",
            "let the threads store it",
        ),
        (
            "‘As’ was not declared in this scope; did you mean ‘grader_site_As’?",
            "‘As’ was not declared in this scope",
            "misspelt",
        ),
        (
            "‘cudaGridDependencySynchronize’ was not declared in this scope",
            "‘cudaGridDependencySynchronize’ was not declared in this scope",
            "sm_90",
        ),
        (
            "ambiguous overload for ‘operator*’ (operand types are ‘const float’ and ‘__half’)",
            "ambiguous overload",
            "__half2float(x)",
        ),
        (
            "no match for ‘operator*’ (operand types are ‘const unsigned int’ and ‘const uint3’)",
            "no match",
            "add .x, .y or .z",
        ),
        (
            "conversion from ‘const float’ to non-scalar type ‘const float4’ requested",
            "conversion",
            "reinterpret_cast<const float4*>(pointer)[i]",
        ),
    ],
)
def test_what_to_do_about_a_message(message: str, shown: str, advice: str) -> None:
    (found,) = diagnostics.parse(f"silu.cu:7:3: error: {message}", "silu.cu")
    assert found.message.startswith(shown)
    assert "did you mean" not in found.message
    assert advice in diagnostics.advice(found.message)
