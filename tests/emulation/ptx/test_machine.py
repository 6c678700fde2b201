"""Threads that part and meet, memory that they share, and what is found about it."""

from __future__ import annotations

import time

import numpy as np
import pytest
from ptx_bench import Given, kernel, run

from grader.emulation.common.errors import KernelError, TimeLimitError

# The index of the thread in %rd1, its byte offset for 4 bytes in %rd2, P0 + offset in %rd3.
INDEX = """
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1;
    cvt.s64.s32 %rd1, %r4; shl.b64 %rd2, %rd1, 2;
    ld.param.u64 %rd4, [P0]; add.s64 %rd3, %rd4, %rd2;
"""
SHARED = ".visible .shared .align 4 .b8 tile[256];\n"
# Each thread stores its number in shared memory, and reads that of the thread on the other side.
MIRROR = """
    mul.wide.u32 %rd5, %r1, 4; mov.u64 %rd6, tile; add.s64 %rd7, %rd6, %rd5;
    .loc 1 11 0
    st.shared.u32 [%rd7], %r1;
    BARRIER
    sub.s32 %r5, 63, %r1; mul.wide.s32 %rd5, %r5, 4; add.s64 %rd7, %rd6, %rd5;
    .loc 1 12 0
    ld.shared.u32 %r6, [%rd7];
    st.global.u32 [%rd3], %r6;
"""


def output(size: int) -> Given:
    return Given(np.zeros(size, dtype="i4"), bare=True)


def test_all_threads_of_all_blocks_run() -> None:
    given = output(40 * 1000)
    assert run(kernel(f"{INDEX} st.global.u32 [%rd3], %r4;", 1), given, grid=(40, 1, 1),
               block=(1000, 1, 1)) == []  # fmt: skip
    assert given.array.tolist() == list(range(40_000))


def test_axes_of_grid_and_block_go_x_first() -> None:
    body = """
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %ntid.x;
    mad.lo.s32 %r5, %r2, %r4, %r1;
    mad.lo.s32 %r6, %r3, 6, %r5;
    ld.param.u64 %rd4, [P0]; mul.wide.s32 %rd5, %r6, 4; add.s64 %rd3, %rd4, %rd5;
    st.global.u32 [%rd3], %r6;"""
    given = output(12)
    assert run(kernel(body, 1), given, grid=(1, 2, 1), block=(3, 2, 1)) == []
    assert given.array.tolist() == list(range(12))


def test_loops_of_different_length_meet_again() -> None:
    """Thread i adds i to itself i times; after the loop all go on."""
    body = f"""{INDEX}
    mov.u32 %r5, 0; mov.u32 %r6, 0;
    LOOP:
    setp.ge.s32 %p1, %r5, %r4;
    @%p1 bra DONE;
    add.s32 %r6, %r6, %r4; add.s32 %r5, %r5, 1;
    bra.uni LOOP;
    DONE:
    st.global.u32 [%rd3], %r6;"""
    given = output(64)
    assert run(kernel(body, 1), given, block=(64, 1, 1)) == []
    assert given.array.tolist() == [i * i for i in range(64)]


@pytest.mark.parametrize(("barrier", "races"), [("bar.sync 0;", False), ("", True)])
def test_shared_memory_needs_a_barrier(barrier: str, races: bool) -> None:
    given = output(128)
    text = kernel(INDEX + MIRROR.replace("BARRIER", barrier), 1, module=SHARED)
    found = run(text, given, grid=(2, 1, 1), block=(64, 1, 1))
    assert given.array.tolist() == [*range(63, -1, -1)] * 2
    assert [(one.kind, one.severity, one.line, one.other_line, one.space) for one in found] == (
        [("race", "error", 12, 11, "shared")] if races else []
    )


def test_lanes_of_a_warp_need_syncwarp() -> None:
    for between, races in (("bar.warp.sync -1;", 0), ("", 1)):
        body = INDEX + MIRROR.replace("BARRIER", between).replace("63,", "31,")
        found = run(kernel(body, 1, module=SHARED), output(32), block=(32, 1, 1))
        assert len(found) == races


def test_unwritten_shared_memory_is_found() -> None:
    body = INDEX + "mov.u64 %rd6, tile;\n.loc 1 5 0\nld.shared.u32 %r6, [%rd6+4];"
    (found,) = run(kernel(body, 1, module=SHARED), output(32))
    assert (found.kind, found.line, found.count) == ("uninitialized", 5, 32)
    assert found.message == "reads shared memory that its block has not written, at byte 4"


