"""Timed bursts: what the judge draws, masks, reads and verifies around them.

The worker is a function in this process that gets the same memory that a worker would map, so an
attack takes a few lines and always happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from timed_bursts import ALL, ASSIGNMENT, SETS, Entry, FakeSession, N, right, silu_buffer_pool

from grader.assignment.cases import Case
from grader.build.artifact import Built
from grader.checks.performance.buffer_pool import BufferPool
from grader.checks.performance.segment_sums import Segments
from grader.checks.performance.timed_inputs import TimedInputs
from grader.checks.performance.timed_outputs import TimedOutputs
from grader.checks.performance.timed_worker import StoppedError, TimedWorker
from grader.judge.session import Session
from grader.report.verdict import Verdict


def idle(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
    output.zero_()  # SiLU of zero


def zero_inputs(pool: BufferPool) -> None:
    for buffer in pool.buffers:
        if buffer.role.read:
            buffer.values.zero_()


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[BufferPool]:
    with silu_buffer_pool(tmp_path) as made:
        yield made


def timed_worker(pool: BufferPool, session: FakeSession) -> TimedWorker:
    built = cast(Built, None)
    return TimedWorker(cast(Session, session), built, ASSIGNMENT.limits, pool)


def stopped(pool: BufferPool, entry: Entry, bursts: int = 1) -> tuple[Verdict, str]:
    timed = timed_worker(pool, FakeSession(pool, entry))
    with pytest.raises(StoppedError) as caught:
        for _ in range(bursts):
            timed.burst(ALL)
    return caught.value.diagnosis.verdict, caught.value.diagnosis.message


def test_every_set_is_called_once_a_burst_with_inputs_never_seen_before(pool: BufferPool) -> None:
    seen: list[tuple[int, float]] = []

    def entry(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
        assert n == N
        seen.append((input.data_ptr(), float(input.double().sum())))
        right(input, output, n)

    timed = timed_worker(pool, FakeSession(pool, entry))
    assert all(timed.burst(ALL) > 0 for _ in range(4))
    assert len(seen) == 4 * SETS
    assert len({value for _, value in seen}) == 4 * SETS
    bursts = [[place for place, _ in seen[i : i + SETS]] for i in range(0, len(seen), SETS)]
    assert all(sorted(burst) == sorted(bursts[0]) for burst in bursts)


def test_how_many_sets_are_called_is_random_and_most_of_them(pool: BufferPool) -> None:
    orders = [pool.order(SETS) for _ in range(60)]
    assert {len(order) for order in orders} == {4, 5}
    assert all(len(set(order)) == len(order) for order in orders)
    assert len({tuple(order) for order in orders}) > 30
    assert {order[-1] for order in orders} == set(range(SETS))
    assert {len(pool.order(1)) for _ in range(9)} == {1}


def test_work_for_calls_that_never_came_is_seen(pool: BufferPool) -> None:
    """Make one launch for all sets of earlier calls at the first call: deferred work, reversed."""
    timed_session: FakeSession

    def eager(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
        for source, target in zip(
            timed_session.tensors[::2], timed_session.tensors[1::2], strict=True
        ):
            right(source, target, n)

    timed_session = FakeSession(pool, eager)
    timed = timed_worker(pool, timed_session)
    assert timed.burst(ALL) > 0  # all sets were called
    with pytest.raises(StoppedError) as caught:
        timed.burst(ALL[:-1])
    assert caught.value.diagnosis.verdict is Verdict.TAMPERED
    assert "that no call was given" in caught.value.diagnosis.message


def test_work_left_to_a_last_call_that_never_came_is_seen(pool: BufferPool) -> None:
    waiting: list[tuple[torch.Tensor, torch.Tensor]] = []

    def deferring(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
        waiting.append((input, output))
        if len(waiting) == SETS:  # as many calls as a burst has, so the set was in the last burst
            while waiting:
                right(*waiting.pop(), n)

    timed = timed_worker(pool, FakeSession(pool, deferring))
    assert timed.burst(ALL) > 0
    with pytest.raises(StoppedError) as caught:
        timed.burst(ALL[:-1])
    assert "wrong in timed calls" in caught.value.diagnosis.message


def test_new_inputs_do_not_tell_which_sets_are_called(pool: BufferPool) -> None:
    pool.refresh(ALL)
    before = [buffer.data_bytes.clone() for buffer in pool.buffers[::2]]
    pool.refresh(ALL[:2], SETS)
    after = [buffer.data_bytes.clone() for buffer in pool.buffers[::2]]
    assert not any(map(torch.equal, before, after))
    pool.refresh(ALL[:2])  # without decoys
    last = [buffer.data_bytes for buffer in pool.buffers[::2]]
    assert [torch.equal(*pair) for pair in zip(after, last, strict=True)] == [
        number >= 2 for number in ALL
    ]


def test_which_inputs_are_new_first_does_not_tell_which_sets_are_called(
    pool: BufferPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    write = TimedInputs.write

    def noted(inputs: TimedInputs, number: int, *rest: Any) -> None:
        given.append(number)
        write(inputs, number, *rest)

    monkeypatch.setattr(TimedInputs, "write", noted)
    pool.refresh([3, 1], SETS)
    assert given == list(ALL)


def test_last_output_returned_again_is_wrong(pool: BufferPool) -> None:
    last: list[torch.Tensor] = []

    def lazy(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
        if not last:
            right(input, output, n)
            last.append(output)
        output.copy_(last[0])

    assert stopped(pool, lazy)[0] is Verdict.TAMPERED


def test_work_only_in_the_first_calls_is_seen(pool: BufferPool) -> None:
    calls = 0

    def tired(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
        nonlocal calls
        calls += 1
        if calls <= 2 * SETS:
            right(input, output, n)

    assert stopped(pool, tired, bursts=3)[0] is Verdict.TAMPERED


def test_wrong_output_in_a_timed_call_is_tampering(pool: BufferPool) -> None:
    calls = 0

    def lazy(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
        nonlocal calls
        calls += 1
        if calls % 7:
            right(input, output, n)

    verdict, message = stopped(pool, lazy, bursts=3)
    assert verdict is Verdict.TAMPERED
    assert "wrong in timed calls" in message


@pytest.mark.parametrize("key", ["pointer", "shape"])
def test_answers_kept_from_an_earlier_call_are_wrong(pool: BufferPool, key: str) -> None:
    kept: dict[Any, torch.Tensor] = {}

    def cached(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
        where = input.data_ptr() if key == "pointer" else n
        if where not in kept:
            right(input, output, n)
            kept[where] = output.clone()
        output.copy_(kept[where])

    assert stopped(pool, cached, bursts=2)[0] is Verdict.TAMPERED


def test_work_before_the_clock_starts_is_seen(pool: BufferPool) -> None:
    timed = timed_worker(pool, FakeSession(pool, right))
    pool.refresh(ALL)
    for input, output in zip(pool.buffers[::2], pool.buffers[1::2], strict=True):
        right(input.values, output.values, N)
    sentence = pool.arm()
    assert sentence is not None
    assert sentence.verdict is Verdict.TAMPERED
    assert "before the function was called" in sentence.message
    assert timed.burst(ALL) > 0


def test_outputs_computed_before_the_clock_starts_are_wrong(pool: BufferPool) -> None:
    timed_worker(pool, FakeSession(pool, right))
    pool.refresh(ALL)
    early = [torch.nn.functional.silu(buffer.values) for buffer in pool.buffers[::2]]
    assert pool.arm() is None
    for answer, output in zip(early, pool.buffers[1::2], strict=True):
        output.values.copy_(answer)
    sentence = pool.judge(pool.sample(ALL))
    assert sentence is not None
    assert "wrong in timed calls" in sentence.message


def test_there_is_nothing_to_work_on_before_the_clock_is_about_to_start(pool: BufferPool) -> None:
    timed_worker(pool, FakeSession(pool, right))
    given = [buffer.data_bytes for buffer in pool.buffers[::2]]
    differing = []
    for order in (ALL, [2, 0], [4]):
        pool.refresh(order, SETS)
        covered = [data.clone() for data in given]
        assert pool.arm() is None
        # Not only in a few cells, which a submission could correct; in called sets and in others.
        for before, after in zip(covered, given, strict=True):
            differing.append(before ^ after)
            assert float((differing[-1] != 0).float().mean()) > 0.98
    # What a submission learned of the mask in one burst does not help in the next.
    first, second, third = differing[0], differing[SETS], differing[2 * SETS]
    for one, other in ((first, second), (second, third), (first, third)):
        assert float((one != other).float().mean()) > 0.98


def test_some_cells_are_wrong_until_the_last_moment(pool: BufferPool) -> None:
    timed_worker(pool, FakeSession(pool, right))
    pool.refresh(ALL)
    wrong: list[torch.Tensor] = []
    touched = BufferPool._touched

    def looking(*given: Any) -> str | None:
        wrong.extend(buffer.values.clone() for buffer in pool.buffers[::2])
        return touched(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BufferPool, "_touched", looking)
        assert pool.arm() is None
    for before, buffer in zip(wrong, pool.buffers[::2], strict=True):
        assert 32 < int((before != buffer.values).sum()) <= 64


def test_what_an_oracle_keeps_of_its_inputs_stays_as_it_was(
    pool: BufferPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draw values like row pointers, each of which must be larger than the one before."""

    def first_only(case: Case, inputs: dict[str, torch.Tensor], generator: torch.Generator) -> None:
        inputs["input"][0].normal_(generator=generator)

    timed_worker(pool, FakeSession(pool, right))
    monkeypatch.setattr(pool._oracle, "refresh", first_only)
    kept: list[torch.Tensor] = []
    for _ in range(3):
        pool.refresh(ALL)
        assert pool.arm() is None
        kept += [buffer.values.clone() for buffer in pool.buffers[::2]]
    assert all(torch.equal(one[1:], kept[0][1:]) for one in kept)
    assert len({float(one[0]) for one in kept}) == len(kept)


