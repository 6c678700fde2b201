"""Compile instructions to functions that run them for some of a batch's threads.

A reader returns an operand's value for these threads, one element for all if it is a constant; a
writer takes a register's. Registers hold bits, so that each instruction sees them as its own type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from grader.emulation.common.errors import Unsupported
from grader.emulation.common.location import Location
from grader.emulation.ptx import operations
from grader.emulation.ptx.memory import Lanes, Memory
from grader.emulation.ptx.operations import DTYPES, UnknownError, Values
from grader.emulation.ptx.parser import SPECIAL, WIDTHS, Instruction, Kernel
from grader.protocol.targets import WARP

_STOPS = ("bra", "ret", "exit", "trap", "bar", "barrier", "brkpt")
_ADDRESS = re.compile(r"\[\s*([\w%$.~]+)\s*(?:\+\s*(-?\w+)\s*)?\]$")
_FLOAT = re.compile(r"0([fFdD])([0-9A-Fa-f]+)$")
_LOW = np.uint64(0xFFFFFFFF)
_ATOMIC: dict[str, Callable[[Values, Values], Values]] = {
    "add": lambda old, new: old + new[0],
    "min": lambda old, new: np.minimum(old, new[0]),
    "max": lambda old, new: np.maximum(old, new[0]),
    "and": lambda old, new: old & new[0],
    "or": lambda old, new: old | new[0],
    "xor": lambda old, new: old ^ new[0],
    "exch": lambda old, new: new[0],
    "cas": lambda old, new: np.where(old == new[0], new[1], old),
    "inc": lambda old, new: np.where(old >= new[0], old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, new: np.where((old == 0) | (old > new[0]), new[0], old - old.dtype.type(1)),
}


class Batch(Protocol):
    """The threads of some blocks, and their registers; each number is one of the batch.

    `numbers` are all threads, `thread` their numbers in a block and `block` their blocks.
    `parameters` are those of called functions, a row of bytes for each thread, `given` the
    kernel's. `symbols` are the addresses of arrays.
    """

    memory: Memory
    threads: int
    per_block: int
    numbers: Values
    thread: Values
    block: Values
    warp_epochs: Values
    carry: Values
    registers: list[Values | None]
    given: dict[str, bytes]
    parameters: dict[str, Values]
    symbols: dict[str, int]

    def bits(self, number: int) -> Values:
        """Return a register for all threads."""

    def special(self, name: str) -> Values:
        """Return what a register of the hardware holds, for all threads."""

    def lanes(self, who: Values | None) -> Lanes:
        """Return what orders the accesses of these threads."""


Step = Callable[[Batch, "Values | None"], None]
Reader = Callable[[Batch, "Values | None"], Values]
Writer = Callable[[Batch, "Values | None", Values], None]


class Code:
    """A kernel's instructions, compiled to Python functions once for all batches."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.steps: list[Callable[[Batch, Values | None], None] | None] = []
        self.numbers = {name: i for i, name in enumerate(kernel.registers)}
        self.widths = [WIDTHS[kind] for kind in kernel.registers.values()]
        # The compiler makes atomics that the hardware lacks of a load and compare-and-swap.
        self.atomic_lines = {
            one.line for one in kernel.code if one.parts[0] == "atom" and "cas" in one.parts
        }
        self.joins = set(kernel.labels.values())
        names = {one.parts[0] for one in kernel.code}
        # Threads may wait for others at a lock; those of a warp function must stay together.
        self.fair = bool(names & {"atom"}) and not names & {"shfl", "vote", "activemask"}
        for instruction in kernel.code:
            stops = instruction.parts[0] in _STOPS and instruction.parts[:2] != ("bar", "warp")
            try:
                self.steps.append(None if stops else _compile(self, instruction))
            except UnknownError as error:
                self.steps.append(_refused(str(error), instruction.line))
            except (KeyError, IndexError, ValueError, AttributeError):
                words = f"`{'.'.join(instruction.parts)[:40]}` of another form"
                self.steps.append(_refused(words, instruction.line))


class Registers:
    """The registers of some threads, with a number or a bit for each, and their carries."""

    def __init__(self, code: Code, threads: int) -> None:
        self.code, self.threads = code, threads
        self.registers: list[Values | None] = [None] * len(code.widths)
        self.carry = np.zeros(threads, dtype=bool)

    def bits(self, number: int) -> Values:
        """Return a register for all threads."""
        held = self.registers[number]
        if held is None:
            width = self.code.widths[number]
            held = np.zeros(self.threads, dtype=f"u{width}" if width else "?")
            self.registers[number] = held
        return held


