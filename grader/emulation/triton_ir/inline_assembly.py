"""Inline assembly of a Triton kernel: `tl.inline_asm_elementwise`.

    asm, constraints ─→ a kernel of PTX without parameters ─→ its instructions, run with a thread
                        whose operands are registers           for each group of `pack` elements

Instructions on registers only: what touches memory, other threads or the flow of control is
refused, as is arithmetic on pairs (`f16x2`). The text may be anybody's.
"""

from __future__ import annotations

import functools
import math
import re
import time
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch

from grader.emulation.common.errors import Unsupported
from grader.emulation.ptx import operations
from grader.emulation.ptx.instructions import Batch, Code, Registers
from grader.emulation.ptx.operations import UnknownError, Values
from grader.emulation.ptx.parser import PtxError, parse
from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.propagation import elementwise
from grader.emulation.triton_ir.types import dtype_of, shape_of
from grader.emulation.triton_ir.values import Value

WHERE = "tl.inline_asm_elementwise"
_MOST_INSTRUCTIONS = 200
_KINDS = {"r": "b32", "f": "f32", "h": "b16", "l": "b64", "d": "f64"}
_ON_REGISTERS = {*operations.compute, "mov", "cvt", "setp", "set", "selp", "addc", "subc", "madc"}
_CLOCKS = ("%globaltimer", "%clock", "%clock64")
_REGISTER = 32  # bits: smaller elements of a group share a register
_ESCAPE = re.compile(r"\\([0-9A-F]{2}|.)", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_OPERAND = re.compile(r"\$(?:(\d{1,3})|\{(\d{1,3})(?::\w+)?\}|(\$))")


@dataclass(frozen=True, slots=True)
class _Assembly:
    code: Code
    outputs: tuple[str, ...]  # registers
    inputs: tuple[str, ...]


def inline_assembly(op: Operation, values: list[Value]) -> list[Value]:
    """Return the results of `tt.elementwise_inline_asm`. Raises Unsupported."""
    text = next((word for word in op.words if word.startswith('"')), '""')
    try:
        assembly = _assembled(text, op.attributes.get("constraints", "").strip('"'))
        return _run(assembly, int(op.attributes.get("packed_element", "1")), op, values)
    except (PtxError, UnknownError, Unsupported) as error:
        raise Unsupported(f"{error} of {WHERE}") from error


@functools.lru_cache(256)
def _assembled(quoted: str, constraints: str) -> _Assembly:
    text = _COMMENT.sub(" ", _ESCAPE.sub(_unescaped, quoted[1:-1]))
    outputs: list[str] = []
    inputs: list[str] = []
    operands: list[str] = []
    declared: list[str] = []
    for constraint in (one.strip() for one in constraints.split(",")):
        if not constraint or constraint.startswith("~"):
            continue
        letter = constraint.lstrip("=&")
        name = f"%operand{len(operands)}"
        if letter.isdigit() and int(letter) < len(outputs):
            name = outputs[int(letter)]  # begins with this input
        elif letter in _KINDS:
            declared.append(f".reg .{_KINDS[letter]} {name};")
        else:
            raise Unsupported(f"the constraint {constraint[:20]}")
        (outputs if constraint.startswith("=") else inputs).append(name)
        operands.append(name)

    def named(match: re.Match[str]) -> str:
        number = match[1] or match[2]
        if number is None:
            return "$"
        if int(number) >= len(operands):
            raise Unsupported(f"the operand ${number}")
        return operands[int(number)]

    body = "\n".join([*declared, _OPERAND.sub(named, text)])
    kernel = parse(f".entry assembly()\n{{\n{body}\n}}\n", "")
    for one in kernel.code:
        if one.parts[0] not in _ON_REGISTERS:
            raise Unsupported(f"`{'.'.join(one.parts)[:40]}`")
    if len(kernel.code) > _MOST_INSTRUCTIONS:
        raise Unsupported("so many instructions")
    return _Assembly(Code(kernel), tuple(outputs), tuple(inputs))


def _unescaped(match: re.Match[str]) -> str:
    """Return what an escape of MLIR's stands for: `\\0A` is the end of a line."""
    return chr(int(match[1], 16)) if len(match[1]) == 2 else match[1]


def _run(assembly: _Assembly, pack: int, op: Operation, values: list[Value]) -> list[Value]:
    given: tuple[torch.Tensor, ...] = ()
    if values:
        given = torch.broadcast_tensors(*(value.data for value in values))  # type: ignore[no-untyped-call] # torch's own
    shape = tuple(given[0].shape) if given else (1, *shape_of(op.result_types[0]))
    count = math.prod(shape)
    if not 0 < pack <= max(1, _REGISTER):
        raise Unsupported(f"pack={pack}")
    threads = -(-count // pack)
    registers = _NamedRegisters(assembly.code, threads)
    columns = [column for data in given for column in _columns(data, threads, pack)]
    if len(columns) != len(assembly.inputs):
        raise Unsupported(f"{len(columns)} registers of operands, with other constraints")
    for name, column in zip(assembly.inputs, columns, strict=True):
        registers.set(name, column)
    with np.errstate(all="ignore"):
        registers.run()
    results, at = [], 0
    for kind in op.result_types:
        dtype = dtype_of(kind)
        part, each = _parts(dtype, pack)
        names = assembly.outputs[at : at + each]
        at += each
        if len(names) != each:
            raise Unsupported(f"{len(assembly.outputs)} registers of results, with other types")
        held = np.stack([registers.of(name).astype(f"u{part}") for name in names], axis=1)
        octets = torch.from_numpy(held.view("u1").reshape(-1))
        data = octets[: count * dtype.itemsize].clone().view(dtype).view(shape)
        results.append(elementwise(op, values, data))
    return results


def _parts(dtype: torch.dtype, pack: int) -> tuple[int, int]:
    """Return the bytes of a group in one register, and how many registers it needs."""
    size = dtype.itemsize
    together = min(max(1, _REGISTER // (8 * size)), pack)
    if dtype is torch.bool or pack % together or size * together not in (1, 2, 4, 8):
        raise Unsupported(f"elements of {str(dtype).removeprefix('torch.')} with pack={pack}")
    return size * together, pack // together


def _columns(data: torch.Tensor, threads: int, pack: int) -> list[Values]:
    """Return the registers of an operand, with a number for each thread."""
    part, each = _parts(data.dtype, pack)
    octets = data.contiguous().view(-1).view(torch.uint8).numpy()
    full = np.zeros(threads * pack * data.dtype.itemsize, dtype="u1")
    full[: len(octets)] = octets
    numbers = full.view(f"u{part}").reshape(threads, each)
    return [numbers[:, i].copy() for i in range(each)]


class _NamedRegisters(Registers):
    """Registers by name: of a batch, what instructions on registers ask for."""

    def set(self, name: str, value: Values) -> None:
        """Put a number for each thread into a register that is as wide, or wider."""
        number = self.code.numbers[name]
        width = self.code.widths[number]
        if value.itemsize > width:
            raise Unsupported(f"{8 * value.itemsize} bits in a register of {8 * width}")
        self.registers[number] = value.astype(f"u{width}")

    def of(self, name: str) -> Values:
        """Return what a register holds."""
        return self.bits(self.code.numbers[name])

    def special(self, name: str) -> Values:
        """Return a clock: other registers of the hardware tell threads apart."""
        if name not in _CLOCKS:
            raise Unsupported(f"the register {name}")
        return np.full(self.threads, time.perf_counter_ns(), dtype="u8")

    def run(self) -> None:
        """Run all instructions, each for the threads that its guard leaves."""
        batch = cast(Batch, self)  # instructions on registers ask for no more
        for step, one in zip(self.code.steps, self.code.kernel.code, strict=True):
            who: Any = None
            if one.guard is not None:
                held = self.bits(self.code.numbers[one.guard[0]])
                who = np.flatnonzero(held == one.guard[1])
            assert step is not None  # none branches
            step(batch, who)
