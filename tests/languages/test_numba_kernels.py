"""What Numba compiles kernels to runs in the executor, and gives what numpy gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from language_bench import NEEDS_NUMBA
from ptx_bench import Given, run

# Numba warns that the source of these functions has another name than its own files.
pytestmark = [NEEDS_NUMBA, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(0)
N = 1000
X = RNG.standard_normal(N).astype("f4")
Y = RNG.standard_normal(N).astype("f4")
WIDE = RNG.uniform(-300, 300, N)
INTS = RNG.integers(-1000, 1000, N).astype("i4")


@pytest.fixture(autouse=True)
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba asks the driver for the GPU when a kernel calls a function."""
    from numba.cuda import dispatcher

    device = SimpleNamespace(compute_capability=(8, 0))
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: device)


def launched(
    kernel: Callable[..., None],
    *arguments: Any,
    blocks: int = 8,
    threads: int = 128,
    fastmath: bool = False,
) -> list[Any]:
    """Compile a kernel for its arguments and run it; return what was found."""
    from numba import cuda
    from numba.cuda import types
    from numba.np import numpy_support

    kinds, given = [], []
    for one in arguments:
        if isinstance(one, np.ndarray):
            kinds.append(types.Array(numpy_support.from_dtype(one.dtype), one.ndim, "C"))
            size = (one.size, one.itemsize)
            given += [0, 0, *size, Given(one, "array"), *one.shape, *one.strides]
        else:
            assert type(one) is int
            kinds.append(types.int64)
            given.append(one)
    text, _ = cuda.compile_ptx(kernel, tuple(kinds), cc=(8, 0), lineinfo=True, fastmath=fastmath)
    return run(
        text, *given, grid=(blocks, 1, 1), block=(threads, 1, 1), file="test_numba_kernels.py"
    )


def mapped(function: Callable[[Any], Any], values: Any, kind: str, **options: Any) -> Any:
    """Return what a kernel gives that applies a function to each element."""
    from numba import cuda

    applied = cuda.jit(device=True)(function)

    def kernel(x, y):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < x.size:
            y[i] = applied(x[i])

    result = np.zeros(len(values), dtype=kind)
    assert launched(kernel, values, result, **options) == []
    return result


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    "exp": (lambda x: math.exp(x), np.exp, WIDE),
    "log": (lambda x: math.log(abs(x)), lambda x: np.log(np.abs(x)), WIDE),
    "sin": (lambda x: math.sin(x), np.sin, WIDE),
    "cos far away": (lambda x: math.cos(x * 1e6), lambda x: np.cos(x * 1e6), WIDE),
    "tan": (lambda x: math.tan(x), np.tan, WIDE),
    "tanh": (lambda x: math.tanh(x), np.tanh, WIDE),
    "erf": (lambda x: math.erf(x / 100), lambda x: np.vectorize(math.erf)(x / 100), WIDE),
    "power": (lambda x: abs(x) ** 1.5, lambda x: np.abs(x) ** 1.5, WIDE),
    "cube": (lambda x: x**3, lambda x: x**3, WIDE),
    "root": (lambda x: math.sqrt(abs(x)), lambda x: np.sqrt(np.abs(x)), WIDE),
    "atan2": (lambda x: math.atan2(x, 2.0), lambda x: np.arctan2(x, 2), WIDE),
    "floor": (lambda x: math.floor(x), np.floor, WIDE),
    "rest": (lambda x: x % 7.0, lambda x: x % 7.0, WIDE),
    "single exp": (lambda x: math.exp(x), np.exp, X),
    "single log": (lambda x: math.log(abs(x)), lambda x: np.log(np.abs(x)), X),
    "single sin": (lambda x: math.sin(x), np.sin, X),
    "single division": (lambda x: np.float32(1) / x, lambda x: 1 / x, X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_mathematics(name: str) -> None:
    function, expected, values = FUNCTIONS[name]
    kind = values.dtype.str
    rtol = 1e-14 if kind == "<f8" else 1e-6
    found = mapped(function, values, kind)
    np.testing.assert_allclose(found, expected(values.astype("f8")), rtol=rtol, atol=rtol)


def test_fast_functions_are_near() -> None:
    found = mapped(lambda x: math.sin(x) / math.exp(x), X, "f4", fastmath=True)
    np.testing.assert_allclose(found, np.sin(X) / np.exp(X), rtol=1e-4)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x // 7, lambda x: x // 7),
        (lambda x: x % -7, lambda x: x % -7),
        (lambda x: (x << 3) ^ (x >> 2), lambda x: (x << 3) ^ (x >> 2)),
        (lambda x: abs(x) if x < 5 else -x, lambda x: np.where(x < 5, np.abs(x), -x)),
        (lambda x: x * x * x, lambda x: x * x * x),
        (lambda x: max(x, 3) + min(x, 4), lambda x: np.maximum(x, 3) + np.minimum(x, 4)),
    ],
)
def test_integers_are_those_of_python(
    function: Callable[[Any], Any], expected: Callable[[Any], Any]
) -> None:
    found = mapped(function, INTS, "i8")
    assert found.tolist() == expected(INTS.astype("i8")).tolist()