def _refused(words: str, line: int | None) -> Step:
    """Return the function of an instruction that cannot run; no thread may ever come to it."""

    def step(batch: Batch, who: Values | None) -> None:
        raise unsupported(words, line)

    return step


def unsupported(words: str, line: int | None) -> Unsupported:
    """Return the error of what cannot run, with its line."""
    error = Unsupported(words)
    error.at = None if line is None else Location("", line, 0)
    return error


def _full(batch: Batch, who: Values | None, value: Values) -> Values:
    """Return a value for each of some threads; a constant is an array of one element."""
    return np.broadcast_to(value, (batch.threads if who is None else len(who),))


def _reader(code: Code, operand: str, kind: str) -> Reader:
    """Return a function that reads an operand as a type, for some threads: one element for all."""
    dtype = DTYPES[kind]
    if operand.startswith("!"):
        inner = _reader(code, operand[1:], kind)
        return lambda batch, who: ~inner(batch, who)
    if operand in code.numbers:
        number, width = code.numbers[operand], code.widths[code.numbers[operand]]
        narrow = width > dtype.itemsize and kind != "pred"
        if width < dtype.itemsize and width:
            raise UnknownError(f"{operand} as .{kind}")

        def register(batch: Batch, who: Values | None) -> Values:
            bits = batch.bits(number)
            bits = bits if who is None else bits[who]
            return (bits.astype(f"u{dtype.itemsize}") if narrow else bits).view(dtype)

        return register
    if SPECIAL.match(operand):

        def hardware(batch: Batch, who: Values | None) -> Values:
            held = batch.special(operand)
            held = held if who is None else held[who]
            return held.astype(f"u{dtype.itemsize}").view(dtype)

        return hardware
    if operand in code.kernel.arrays:
        return lambda batch, who: np.array([batch.symbols[operand]], dtype="u8").view(dtype)
    constant = np.array([_number(operand, dtype)])
    return lambda batch, who: constant


def _number(text: str, dtype: np.dtype[Any]) -> Any:
    found = _FLOAT.match(text)
    if found:
        kind = "<f4" if found[1] in "fF" else "<f8"
        octets = int(found[2], 16).to_bytes(4 if kind == "<f4" else 8, "little")
        value = np.frombuffer(octets, dtype=kind)[0]
        return value if dtype.kind == "f" else np.array([value]).view(dtype)[0]
    if dtype.kind == "f" and "." in text:
        return dtype.type(float(text))
    number = int(text, 0)
    if dtype.kind in "f?":
        return dtype.type(number)
    bits = 8 * dtype.itemsize
    return np.array([number % (1 << bits)], dtype=f"u{dtype.itemsize}").view(dtype)[0]


def _writer(code: Code, operand: str) -> Writer:
    """Return a function that writes a register for some threads."""
    if operand == "_":
        return lambda batch, who, value: None
    number = code.numbers[operand]
    width = code.widths[number]

    def write(batch: Batch, who: Values | None, value: Values) -> None:
        if width and value.dtype.kind != "?":
            if value.itemsize < width:
                signed = value.dtype.kind == "i"
                value = value.astype(f"i{width}" if signed else value.dtype)
                if not signed:
                    value = value.view(f"u{value.itemsize}").astype(f"u{width}")
            elif value.itemsize > width:
                value = value.view(f"u{value.itemsize}").astype(f"u{width}")
            value = value.view(f"u{width}")
        if who is None:
            of_all = len(value) == batch.threads
            batch.registers[number] = value if of_all else _full(batch, who, value).copy()
        else:
            batch.bits(number)[who] = value

    return write


def _compile(code: Code, one: Instruction) -> Step:
    """Return the function of an instruction; UnknownError if there is none."""
    name = one.parts[0]
    special = _with_carry if "cc" in one.parts else _SPECIAL_FORMS.get(name)
    if special is not None:
        return special(code, one)
    operate = operations.compute.get(name)
    if operate is None or "f16x2" in one.parts or "bf16" in "".join(one.parts):
        raise UnknownError(f"`{'.'.join(one.parts)}`")
    parts = one.parts
    target, *sources = one.operands
    kinds = operations.operand_types(parts, len(sources))
    readers = [_reader(code, text, kind) for text, kind in zip(sources, kinds, strict=True)]
    result = DTYPES[operations.result_type(parts)]
    write = _writer(code, target)

    def step(batch: Batch, who: Values | None) -> None:
        value = operate(parts, *(read(batch, who) for read in readers))
        write(batch, who, operations.flushed(parts, value.astype(result, copy=False)))

    return step


