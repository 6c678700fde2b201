"""Compile Triton kernels to their IR without a GPU, and run them through the executor.

    kernel[grid](…) ─→ specialisation as on a GPU ─→ IR ─→ parser ─→ executor, over torch's memory

`Calls` is what happens between the begin and the end of one call of a hand-in: the storages that
its launches have seen, and the findings. Inside `Calls.patched()` a launch of any `@triton.jit`
kernel goes there, and `torch.empty` fills its memory with the pattern of never-written memory.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction, create_function_from_signature

from grader.emulation.common.findings import Finding, Findings
from grader.emulation.common.storage import Storage, View
from grader.emulation.triton_ir.execution import DescriptorArgument, Launch, execute
from grader.emulation.triton_ir.memory import Memory
from grader.emulation.triton_ir.parser import parse
from grader.protocol.launches import PATTERN
from grader.worker import triton_autotune, worker_log

_EMPTY = ("empty", "empty_like", "empty_strided")
_NEW_EMPTY = ("new_empty", "new_empty_strided")


def specialized(
    kernel: Any, args: Sequence[Any], kwargs: dict[str, Any], capability: int = 80
) -> tuple[dict[str, Any], str]:
    """Return a kernel's arguments by name, and its IR with a GPU's specialisation for them."""
    target = GPUTarget("cuda", capability, 32)
    backend = make_backend(target)
    binder = create_function_from_signature(kernel.signature, kernel.params, backend)
    kwargs = {"debug": False, **kwargs}
    bound, specialization, options = binder(*args, **kwargs)
    options, signature, constants, attributes = kernel._pack_args(
        backend, kwargs, bound, specialization, options
    )
    source = ASTSource(kernel, signature, constants, attributes)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen = backend.get_codegen_implementation(options)
    module = source.make_ir(target, options, codegen, backend.get_module_map(), context)
    runtime = {
        name: _without_constants(value, signature[name], (index,), constants)
        for index, (name, value) in enumerate(bound.items())
        if signature[name] != "constexpr"
    }
    return runtime, str(module)


class _Constant:
    """An item of a tuple that the compiler knows."""


def _without_constants(value: Any, kind: Any, path: tuple[int, ...], constants: Any) -> Any:
    if isinstance(kind, tuple):
        items = zip(value, kind, strict=True)
        return tuple(
            _without_constants(item, of, (*path, i), constants)
            for i, (item, of) in enumerate(items)
        )
    return _Constant() if kind == "constexpr" else value


@dataclass
class Calls:
    """Launches on the processor: the memory they share, and what was found."""

    found: Findings = field(default_factory=Findings)
    launches: int = 0
    deadline_s: float | None = None
    capability: int = 80
    texts: list[str] = field(default_factory=list)
    _storages: dict[int, tuple[Any, Storage]] = field(default_factory=dict)
    _inputs: set[int] = field(default_factory=set)
    _known: list[View] = field(default_factory=list)

    def give(
        self, name: str, tensor: torch.Tensor, *, writable: bool = True, bare: bool = False
    ) -> None:
        """Make a tensor known before the launches, as the grader's buffers are."""
        storage = self._storage(tensor, writable=writable, bare=bare)
        self._known.append(self._view(name, tensor, storage))

    @property
    def findings(self) -> list[Finding]:
        """What was found, the first one first."""
        return list(self.found.found.values())

    def launch(self, kernel: Any, grid: Any, *args: Any, **kwargs: Any) -> None:
        """Compile a kernel and run it."""
        arguments, text = specialized(kernel, args, kwargs, self.capability)
        if callable(grid):
            names = kernel.signature.bind_partial(
                *args, **{name: kwargs[name] for name in kwargs if name in kernel.arg_names}
            )
            names.apply_defaults()
            grid = grid(names.arguments)
        self.texts.append(text)
        extents = (*map(int, grid), 1, 1)[:3]
        given: list[Any] = []
        for name, value in arguments.items():
            self._add(given, name, value)
        module = parse(text)
        launch = Launch(
            module=module, grid=(extents[0], extents[1], extents[2]), arguments=given,
            known=self._known,
        )  # fmt: skip
        self.launches += 1
        execute(
            launch, Memory(self.found), self.found, deadline_s=self.deadline_s,
        )  # fmt: skip

    def _add(self, given: list[Any], name: str, value: Any) -> None:
        """Add what an argument is in the IR: a tuple its items, a descriptor its parts."""
        if isinstance(value, _Constant):
            return
        if isinstance(value, tuple):
            for i, item in enumerate(value):
                self._add(given, f"{name}.{i}", item)
            return
        if hasattr(value, "block_shape"):  # a descriptor from the host
            view = self._view(name, value.base, self._storage(value.base))
            shape, strides = tuple(value.shape), tuple(value.strides)
            nan = getattr(value, "padding", "zero") == "nan"
            given.append(DescriptorArgument(view=view, shape=shape, strides=strides, nan=nan))
            given += [*shape, *strides]
            return
        tensor = getattr(value, "base", value) if not isinstance(value, torch.Tensor) else value
        if isinstance(tensor, torch.Tensor):
            given.append(self._view(name, tensor, self._storage(tensor)))
        else:
            given.append(value)

    def _storage(
        self, tensor: torch.Tensor, *, writable: bool = True, bare: bool = True
    ) -> Storage:
        """Return the storage of a tensor. Scratch counts as unwritten where the pattern is."""
        memory = tensor.untyped_storage()
        known = self._storages.get(memory.data_ptr())
        if known is None or known[1].size != memory.nbytes():
            data = torch.empty(0, dtype=torch.uint8).set_(memory)
            storage = Storage(
                data, address=memory.data_ptr(), writable=writable, bare=bare,
                granule=tensor.element_size(),
            )  # fmt: skip
            known = self._storages[memory.data_ptr()] = (memory, storage)
        return known[1]

    def _view(self, name: str, tensor: torch.Tensor, storage: Storage) -> View:
        item = tensor.element_size()
        extent, members = 0, None
        if tensor.numel():
            pairs = list(zip(tensor.shape, tensor.stride(), strict=True))
            extent = 1 + sum((size - 1) * stride for size, stride in pairs)
            distinct = torch.Size([size for size, stride in pairs if stride]).numel()
            if distinct < extent:
                members = torch.zeros(extent, dtype=torch.bool)
                members.as_strided(tensor.shape, tensor.stride()).fill_(True)
        return View(
            name=name,
            storage=storage,
            offset=int(tensor.storage_offset()) * item,
            size=extent * item,
            item=item,
            read_only=not storage.writable,
            members=members,
        )

    @contextlib.contextmanager
    def patched(self) -> Iterator[None]:
        """Launch every kernel here, each configuration of a tuner in turn."""

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> None:
            for hook in kernel.pre_run_hooks:
                hook(*args, **kwargs)
            self.launch(kernel, grid, *args, **kwargs)

        with contextlib.ExitStack() as patches:
            for owner, name, new in (
                (JITFunction, "run", run),
                (Autotuner, "run", triton_autotune._run),
                (Autotuner, "grader_turns", triton_autotune.Turns()),
                (Autotuner, "grader_trials", False),
                (worker_log, "tell", lambda *_, **__: None),
                *((torch, name, _patterned(getattr(torch, name))) for name in _EMPTY),
                *((torch.Tensor, n, _patterned(getattr(torch.Tensor, n))) for n in _NEW_EMPTY),
            ):
                patches.enter_context(mock.patch.object(owner, name, new, create=True))
            yield


def _patterned(allocate: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def empty(*args: Any, **kwargs: Any) -> torch.Tensor:
        tensor = allocate(*args, **kwargs)
        if tensor.dtype is not torch.bool and "out" not in kwargs:
            unwritten(tensor)
        return tensor

    return empty


def unwritten(tensor: torch.Tensor) -> torch.Tensor:
    """Fill a tensor's memory with the pattern of memory that nothing has written."""
    data = torch.tensor([], dtype=torch.uint8).set_(tensor.untyped_storage())
    for place, byte in enumerate(PATTERN):
        data[place :: len(PATTERN)] = byte
    return tensor


def load(file: Path) -> Any:
    """Import a hand-in."""
    name = "hand_in_" + "_".join(file.with_suffix("").parts[-3:]).replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def launched(
    kernel: Any, grid: Sequence[int], *args: Any, capability: int = 80, **kwargs: Any
) -> Calls:
    """Run one launch with memory of its own; all tensors are writable."""
    calls = Calls(capability=capability)
    with calls.patched():
        kernel[tuple(grid)](*args, **kwargs)
    return calls


__all__ = ["Calls", "Finding", "launched", "load", "specialized", "triton", "unwritten"]
