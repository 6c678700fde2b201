"""Exceptions of Python and of Triton have hints for beginners."""

from __future__ import annotations

import pytest

from grader.checks.common.diagnosis import python_hint

# The messages of triton 3.7 and Python 3.11.
MESSAGES = {
    "num_warps must be a power of 2": "at most 1024",
    "Triton Error [CUDA]: invalid argument": "65535",
    "out of resource: threads, Required: 512, Hardware limit: 384": "num_warps",
    "out of resource: shared memory, Required: 917504, Hardware limit: 166912": "num_stages",
    "arange's range must be a power of 2": "powers of two",
    "arange's arguments must be of type tl.constexpr": "BLOCK: tl.constexpr",
    "'function' object is not subscriptable": "@triton.jit",
    "object of type 'int' has no len()": "(triton.cdiv(n, BLOCK),)",
    "'float' object cannot be interpreted as an integer": "whole numbers",
    "silu_kernel() missing 1 required positional argument: 'BLOCK'": "BLOCK=1024",
    "'int' object is not iterable": "tl.load(pointer + offsets)",
    "'builtin_function_or_method' object has no attribute 'scalar'": "name its grid",
    "'NoneType' object has no attribute 'to_tensor'": "tl.exp",
    "'int' object has no attribute '_flatten_ir'": "a parameter of its own",
    "Conflicting meta-parameters: BLOCK. Make sure that you don't re-define": "remove it from",
}
WITHOUT_GPU = {
    "num_ctas > 1 requires NVIDIA SM90+ (Hopper). This GPU is sm_80.": "remove num_ctas",
    "Torch not compiled with CUDA enabled": "device=input.device",
    "Tried to instantiate dummy base class CUDAGraph": "needs one",
    "Cannot get CUDA generator without ATen_cuda library. PyTorch splits": "needs one",
    "'NoneType' object has no attribute 'to_tensor'": "tl.exp",
    "x must be a CUDA tensor": "input.is_cuda",
}


@pytest.mark.parametrize("message", MESSAGES)
def test_a_beginners_mistake_has_a_hint(message: str) -> None:
    assert MESSAGES[message] in python_hint(message, gpu=True)


@pytest.mark.parametrize("message", WITHOUT_GPU)
def test_asking_for_a_gpu_where_there_is_none_has_a_hint(message: str) -> None:
    assert WITHOUT_GPU[message] in python_hint(message, gpu=False)


def test_a_gpu_s_own_errors_are_not_taken_for_its_absence() -> None:
    assert python_hint("CUDA error: an illegal memory access was encountered", gpu=True) == ""


@pytest.mark.parametrize("message", ["", "no idea", "name 'offset' is not defined"])
def test_what_speaks_for_itself_has_none(message: str) -> None:
    assert python_hint(message, gpu=True) == ""