def _move(code: Code, one: Instruction) -> Step:
    kind = operations.types_of(one.parts)[-1] if operations.types_of(one.parts) else "b64"
    target, source = one.operands
    if target.startswith("{") or source.startswith("{"):
        return _pack(code, kind, target, source)
    read, write = _reader(code, source, kind), _writer(code, target)
    return lambda batch, who: write(batch, who, read(batch, who).copy())


def _pack(code: Code, kind: str, target: str, source: str) -> Step:
    """`mov.b64 %rd1, {%r1, %r2}` and the other way round."""
    whole = DTYPES[kind].itemsize
    if target.startswith("{"):
        writes = [_writer(code, name.strip()) for name in target.strip("{}").split(",")]
        read, part = _reader(code, source, kind), whole // len(writes)

        def unpack(batch: Batch, who: Values | None) -> None:
            pieces = np.ascontiguousarray(read(batch, who)).view(f"u{part}")
            pieces = pieces.reshape(-1, len(writes))
            for i, write in enumerate(writes):
                write(batch, who, pieces[:, i].copy())

        return unpack
    names = [name.strip() for name in source.strip("{}").split(",")]
    piece = whole // len(names)
    reads = [_reader(code, name, f"b{8 * piece}") for name in names]
    put = _writer(code, target)

    def pack(batch: Batch, who: Values | None) -> None:
        columns = np.stack([_full(batch, who, read(batch, who)) for read in reads], axis=1)
        put(batch, who, np.ascontiguousarray(columns).view(f"u{whole}").reshape(-1))

    return pack


def _convert(code: Code, one: Instruction) -> Step:
    target, source = operations.types_of(one.parts)
    read, write, kind = (
        _reader(code, one.operands[1], source),
        _writer(code, one.operands[0]),
        DTYPES[target],
    )
    parts = one.parts

    def step(batch: Batch, who: Values | None) -> None:
        value = operations.converted(parts, read(batch, who), kind)
        write(batch, who, operations.flushed(parts, value.astype(kind)))

    return step


def _compare(code: Code, one: Instruction) -> Step:
    """`setp.lt.s32 p|q, a, b`, also with `.and` of a third; `set.lt.u32.s32`."""
    parts = one.parts
    kinds = operations.types_of(parts)
    word, kind = parts[1], kinds[-1]
    if kind == "f16x2":
        raise UnknownError(".".join(parts))
    joint = next((part for part in parts[2:] if part in ("and", "or", "xor")), "")
    left, right = (_reader(code, text, kind) for text in one.operands[1:3])
    third = _reader(code, one.operands[3], "pred") if joint else None
    targets = [_writer(code, name.strip()) for name in one.operands[0].split("|")]
    result = DTYPES[kinds[0]] if parts[0] == "set" else None

    def step(batch: Batch, who: Values | None) -> None:
        holds = operations.compared(word, left(batch, who), right(batch, who))
        for write, value in zip(targets, (holds, ~holds), strict=False):
            if third is not None:
                with_other = third(batch, who)
                joined = {"and": value & with_other, "or": value | with_other}
                value = joined.get(joint, value ^ with_other)
            if result is not None:
                full = result.type(1.0) if result.kind == "f" else np.array(-1).astype(result)
                value = np.where(value, full, result.type(0))
            write(batch, who, value)

    return step


def _select(code: Code, one: Instruction) -> Step:
    kind = operations.types_of(one.parts)[-1]
    yes, no = (_reader(code, text, kind) for text in one.operands[1:3])
    chosen, write = _reader(code, one.operands[3], "pred"), _writer(code, one.operands[0])
    return lambda batch, who: write(
        batch, who, np.where(chosen(batch, who), yes(batch, who), no(batch, who))
    )


def _address(code: Code, operand: str) -> Reader:
    found = _ADDRESS.match(operand)
    if found is None:
        raise UnknownError(f"the address {operand[:40]}")
    base, offset = _reader(code, found[1], "u64"), int(found[2] or "0", 0)
    return lambda batch, who: _full(batch, who, base(batch, who).view("i8") + np.int64(offset))


def _width(parts: Sequence[str]) -> int:
    return next((int(part[1:]) for part in parts if part in ("v2", "v4")), 1)


def _names(operand: str) -> list[str]:
    return [name.strip() for name in operand.strip("{}").split(",")]


