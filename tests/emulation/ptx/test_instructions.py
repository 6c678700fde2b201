"""Each instruction gives what the PTX manual says, also where C or numpy would differ."""

from __future__ import annotations

import contextlib
import math
import struct
import time

import numpy as np
import pytest
from ptx_bench import Given, kernel, run

from grader.emulation.common.errors import Unsupported
from grader.emulation.ptx.parser import PtxError, parse

_PREFIX = {"f32": "%f", "f64": "%fd", "b64": "%rd", "u64": "%rd", "s64": "%rd", "pred": "%p"}


def bits(value: float | int, kind: str) -> int:
    """Return a value of a type as bits."""
    if kind == "f32":
        return int.from_bytes(struct.pack("<f", value), "little")
    if kind == "f64":
        return int.from_bytes(struct.pack("<d", value), "little")
    return int(value) % (1 << int(kind[1:]))


def computed(instruction: str, result: str, *operands: tuple[float | int, str]) -> int:
    """Return the bits that one instruction leaves in its first register, of type `result`."""
    lines, names = [], []
    for i, (value, kind) in enumerate(operands):
        name = f"{_PREFIX.get(kind, '%r')}{i + 1}"
        size = "b64" if kind[1:] == "64" else "b32"
        lines.append(f"mov.{size} {name}, {bits(value, kind)};")
        names.append(name)
    target = f"{_PREFIX.get(result, '%r')}0"
    size = "64" if result[1:] == "64" else "32"
    body = "\n".join(
        (
            *lines,
            f"{instruction} {', '.join([target, *names])};",
            "ld.param.u64 %rd9, [P0];",
            f"st.global.b{size} [%rd9], {target};",
        )
    )
    output = np.zeros(1, dtype=f"u{int(size) // 8}")
    assert run(kernel(body, 1), Given(output), block=(1, 1, 1)) == []
    return int(output[0]) % (1 << int(result[1:]))


MOST, LEAST = 2**31 - 1, -(2**31)
INTEGERS = [
    ("add.s32", MOST, 1, LEAST),
    ("mul.lo.s32", 2**20, 2**12, 0),
    ("mul.hi.s32", -2, 2**31 - 1, -1),
    ("mul.hi.u32", 2**31, 6, 3),
    ("div.s32", -7, 2, -3),
    ("rem.s32", -7, 2, -1),
    ("div.s32", LEAST, -1, LEAST),
    ("div.u32", 7, 0, 2**32 - 1),
    ("rem.u32", 7, 0, 7),
    ("min.s32", -1, 1, -1),
    ("min.u32", -1, 1, 1),
    ("shl.b32", 1, 31, 2**31),
    ("shl.b32", 1, 32, 0),
    ("shr.u32", -1, 40, 0),
    ("shr.s32", -8, 40, -1),
    ("and.b32", 12, 10, 8),
    ("xor.b32", 12, 10, 6),
]


@pytest.mark.parametrize(("instruction", "a", "b", "expected"), INTEGERS)
def test_integers_wrap_and_divide_towards_zero(
    instruction: str, a: int, b: int, expected: int
) -> None:
    kind = instruction.rpartition(".")[2]
    by = "u32" if instruction.startswith("sh") else kind
    assert computed(instruction, kind, (a, kind), (b, by)) == expected % 2**32


OTHERS = [
    ("mul.wide.s32", "s64", [(-3, "s32"), (2**30, "s32")], -3 * 2**30),
    ("mad.wide.u32", "u64", [(2**31, "u32"), (4, "u32"), (5, "u64")], 2**33 + 5),
    ("mul.hi.s64", "s64", [(-(2**62), "s64"), (8, "s64")], -2),
    ("mul.hi.u64", "u64", [(2**63, "u64"), (2**63 + 2, "u64")], 2**62 + 1),
    ("clz.b32", "u32", [(1, "b32")], 31),
    ("popc.b64", "u32", [(2**63 + 7, "b64")], 4),
    ("brev.b32", "b32", [(1, "b32")], 2**31),
    ("bfe.s32", "s32", [(0b11100, "s32"), (2, "u32"), (3, "u32")], -1),
    ("bfe.u32", "u32", [(0b11100, "u32"), (2, "u32"), (3, "u32")], 7),
    ("bfi.b32", "b32", [(0b101, "b32"), (2**32 - 1, "b32"), (4, "u32"), (3, "u32")], 2**32 - 33),
    ("prmt.b32", "b32", [(0x33221100, "b32"), (0x77665544, "b32"), (0x7531, "b32")], 0x77553311),
    ("lop3.b32", "b32", [(0b1100, "b32"), (0b1010, "b32"), (0b0110, "b32"), (0xEA, "u32")], 0b1110),
    ("shf.l.wrap.b32", "b32", [(2**31, "b32"), (1, "b32"), (1, "b32")], 3),
    ("cvt.s64.s32", "s64", [(-1, "s32")], -1),
    ("cvt.u64.u32", "u64", [(-1, "u32")], 2**32 - 1),
    ("cvt.rzi.s32.f32", "s32", [(-2.7, "f32")], -2),
    ("cvt.rni.s32.f32", "s32", [(2.5, "f32")], 2),
    ("cvt.rzi.s32.f32", "s32", [(1e20, "f32")], MOST),
    ("cvt.rzi.s64.f64", "s64", [(math.nan, "f64")], 0),
    ("abs.s32", "s32", [(-5, "s32")], 5),
]