def test_outputs_written_after_the_clock_stopped_are_seen(pool: BufferPool) -> None:
    order = list(range(SETS))
    pool.refresh(ALL)
    assert pool.arm() is None
    sample = pool.sample(order)  # the worker answers "done" and continues to work
    for input, output in zip(pool.buffers[::2], pool.buffers[1::2], strict=True):
        right(input.values, output.values, N)
    sentence = pool.judge(sample)
    assert sentence is not None
    assert sentence.verdict is Verdict.TAMPERED
    assert "after the worker had answered" in sentence.message


def test_outputs_that_are_complete_when_a_kernel_reads_them_are_seen(
    pool: BufferPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gather = pool._gather

    def after_the_workers_kernels(sets: Sequence[int]) -> torch.Tensor:
        for input, output in zip(pool.buffers[::2], pool.buffers[1::2], strict=True):
            right(input.values, output.values, N)
        return gather(sets)

    pool.refresh(ALL)
    assert pool.arm() is None
    monkeypatch.setattr(pool, "_gather", after_the_workers_kernels)
    sentence = pool.judge(pool.sample(list(range(SETS))))
    assert sentence is not None
    assert "after the worker had answered" in sentence.message


@pytest.mark.parametrize("place", [0, N // 2, N - 1])
def test_a_changed_input_is_seen(pool: BufferPool, place: int) -> None:
    def greedy(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
        right(input, output, n)
        input[place] += 1

    verdict, message = stopped(pool, greedy)
    assert (verdict, message) == (Verdict.TAMPERED, "`input`, an input, was changed")


def test_a_write_outside_is_a_memory_error(pool: BufferPool) -> None:
    def wide(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
        right(input, output, n)
        next(b for b in pool.buffers if b.name == "output").whole[-1] ^= 1

    assert stopped(pool, wide)[0] is Verdict.MEMORY_ERROR


def test_inputs_changed_while_they_are_drawn_make_no_wrong_output_right(
    pool: BufferPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = Segments.sums

    def early(segments: Segments, flat: torch.Tensor) -> torch.Tensor:
        zero_inputs(pool)
        return sums(segments, flat)

    monkeypatch.setattr(Segments, "sums", early)
    assert stopped(pool, idle)[0] is Verdict.TAMPERED


def test_inputs_changed_after_the_call_make_no_wrong_output_right(
    pool: BufferPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify = TimedOutputs.right

    def late(*given: Any) -> bool:
        zero_inputs(pool)
        return verify(*given)

    monkeypatch.setattr(TimedOutputs, "right", late)
    verdict, message = stopped(pool, idle)
    assert (verdict, message) == (
        Verdict.TAMPERED,
        "outputs were right in the cases and wrong in timed calls",
    )


@pytest.mark.parametrize("bits", [torch.int32, torch.int64])
def test_inputs_changed_in_such_a_way_that_their_sum_stays_are_seen(
    pool: BufferPool, bits: torch.dtype
) -> None:
    def forging(input: torch.Tensor, output: torch.Tensor, n: int) -> None:
        words = input[: n // 2 * 2].view(bits)
        # Two of many tiny words whose changes cancel in a sum.
        rest = words.sum(dtype=torch.int64)
        words.zero_()
        words[0], words[1] = rest // 2, rest - rest // 2
        right(input, output, n)

    verdict, message = stopped(pool, forging)
    assert (verdict, message) == (Verdict.TAMPERED, "`input`, an input, was changed")