def _load(code: Code, one: Instruction) -> Step:
    kind = DTYPES[operations.types_of(one.parts)[-1]]
    count = _width(one.parts)
    writes = [_writer(code, name) for name in _names(one.operands[0])]
    if len(writes) != count:
        raise UnknownError(".".join(one.parts))
    if "param" in one.parts:
        return _load_parameter(code, one, kind, writes)
    address, line = _address(code, one.operands[1]), one.line
    strong = line in code.atomic_lines or "volatile" in one.parts

    def step(batch: Batch, who: Values | None) -> None:
        at = address(batch, who)
        if not len(at):
            return
        held = batch.memory.load(kind, count, at, batch.lanes(who), line, strong=strong)
        for i, write in enumerate(writes):
            write(batch, who, held[:, i].copy())

    return step


def _load_parameter(
    code: Code, one: Instruction, kind: np.dtype[Any], writes: list[Writer]
) -> Step:
    found = _ADDRESS.match(one.operands[1])
    if found is None:
        raise UnknownError(f"the address {one.operands[1][:40]}")
    name, offset = found[1], int(found[2] or "0", 0)

    def step(batch: Batch, who: Values | None) -> None:
        for i, write in enumerate(writes):
            first = offset + i * kind.itemsize
            if name in batch.given:
                write(batch, who, np.frombuffer(batch.given[name], kind, 1, first))
                continue
            held = batch.parameters[name]
            held = held if who is None else held[who]
            octets = np.ascontiguousarray(held[:, first : first + kind.itemsize])
            write(batch, who, octets.view(kind).reshape(-1).copy())

    return step


def _store(code: Code, one: Instruction) -> Step:
    kind = operations.types_of(one.parts)[-1]
    reads = [_reader(code, name, kind) for name in _names(one.operands[1])]
    if len(reads) != _width(one.parts):
        raise UnknownError(".".join(one.parts))
    if "param" in one.parts:
        found = _ADDRESS.match(one.operands[0])
        if found is None or found[1] not in code.kernel.locals:
            raise UnknownError(f"the address {one.operands[0][:40]}")
        name, offset, size = found[1], int(found[2] or "0", 0), DTYPES[kind].itemsize

        def pass_on(batch: Batch, who: Values | None) -> None:
            threads = slice(None) if who is None else who
            for i, read in enumerate(reads):
                value = _full(batch, who, read(batch, who))
                octets = np.ascontiguousarray(value).view("u1").reshape(-1, size)
                first = offset + i * size
                batch.parameters[name][threads, first : first + size] = octets

        return pass_on
    address, line = _address(code, one.operands[0]), one.line

    def step(batch: Batch, who: Values | None) -> None:
        at = address(batch, who)
        if not len(at):
            return
        values = [_full(batch, who, read(batch, who)) for read in reads]
        batch.memory.store(np.stack(values, axis=1), at, batch.lanes(who), line)

    return step


def _atomic(code: Code, one: Instruction) -> Step:
    word = next((part for part in one.parts[1:] if part in _ATOMIC), "")
    kind = operations.types_of(one.parts)[-1]
    if not word or ("noftz" in one.parts and kind not in ("f16",)):
        raise UnknownError(".".join(one.parts))
    operate = _ATOMIC[word]
    reduces = one.parts[0] == "red"
    write = None if reduces else _writer(code, one.operands[0])
    place, *rest = one.operands if reduces else one.operands[1:]
    address, line = _address(code, place), one.line
    reads = [_reader(code, text, kind) for text in rest]

    def step(batch: Batch, who: Values | None) -> None:
        at = address(batch, who)
        if not len(at):
            return
        operand = np.stack([_full(batch, who, read(batch, who)) for read in reads])
        before = batch.memory.update(operate, operand, at, batch.lanes(who), line)
        if write is not None:
            write(batch, who, before)

    return step


def _with_carry(code: Code, one: Instruction) -> Step:
    """`add.cc`, `addc`, `mad.lo.cc`, `madc.hi` and the like, of 32 bits."""
    name = one.parts[0].removesuffix("c")
    kind = operations.types_of(one.parts)[-1]
    if DTYPES[kind].itemsize != 4:
        raise UnknownError(".".join(one.parts))
    takes, gives = one.parts[0].endswith("c"), "cc" in one.parts
    reads = [_reader(code, text, "u32") for text in one.operands[1:]]
    write, high = _writer(code, one.operands[0]), "hi" in one.parts

    def step(batch: Batch, who: Values | None) -> None:
        threads = slice(None) if who is None else who
        values = [read(batch, who).astype("u8") for read in reads]
        if name == "mad":
            product = values[0] * values[1]
            values = [product >> np.uint64(32) if high else product & _LOW, values[2]]
        before = batch.carry[threads].astype("u8") if takes else np.uint64(0)
        result = values[0] - values[1] - before if name == "sub" else values[0] + values[1] + before
        if gives:
            batch.carry[threads] = result >> np.uint64(32) != 0
        write(batch, who, (result & _LOW).astype("u4"))

    return step


