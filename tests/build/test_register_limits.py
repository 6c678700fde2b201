"""The registers of kernels, from ptxas's output to the settings of the emulation."""

from __future__ import annotations

import pytest

from grader.build.launch_limits import least_registers, own_name

OUTPUT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN2ns4tileIfLi8EEEvPT_' for 'sm_80'
ptxas info    : Function properties for _ZN2ns4tileIfLi8EEEvPT_
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 113 registers, used 1 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function '_ZN2ns4tileIfLi4EEEvPT_' for 'sm_80'
ptxas info    : Function properties for _ZN2ns4tileIfLi4EEEvPT_
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 70 registers, used 0 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'plain' for 'sm_80'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 256 bytes smem, 360 bytes cmem[0]
"""


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("plain", "plain"),
        ("_Z4tilePKfPfi", "tile"),
        ("_ZL4tilePf", "tile"),
        ("_Z4tile6Matrix", "tile"),
        ("_ZN2ns4tileIfLi8EEEvPT_", "tile"),
        ("_ZN35_GLOBAL__N__1526a102_9_b_regs_cu_cc4anonEPf", "anon"),
    ],
)
def test_a_symbol_gives_the_name_that_a_launch_has(symbol: str, name: str) -> None:
    assert own_name(symbol) == name


def test_of_a_templates_instances_the_least_registers_count() -> None:
    # In steps of 8, as registers are allocated.
    assert least_registers(OUTPUT) == {"tile": 72, "plain": 8}
