"""The paths of the worker programs, which the judge starts and never imports."""

from __future__ import annotations

from pathlib import Path

_WORKER = Path(__file__).resolve().parent.parent / "worker"

START = _WORKER / "start.py"
ESCAPE_ATTEMPTS = _WORKER / "escape_attempts.py"
GPU_TRACE = _WORKER / "gpu_trace.py"
INSPECT_INLINE = _WORKER / "inspect_inline.py"
INSPECT_PYTHON = _WORKER / "inspect_python.py"
PROGRAM_SERVER = _WORKER / "program_server.py"
PYTHON_SERVER = _WORKER / "python_server.py"
TORCH_CODE = _WORKER / "torch_code.py"
TRITON_COMPILE = _WORKER / "triton_compile.py"


def worker(name: str) -> Path:
    """Return the program of a worker, by its name in `grader.worker` or its absolute path."""
    return _WORKER / name
