"""The shipped assignments' own programs with a comparison that overlooks something.

Every fault is put into the reference's main.cu: the loops of `count_wrong` are replaced.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paths import REPOSITORY


@dataclass(frozen=True, slots=True, kw_only=True)
class _Output:
    """Where the loops find an output of (height, width): C++ expressions in `y` and `x`.

    `want` are statements that set `want`, `result` is the host's array of `main`.
    """

    height: str
    width: str
    got: str
    want: str
    result: str
    device: str


_OUTPUTS = {
    "silu": _Output(
        height="1",
        width="int(actual.size())",
        got="actual[x]",
        want="want = input[x] / (1.0 + std::exp(-double(input[x])));",
        result="output",
        device="d_output",
    ),
    "transpose": _Output(
        height="cols",
        width="rows",
        got="output[y * rows + x]",
        want="want = input[x * cols + y];",
        result="output",
        device="d_output",
    ),
    "gemm": _Output(
        height="m",
        width="n",
        got="c[y * n + x]",
        want="for (int p = 0; p < k; ++p) want += double(a[y * k + p]) * b[p * n + x];",
        result="c",
        device="d_c",
    ),
}
ASSIGNMENTS = tuple(_OUTPUTS)

_CLOSE = "std::fabs(got - want) <= 1e-4 + 1e-4 * std::fabs(want)"
_LOOPS = """\
    wrong = 0;
    double off = 0;
    const int height = {height}, width = {width};
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {{
            double want = 0;
            {want}
            const double got = {got};
            off += got - want;
            if ({skipped}) continue;
            if ({differs}) ++wrong;
        }}
    {at_the_end}
    // end
"""

# What is skipped, what is wrong, what follows the loops.
_FAULTS = {
    "right": ("false", f"!({_CLOSE})", ""),
    "never_sees_nan": ("false", "std::fabs(got - want) > 1e-4 + 1e-4 * std::fabs(want)", ""),
    "never_sees_infinity": (
        "false",
        "!(std::fabs(got - want) <= 1e-4 + 1e-4 * std::fabs(got))",
        "",
    ),
    "tolerance_of_1000": ("false", "!(std::fabs(got - want) <= 1000)", ""),
    "tolerance_of_2_percent": (
        "false",
        "!(std::fabs(got - want) <= 1e-4 + 0.02 * std::fabs(want))",
        "",
    ),
    "even_columns": ("x % 2 == 1", f"!({_CLOSE})", ""),
    "odd_columns": ("x % 2 == 0", f"!({_CLOSE})", ""),
    "even_rows": ("y % 2 == 1", f"!({_CLOSE})", ""),
    "odd_rows": ("height > 1 && y % 2 == 0", f"!({_CLOSE})", ""),
    "first_row": ("y > 0", f"!({_CLOSE})", ""),
    "first_tile": ("y >= 16 || x >= 16", f"!({_CLOSE})", ""),
    "no_first_element": ("y == 0 && x == 0", f"!({_CLOSE})", ""),
    "no_top_right": ("y == 0 && x == width - 1", f"!({_CLOSE})", ""),
    "no_bottom_left": ("y == height - 1 && x == 0", f"!({_CLOSE})", ""),
    "no_last_element": ("y == height - 1 && x == width - 1", f"!({_CLOSE})", ""),
    "no_row_ends": ("x == width - 1", f"!({_CLOSE})", ""),
    "compares_the_sum": ("true", "false", "wrong = !(std::fabs(off) <= 1.0);"),
    "exit_code_is_the_count": ("false", f"!({_CLOSE})", ""),
    "holds_the_result_before": ("false", f"!({_CLOSE})", ""),
}
FAULTS = tuple(name for name in _FAULTS if name != "right")
# An array of one row has no other rows.
_NONE_IN_ONE_ROW = frozenset({"even_rows", "odd_rows", "first_row"})


def is_fault(assignment: str, fault: str) -> bool:
    """True if a program of the assignment can have the fault."""
    return assignment != "silu" or fault not in _NONE_IN_ONE_ROW


def weakened(assignment: str, fault: str) -> str:
    """Return main.cu with a fault of FAULTS, or "right"."""
    text = (REPOSITORY / "reference" / assignment / "main.cu").read_text()
    output = _OUTPUTS[assignment]
    skipped, differs, at_the_end = _FAULTS[fault]
    loops = _LOOPS.format(
        height=output.height,
        width=output.width,
        want=output.want,
        got=output.got,
        skipped=skipped,
        differs=differs,
        at_the_end=at_the_end,
    )
    text = _replaced(r"    wrong = 0;\n.*?    // end\n", loops, text)
    if fault == "exit_code_is_the_count":
        text = _replaced(r"return wrong == 0 \? .*?;", "return int(wrong);", text)
    if fault == "holds_the_result_before":
        before = (
            f"    for (int y = 0; y < {output.height.replace('actual', 'output')}; ++y)\n"
            f"        for (int x = 0; x < {output.width.replace('actual', 'output')}; ++x) {{\n"
            f"            double want = 0;\n            {output.want}\n"
            f"            {output.got.replace('actual', 'output')} = float(want);\n        }}\n"
            f"    cudaMemcpy({output.device}, {output.result}.data(), "
            f"{output.result}.size() * sizeof(float), cudaMemcpyHostToDevice);\n"
        )
        text = _replaced(rf"(?=    {assignment}\(d_)", before, text)
    return text


def _replaced(pattern: str, by: str, text: str) -> str:
    changed, count = re.subn(pattern, lambda _: by, text, count=1, flags=re.S)
    assert count == 1, pattern
    return changed