@pytest.mark.parametrize(
    ("first", "kind", "phrase"),
    [
        (1, "out_of_bounds", "writes 1 element past the end of `output` (element 64; the last"),
        (-1, "out_of_bounds", "writes 1 element before the start of `output` (element -1"),
    ],
)
def test_an_index_outside_is_found_with_its_thread(first: int, kind: str, phrase: str) -> None:
    body = f"{INDEX}\n.loc 1 9 0\nst.global.u32 [%rd3+{4 * first}], %r4;"
    (found,) = run(kernel(body, 1), output(64), grid=(2, 1, 1))
    assert (found.kind, found.severity, found.line, found.count) == (kind, "error", 9, 1)
    assert phrase in found.message
    assert (found.program, found.thread) == (((1, 0, 0), (31, 0, 0)) if first > 0
                                             else ((0, 0, 0), (0, 0, 0)))  # fmt: skip


def test_inputs_must_not_change_and_addresses_must_be_even() -> None:
    body = f"{INDEX} st.global.u32 [%rd3], %r4;"
    given = Given(np.zeros(32, dtype="i4"), "input", input=True)
    (found,) = run(kernel(body, 1), given)
    assert found.read_only
    assert not given.array.any()
    (found,) = run(kernel(body.replace("[%rd3]", "[%rd3+2]"), 1), output(33))
    assert found.kind == "misaligned"


def test_reads_of_an_output_are_found_until_it_is_written() -> None:
    read = "ld.global.u32 %r6, [%rd3];"
    (found,) = run(kernel(f"{INDEX}{read}", 1), output(32))
    assert found.kind == "uninitialized"
    assert run(kernel(f"{INDEX} st.global.u32 [%rd3], %r4; {read}", 1), output(32)) == []


def test_blocks_race_and_atomics_do_not() -> None:
    plain = "ld.global.u32 %r6, [%rd4]; add.s32 %r6, %r6, 1; st.global.u32 [%rd4], %r6;"
    given = Given(np.zeros(1, dtype="i4"))
    found = run(kernel(INDEX + plain, 1), given, grid=(3, 1, 1), block=(1, 1, 1))
    assert {one.kind for one in found} == {"race"}
    assert any("which block" in one.message for one in found)
    before = int(given.array[0])
    atomic = "atom.global.add.u32 %r6, [%rd4], 2;"
    assert run(kernel(INDEX + atomic, 1), given, grid=(5, 1, 1)) == []
    assert given.array[0] == before + 2 * 160


def test_lanes_of_one_store_that_meet_are_a_race() -> None:
    """Of the same value it is a warning."""
    for value, severity in (("%r4", "error"), ("7", "warning")):
        found = run(kernel(f"{INDEX} st.global.u32 [%rd4], {value};", 1), output(1))
        assert [(one.kind, one.severity) for one in found] == [("race", severity)]


def test_a_counter_with_fences_orders_blocks() -> None:
    """The last block adds up what the others have stored, as in a reduction in one launch."""
    body = f"""{INDEX}
    ld.param.u64 %rd8, [P1]; ld.param.u64 %rd9, [P2];
    st.global.u32 [%rd3], %r3;
    membar.gl;
    atom.global.add.u32 %r5, [%rd8], 1;
    setp.ne.s32 %p1, %r5, 3;
    @%p1 bra END;
    ld.global.u32 %r6, [%rd4]; ld.global.u32 %r7, [%rd4+4]; ld.global.u32 %r8, [%rd4+8];
    add.s32 %r6, %r6, %r7; add.s32 %r6, %r6, %r8;
    st.global.u32 [%rd9], %r6;
    END:"""
    given = output(4), Given(np.zeros(1, dtype="i4"), "counter"), Given(np.zeros(1, "i4"), "sum")
    assert run(kernel(body, 3), *given, grid=(4, 1, 1), block=(1, 1, 1)) == []
    assert given[2].array[0] == 3


def test_a_lock_is_no_endless_loop() -> None:
    body = f"""{INDEX}
    ld.param.u64 %rd8, [P1];
    LOCK:
    atom.global.cas.b32 %r5, [%rd8], 0, 1;
    setp.ne.s32 %p1, %r5, 0;
    @%p1 bra LOCK;
    ld.global.u32 %r6, [%rd4]; add.s32 %r6, %r6, 1; st.global.u32 [%rd4], %r6;
    atom.global.exch.b32 %r5, [%rd8], 0;"""
    given = Given(np.zeros(1, dtype="i4")), Given(np.zeros(1, dtype="i4"), "lock")
    run(kernel(body, 2), *given, checked=False, deadline_s=time.thread_time() + 20)
    assert given[0].array[0] == 32