def _shuffle(code: Code, one: Instruction) -> Step:
    """`shfl.sync.down.b32 d|p, a, b, c, mask`."""
    mode = one.parts[2]
    value, by, limits = (_reader(code, text, "b32") for text in one.operands[1:4])
    targets = [_writer(code, name.strip()) for name in one.operands[0].split("|")]

    def step(batch: Batch, who: Values | None) -> None:
        threads = batch.numbers if who is None else who
        lane = batch.thread[threads] % WARP
        amount = by(batch, who).astype("i8") & 31
        limit = limits(batch, who).astype("i8")
        clamp, segment = limit & 31, limit >> 8 & 31
        most = (lane & segment) | (clamp & ~segment)
        least = lane & segment
        if mode == "up":
            source = lane - amount
            inside = source >= most
        elif mode == "down":
            source = lane + amount
            inside = source <= most
        else:
            source = lane ^ amount if mode == "bfly" else least | (amount & ~segment)
            inside = source <= most
        source = np.where(inside, source, lane)
        everyone = np.zeros(batch.threads, dtype="u4")
        everyone[threads] = value(batch, who)
        # A lane that does not take part, or that the block has not, gives 0, as on an H200.
        there = batch.thread[threads] - lane + source < batch.per_block
        given = everyone[np.minimum(threads - lane + source, batch.threads - 1)]
        targets[0](batch, who, np.where(there, given, 0))
        if len(targets) > 1:
            targets[1](batch, who, inside)

    if mode not in ("up", "down", "bfly", "idx"):
        raise UnknownError(".".join(one.parts))
    return step


def _vote(code: Code, one: Instruction) -> Step:
    """`vote.sync.ballot.b32 d, p, mask` and the like; `activemask.b32 d`."""
    mode = "ballot" if one.parts[0] == "activemask" else one.parts[2]
    holds = _reader(code, one.operands[1], "pred") if len(one.operands) > 1 else None
    write = _writer(code, one.operands[0])
    if mode not in ("ballot", "any", "all", "uni"):
        raise UnknownError(".".join(one.parts))

    def step(batch: Batch, who: Values | None) -> None:
        threads = batch.numbers if who is None else who
        lane = (batch.thread[threads] % WARP).astype("u4")
        warps = batch.block[threads] * batch.per_block + batch.thread[threads] // WARP
        chosen = np.ones(len(threads), dtype=bool)
        if holds is not None:
            chosen = _full(batch, who, holds(batch, who))
        _, index = np.unique(warps, return_inverse=True)
        ballot, present = (np.zeros(int(index.max(initial=0)) + 1, dtype="u4") for _ in range(2))
        np.bitwise_or.at(ballot, index, np.where(chosen, np.uint32(1) << lane, np.uint32(0)))
        np.bitwise_or.at(present, index, np.uint32(1) << lane)
        mine, those = ballot[index], present[index]
        results = {"ballot": mine, "any": mine != 0, "all": mine == those}
        write(batch, who, results.get(mode, (mine == 0) | (mine == those)))

    return step


def _sync_warp(code: Code, one: Instruction) -> Step:
    if one.parts[:3] != ("bar", "warp", "sync"):
        raise UnknownError(".".join(one.parts))

    def step(batch: Batch, who: Values | None) -> None:
        batch.warp_epochs[batch.numbers if who is None else who] += 1

    return step


def _nothing(code: Code, one: Instruction) -> Step:
    return lambda batch, who: None


def _same(code: Code, one: Instruction) -> Step:
    """`cvta`: addresses are the same in all spaces here."""
    read, write = _reader(code, one.operands[1], "u64"), _writer(code, one.operands[0])
    return lambda batch, who: write(batch, who, read(batch, who).copy())


_SPECIAL_FORMS: dict[str, Callable[[Code, Instruction], Step]] = {
    "addc": _with_carry,
    "subc": _with_carry,
    "madc": _with_carry,
    "mov": _move,
    "cvt": _convert,
    "cvta": _same,
    "setp": _compare,
    "set": _compare,
    "selp": _select,
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "shfl": _shuffle,
    "vote": _vote,
    "activemask": _vote,
    "bar": _sync_warp,
    "membar": _nothing,
    "fence": _nothing,
    "nanosleep": _nothing,
    "prefetch": _nothing,
}
