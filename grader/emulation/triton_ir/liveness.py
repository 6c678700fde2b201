"""Which operations nobody needs, and when a value is needed for the last time.

Triton guards int32 arithmetic by comparisons whose result it may not use: a third of the
operations computes nothing that counts. And a kernel of thousands of operations, each with a block
of a megabyte, must not keep them all.
"""

from __future__ import annotations

from collections import Counter

from grader.emulation.triton_ir.ir import Module, Operation, Region

_PURE = ("arith.", "math.")
_PURE_NAMES = {
    "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.make_range",
    "tt.addptr", "tt.bitcast", "tt.fp_to_fp", "tt.get_program_id", "tt.get_num_programs",
}  # fmt: skip


def prepare(module: Module) -> None:
    """Leave out operations without effect whose results are unused; note where values die."""
    for function in module.functions.values():
        _sweep(function.body, _uses(function.body))
        _note_deaths(function.body)


def _used(op: Operation) -> list[str]:
    names = list(op.operands)
    for _, arguments in op.successors:
        names += arguments
    return names


def _uses(*regions: Region) -> Counter[str]:
    return Counter(name for region in regions for op in region.operations() for name in _used(op))


def _sweep(region: Region, uses: Counter[str]) -> None:
    """Remove what is unused, the last operation first, so that its operands may go as well."""
    for block in reversed(region.blocks):
        kept: list[Operation] = []
        for op in reversed(block.operations):
            for inner in op.regions:
                _sweep(inner, uses)
            pure = op.name.startswith(_PURE) or op.name in _PURE_NAMES
            promised = "tt.divisibility" in op.attributes
            if pure and not promised and op.results and not any(uses[name] for name in op.results):
                uses.subtract(op.operands)
                continue
            kept.append(op)
        block.operations[:] = reversed(kept)


def _note_deaths(region: Region) -> None:
    """Of each block's own values, note the operation that uses them last."""
    by_block = [_uses(Region([block])) for block in region.blocks]
    everywhere = Counter(name for found in by_block for name in found)
    for block, inside in zip(region.blocks, by_block, strict=True):
        own = {name for name, _ in block.arguments}
        for op in block.operations:
            own.update(op.results)
        # A value that another block uses as well lives on.
        own = {name for name in own if everywhere[name] == (name in inside)}
        for op in reversed(block.operations):
            for inner in op.regions:
                _note_deaths(inner)
            dying = own & {*_used(op), *_uses(*op.regions), *op.results}
            op.dying = tuple(dying)
            own -= dying
