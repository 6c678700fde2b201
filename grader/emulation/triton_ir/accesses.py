"""Loads, stores and atomics of a batch of programs, by pointers, block pointers and descriptors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from grader.emulation.common.errors import Unsupported
from grader.emulation.common.findings import Access, Finding
from grader.emulation.common.location import Location
from grader.emulation.common.picking import WHOLE, put, some_of
from grader.emulation.common.storage import Storage, View
from grader.emulation.triton_ir import affine, messages, tiles
from grader.emulation.triton_ir.arithmetic import BINARY
from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.memory import Memory, OneAccess
from grader.emulation.triton_ir.tiles import Tile
from grader.emulation.triton_ir.types import Pointer, Type, dtype_of, element_of
from grader.emulation.triton_ir.values import BlockPointer, Value, wrapped

T = torch.Tensor
_ACQUIRING, _RELEASING = ("acquire", "acq_rel"), ("release", "acq_rel")


class Accesses:
    """The accesses of one batch: `programs` are the numbers of its programs, int32."""

    def __init__(self, memory: Memory, programs: T) -> None:
        self.memory = memory
        self.programs = programs

    # ---- lanes ----

    def _lanes(
        self, access: Access, op: Operation, pointer: Value, mask: Value | None, size: int
    ) -> tuple[OneAccess, T | None, torch.Size]:
        """Return the active lanes of an access, where they are (None: everywhere), and the shape.

        Lanes of a batch in which all programs have one address stay one lane a program.
        """
        at = op.location
        data = pointer.data
        on = None
        if mask is not None:
            on = mask.data
            self._undefined(mask.undefined, mask, access, at, "a mask")
        if pointer.undefined is not None:
            where = pointer.undefined if on is None else pointer.undefined & on
            self._undefined(where, pointer, access, at, "an address")
        shape = torch.Size((len(self.programs), *data.shape[1:]))
        chosen = None if on is None or on.numpy().all() else on.expand(shape)
        programs = self.programs.view(-1, *(1 for _ in shape[1:]))
        one = OneAccess(
            memory=self.memory,
            access=access,
            size=size,
            addresses=_lanes_of(data, chosen, shape),
            programs=_lanes_of(programs, chosen, shape),
            at=at,
            wrapped=pointer.wrapped,
            outside_hint=_outside_hint(op),
        )
        return one, chosen, shape

    def _undefined(
        self, where: T | None, value: Value, access: Access, at: Location | None, what: str
    ) -> None:
        """Report an undefined value that decides where or whether something happens."""
        if where is None or not where.numpy().any():
            return
        line = value.origin.line if value.origin else None
        row = int(torch.nonzero(where.reshape(where.shape[0], -1).any(1))[0])
        program = int(self.programs[min(row, len(self.programs) - 1)])
        finding = Finding(
            kind="uninitialized",
            severity="warning",
            message=messages.garbage_decides(what, line),
            hint=messages.mask_hint(line),
            access=access,
            program=self.memory.program(program),
        )
        self.memory.found.add(finding, at)

    def branch(self, condition: Value, at: Location | None) -> None:
        """A branch depends on a condition."""
        self._undefined(condition.undefined, condition, "load", at, "the condition of a branch")

    def gather(self, op: Operation, length: int, index: Value) -> None:
        """`tl.gather` picks elements out of a block, which has `length` along the axis."""
        outside = (index.data < 0) | (index.data >= length)
        if index.undefined is not None:
            outside = outside & ~index.undefined
        rows = outside.reshape(outside.shape[0], -1).any(1)
        found = torch.nonzero(rows).reshape(-1)
        if not len(found):
            return
        first = int(found[0])
        lanes = index.data[first][outside[first]]
        finding = Finding(
            kind="out_of_bounds",
            message=messages.gathered_outside(int(lanes[0]), len(lanes), length),
            hint=messages.GATHER_HINT,
            access="load",
            program=self.memory.program(int(self.programs[first])),
            count=len(found) if len(rows) > 1 else len(self.programs),
        )
        self.memory.found.add(finding, op.location)

    def describe(self, op: Operation, base: Value, strides: Sequence[Value], block: Type) -> None:
        """A kernel makes a descriptor: a GPU of sm_90 takes only some addresses and strides."""
        numbers = [("an address", base.data)]
        numbers += [("a stride", stride.data * _width(block)) for stride in strides]
        for what, data in numbers:
            uneven = torch.nonzero(data.reshape(-1) % 16).reshape(-1)
            if not len(uneven):
                continue
            view = self.memory.view_of(int(base.data.reshape(-1)[0]))
            name = view.name if view else "memory"
            number = int(data.reshape(-1)[uneven[0]])
            finding = Finding(
                kind="misaligned",
                severity="warning",
                message=messages.uneven_descriptor(name, what, number),
                access="load",
                tensor=view.name if view else None,
                program=self.memory.program(int(self.programs[0])),
                count=len(uneven),
            )
            self.memory.found.add(finding, op.location)

    def _count(
        self, access: Access, op: Operation, pointer: Value, mask: Value | None, size: int
    ) -> None:
        """Count what warps request, if that is counted."""
        if self.memory.requests is not None:
            on = None if mask is None else mask.data
            batch = len(self.programs)
            self.memory.requests.count(access, op, size, batch, pointer.data, on)

    # ---- loads ----

    def load(self, op: Operation, pointer: Value, mask: Value | None, other: Value | None) -> Value:
        """Load through pointers; lanes that are off have `other`, or are undefined."""
        kind = _pointee(op.given[0])
        dtype = dtype_of(kind)
        size = _width(kind)
        self._count("load", op, pointer, mask, size)
        regular = self._load_tiles(op, pointer, mask, other, dtype)
        if regular is not None:
            return regular
        one, chosen, shape = self._lanes("load", op, pointer, mask, size)
        one.reads = True
        # What lies outside of an array is garbage on a GPU. Whole numbers may be addresses: 0.
        garbage = math.nan if dtype.is_floating_point else 0
        loaded = torch.full(one.addresses.shape, garbage, dtype=torch.float32).to(dtype)
        for view, lanes, offsets in self.memory.access(one):
            put(loaded, lanes, _read(view.storage, offsets, dtype, size))
        if chosen is None:
            return Value(loaded.reshape(shape))
        if other is not None:
            result = other.data.expand(shape).clone()
            undefined = None if other.undefined is None else other.undefined & ~chosen
        else:
            result = torch.zeros(shape, dtype=dtype)
            undefined = ~chosen
        put(result, chosen, loaded)
        if undefined is None:
            return Value(result)
        return Value(result, undefined, op.location)

    def _load_tiles(
        self, op: Operation, pointer: Value, mask: Value | None, other: Value | None,
        dtype: torch.dtype,
    ) -> Value | None:  # fmt: skip
        """Load slices of memory; None if the load is none of those."""
        size = dtype.itemsize
        found = tiles.plan(
            self.memory, self.programs, pointer, mask, access="load", size=size, at=op.location
        )
        if found is None:
            return None
        block = pointer.shape[1:]
        if len(found) == 1 and found[0].rows is None and found[0].extents == block:
            return Value(_read_tile(found[0], dtype))
        shape = (len(self.programs), *block)
        undefined: T | None
        if mask is None:  # programs differ in their view only, and every lane is loaded
            result, undefined = torch.zeros(shape, dtype=dtype), None
        elif other is None:
            result, undefined = torch.zeros(shape, dtype=dtype), ~mask.data.expand(shape)
        else:
            result, undefined = other.data.expand(shape).clone(), other.undefined
            if undefined is not None:
                undefined = undefined & ~mask.data.expand(shape)
        bits = _bits_view(result)
        for tile in found:
            tile.put(bits, _bits_view(_read_tile(tile, dtype)))
        return Value(result, undefined, None if undefined is None else op.location)

    # ---- stores ----

    def store(self, op: Operation, pointer: Value, value: Value, mask: Value | None) -> None:
        """Store through pointers."""
        kind = _pointee(op.given[0])
        size = _width(kind)
        self._count("store", op, pointer, mask, size)
        self.memory.stores(self.programs, None if mask is None else mask.data)
        if value.undefined is None:
            found = tiles.plan(
                self.memory, self.programs, pointer, mask, access="store", size=size, at=op.location
            )
            if found is not None:
                for tile in found:
                    _write_tile(tile, value.data)
                return
        one, chosen, shape = self._lanes("store", op, pointer, mask, size)
        one.writes = True
        numbers = _lanes_of(value.data, chosen, shape)
        garbage = None
        if value.undefined is not None:
            garbage = _lanes_of(value.undefined, chosen, shape)
        for view, lanes, offsets in self.memory.access(one):
            if garbage is not None:
                self._garbage("store", op, value, garbage[lanes], view, one.programs[lanes])
            self._write(one, view, lanes, offsets, some_of(numbers, lanes))

    def _write(self, one: OneAccess, view: View, lanes: T, offsets: T, numbers: T) -> None:
        storage = view.storage
        # In ascending order no lanes meet; and without earlier stores nothing was there.
        apart = (offsets[1:] > offsets[:-1]).numpy().all() and id(lanes) not in one.earlier
        if apart or not one.memory.checked:
            _write(storage, offsets, numbers, one.size)
            return
        before = _read(storage, offsets, numbers.dtype, one.size)
        _write(storage, offsets, numbers, one.size)
        after = _read(storage, offsets, numbers.dtype, one.size)
        mine = _bits(numbers)
        one.stored(view, lanes, offsets, _bits(before) != mine, _bits(after) != mine)

    def _garbage(
        self, access: Access, op: Operation, value: Value, where: T, view: View, programs: T
    ) -> None:
        found = torch.unique(programs[where])
        if not len(found):
            return
        count = int((where & (programs == found[0])).sum())
        line = value.origin.line if value.origin else None
        finding = Finding(
            kind="uninitialized",
            severity="warning",
            message=messages.garbage_stored(view.name, count, line),
            hint=messages.mask_hint(line),
            access=access,
            tensor=view.name,
            program=self.memory.program(int(found[0])),
            count=len(found),
        )
        self.memory.found.add(finding, op.location)

    # ---- atomics ----

    def update(self, op: Operation, pointer: Value, value: Value, mask: Value | None) -> Value:
        """`tt.atomic_rmw`: every lane in the order of the programs; return what was there."""
        kind, order = op.words[0], op.words[1]
        size = _width(_pointee(op.given[0]))
        self._count("atomic", op, pointer, mask, size)
        self.memory.stores(self.programs, None if mask is None else mask.data)
        one, chosen, shape = self._lanes("atomic", op, pointer, mask, size)
        one.writes, one.reads = True, kind != "exch"
        numbers = _lanes_of(value.data, chosen, shape)
        olds = torch.zeros_like(numbers)
        for view, lanes, offsets in self.memory.access(one):
            if value.undefined is not None:
                where = _lanes_of(value.undefined, chosen, shape)
                self._garbage("atomic", op, value, where[lanes], view, one.programs[lanes])
            olds[lanes] = _update(kind, view.storage, offsets, numbers[lanes], size)
        self._meet(pointer, one, order)
        return _spread(olds, chosen, shape)

    def compare_and_swap(self, op: Operation, pointer: Value, old: Value, new: Value) -> Value:
        """`tt.atomic_cas`: lane after lane."""
        order = op.words[0]
        size = _width(_pointee(op.given[0]))
        self._count("atomic", op, pointer, None, size)
        one, chosen, shape = self._lanes("atomic", op, pointer, None, size)
        one.writes = one.reads = True
        expected, numbers = (_lanes_of(v.data, chosen, shape) for v in (old, new))
        olds = torch.zeros_like(numbers)
        for view, lanes, offsets in self.memory.access(one):
            typed = view.storage.typed(numbers.dtype, int(offsets[0]) % size if size > 1 else 0)
            for lane, place in zip(lanes.tolist(), (offsets // size).tolist(), strict=True):
                olds[lane] = typed[place]
                if bool(typed[place] == expected[lane]):
                    typed[place] = numbers[lane]
        self._meet(pointer, one, order)
        return _spread(olds, chosen, shape)

    def _meet(self, pointer: Value, one: OneAccess, order: str) -> None:
        """A program that runs by itself has done a scalar atomic: it may order programs."""
        if self.memory.order is None or pointer.data.dim() > 1 or len(one.addresses) != 1:
            return
        self.memory.order.meet(
            int(one.addresses[0]),
            int(one.programs[0]),
            acquire=order in _ACQUIRING,
            release=order in _RELEASING,
        )

    # ---- blocks ----

    def load_block(self, op: Operation, block: BlockPointer, kind: Type) -> Value:
        """Load a block; elements outside of the checked dimensions are zero, or NaN if asked."""
        pointer, inside = self._block(op, block, kind)
        shape = pointer.data.shape
        nan = block.nan or op.attributes.get("padding") == "2"
        fill = float("nan") if nan else 0
        other = torch.full((1, *(1 for _ in shape[1:])), fill).to(dtype_of(kind))
        return self.load(_through(op, kind), pointer, inside, Value(other))

    def store_block(self, op: Operation, block: BlockPointer, value: Value, kind: Type) -> None:
        """Store a block; elements outside of the checked dimensions are left alone."""
        pointer, inside = self._block(op, block, kind)
        self.store(_through(op, kind), pointer, value, inside)

    def reduce_block(
        self, op: Operation, block: BlockPointer, value: Value, kind: Type, what: str
    ) -> None:
        """Update a block atomically."""
        pointer, inside = self._block(op, block, kind)
        through = _through(op, kind)
        through.words = (what, "relaxed")
        self.update(through, pointer, value, inside)

    def _block(self, op: Operation, block: BlockPointer, kind: Type) -> tuple[Value, Value]:
        """Return the addresses of a block's elements, and which are inside of the shape."""
        shape = kind.shape  # type: ignore[union-attr] # a block's type is a tensor
        rank, size = len(shape), _width(kind)
        checked = list(range(rank))
        if op.name in ("tt.load", "tt.store"):
            text = op.attributes.get("boundaryCheck", "")
            checked_text = text.partition(":")[2]
            checked = [int(n) for n in checked_text.replace(">", "").split(",") if n.strip()]
        strides = [stride.data.to(torch.int64) * size for stride in block.strides]
        limits = [
            limit.data.to(torch.int64) if axis in checked else None
            for axis, limit in enumerate(block.shape)
        ]
        starts = [offset.data.to(torch.int64) for offset in block.offsets]
        overflow = wrapped((block.base, *block.offsets))
        regular = all(len(s) == 1 for s in strides) and all(s.dim() == 1 for s in starts)
        if regular:
            pointer, inside = affine.block(block.base.data, shape, strides, starts, limits)
            return Value(pointer, wrapped=overflow), Value(inside)
        address = block.base.data.view(-1, *[1] * rank)
        mask = torch.ones([1] * (rank + 1), dtype=torch.bool)
        for axis, (start, stride, limit) in enumerate(zip(starts, strides, limits, strict=True)):
            view = [1] * (rank + 1)
            view[axis + 1] = shape[axis]
            index = start.view(-1, *[1] * rank) + torch.arange(shape[axis]).view(view)
            if start.dim() == 2:  # the rows of a gather or a scatter
                index = start.view(-1, *view[1:])
            address = address + index * stride.view(-1, *[1] * rank)
            if limit is not None:
                mask = mask & (index >= 0) & (index < limit.view(-1, *[1] * rank))
        return Value(address, wrapped=overflow), Value(mask)


