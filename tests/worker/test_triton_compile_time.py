"""Triton's compiler as a worker on a GPU has it: its errors say the kernel's line."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("triton", reason="the Triton compiler is not installed")

from grader.worker import triton_compile_time, worker_log

FILE = """\
import triton
import triton.language as tl


@triton.jit
def helper(x):
    return x.no_such_method()


@triton.jit
def wrong_name(out, n):
    offsets = tl.arange(0, 16)
    tl.store(out + offsets, missing)


@triton.jit
def wrong_helper(out, n):
    offsets = tl.arange(0, 16)
    tl.store(out + offsets, helper(offsets))


@triton.jit
def right(out, n):
    offsets = tl.arange(0, 16)
    tl.store(out + offsets, 1.0)
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the file's module, with the compiler of this process replaced for the test."""
    import triton.compiler

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(worker_log, "tell", lambda *_, **__: None)
    for owner, name in (
        (triton.compiler, "compile"),
        (triton.compiler.CompiledKernel, "_init_handles"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    spec = importlib.util.spec_from_file_location("kernels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    triton_compile_time.install()
    return module


def compile_for_a_gpu(kernel: Any) -> None:
    """Compile as a launch on a GPU of capability 8.0 does."""
    import triton.compiler
    from triton.backends.compiler import GPUTarget

    source = triton.compiler.ASTSource(kernel, {"out": "*fp32", "n": "i32"}, {})
    triton.compiler.compile(source, target=GPUTarget("cuda", 80, 32))


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [("wrong_name", 13, "missing is not defined"), ("wrong_helper", 7, "no_such_method")],
)
def test_an_error_has_the_line_in_the_file(
    kernels: ModuleType, name: str, line: int, said: str
) -> None:
    with pytest.raises(Exception) as caught:
        compile_for_a_gpu(getattr(kernels, name))
    _, message, told = caught.value.grader_words  # type: ignore[attr-defined]
    assert told == line
    assert said in message


def test_a_right_kernel_compiles(kernels: ModuleType) -> None:
    compile_for_a_gpu(kernels.right)
