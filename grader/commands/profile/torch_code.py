"""The code that torch.compile generates for a rung in torch: C++ on the CPU, Triton on a GPU.

The submission's function is called once under torch.compile, in the sandbox. torch's own compilers
run there, too: g++ on the CPU, Triton's on a GPU.
"""

from __future__ import annotations

import sys

from grader.commands.profile.one_call import counted_case, run_once
from grader.grading.context import FileContext
from grader.protocol import programs
from grader.system import toolchain

_WALL_S = 180.0  # g++ takes 10 s for torch's headers where nothing else runs


def torch_code(file: FileContext) -> tuple[str, str]:
    """Return the generated code of a file, and why there is none ("" if there is some)."""
    if not file.file.kernel.rules.torch_allowed or not file.file.language.imported:
        return "", "is of rungs in torch; `--ptx` and `--sass` show what became of a kernel"
    if file.gpu is None and toolchain.find_cxx() is None:
        return "", "torch.compile needs a C++ compiler on the CPU, and g++ is not installed"
    import torch

    case = counted_case(file)
    device = "cpu" if file.gpu is None else "cuda"
    code, reason = run_once(file, case, programs.TORCH_CODE, device, wall_s=_WALL_S)
    if code:
        return f"# {case.name}\n{code.decode('utf-8', 'replace')}", ""
    versions = f"torch {torch.__version__}, Python {sys.version.split()[0]}"
    return "", f"torch.compile made no code ({versions}): {reason}"
