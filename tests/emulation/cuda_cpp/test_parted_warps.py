"""Barriers in branches that threads pass by, as the source shows them."""

from __future__ import annotations

import time

import pytest

from grader.emulation.cuda_cpp.parted_warps import branches_by_thread, passes_by

HEAD = "__global__ void k(float* x, int n)\n{\n    int i = threadIdx.x;\n"
LINE = HEAD.count("\n") + 1


@pytest.mark.parametrize(
    ("body", "line", "passes"),
    [
        ("for (int h = 8; h > 0; h /= 2) {\nif (i < h) {\n__syncthreads();\n}\n}", 2, True),
        ("for (int h = 8; h > 0; h /= 2)\nif (i < h) __syncthreads();", 1, True),
        ("if (i < n) {\n__syncthreads();\n}\nx[i] = 0;", 1, True),
        ("if (i < n) {\nx[i] = 1;\n} else {\n__syncthreads();\n}\nx[i] = 0;", 3, True),
        ("if (i < n) {\n__syncthreads();\nx[i] = 0;\n}", 1, False),
        ("if (i < n) {\nif (i < 4) {\n__syncthreads();\n}\n}", 2, False),
        ("if (i >= n) return;\n__syncthreads();", 1, False),
        ("if (i < n) {\n__syncthreads();\n}\nelse return;\nx[i] = 0;", 1, False),
        ("for (int j = i; j < n; j += 32) {\n__syncthreads();\n}\nx[i] = 0;", 1, False),
        ("__syncthreads();\nx[i] = 0;", 0, False),
        ("// if (i < n) {\n__syncthreads();\nx[i] = 0;  // }", 1, False),
        ("x[i] = 0;", 0, False),
    ],
)
def test_a_branch_is_passed_by_where_something_follows(body: str, line: int, passes: bool) -> None:
    assert passes_by(f"{HEAD}{body}\n}}\n", LINE + line) is passes


@pytest.mark.parametrize("unit", ["{", "(", ")", "if(a){", "/*", "}{", "__syncthreads();"])
def test_hostile_text_takes_little_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit)) + "\n__syncthreads();\n"
    began_s = time.process_time()
    passes_by(text, 2)
    assert time.process_time() - began_s < 5


@pytest.mark.parametrize(
    ("branch", "by_thread"),
    [
        ("if (threadIdx.x < 32)", True),
        ("if (lane == 0)", True),
        ("if (n > 5)", False),
        ("for (; n > 5; --n)", False),
    ],
)
def test_a_barrier_in_a_branch_of_some_threads(branch: str, by_thread: bool) -> None:
    for text in (f"{branch} {{\n__syncthreads();\n}}", f"{branch}\n__syncthreads();"):
        assert branches_by_thread(f"float f() {{\n{text}\nreturn 0;\n}}\n", 3) == by_thread