@pytest.mark.parametrize(("instruction", "result", "operands", "expected"), OTHERS)
def test_other_integer_results(
    instruction: str, result: str, operands: list[tuple[float, str]], expected: int
) -> None:
    assert computed(instruction, result, *operands) == expected % (1 << int(result[1:]))


TINY = 2.0**-30
FLOATS = [
    ("add.f32", "f32", [1.0, TINY], 1.0),
    ("fma.rn.f32", "f32", [1 + 2.0**-23, 1 + 2.0**-23, -1 - 2.0**-22], 2.0**-46),
    ("fma.rn.f64", "f64", [1 + 2.0**-52, 1 + 2.0**-52, -1 - 2.0**-51], 2.0**-104),
    ("fma.rm.f32", "f32", [1.0, -TINY, 1.0], 1.0 - 2.0**-24),
    ("add.rp.f32", "f32", [1.0, TINY], 1.0 + 2.0**-23),
    ("div.rn.f32", "f32", [1.0, 3.0], float(np.float32(1) / np.float32(3))),
    ("min.f32", "f32", [math.nan, 2.0], 2.0),
    ("max.f64", "f64", [-0.5, math.nan], -0.5),
    ("rcp.rn.f32", "f32", [4.0], 0.25),
    ("sqrt.rn.f64", "f64", [2.0], math.sqrt(2)),
    ("ex2.approx.ftz.f32", "f32", [-130.0], 0.0),
    ("ex2.approx.f32", "f32", [-130.0], 2.0**-130),
    ("lg2.approx.f32", "f32", [8.0], 3.0),
    ("tanh.approx.f32", "f32", [0.5], 1893 / 4096),
    ("neg.f32", "f32", [0.0], -0.0),
    ("copysign.f32", "f32", [-1.0, 3.0], -3.0),
    ("mul.sat.f32", "f32", [3.0, 2.0], 1.0),
]


@pytest.mark.parametrize(("instruction", "kind", "operands", "expected"), FLOATS)
def test_floating_point_is_rounded_once(
    instruction: str, kind: str, operands: list[float], expected: float
) -> None:
    found = computed(instruction, kind, *((one, kind) for one in operands))
    assert found == bits(expected, kind)


@pytest.mark.parametrize(
    ("comparison", "a", "b", "holds"),
    [
        ("lt.s32", -1, 1, True), ("lt.u32", -1, 1, False), ("lo.u32", 1, 2, True),
        ("ne.f32", math.nan, 1.0, False), ("neu.f32", math.nan, 1.0, True),
        ("geu.f32", math.nan, 1.0, True), ("eq.f32", 0.0, -0.0, True), ("num.f32", 1.0, 1.0, True),
    ],
)  # fmt: skip
def test_comparisons_know_signs_and_nan(comparison: str, a: float, b: float, holds: bool) -> None:
    kind = comparison.rpartition(".")[2]
    prefix = _PREFIX.get(kind, "%r")
    body = f"""
    mov.b32 {prefix}1, {bits(a, kind)};
    mov.b32 {prefix}2, {bits(b, kind)};
    setp.{comparison} %p1, {prefix}1, {prefix}2;
    selp.b32 %r0, 1, 0, %p1;
    ld.param.u64 %rd9, [P0];
    st.global.b32 [%rd9], %r0;"""
    output = np.zeros(1, dtype="u4")
    run(kernel(body, 1), Given(output), block=(1, 1, 1))
    assert bool(output[0]) == holds


# ---- what is refused ----

BAD = {
    "an instruction": "foo.b32 %r0, %r1;",
    "a register of another width": "add.s64 %r0, %r1, %r2;",
    "a type": "add.bf16 %rs0, %rs1, %rs2;",
    "an address": "ld.global.b32 %r0, [%r1+%r2];",
    "a hardware register": "mov.u32 %r0, %smid;",
    "a barrier of some threads": "bar.sync 1, 64;",
    "no operands": "add.s32;",
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_unknown_is_refused(name: str) -> None:
    with pytest.raises(Unsupported):
        run(kernel(f".loc 1 7 0\n{BAD[name]}", 0))


@pytest.mark.parametrize(
    "text",
    [
        "", "{{{{", "}", ".visible .entry k(", ".visible .entry k() { bra L; }",
        ".visible .entry k() { .reg .b32 %r<99999999>; ret; }", kernel("", 0) * 2,
        ".visible .entry k() { call f, (); ret; }", ".visible .entry k() { ;;; @%p1 }",
        ".func f() { call f; ret; } .visible .entry k() { call f; ret; }",
        ".global .b8 a[9999999999];" + kernel("", 0),
    ],
)  # fmt: skip
def test_a_text_that_is_no_kernel_is_refused(text: str) -> None:
    with pytest.raises(PtxError):
        parse(text, "kernel.py")


UNITS = ["/*", "[", "{", "}", "x{\n", "(", "%r1,", ";", "L:", ".loc 1 1 1 inlined_at ", "call f, (",
         "@%p1 ", ".reg .b32 %r<9>;", "add.s32 %r1, %r1, %r1;\n", "mov.b64 {", ".local .b8 a[1];",
         "0f", "\n"]  # fmt: skip


def test_no_text_takes_long_to_read() -> None:
    for unit in UNITS:
        text = unit * (60_000 // len(unit))
        began_s = time.process_time()
        with contextlib.suppress(PtxError):
            parse(kernel(text, 0), "kernel.py")
        assert time.process_time() - began_s < 1, unit