def test_barriers_that_not_all_threads_reach_are_found() -> None:
    apart = """
    setp.lt.s32 %p1, %r1, 16;
    @%p1 bra LOW;
    .loc 1 4 0
    bar.sync 0;
    bra.uni END;
    LOW:
    .loc 1 6 0
    bar.sync 0;
    END:"""
    (found,) = run(kernel(INDEX + apart, 1), output(1))
    assert (found.kind, found.severity) == ("barrier", "error")
    early = "setp.lt.s32 %p1, %r1, 16;\n@%p1 ret;\n.loc 1 4 0\nbar.sync 0;"
    (found,) = run(kernel(INDEX + early, 1), output(1))
    assert (found.kind, found.severity, found.line) == ("barrier", "warning", 4)
    assert "16 of 32 threads reach this barrier" in found.message


def test_an_endless_loop_ends_with_its_line() -> None:
    body = f"{INDEX}\n.loc 1 21 0\nLOOP:\nst.global.u32 [%rd3], %r4;\nbra.uni LOOP;"
    with pytest.raises(TimeLimitError) as caught:
        run(kernel(body, 1), output(32), deadline_s=time.thread_time() + 0.05)
    assert caught.value.endless
    assert caught.value.at is not None
    assert caught.value.at.line == 21


def test_a_kernel_may_stop_itself() -> None:
    with pytest.raises(KernelError):
        run(kernel(".loc 1 3 0\ntrap;", 0))


def test_functions_are_called_with_local_memory_and_constants() -> None:
    module = """
    .global .align 4 .u32 table[4] = {5, 6, 7, 8};
    .func (.param .b32 result) pick(.param .b32 which)
    {
    .local .align 4 .b8 depot[8];
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u32 %r1, [which];
    and.b32 %r1, %r1, 3;
    mul.wide.u32 %rd1, %r1, 4; mov.u64 %rd2, table; add.s64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    mov.u64 %rd3, depot; st.local.u32 [%rd3+4], %r2; ld.local.u32 %r3, [%rd3+4];
    st.param.b32 [result], %r3;
    ret;
    }
    """
    call = """
    { .param .b32 param0; st.param.b32 [param0], %r4; .param .b32 back0;
    call.uni (back0), pick, (param0);
    ld.param.b32 %r6, [back0]; }
    st.global.u32 [%rd3], %r6;"""
    given = output(8)
    assert run(kernel(INDEX + call, 1, module=module), given, block=(8, 1, 1)) == []
    assert given.array.tolist() == [5, 6, 7, 8] * 2


def test_warp_functions_see_the_other_lanes() -> None:
    body = f"""{INDEX}
    shfl.sync.down.b32 %r5|%p1, %r4, 1, 31, -1;
    setp.lt.s32 %p2, %r1, 3;
    vote.sync.ballot.b32 %r6, %p2, -1;
    add.s32 %r5, %r5, %r6;
    st.global.u32 [%rd3], %r5;"""
    given = output(64)
    assert run(kernel(body, 1), given, block=(64, 1, 1)) == []
    down = [*range(1, 32), 31, *range(33, 64), 63]
    assert given.array.tolist() == [lane + (7 if i < 32 else 0) for i, lane in enumerate(down)]


def test_lanes_that_a_block_has_not_give_zero_as_on_a_gpu() -> None:
    body = f"{INDEX}\nshfl.sync.idx.b32 %r5, %r4, 25, 31, -1;\nst.global.u32 [%rd3], %r5;"
    given = output(40)
    assert run(kernel(body, 1), given, grid=(2, 1, 1), block=(20, 1, 1)) == []
    assert given.array.tolist() == [0] * 40


def test_vectors_move_several_elements() -> None:
    body = """
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 16; ld.param.u64 %rd2, [P0];
    ld.param.u64 %rd3, [P1]; add.s64 %rd2, %rd2, %rd1; add.s64 %rd3, %rd3, %rd1;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];
    st.global.v4.f32 [%rd3], {%f4, %f3, %f2, %f1};"""
    data = np.arange(32, dtype="f4")
    given = Given(data, "input", input=True), Given(np.zeros(32, dtype="f4"), bare=True)
    assert run(kernel(body, 2), *given, block=(8, 1, 1)) == []
    assert given[1].array.tolist() == data.reshape(-1, 4)[:, ::-1].reshape(-1).tolist()


def test_a_vector_races_in_each_of_its_elements() -> None:
    body = """
    mov.u32 %r1, %tid.x; ld.param.u64 %rd2, [P0]; setp.ne.s32 %p1, %r1, 0;
    @%p1 bra OTHER;
    .loc 1 3 0
    st.global.v4.u32 [%rd2], {%r1, %r1, %r1, %r1};
    bra.uni END;
    OTHER:
    .loc 1 5 0
    ld.global.u32 %r2, [%rd2+4];
    END:"""
    (found,) = run(kernel(body, 1), Given(np.zeros(4, dtype="i4")), block=(2, 1, 1))
    assert (found.kind, found.line, found.other_line) == ("race", 5, 3)
