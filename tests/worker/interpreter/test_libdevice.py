"""The functions of libdevice that the interpreter has, one by one."""

from __future__ import annotations

import importlib
import math
import re
from pathlib import Path

import numpy as np
import pytest
from grader.worker.interpreter.libdevice import SYMBOLS

from samples import records, result

X = np.float32(0.3)
HUGE = np.float32(2.0**127)


def test_every_symbol_is_one_of_the_library() -> None:
    module = importlib.import_module("triton.language.extra.cuda.libdevice")
    assert module.__file__ is not None
    known = set(re.findall(r'"__nv_(\w+)"', Path(module.__file__).read_text()))
    assert SYMBOLS.keys() <= known


@pytest.mark.parametrize(
    ("symbol", "arguments", "wanted"),
    [
        ("expf", (X,), math.exp(0.3)),
        ("exp10f", (X,), 10**0.3),
        ("rsqrtf", (X,), 0.3**-0.5),
        ("erff", (X,), math.erf(0.3)),
        ("normcdff", (X,), 0.5 + math.erf(0.3 / math.sqrt(2)) / 2),
        ("powif", (X, np.int32(-2)), 0.3**-2),
        ("frcp_rn", (X,), 1 / 0.3),
        ("roundf", (np.float32(2.5),), 3),
        ("roundf", (np.float32(-2.5),), -3),
        ("roundf", (np.float32(0.49999997),), 0),
        ("rintf", (np.float32(2.5),), 2),
        ("saturatef", (np.float32(math.nan),), 0),
        ("fast_powf", (np.float32(2), np.float32(3)), 8),
        ("fast_powf", (np.float32(-2), np.float32(2)), math.nan),
        ("fast_fdividef", (X, np.float32(2)), 0.15),
        ("fast_fdividef", (X, HUGE), 0),
        ("fast_fdividef", (np.float32(math.inf), HUGE), math.nan),
    ],
)
def test_value(symbol: str, arguments: tuple[np.generic, ...], wanted: float) -> None:
    with np.errstate(all="ignore"):
        value = SYMBOLS[symbol](*(np.array([argument]) for argument in arguments))
    np.testing.assert_allclose(value, [wanted], rtol=1e-6)


def test_a_fused_multiply_add_rounds_once() -> None:
    x = np.float32(1 + 2.0**-12)
    assert np.float32(SYMBOLS["fmaf"](x, x, -np.float32(1 + 2.0**-11))) == 2.0**-24


@pytest.mark.parametrize("name", ["library_function", "library_stub"])
def test_what_is_missing_is_named(name: str) -> None:
    (record,) = records(result("unmeasured", name), "not_measured")
    assert record["message"] == "the interpreter cannot run `lgamma` of libdevice"