def _through(op: Operation, kind: Type) -> Operation:
    """Return the operation as one on pointers to the block's elements."""
    element = element_of(kind)
    return Operation(
        op.name, op.results, (), op.words, op.attributes, (Pointer(element),), (), op.text,
        op.location,
    )  # fmt: skip


def _outside_hint(op: Operation) -> str:
    """Return what keeps an access by a block pointer or a descriptor inside; "" for others."""
    if op.name.startswith("tt.descriptor"):
        return messages.DESCRIPTOR_HINT
    return messages.BLOCK_HINT if "!tt.ptr<tensor<" in op.text else ""


def _lanes_of(data: T, chosen: T | None, shape: torch.Size) -> T:
    """Return the elements of the active lanes, in one dimension."""
    data = data.expand(shape)
    return data.reshape(-1) if chosen is None else some_of(data, chosen)


def _pointee(kind: Type) -> Type:
    element = element_of(kind)
    if not isinstance(element, Pointer):
        raise Unsupported("an access through what is no pointer")
    return element.element


def _width(kind: Type) -> int:
    return dtype_of(kind).itemsize


def _bits(value: T) -> T:
    """Return the numbers as integers of the same width: torch cannot index some types."""
    if value.dtype is torch.bool:
        return value.to(torch.uint8)
    return value.contiguous().view(WHOLE[value.element_size()])


