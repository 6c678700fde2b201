"""Text that no compiler wrote: an error of the parser's or the executor's own, in bounded time."""

# Kernels have no types of Python's.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"
from __future__ import annotations

import contextlib
import functools
import random
import re
import time

import pytest
import torch
import triton
import triton.language as tl
from grader.emulation.common.errors import KernelError, TimeLimitError, Unsupported
from grader.emulation.common.findings import Findings
from grader.emulation.common.storage import Storage, View
from grader.emulation.triton_ir import parser
from grader.emulation.triton_ir.execution import Argument, Launch, execute
from grader.emulation.triton_ir.memory import Memory
from grader.emulation.triton_ir.parser import MOST_CHARACTERS, IRError, parse
from grader.emulation.triton_ir.types import Pointer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ir_kernels import specialized

# What may become of a launch, whatever the text says.
REFUSED = (IRError, Unsupported, KernelError, TimeLimitError)
QUICKLY = settings(
    max_examples=40, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@triton.jit
def combined(a, b):
    return tl.maximum(a, b) * 2


@triton.jit
def everything(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    if pid == 3:
        return
    total = tl.reduce(value, 0, combined)
    for k in range(pid):
        value = tl.cumsum(value, 0) + k
    steps = 0
    while steps < pid:
        steps += 1
    tile = tl.reshape(value, (16, BLOCK // 16))
    tile = tl.dot(tile, tl.trans(tile))
    desc = tl.make_tensor_descriptor(out, [n, 16], [16, 1], [16, 16])
    desc.store([0, 0], tile)
    tl.atomic_add(out + i % 16, total + steps, mask=i < n)
    tl.atomic_cas(out.to(tl.pointer_type(tl.int32)), 0, 1)
    tl.store(out + i, tl.sort(tl.exp(value)), mask=i < n)


@functools.cache
def real() -> str:
    arguments = (torch.zeros(512), torch.zeros(512), 200)
    return specialized(everything, arguments, {"BLOCK": 256})[1]


def run(text: str) -> None:
    """Parse and execute; memory for every pointer, 7 for every number."""
    module = parse(text)
    found = Findings()
    arguments: list[Argument] = []
    for name, kind in module.kernel.arguments:
        if isinstance(kind, Pointer):
            data = torch.zeros(2048, dtype=torch.uint8)
            storage = Storage(data, address=1 << 20, writable=True, bare=True)
            arguments.append(
                View(name=name, storage=storage, offset=0, size=2048, item=4, read_only=False)
            )
        else:
            arguments.append(7)
    launch = Launch(module=module, grid=(5, 1, 1), arguments=arguments)
    deadline_s = time.thread_time() + 0.5
    execute(launch, Memory(found), found, deadline_s=deadline_s)


def contained(text: str) -> None:
    start = time.monotonic()
    with contextlib.suppress(*REFUSED):
        run(text)
    assert time.monotonic() - start < 5


def test_the_kernel_runs() -> None:
    run(real())


def kernel(body: str) -> str:
    """Return a module with a kernel of this body."""
    return f"module {{\n tt.func public @k() {{\n {body}\n tt.return\n }}\n}}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{" * 10_000,
        "module {\n" * 10_000,
        "module {\n tt.func public @k() {\n" + "scf.if %a {\n" * 1000,
        'module {\n tt.func public @k(%x: tensor<1x' + "2x" * 100_000 + "f32>) {\n}\n}",
        "module {\n tt.func public @k(" + "<" * 100_000 + ") {\n}\n}",
        "module {\n tt.func public @k(%x: " + "!tt.ptr<" * 50_000 + "f32" + ">" * 50_000 + ") {",
        "module {\n tt.func public @k() {\n %a:99999999999 = scf.if %b {\n}\n}\n}",
        kernel("%a = arith.constant dense<9> : tensor<999999999999xi32>"),
        kernel("%a = arith.constant " + "9" * 100_000 + " : i32\n tt.store %a, %a : i32"),
        "#loc = loc(" + "callsite(" * 50_000 + "\nmodule {\n}",
        kernel("tt.return loc(" + "(" * 50_000 + ")" * 50_000 + ")"),
        "#loc = loc(#loc)\nmodule {\n tt.func public @k() {\n tt.return loc(#loc)\n } loc(#loc)\n}",
        '"' * 100_001,
        "module {\n" + "%a = " * 100_000 + "\n}",
        "\x00\udcff" * 1000,
    ],
    ids=range(16),
)  # fmt: skip
def test_nonsense_is_refused(text: str) -> None:
    start = time.monotonic()
    with pytest.raises(REFUSED):
        run(text)
        raise Unsupported("it runs, and does nothing")
    assert time.monotonic() - start < 2


@pytest.mark.parametrize(
    ("assembly", "constraints", "pack"),
    [
        ("add.f32 $0, $1, $1;", "=f,f", 0), ("add.f32 $0, $1, $1;", "=f,f", 999_999),
        ("add.f32 $0, $1, $1;", "", 1), ("add.f32 $0, $1, $1;", "=f", 1),
        ("add.f32 $0, $1, $1;", "=h,h", 1), ("add.f32 $0, $9, $1;", "=f,f", 1),
        ("add.f32 $0, $1, nowhere;", "=f,f", 1), ("L: bra L;", "=f,f", 1),
        ("ld.global.f32 $0, [$1];", "=f,f", 1), ("trap;", "=f,f", 1),
        ("mov.u32 $0, %smid;", "=r,r", 1), ("}", "=f,f", 1), ("{" * 10_000, "=f,f", 1),
        ("} .func f() { ret; } .entry k() {", "=f,f", 1), ("call f, ();", "=f,f", 1),
        ("add.f32 $0, $1, $1;" * 10_000, "=f,f", 1), (".reg .f32 a<99999999>;", "=f,f", 1),
        ("lop3.b32 $0, $1, $1, $1, $1;", "=r,r", 1), ("@p mov.f32 $0, $1;", "=f,f", 1),
        ("\\00\\FF\\5C", "=f,f", 1),
    ],
)  # fmt: skip
def test_assembly_that_fits_nothing_is_refused(assembly: str, constraints: str, pack: int) -> None:
    attributes = f'{{constraints = "{constraints}", packed_element = {pack} : i32, pure = true}}'
    types = "tensor<64xf32> -> tensor<64xf32>"
    with pytest.raises((IRError, Unsupported)):
        run(
            kernel(
                "%a = arith.constant dense<1.0> : tensor<64xf32>\n"
                f' %b = tt.elementwise_inline_asm "{assembly}" {attributes} %a : {types}'
            )
        )


def test_huge_text_is_refused() -> None:
    with pytest.raises(IRError, match="longer than"):
        parse(" " * (MOST_CHARACTERS + 1))


def test_many_operations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MOST_OPERATIONS", 1000)
    line = " %a = arith.constant 1 : i32\n"
    with pytest.raises(IRError, match="operations"):
        parse("module {\n tt.func public @k() {\n" + line * 1001 + " tt.return\n }\n}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tensor<256xf32>", "tensor<1048576xf32>"),
        ("tensor<256xi32>", "tensor<8xi32>"),
        ("end = 256", "end = 1099511627776"),
        ("end = 256", "end = -7"),
        ("axis = 0", "axis = 9"),
        ("axis = 1", "axis = -4"),
        ("f32", "i1"),
        ("f32", "f64"),
        ("i32", "i64"),
        ("scf.yield", "tt.return"),
        ("arith.addi", "arith.divsi"),
        ("tt.reduce.return", "scf.yield"),
        ("slt", "nonsense"),
        ("tt.load", "tt.call @everything"),
    ],
)
def test_wrong_types_and_attributes_are_contained(old: str, new: str) -> None:
    text = real()
    assert old in text
    contained(text.replace(old, new))
    contained(text.replace(old, new, 1))