def test_a_reduction_in_shared_memory_with_atomics() -> None:
    from numba import cuda, float32

    def kernel(x, out):  # type: ignore[no-untyped-def]
        tile = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        total = float32(0)
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            total += x[i]
        tile[t] = total
        cuda.syncthreads()
        half = cuda.blockDim.x // 2
        while half > 0:
            if t < half:
                tile[t] += tile[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            cuda.atomic.add(out, 0, tile[0])

    out = np.zeros(1, dtype="f4")
    assert launched(kernel, X, out, blocks=3) == []
    np.testing.assert_allclose(out[0], X.astype("f8").sum(), rtol=1e-5, atol=1e-4)


def test_a_reduction_with_shuffles() -> None:
    from numba import cuda

    def kernel(x, out):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        value = x[i] if i < x.size else 0.0
        offset = 16
        while offset > 0:
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
            offset //= 2
        if cuda.laneid == 0:
            cuda.atomic.add(out, 0, value)
        if cuda.any_sync(0xFFFFFFFF, i == 5):
            cuda.atomic.max(out, 1, 7.0)

    out = np.zeros(2)
    assert launched(kernel, WIDE, out) == []
    np.testing.assert_allclose(out, [WIDE.sum(), 7], rtol=1e-12)


def test_a_histogram_private_to_each_block() -> None:
    from numba import cuda, int32

    def kernel(x, counts):  # type: ignore[no-untyped-def]
        mine = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        if t < 64:
            mine[t] = 0
        cuda.syncthreads()
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(mine, x[i] & 63, 1)
        cuda.syncthreads()
        if t < 64:
            cuda.atomic.add(counts, t, mine[t])

    counts = np.zeros(64, dtype="i4")
    assert launched(kernel, INTS, counts) == []
    assert counts.tolist() == np.bincount(INTS & 63, minlength=64).tolist()


def test_a_tiled_product_of_matrices() -> None:
    from numba import cuda, float32

    def kernel(a, b, c):  # type: ignore[no-untyped-def]
        left = cuda.shared.array((8, 8), float32)
        right = cuda.shared.array((8, 8), float32)
        column, row = cuda.threadIdx.x % 8, cuda.threadIdx.x // 8
        across = (c.shape[1] + 7) // 8
        y = cuda.blockIdx.x // across * 8 + row
        x = cuda.blockIdx.x % across * 8 + column
        total = float32(0)
        for first in range(0, a.shape[1], 8):
            inside = y < a.shape[0] and first + column < a.shape[1]
            left[row, column] = a[y, first + column] if inside else float32(0)
            inside = first + row < b.shape[0] and x < b.shape[1]
            right[row, column] = b[first + row, x] if inside else float32(0)
            cuda.syncthreads()
            for k in range(8):
                total += left[row, k] * right[k, column]
            cuda.syncthreads()
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = total

    a, b = (RNG.standard_normal(shape).astype("f4") for shape in ((19, 30), (30, 21)))
    c = np.zeros((19, 21), dtype="f4")
    assert launched(kernel, a, b, c, blocks=9, threads=64) == []
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)


def test_local_arrays_constants_and_negative_indices() -> None:
    from numba import cuda, float64

    table = np.array([1.0, -2.0, 4.0])

    def kernel(x, y):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        factors = cuda.const.array_like(table)
        kept = cuda.local.array(3, float64)
        if i < x.size:
            for k in range(3):
                kept[k] = factors[k] * x[i]
            y[i] = kept[i % 3] + kept[-1]

    y = np.zeros(N)
    assert launched(kernel, WIDE, y) == []
    np.testing.assert_allclose(y, WIDE * (table[np.arange(N) % 3] + 4))


def test_an_index_below_zero_that_stays_below_is_found() -> None:
    from numba import cuda

    def kernel(x, y):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i - x.size - 1]

    found = launched(kernel, WIDE, np.zeros(N))
    assert [(one.kind, one.count) for one in found] == [("out_of_bounds", 1)]
    assert "before the start of `array` (element -1;" in found[0].message
