"""The programs in which student code runs, by path: the judge starts them, and imports none."""

from __future__ import annotations

from pathlib import Path

_WORKER = Path(__file__).resolve().parent.parent / "worker"

CONFINE = _WORKER / "confine.py"
CUDA_WORKER = _WORKER / "cuda_worker.py"
ESCAPE_ATTEMPTS = _WORKER / "escape_attempts.py"
INSPECT_PYTHON = _WORKER / "inspect_python.py"
PYTHON_SERVER = _WORKER / "python_server.py"
PYTHON_WORKER = _WORKER / "python_worker.py"
TRITON_COMPILE = _WORKER / "triton_compile.py"

# The last argument of CUDA_WORKER, which has it open the GPU before its first command.
CONTEXT = "context"
