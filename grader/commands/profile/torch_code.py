"""The code that torch.compile generates for a rung in torch: C++ on the CPU, Triton on a GPU.

The submission's function is called once under torch.compile, in the sandbox, on the smallest case
that the memory tools would see. torch's own compilers run there, too: g++ on the CPU, Triton's on a
GPU.
"""

from __future__ import annotations

import os
import shutil
import sys

from grader.grading.context import FileContext
from grader.protocol import programs
from grader.sandbox import scratch_dir, spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.text.printable import one_line
from grader.vocabulary import CheckName

_CALL, _CODE = "call.pt", "code.py"
_WALL_S = 180.0  # torch compiles headers of its own the first time
_MOST_BYTES = 8 << 20
_MOST_REASON = 300
_ONE_THREAD = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}  # no pool of processes


def torch_code(file: FileContext) -> tuple[str, str]:
    """Return the generated code of a file, and why there is none ("" if there is some)."""
    if not file.file.kernel.rules.torch_allowed or not file.file.language.imported:
        return "", "is of rungs in torch; `--ptx` and `--sass` show what became of a kernel"
    if file.gpu is None and shutil.which(os.environ.get("CXX", "g++")) is None:
        return "", "torch.compile needs a C++ compiler on the CPU, and g++ is not installed"
    import torch

    from grader.checks.counters.count import counting_case

    rng = file.rng(CheckName.COUNTERS)
    kernel, language = file.file.kernel, file.file.language
    case = counting_case(file.assignment, kernel, language, file.public_seed, rng)
    data = file.data(case)
    signature = file.assignment.signature_of(case)
    call: list[torch.Tensor | int | float | bool] = []
    for argument in signature.arguments:
        if not argument.is_array:
            call.append(signature.scalar(argument, case.sizes))
        elif argument.role.read:
            call.append(data.inputs[argument.name])
        else:
            word = signature.element_type(argument, language).word
            shape = signature.shape(argument, case.sizes)
            call.append(torch.zeros(shape, dtype=getattr(torch, word)))
    with scratch_folder("grade-torch-") as folder:
        source = folder / "submission.py"
        source.write_text(file.built.text, encoding="utf-8")
        torch.save(call, folder / _CALL)
        ended = spawn.run(
            [
                *(sys.executable, "-I", str(programs.TORCH_CODE), source.name),
                *(signature.entry, "cpu" if file.gpu is None else "cuda", _CALL, _CODE),
            ],
            cwd=folder,
            environment=spawn.clean_environment(folder)
            | {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), **_ONE_THREAD},
            wall_s=_WALL_S,
            gpu=file.gpu is not None,
        )
        code = scratch_dir.read_if_there(folder / _CODE, _MOST_BYTES)
    if code:
        return f"# {case.name}\n{code.decode('utf-8', 'replace')}", ""
    if ended.end is spawn.End.TIME_LIMIT:
        return "", f"torch.compile did not end within {_WALL_S:g} s"
    last = (ended.output.strip().splitlines() or ["it printed nothing"])[-1]
    versions = f"torch {torch.__version__}, Python {sys.version.split()[0]}"
    return "", f"torch.compile made no code ({versions}): {one_line(last)[:_MOST_REASON]}"
