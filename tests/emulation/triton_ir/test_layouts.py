"""Which thread holds which elements, and how wide its instructions are, from a compiler's text."""

from __future__ import annotations

import pytest
import torch
from grader.emulation.common.location import Location
from grader.emulation.triton_ir import layouts, ptx
from grader.emulation.triton_ir.layouts import UnknownLayoutError
from grader.emulation.triton_ir.ptx import UnknownWidthError

BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], "
    "order = [1, 0]}>"
)
NAMES = {"#blocked": BLOCKED}


def elements(text: str, shape: tuple[int, ...], together: int, warps: int = 2) -> torch.Tensor:
    return layouts.layout(text, shape, warps, NAMES).elements(together)


def test_blocked() -> None:
    found = elements("#blocked", (8, 32), 4)
    assert found.shape == (1, 2, 32)
    # A lane has 4 of 32 columns, a warp 4 of 8 rows.
    lanes = torch.arange(32)
    assert torch.equal(found[0, 0], lanes // 8 * 32 + lanes % 8 * 4)
    assert torch.equal(found[0, 1], found[0, 0] + 4 * 32)


def test_what_a_block_holds_more_of_is_in_further_registers() -> None:
    found = elements("#blocked", (16, 64), 4)
    assert found.shape == (4, 2, 32)
    every = found.reshape(-1)[:, None] + torch.arange(4)
    assert torch.equal(every.reshape(-1).sort().values, torch.arange(16 * 64))


def test_a_small_block_is_repeated() -> None:
    made = layouts.layout("#blocked", (4, 16), 2, NAMES)
    found, first = made.elements(4), made.first_threads()
    assert torch.equal(found[0, 0], found[0, 1]), "the second warp has what the first has"
    assert first[0].sum() == 16 and not first[1].any()
    assert len(set(found[0, 0][first[0]].tolist())) == 16


def test_slice() -> None:
    made = layouts.layout("#ttg.slice<{dim = 1, parent = #blocked}>", (8,), 2, NAMES)
    found = made.elements(1)
    assert torch.equal(found[0, 0], torch.arange(32) // 8)
    assert int(made.first_threads().sum()) == 8


def test_linear_and_tensor_cores() -> None:
    linear = (
        "#ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], "
        "[4, 0]], warp = [[16, 0]], block = []}>"
    )
    mma = (
        "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 1], "
        "instrShape = [16, 8]}>"
    )
    assert torch.equal(elements(linear, (32, 8), 2), elements(mma, (32, 8), 2))
    # Lane 5 has the second pair of columns of row 1.
    assert int(elements(mma, (32, 8), 2)[0, 0, 5]) == 1 * 8 + 2


def test_a_scalar_is_everybodys() -> None:
    made = layouts.scalar(4)
    assert made.elements(1).tolist() == torch.zeros(1, 4, 32).tolist()
    assert int(made.first_threads().sum()) == 1


@pytest.mark.parametrize(
    ("text", "shape", "together"),
    [
        ("#unknown", (8, 32), 1),
        ("#ttg.padded<{}>", (8, 32), 1),
        ("#blocked", (8, 31), 1),
        ("#blocked", (8,), 1),
        ("#blocked", (8, 32), 8),
        ("#blocked", (8, 32), 3),
        (BLOCKED.replace("[2, 1]", "[4, 1]"), (8, 32), 1),
        (BLOCKED.replace("[1, 4]", "[1, 3]"), (8, 32), 1),
        ("#ttg.slice<{dim = 9, parent = #blocked}>", (8,), 1),
        ("#ttg.linear<{register = [[99]], lane = [], warp = []}>", (8,), 1),
        ("#ttg.slice<{dim = 0, parent = " * 20, (8,), 1),
    ],
)
def test_another_layout_is_refused(text: str, shape: tuple[int, ...], together: int) -> None:
    with pytest.raises(UnknownLayoutError):
        elements(text, shape, together)


PTX = """\
\t.loc\t1 30 20                         // v1.py:30:20
\t@%p2 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
\t@%p2 ld.shared.b32 %r1, [%rd1];
\t@%p2 st.global.L1::evict_last.b16 [ %rd1 + 0 ], { %rs1 };
\t.loc\t1 4 19                          // v1.py:4:19 @[ v1.py:12:21 ]
\tcp.async.cg.shared.global [ %r22 + 0 ], [ %rd14 + 0 ], 0x10, %r23;
\t.loc\t1 4 19                          // v1.py:4:19 @[ v1.py:13:21 ]
\tcp.async.ca.shared.global [ %r22 + 0 ], [ %rd14 + 0 ], 0x4, %r23;
\t@%p1 atom.global.gpu.acq_rel.add.noftz.f16x2 %r22, [ %rd11 + 0 ], %r23;
\t@%p1 red.global.gpu.relaxed.add.f64 [ %rd11 + 0 ], %r23;
\t.loc\t1 40 1                          // v1.py:40:1
\tld.global.nc.strange %r1, [%rd1];
"""


def at(line: int, column: int, caller: Location | None = None) -> Location:
    return Location("/tmp/box/v1.py", line, column, None, caller)


def test_widths() -> None:
    found = ptx.widths(PTX)
    assert found.of("load", at(30, 20)) == 16
    assert found.of("store", at(30, 20)) == 2
    assert found.of("copy", at(4, 19, at(12, 21))) == 16
    assert found.of("copy", at(4, 19, at(13, 21))) == 4
    assert found.of("load", at(40, 1)) == 0, "which fits no element"


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("store", at(4, 19)),
        ("load", at(31, 20)),
        ("load", None),
        ("copy", at(4, 19, at(99, 1))),  # 4 or 16
        ("atomic", at(4, 19, at(13, 21))),  # of two kinds
    ],
)
def test_a_width_that_is_not_certain_is_refused(kind: str, place: Location | None) -> None:
    found = ptx.widths(PTX)
    with pytest.raises(UnknownWidthError):
        found.of(kind, place)