def _read(storage: Storage, offsets: T, dtype: torch.dtype, size: int) -> T:
    shift = int(offsets[0]) % size
    places = (offsets - shift) >> size.bit_length() - 1
    found = storage.typed(WHOLE[size], shift).index_select(0, places)
    return found != 0 if dtype is torch.bool else found.view(dtype)


def _write(storage: Storage, offsets: T, numbers: T, size: int) -> None:
    shift = int(offsets[0]) % size
    places = (offsets - shift) >> size.bit_length() - 1
    put(storage.typed(WHOLE[size], shift), places, _bits(numbers))


def _read_tile(tile: Tile, dtype: torch.dtype) -> T:
    """Return what a tile has in memory; one block for all programs if they read the same."""
    storage, region = tile.view.storage, tile.region
    size, outer = region.size, region.outer
    typed = region.of(storage.typed(WHOLE[size], region.start % size), size)
    if not any(region.strides[:outer]):
        typed = typed[(0,) * (outer - 1)][:1]
    elif outer > 1:
        typed = typed.reshape(-1, *tile.extents)
    if dtype is torch.bool:
        return typed != 0
    if storage.writable and typed._base is not None:
        typed = typed.clone()  # a later store must not change it
    return typed.view(dtype)


def _write_tile(tile: Tile, values: T) -> None:
    storage, region = tile.view.storage, tile.region
    size = region.size
    typed = region.of(storage.typed(WHOLE[size], region.start % size), size)
    part = tile.part(values).expand(len(tile.programs), *tile.extents)
    typed.copy_(_bits(part).view(region.shape))


