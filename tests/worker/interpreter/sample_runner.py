"""Run sample hand-ins under the interpreter's checks, each in a fork, and print what was told.

    python sample_runner.py [--operations N] FILE...

A stand-alone program, so that it runs under any version of triton: one line of
JSON for each file. A sample has `entry(input, output, n)` and may have `N`, the
number of elements (1000), `CALLS` (1), and `expected(input)`, what the output
must be. As from the judge, input and output are views into larger memory, and
the output's bytes are poisoned.
"""

import fcntl
import importlib.util
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "grader" / "worker"))
import standalone  # noqa: F401 # so that the imports below find their modules

GUARD = 1024


def buffer(torch: Any, n: int) -> Any:
    """Return n floats in the middle of other memory."""
    return torch.zeros(n + 2 * GUARD)[GUARD : GUARD + n]


def run(file: str, operations: int | None) -> dict[str, Any]:
    """Load one sample under the checks and call it; return what happened."""
    import torch
    from grader.worker import triton_launch_result
    from grader.worker.interpreter import checks as interpreter_checks

    result: dict[str, Any] = {"right": None, "error": None}
    checks = interpreter_checks.install(file, operations=operations)
    triton_launch_result.install()
    try:
        spec = importlib.util.spec_from_file_location(Path(file).stem, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        n = getattr(module, "N", 1000)
        input, output = buffer(torch, n), buffer(torch, n)
        for call in range(getattr(module, "CALLS", 1)):
            torch.manual_seed(call)
            input.copy_(torch.randn(n))
            output.view(torch.uint8).fill_(0xFF)
            checks.begin([("input", input, False, False), ("output", output, True, True)])
            try:
                module.entry(input, output, n)
            finally:
                checks.end()
            if hasattr(module, "expected"):
                right = torch.allclose(output, module.expected(input), rtol=1e-4, atol=1e-5)
                result["right"] = right and result["right"] is not False
    except BaseException as error:
        result["error"] = f"{type(error).__name__}: {error}"
        result["traceback"] = traceback.format_exc()
    return result


def main(arguments: list[str]) -> None:
    operations = None
    if arguments[:1] == ["--operations"]:
        operations, arguments = int(arguments[1]), arguments[2:]
    import numpy
    import torch
    from grader.worker.interpreter import canary

    torch.set_num_threads(1)
    numpy.seterr(all="ignore")  # as the server does
    canary.check()
    for file in map(os.path.abspath, arguments):
        with tempfile.TemporaryFile() as report, tempfile.TemporaryFile() as answer:
            child = os.fork()
            if child == 0:
                # Out of the way: one of them may be 4, where reports go.
                reply = fcntl.fcntl(answer.fileno(), fcntl.F_DUPFD, 10)
                os.dup2(report.fileno(), 4)
                os.write(reply, json.dumps(run(file, operations)).encode())
                os._exit(0)
            _, status = os.waitpid(child, 0)
            report.seek(0)
            answer.seek(0)
            result = json.loads(answer.read() or b"{}")
            result["status"] = status
            result["file"] = file
            result["told"] = [json.loads(line) for line in report]
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
