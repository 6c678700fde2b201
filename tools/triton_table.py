"""Make the table of operations in docs/triton.md: what the executor of Triton's IR can execute.

    python tools/triton_table.py

The table comes from the code alone; `tests/docs/test_triton_table.py` holds the page to it.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "triton.md"
START, END = "<!-- table: made by tools/triton_table.py -->", "<!-- end of table -->"
sys.path[:0] = [str(REPOSITORY)]

from grader.emulation.triton_ir import execution, libdevice

_DIALECTS = {
    "arith": "arithmetic",
    "gpu": "barriers",
    "llvm": "hints",
    "math": "functions",
    "scf": "control flow",
    "tt": "Triton",
    "ttg": "barriers of newer versions",
    "ub": "undefined values",
}


def table() -> str:
    """Return the table: a row for each dialect, and one for the library functions."""
    lines = ["| dialect | operations |", "|---|---|"]
    for dialect, names in groupby(execution.operations(), key=lambda name: name.split(".")[0]):
        own = ", ".join(f"`{name.removeprefix(f'{dialect}.')}`" for name in names)
        lines.append(f"| `{dialect}`: {_DIALECTS[dialect]} | {own} |")
    functions = ", ".join(f"`{name}`" for name in libdevice.names())
    lines.append(f"| `libdevice`: library functions, for float32 and float64 | {functions} |")
    return "\n".join(lines)


def written(text: str) -> str:
    """Return the page's text with the table between its markers."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return f"{before}{START}\n\n{table()}\n\n{END}{after}"


def main() -> None:
    """Write the table into the page."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
