"""Tells the judge when Triton compiles on a GPU, because that time has a budget of its own.

Errors of the compiler get the line of the kernel here, as without a GPU.

A kernel is compiled in the call that launches it first, and so is the small program that launches
it. The judge bounds what it allows for this: a submission could report anything. If a version of
Triton lacks one of the functions, its time counts like the rest of the call.
"""

import contextlib
import functools
import time
from collections.abc import Iterator
from typing import Any

from grader.worker import triton_compile_error, worker_log


def install() -> None:
    """Report the time of Triton's compiler; call it before the submission's kernels are made."""
    import triton.compiler

    compiler: Any = triton.compiler
    if hasattr(compiler, "compile"):
        compiler.compile = reported(_placed(compiler.compile))
    kernel = getattr(compiler, "CompiledKernel", None)
    loads = getattr(kernel, "_init_handles", None)
    if kernel is not None and loads is not None:
        first = reported(loads)

        def load_once(self: Any) -> Any:
            return (first if getattr(self, "module", None) is None else loads)(self)

        kernel._init_handles = load_once


def reported(function: Any) -> Any:
    """Return a function whose time is told as that of a compiler."""

    @functools.wraps(function)
    def compiling(*args: Any, **kwargs: Any) -> Any:
        with told():
            return function(*args, **kwargs)

    return compiling


def _placed(compiles: Any) -> Any:
    @functools.wraps(compiles)
    def compiling(source: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return compiles(source, *args, **kwargs)
        except Exception as error:
            if triton_compile_error.has_place(error):
                triton_compile_error.place(error, source)
            raise

    return compiling


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Tell the judge that the block compiles."""
    worker_log.tell("compiling", at_s=time.monotonic())
    try:
        yield
    finally:
        worker_log.tell("compiled", at_s=time.monotonic())
