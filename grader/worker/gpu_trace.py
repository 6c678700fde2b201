"""A trace of two calls of a submission on a GPU, by torch.profiler, left in the file TRACE.

    python gpu_trace.py FILE ENTRY CALL TRACE

FILE is a library with `grader_call`, or a Python file with ENTRY. Runs in the sandbox, because the
submission runs here. CALL is what `commands.profile.one_call` has stored. A call before the traced
ones opens the GPU and compiles. Without a trace the last line of the output says why.
"""

import ctypes
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CALLS = 2


def main(file: str, entry: str, call: str, trace: str) -> None:
    """Call the submission, and store the trace."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    saved = torch.load(call, weights_only=True)
    values = [
        value.to("cuda")
        if isinstance(value, torch.Tensor) and number not in saved["host"]
        else value
        for number, value in enumerate(saved["values"])
    ]
    run = _library(file, values, saved["bits"]) if file.endswith(".so") else None
    run = run or _python(file, entry, values)
    run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
        for _ in range(_CALLS):
            with record_function(entry):
                run()
        torch.cuda.synchronize()
    recorded.export_chrome_trace(trace)


def _library(file: str, values: list[Any], bits: list[int | None]) -> Callable[[], None]:
    """Return a call of a library; the numbers are `bits`, None for the next tensor's address."""
    tensors = (value.data_ptr() for value in values if hasattr(value, "data_ptr"))
    words = [next(tensors) if word is None else word for word in bits]
    arguments = (ctypes.c_ulonglong * len(words))(*words)
    library = ctypes.CDLL(str(Path(file).resolve()))

    def run() -> None:
        if code := int(library.grader_call(arguments)):
            raise RuntimeError(f"the call failed with CUDA error {code}")

    return run


def _python(file: str, entry: str, values: list[Any]) -> Callable[[], None]:
    spec = importlib.util.spec_from_file_location("submission", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    function = getattr(module, entry)
    return lambda: function(*values)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:
        text = " ".join(str(error).split("\n\n")[0].split())
        print(f"{type(error).__name__}: {text}")
        sys.exit(1)
