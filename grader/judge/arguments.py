"""Pack the arguments of calls for `grader.protocol.wire`."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from grader.assignment.launch import Launch
from grader.assignment.signature import Argument, ElementType, Signature
from grader.protocol import wire
from grader.vocabulary import Language


def call_arguments(
    signature: Signature,
    language: Language,
    sizes: Mapping[str, int | float],
    launch: Launch | None = None,
    *,
    dtype: str = "",
) -> bytes:
    """Return the payload of CALL for a case's sizes; arrays take the slots in their order.

    If the entry is a kernel, the numbers of the case's launch follow, or those of the signature's.
    In CUDA C++ the position of the type `dtype` follows, if cases choose one; without it 0, the
    first.
    """
    slots = {argument.name: slot for slot, argument in enumerate(signature.arrays)}
    kinds = [(a, signature.element_type(a, language)) for a in signature.arguments]
    values = [
        slots[a.name] if a.is_array else signature.scalar(a, sizes) for a in signature.arguments
    ]
    launched = launch or signature.launch
    numbers = launched.numbers(_all_sizes(signature, sizes)) if launched else ()
    words = [wire.ARGUMENT.pack(wire.INTEGER, number) for number in numbers]
    if signature.variable and language.base is Language.CUDA:
        known = [kind.word for kind in signature.dtypes]
        words.append(wire.ARGUMENT.pack(wire.INTEGER, known.index(dtype) if dtype else 0))
    return pack_arguments(kinds, values) + b"".join(words)


def _all_sizes(signature: Signature, sizes: Mapping[str, int | float]) -> Mapping[str, int | float]:
    """Return the sizes with the values of all scalars."""
    return {**{a.name: signature.scalar(a, sizes) for a in signature.scalars}, **sizes}


def pack_arguments(
    arguments: Sequence[tuple[Argument, ElementType]], values: Sequence[int | float]
) -> bytes:
    """Return the payload of CALL: a slot number for each array, a value for each scalar."""
    packed = b""
    for (argument, kind), value in zip(arguments, values, strict=True):
        if argument.is_array:
            packed += wire.ARGUMENT.pack(wire.SLOT, int(value))
        elif kind is ElementType.FLOAT32:
            packed += wire.ARGUMENT.pack(wire.FLOAT32, _bits("<fxxxx", value))
        elif kind is ElementType.FLOAT64:
            packed += wire.ARGUMENT.pack(wire.FLOAT64, _bits("<d", value))
        elif kind is ElementType.BOOL:
            packed += wire.ARGUMENT.pack(wire.BOOL, int(value))
        elif kind.range[0] == 0:
            packed += wire.ARGUMENT.pack(wire.UNSIGNED, int(value))
        else:
            packed += wire.ARGUMENT.pack(wire.INTEGER, _bits("<q", int(value)))
    return packed


def _bits(layout: str, value: int | float) -> int:
    return int.from_bytes(struct.pack(layout, value), "little")


def pack_run(arguments: bytes, slots: int, order: Sequence[int]) -> bytes:
    """Return the payload of PREPARE: a call on each buffer set of `order`, `slots` per set."""
    count = len(arguments) // wire.ARGUMENT.size
    header = wire.RUN_HEADER.pack(count, slots, len(order))
    return header + arguments + b"".join(map(wire.SET.pack, order))