def test_a_function_that_calls_itself_is_refused() -> None:
    text = "module {\n tt.func public @k() {\n tt.call @k() : () -> ()\n tt.return\n }\n}"
    with pytest.raises(REFUSED):
        run(text)


def test_blocks_that_branch_for_ever_are_ended() -> None:
    text = "module {\n tt.func public @k() {\n cf.br ^bb1\n ^bb1:\n cf.br ^bb1\n }\n}"
    with pytest.raises(TimeLimitError):
        run(text)


def mutated(seed: int) -> str:
    """Change a real text in a few places: lines, words and characters."""
    chance = random.Random(seed)
    lines = real().split("\n")
    words = sorted(set(re.findall(r"[%@#!\w.]+", real())))
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        kind = chance.randrange(7)
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(at, chance.choice(lines))
        elif kind == 2:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == 3:
            lines = lines[: at + 1]
        elif kind == 4 and lines[at]:
            place = chance.randrange(len(lines[at]))
            letter = chance.choice("0123456789<>(){}[]%,:=-x ")
            lines[at] = lines[at][:place] + letter + lines[at][place + 1 :]
        else:
            found = list(re.finditer(r"[%@#!\w.]+", lines[at]))
            if found:
                one = chance.choice(found)
                lines[at] = lines[at][: one.start()] + chance.choice(words) + lines[at][one.end() :]
        if not lines:
            return ""
    return "\n".join(lines)


@pytest.mark.slow
@QUICKLY
@given(st.integers(0, 1 << 32))
def test_mutated_text_is_contained(seed: int) -> None:
    contained(mutated(seed))


@QUICKLY
@given(st.text(max_size=300))
def test_random_text_is_refused(text: str) -> None:
    with pytest.raises(IRError):
        parse(text)
