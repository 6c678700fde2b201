"""The judge's side: channel, guards, poison, seals, and the oracle's contract."""

from __future__ import annotations

import fcntl
import mmap
import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import torch
from grading_bench import Bench, quick_gradings, small_silu
from paths import HAND_INS

from grader.assignment.signature import Argument, ElementType
from grader.errors import SpecError
from grader.judge.arguments import pack_arguments
from grader.judge.buffers import GUARD_BYTES, Buffer, make_buffer
from grader.judge.channel import Channel, StrayAnswerError
from grader.protocol import wire
from grader.vocabulary import Device, Memory, Role

# --- the channel -----------------------------------------------------------------------------


@pytest.fixture
def channel() -> Iterator[Channel]:
    with closing(Channel()) as made:
        yield made


def asked(channel: Channel) -> int:
    """Receive the command as a worker does; return its number."""
    return wire.receive(channel.worker_end)[0]


def test_an_answer(channel: Channel) -> None:
    channel.send(wire.CALL, b"payload")
    assert channel.answer() is None
    wire.answer(channel.worker_end, asked(channel), wire.CUDA_ERROR, 700)
    answer = channel.answer()
    assert answer is not None
    assert (answer.status, answer.code) == (wire.CUDA_ERROR, 700)
    channel.check_no_answer()


def test_every_command_has_a_number_of_its_own(channel: Channel) -> None:
    numbers = set()
    for _ in range(20):
        channel.send(wire.CALL)
        number = asked(channel)
        numbers.add(number)
        wire.answer(channel.worker_end, number)
        assert channel.answer() is not None
    assert len(numbers) == 20


def test_each_buffer_comes_with_its_descriptor_however_many_there_are(channel: Channel) -> None:
    """Every third one is local to the worker, and has none."""
    made: list[Buffer] = []
    for number in range(wire.ATTACHED + 7):
        buffer = make_buffer(
            name=f"array{number}", role=Role.OUT, kind=ElementType.UINT8, shape=(1,),
            memory=Memory.DEVICE, device=Device.CPU, private=False, driver=None,
        )  # fmt: skip
        buffer.fill(torch.tensor([number], dtype=torch.uint8))
        made.append(buffer)
    parts = [
        (one.message(slot, local=local), -1 if local else one.descriptor)
        for slot, one in enumerate(made)
        for local in [slot % 3 == 0]
    ]
    seen: dict[int, int | None] = {}

    def attach(about: wire.BufferMessage, descriptor: int) -> None:
        there = descriptor >= 0
        seen[about.slot] = os.pread(descriptor, 1, about.offset)[0] if there else None

    messages = list(wire.attach_messages(parts))
    for payload, descriptors in messages:
        channel.send(wire.ATTACH, payload, descriptors)
        wire.carry_out(channel.worker_end, {wire.ATTACH: wire.for_each_buffer(attach)})
        assert channel.answer() is not None
    for one in made:
        one.close()
    assert len(messages) == 2
    assert seen == {n: None if n % 3 == 0 else n % 256 for n in range(len(made))}


def test_an_answer_before_it_was_asked(channel: Channel) -> None:
    wire.answer(channel.worker_end, 0)
    with pytest.raises(StrayAnswerError, match="before the command"):
        channel.send(wire.CALL)


@pytest.mark.parametrize("data", [b"", b"x", bytes(15), bytes(17), bytes(5000)])
def test_an_answer_of_another_size(channel: Channel, data: bytes) -> None:
    channel.send(wire.CALL)
    asked(channel)
    channel.worker_end.send(data)
    if not data:
        assert channel.answer() is None, "an empty message looks like the end of the worker"
    else:
        with pytest.raises(StrayAnswerError, match="a message of"):
            channel.answer()


def test_an_answer_with_another_number(channel: Channel) -> None:
    channel.send(wire.CALL)
    wire.answer(channel.worker_end, asked(channel) ^ 1)
    with pytest.raises(StrayAnswerError, match="a forged answer"):
        channel.answer()