def _bits_view(value: T) -> T:
    """As `_bits`, over the same memory."""
    if value.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        return value.view(torch.uint8)
    return value


def _spread(values: T, chosen: T | None, shape: torch.Size) -> Value:
    if chosen is None:
        return Value(values.reshape(shape))
    result = torch.zeros(shape, dtype=values.dtype)
    put(result, chosen, values)
    return Value(result)


def _update(kind: str, storage: Storage, offsets: T, numbers: T, size: int) -> T:
    """Update memory lane after lane; return what each lane found.

    Lanes that meet in an element take turns: in each round every element is updated once.
    """
    shift = int(offsets[0]) % size
    typed = storage.typed(numbers.dtype, shift)
    places = (offsets - shift) >> size.bit_length() - 1
    olds = torch.zeros_like(numbers)
    order = torch.argsort(places, stable=True)
    ordered = places[order]
    starts = torch.ones_like(ordered, dtype=torch.bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    firsts = torch.nonzero(starts).reshape(-1)
    lengths = torch.diff(firsts, append=torch.tensor([len(ordered)]))
    rank = torch.arange(len(ordered)) - firsts.repeat_interleave(lengths)
    rounds = int(rank.max()) + 1
    if rounds > 64 and kind in ("add", "fadd"):
        return _sum(typed, places, numbers, order, firsts, lengths)
    if rounds > 8:
        return _scan(kind, typed, places, numbers, order, rank)
    by_rank = torch.argsort(rank, stable=True)
    sizes = torch.bincount(rank)
    start = 0
    for count in sizes.tolist():
        turn = order[by_rank[start : start + count]]
        start += count
        found = typed[places[turn]]
        olds[turn] = found
        typed[places[turn]] = _combined(kind, found, numbers[turn])
    return olds


def _sum(typed: T, places: T, numbers: T, order: T, firsts: T, lengths: T) -> T:
    """Add many numbers to few elements: prefix sums of each element's lanes."""
    wide = torch.float64 if numbers.dtype.is_floating_point else torch.int64
    ordered = numbers[order].to(wide)
    running = ordered.cumsum(0)
    before = running - ordered
    base = before[firsts].repeat_interleave(lengths)
    found = typed[places[order]].to(wide) + (before - base)
    olds = torch.empty_like(numbers)
    olds[order] = found.to(numbers.dtype)
    ends = firsts + lengths - 1
    typed[places[order][ends]] = (found + ordered)[ends].to(typed.dtype)
    return olds


def _scan(kind: str, typed: T, places: T, numbers: T, order: T, rank: T) -> T:
    """Combine many numbers with few elements: each lane with those 1, 2, 4, … places before."""
    ordered, value, step = places[order], numbers[order], 1
    while step <= int(rank.max()):
        joined = _combined(kind, value[:-step], value[step:])
        kept = torch.where(rank[step:] >= step, joined, value[step:])
        value = torch.cat((value[:step], kept))
        step *= 2
    found = typed[ordered]
    after = _combined(kind, found, value)
    before = found.clone()
    before[1:] = torch.where(rank[1:] > 0, after[:-1], found[1:])
    olds = torch.empty_like(numbers)
    olds[order] = before
    last = torch.ones_like(rank, dtype=torch.bool)
    last[:-1] = rank[1:] == 0
    typed[ordered[last]] = after[last]
    return olds


_ATOMICS: dict[str, Callable[[T, T], T]] = {
    "add": torch.add,
    "and": torch.bitwise_and,
    "exch": lambda old, new: new,
    "fadd": torch.add,
    "max": torch.maximum,
    "min": torch.minimum,
    "or": torch.bitwise_or,
    "umax": BINARY["arith.maxui"],
    "umin": BINARY["arith.minui"],
    "xor": torch.bitwise_xor,
}


def _combined(kind: str, old: T, new: T) -> T:
    if kind not in _ATOMICS:
        raise Unsupported(f"tt.atomic_rmw {kind}")
    return _ATOMICS[kind](old, new)
