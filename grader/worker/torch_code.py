"""What torch.compile generates for a function of a submission, left in the file CODE.

    python torch_code.py FILE ENTRY DEVICE CALL CODE

Runs in the sandbox, because the submission's function runs here. CALL is what
`commands.profile.one_call` has stored: its arguments, tensors on the CPU and numbers. Without a GPU
the code is C++ in a Python file, with one it is Triton's. If there is none, CODE is not written,
and the last line of the output says why.
"""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

_SEPARATOR = "\n\n# ---- the next graph: torch.compile had to interrupt the function here ----\n\n"


def main(file: str, entry: str, device: str, call: str, code: str) -> None:
    """Call the function once under torch.compile, and store the code of its graphs."""
    # For one kernel: no pool of processes, and a cache that goes with the folder.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path("inductor").resolve())
    import torch
    from torch._inductor import config
    from torch._inductor.utils import run_and_get_code

    if hasattr(config, "cpp_cache_precompile_headers"):
        config.cpp_cache_precompile_headers = False  # it takes longer than the few kernels here
    saved = torch.load(call, weights_only=True)["values"]
    values = [one.to(device) if isinstance(one, torch.Tensor) else one for one in saved]
    function = _function(file, entry)
    function(*values)  # switches of torch that it sets may not change while it is traced
    _, codes = run_and_get_code(torch.compile(function), *values)
    if not codes:
        raise RuntimeError("nothing to generate: the function has no operation on tensors")
    Path(code).write_text(_SEPARATOR.join(codes), encoding="utf-8")


def _function(file: str, entry: str) -> Any:
    spec = importlib.util.spec_from_file_location("submission", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    return getattr(module, entry)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:
        text = " ".join(str(error).split("\n\n")[0].split())
        print(f"{type(error).__name__}: {text}")
        sys.exit(1)