def test_two_answers(channel: Channel) -> None:
    channel.send(wire.CALL)
    number = asked(channel)
    wire.answer(channel.worker_end, number)
    wire.answer(channel.worker_end, number)
    assert channel.answer() is not None
    with pytest.raises(StrayAnswerError, match="a second answer"):
        channel.check_no_answer()


def test_a_worker_that_is_gone(channel: Channel) -> None:
    channel.started()
    assert channel.answer() is None
    with pytest.raises(OSError, match="Broken pipe"):
        channel.send(wire.CALL)


# --- buffers ---------------------------------------------------------------------------------


def buffer(role: Role, *, count: int = 100, values: torch.Tensor | None = None) -> Buffer:
    return make_buffer(
        name="x",
        role=role,
        kind=ElementType.FLOAT32,
        shape=(count,),
        memory=Memory.DEVICE,
        device=Device.CPU,
        private=False,
        driver=None,
        values=values,
    )


@pytest.mark.parametrize(
    ("at", "guard_violation"),
    [
        (0, -GUARD_BYTES),
        (GUARD_BYTES - 1, -1),
        (GUARD_BYTES, None),
        (GUARD_BYTES + 399, None),
        (GUARD_BYTES + 400, 400),
        (GUARD_BYTES + 400 + GUARD_BYTES - 1, 400 + GUARD_BYTES - 1),
    ],
)
def test_a_write_into_a_guard_is_seen(at: int, guard_violation: int | None) -> None:
    with closing(buffer(Role.OUT)) as made:
        made.whole[at] += 1
        assert made.guard_violation() == guard_violation


def test_guards_hold_no_pattern() -> None:
    with closing(buffer(Role.OUT)) as one, closing(buffer(Role.OUT)) as other:
        low = one.whole[:GUARD_BYTES]
        assert len(set(low[:4096].tolist())) == 64  # of 64 that a byte may be
        assert not torch.equal(low, other.whole[:GUARD_BYTES])


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("start", [0, 1])
def test_a_guard_is_a_large_number(kind: torch.dtype, start: int) -> None:
    with closing(buffer(Role.OUT)) as made:
        around = made.whole[:GUARD_BYTES][start : start + 4096].clone().view(kind)
    assert not bool((around.abs() < 2).any())


def test_a_snapshot_is_a_copy() -> None:
    with closing(buffer(Role.OUT)) as made:
        made.poison(0x7B)
        before = made.snapshot()
        made.fill(torch.zeros(100))
        assert bool((before.view(torch.uint8) == 0x7B).all())
        assert not made.snapshot().any()


@pytest.mark.parametrize("size", [0, 1 << 30])
def test_a_worker_cannot_change_the_size(size: int) -> None:
    with closing(buffer(Role.OUT)) as made, pytest.raises(PermissionError):
        os.ftruncate(made.descriptor, size)


def test_a_worker_cannot_add_a_seal() -> None:
    with closing(buffer(Role.OUT)) as made, pytest.raises(PermissionError):
        fcntl.fcntl(made.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)


def test_an_input_cannot_be_written_by_a_worker() -> None:
    with closing(buffer(Role.IN)) as made:
        size = made.whole.numel()
        with pytest.raises(PermissionError):
            mmap.mmap(made.descriptor, size)
        with pytest.raises(PermissionError):
            os.pwrite(made.descriptor, b"x", 0)
        mmap.mmap(made.descriptor, size, prot=mmap.PROT_READ).close()
        made.fill(torch.ones(100))
        assert bool((made.snapshot() == 1).all())


def test_only_what_a_worker_cannot_change_is_set_once() -> None:
    values = torch.arange(100).float()
    with closing(buffer(Role.IN, values=values)) as made:
        assert made.sealed
        assert made.guard_violation() is None
        assert torch.equal(made.snapshot(), values)
    for role in (Role.OUT, Role.INOUT):
        with closing(buffer(role, values=values)) as made:
            assert not made.sealed
            assert not made.snapshot().any()


