"""The arguments of a launch, read from a worker's message, of which nothing is trusted."""

import math
from typing import Any, NamedTuple

import torch

from grader.emulation.common.storage import Storage, View
from grader.emulation.triton_ir import execution
from grader.emulation.triton_ir.ir import Module


class RefusedError(Exception):
    """A message of the worker's that no honest worker sends."""


class Given(NamedTuple):
    """A storage of a message.

    Without a slot it is the submission's own; then `fresh` says that it came from a function that
    promises nothing about its content.
    """

    storage: Storage
    slot: int | None = None
    name: str = "?"
    fresh: bool = False


def read_argument(argument: dict[str, Any], storages: list[Given]) -> execution.Argument:
    """Return an argument of a message; `storages` are those of the same message.

    Raises RefusedError, or what Python raises for an argument of another form.
    """
    if "number" in argument:
        return int(argument["number"])
    if "float" in argument:
        return float.fromhex(argument["float"])
    storage = storages[argument["view"]].storage
    shape = [int(extent) for extent in argument["shape"]]
    strides = [int(stride) for stride in argument["strides"]]
    item, offset = int(argument["item"]), int(argument["offset"])
    if item not in (1, 2, 4, 8, 16) or len(shape) != len(strides) or len(shape) > 16:
        raise RefusedError("a tensor of another form")
    if min([*shape, *strides, offset, 0]) < 0:
        raise RefusedError("a tensor outside of its memory")
    extent = 0
    if all(shape):
        extent = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if offset + extent * item > storage.size:
        raise RefusedError("a tensor outside of its memory")
    members = None
    # A stride of 0 repeats elements, as often as it likes.
    moving = [(n, stride) for n, stride in zip(shape, strides, strict=True) if stride]
    if extent and math.prod(n for n, _ in moving) < extent:
        members = torch.zeros(extent, dtype=torch.bool)
        members.as_strided([n for n, _ in moving], [by for _, by in moving]).fill_(True)
    view = View(
        name=str(argument["name"])[:100],
        storage=storage,
        offset=offset,
        size=extent * item,
        item=item,
        read_only=not storage.writable,
        members=members,
    )
    if "extents" not in argument:
        return view
    return execution.DescriptorArgument(
        view=view,
        shape=tuple(int(extent) for extent in argument["extents"]),
        strides=tuple(int(step) for step in argument["steps"]),
        nan=bool(argument["nan"]),
    )


def whole_view(given: Given) -> View:
    """Return a storage as one view, for a kernel that knows its address."""
    storage = given.storage
    return View(
        name=given.name,
        storage=storage,
        offset=0,
        size=storage.size,
        item=storage.granule,
        read_only=not storage.writable,
    )


def compiled_arguments(
    arguments: list[execution.Argument], module: Module
) -> list[execution.Argument]:
    """Return the arguments of a compiled kernel.

    A descriptor has become its pointer, shape and strides; newer versions add what stands outside
    of its shape, and a flag that nothing sets.
    """
    flat: list[execution.Argument] = []
    described = sum(isinstance(one, execution.DescriptorArgument) for one in arguments)
    plain = len(arguments) + sum(
        2 * len(one.shape) for one in arguments if isinstance(one, execution.DescriptorArgument)
    )
    flags = (len(module.kernel.arguments) - plain) // max(described, 1)
    for argument in arguments:
        if isinstance(argument, execution.DescriptorArgument):
            flat += [argument.view, *argument.shape, *argument.strides]
            flat += [argument.nan, False][: max(flags, 0)]
        else:
            flat.append(argument)
    return flat
