"""What the source says about memory of host code."""

from __future__ import annotations

import pytest

from grader.checks.common.host_memory import appended_hint, fixed_array_hint
from grader.report.evidence import Finding

HOST = """\
void copy(const float* h, float* d, int rows)
{
    MADE
    for (int i = 0; i < rows; ++i)
        FILLED
}
"""


@pytest.mark.parametrize(
    ("made", "filled", "said"),
    [
        ("std::vector<float> v(rows);", "v.push_back(h[i]);", "line 5 appends others behind them"),
        ("std::vector<float> v(rows, 0.0f);", "v.emplace_back(h[i]);", "`v` has `rows` elements"),
        ("std::vector<float> v;", "v.push_back(h[i]);", ""),
        ("std::vector<float> v(rows);", "v[i] = h[i];", ""),
        ("std::vector<float> v(rows); v.clear();", "v.push_back(h[i]);", ""),
    ],
)
def test_a_vector_with_a_length_and_elements_behind_it(made: str, filled: str, said: str) -> None:
    found = appended_hint(HOST.replace("MADE", made).replace("FILLED", filled))
    assert said in found
    assert bool(said) == bool(found)


def test_an_array_of_a_fixed_length_in_a_loop() -> None:
    text = HOST.replace("MADE", "float v[64];").replace("FILLED", "v[i] = h[i];")
    outside = Finding(
        kind="out_of_bounds",
        severity="warning",
        message="an array index is outside the array: `v`",
        hint="",
        file="copy.cu",
        line=5,
        buffer="v",
        tool="host device",
    )
    said = fixed_array_hint(text, outside)
    assert said.startswith("`v` has 64 elements (line 3), and line 5 runs in the loop `i < rows`")
    assert fixed_array_hint(text.replace("float v[64];", ""), outside) == ""