def test_arguments_are_packed_in_order() -> None:
    kinds = [
        (Argument(name="x", type="float32", shape=()), ElementType.FLOAT32),
        (Argument(name="n", type="int32"), ElementType.INT32),
        (Argument(name="e", type="float32"), ElementType.FLOAT32),
        (Argument(name="d", type="float64"), ElementType.FLOAT64),
    ]
    packed = list(wire.ARGUMENT.iter_unpack(pack_arguments(kinds, [3, -1, 1.5, 1.5])))
    assert packed == [
        (wire.SLOT, 3),
        (wire.INTEGER, 2**64 - 1),
        (wire.FLOAT32, 0x3FC00000),
        (wire.FLOAT64, 0x3FF8000000000000),
    ]


# --- an oracle that breaks its contract ------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with quick_gradings():
        yield


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Bench:
    small_silu(tmp_path)
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path, capsys)


ORACLES = [
    ("expected", "    1 / 0", r"oracle\.py:2: expected\(n=33\) raised ZeroDivisionError"),
    ("expected", "    raise SystemExit(0)", r"oracle\.py:2: expected\(n=33\) raised SystemExit"),
    ("inputs", "    1 / 0", r"oracle\.py:2: inputs\(n=33\) raised ZeroDivisionError"),
    (
        "inputs",
        "    return None",
        r"oracle\.py:1: inputs\(\) returned no `input`: return a dict with it",
    ),
    (
        "inputs",
        "    return {}",
        r"oracle\.py:1: inputs\(\) returned no `input`: return a dict with it",
    ),
    (
        "inputs",
        "    return {'input': [1, 2]}",
        r"oracle\.py:1: inputs\(\) returned `input` as list",
    ),
    (
        "inputs",
        "    return {'input': torch.ones(case.sizes['n'], dtype=torch.float64)}",
        r"oracle\.py:1: inputs\(\) returned `input` as torch\.float64, not torch\.float32",
    ),
    (
        "inputs",
        "    return {'input': torch.ones(7)}",
        r"oracle\.py:1: inputs\(\) returned `input` with shape \(7,\), not \(33,\), for n=33",
    ),
    (
        "expected",
        "    return {'output': inputs['input']}",
        r"oracle\.py:1: expected\(\) returned `output` as torch\.float32, not torch\.float64",
    ),
    (
        "expected",
        "    return {'output': inputs['input'].double()[:-1]}",
        r"oracle\.py:1: expected\(\) returned `output` with shape \(32,\), not \(33,\), for n=33",
    ),
    ("", "raise RuntimeError('no torch today')", r"oracle\.py:1: loading it raised RuntimeError"),
]


@pytest.mark.parametrize(("function", "body", "message"), ORACLES)
def test_a_broken_oracle_is_not_the_students_fault(
    bench: Bench, function: str, body: str, message: str
) -> None:
    oracle = bench.root / "assignments" / "silu" / "oracle.py"
    text = oracle.read_text()
    if function:
        parameters = "case, dtype, generator" if function == "inputs" else "inputs"
        text = text.replace(f"def {function}(", f"def _unused_{function}(")
        text = f"def {function}({parameters}):\n{body}\n\n{text}"
    else:
        text = f"{body}\n{text}"
    oracle.write_text(text)
    graded = bench.grade_file(HAND_INS / "right.cu")
    assert graded.exit_code == 3
    assert (graded.verdict, graded.report["score"]) == ("grader_error", None)
    assert re.search(message, graded.failed["message"]), graded.failed["message"]
    assert "the grader failed, not your code" in graded.failed["message"]


def test_a_missing_oracle(bench: Bench) -> None:
    (bench.root / "assignments" / "silu" / "oracle.py").unlink()
    with pytest.raises(SpecError, match=r"oracle\.py: does not exist") as caught:
        bench.grade_file(HAND_INS / "right.cu")
    assert caught.value.exit_code == 2
