"""Local variables without a value: which are marked, and which reads are found, at which line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.emulation.cuda_cpp import Mode, rewrite
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.standalone import build, run

# Statements of a function, and the names in them that have no value.
DECLARED = {
    "float sum;": ["sum"],
    "float acc[4][N + 1], other[2];": ["acc", "other"],
    "unsigned long long a, b = 1, c[3];": ["a", "c"],
    "alignas(16) float tile[4];": ["tile"],
    "volatile int v;": ["v"],
    "ns::Type held;": ["held"],
    "if (x) { int inner; }": ["inner"],
    "auto f = [&](int k) { float in_lambda; };": ["in_lambda"],
    "float zero = 0, acc[4] = {}, other{1}, built(2);": [],
    "return x; delete y; goto end; else z;": [],
    "__shared__ float tile[32];": [],
    "static int kept; extern int elsewhere;": [],
    "struct S { float member; };": [],
    "x = y[3]; call(a, b); a * b;": [],
    "for (int i = 0; i < n; ++i) x[i] = 0;": [],
    "\n#define DECLARE float in_macro;\n": [],
}


@pytest.mark.parametrize("statements", DECLARED)
def test_declarations_without_a_value_are_marked(statements: str) -> None:
    text = f"int file_scope;\nvoid f(float* x) {{ {statements} }}\n"
    marked = rewrite(text, file="f.cu", mark_locals=True).text
    assert re.findall(r'::grader::local\("(\w+)", \1\);', marked) == DECLARED[statements]
    assert "::grader::local" not in rewrite(text, file="f.cu").text


PROGRAM = """
struct Value { float x; Value() : x(1) {} };
__device__ void add(float* acc, float v) { acc[1] += v; }  // FAULT
__global__ void work(const float* in, float* out, int n) {
    float sum, most, given, acc[4], passed[2], unread[4];
    float4 vector;
    Value constructed;
    int counts[4];
    given = in[0];
    for (int i = 0; i < n; ++i) sum += in[i];  // FAULT
    for (int i = 0; i < n; ++i) most = fmaxf(most, in[i]);  // FAULT
    for (int i = 0; i < n; ++i) acc[i % 2] += in[i];  // FAULT
    for (int i = 0; i < n; ++i) counts[i % 4]++;  // FAULT
    add(passed, given);
    vector.x = given;
    unread[0] = 1;
    out[0] = sum + most + acc[0] + counts[0] + passed[1] + constructed.x + vector.x + unread[0];
    out[1] = vector.y;  // FAULT
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 64);
    cudaMemset(in, 0, 64);
    cudaMalloc(&out, 8);
    work<<<1, 1>>>(in, out, 16);
    cudaFree(in);
    cudaFree(out);
}
"""


def test_the_first_read_of_each_is_found_at_its_line(tmp_path: Path) -> None:
    source = tmp_path / "locals.cu"
    source.write_text(PROGRAM)
    folder = tmp_path / "build"
    folder.mkdir()
    mode = Mode.CHECKED
    runtime = runtime_object(mode)
    program = build(source, mode=mode, folder=folder, runtime=runtime, mark_locals=True)
    assert program.executable, program.diagnostics
    result = run(program, timeout_s=20, capture=True)
    assert (result.exit_code, result.report.faults) == (0, ())
    found = [(f.severity, f.kind, f.line, f.buffer) for f in result.report.findings]
    lines = [i for i, line in enumerate(PROGRAM.splitlines(), 1) if "// FAULT" in line]
    names = ["passed", "sum", "most", "acc", "counts", "vector"]
    expected = zip(lines, names, strict=True)
    assert found == [("error", "uninitialized", line, name) for line, name in expected]
