"""What a hostile worker sends to the executor of launches, and what the judge learns of it."""

from __future__ import annotations

import copy
import json
import os
import resource
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.assignment.signature import ElementType
from grader.judge.buffers import Buffer, make_buffer
from grader.judge.channel import Channel
from grader.protocol import launches, wire
from grader.protocol.launches import LaunchMode
from grader.vocabulary import Device, Memory, Role
from grader.worker import triton_executor, worker_log

N = 64
IR = """
module {
  tt.func public @double(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) attributes {noinline = false} {
    %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %x0 = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %xi = tt.addptr %x0, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = tt.load %xi : tensor<64x!tt.ptr<f32>>
    %w = arith.addf %v, %v : tensor<64xf32>
    %y0 = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %yi = tt.addptr %y0, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %yi, %w : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""
INPUT = {"slot": 0, "address": 4096, "blob": None}
OUTPUT = {"slot": 1, "address": 8192, "blob": None}
SCRATCH = {"size": 4 * N, "address": 16384, "blob": 0, "fresh": False}


def view(storage: int, **change: Any) -> dict[str, Any]:
    plain = {"view": storage, "offset": 0, "shape": [N], "strides": [1], "item": 4, "name": "x"}
    return plain | change


def launch(**change: Any) -> dict[str, Any]:
    plain = {
        "ir": 0,
        "grid": [1, 1, 1],
        "options": {"num_warps": 4},
        "arguments": [view(0), view(1)],
        "storages": [INPUT, OUTPUT],
    }
    return {"launch": plain | change}


@pytest.fixture
def buffers() -> Iterator[list[Buffer]]:
    made = [
        make_buffer(
            name=name,
            role=role,
            kind=ElementType.FLOAT32,
            shape=(N,),
            memory=Memory.DEVICE,
            device=Device.CPU,
            private=False,
            driver=None,
        )
        for name, role in (("input", Role.IN), ("output", Role.OUT))
    ]
    made[0].fill(torch.arange(N).float())
    made[1].poison(0xFF)
    yield made
    for buffer in made:
        buffer.close()


Told = list[dict[str, Any]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    records: Told = []

    def tell(record: str, **details: object) -> None:
        records.append(json.loads(json.dumps({"record": record, **details})))

    monkeypatch.setattr(worker_log, "tell", tell)
    return records


@pytest.fixture(params=[True, False], ids=["checked", "unchecked"])
def executor(
    request: pytest.FixtureRequest,
    buffers: list[Buffer],
    told: Told,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[triton_executor.Executor]:
    monkeypatch.chdir(tmp_path)
    made = triton_executor.Executor(LaunchMode(), host_writes=False)
    made._checked = request.param
    for slot, buffer in enumerate(buffers):
        attach(made, buffer.message(slot, uninitialised=True), buffer)
    yield made
    made.detach()


def attach(executor: triton_executor.Executor, message: bytes, buffer: Buffer) -> None:
    wire.for_each_buffer(executor.attach)(message, [buffer.descriptor])


def begin(executor: triton_executor.Executor, seconds: float = 10.0) -> None:
    executor.begin(launches.BEGIN.pack(seconds, executor._checked))


def send(
    executor: triton_executor.Executor, header: dict[str, Any], *blobs: bytes
) -> dict[str, Any]:
    """Send a message as it would arrive; return the answer."""
    text = json.loads(json.dumps(header))
    answer, _ = executor.message(text, [bytearray(blob) for blob in blobs])
    assert isinstance(answer, dict)
    return answer


def kinds(told: Told) -> set[str]:
    return {record["record"] for record in told}


def test_an_honest_launch(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told
) -> None:
    begin(executor)
    assert send(executor, launch(), IR.encode()) == {"wrote": [[1, 1, 0]]}
    assert send(executor, launch()) == {"wrote": [[1, 1, 0]]}
    executor.end()
    assert torch.equal(buffers[1].values, 2 * torch.arange(N))
    assert kinds(told) == {"launch", "launched", "findings", "counters"}


def test_an_idle_executor_leaves_launches_out(
    buffers: list[Buffer], told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nothing in the worker decides what is left out."""
    monkeypatch.chdir(tmp_path)
    idle = triton_executor.Executor(LaunchMode(idle=True), host_writes=True)
    for slot, buffer in enumerate(buffers):
        attach(idle, buffer.message(slot), buffer)
    begin(idle)
    before = buffers[1].snapshot().view(torch.int32)
    assert send(idle, launch(), IR.encode()) == {"wrote": []}
    assert buffers[1].snapshot().view(torch.int32).equal(before)
    end(idle, torch.arange(N).float())
    assert torch.equal(buffers[1].values, torch.arange(N))
    idle.detach()
    assert kinds(told) == {"findings"}


def test_launches_outside_of_a_call_are_refused(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told
) -> None:
    refused = {"stopped": "no call is running"}
    end = {"end": [1]}, torch.zeros(N).numpy().tobytes()
    assert send(executor, launch(), IR.encode()) == refused
    assert send(executor, *end) == refused
    begin(executor)
    executor.end()
    before = buffers[1].snapshot()
    assert send(executor, launch(), IR.encode()) == refused
    assert send(executor, *end) == refused
    assert send(executor, {"fetch": [0]}) == refused
    assert buffers[1].snapshot().view(torch.int32).equal(before.view(torch.int32))
    assert kinds(told) == {"findings"}


HUGE = 1 << 62
FORGED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "unknown": {"write": [1]},
    "launch_of_no_object": {"launch": None},
    "launch_of_a_list": {"launch": [1]},
    "empty_launch": {"launch": {}},
    "negative_ir": launch(ir=-1),
    "ir_of_later": launch(ir=5),
    "ir_of_text": launch(ir="0"),
    "ir_of_truth": launch(ir=False),
    "no_grid": launch(grid=[]),
    "two_extents": launch(grid=[1, 1]),
    "negative_grid": launch(grid=[-1, 1, 1]),
    "empty_grid": launch(grid=[0, 1, 1]),
    "huge_grid": launch(grid=[HUGE, 1, 1]),
    "deep_grid": launch(grid=[1, 1, 70_000]),
    "grid_of_text": launch(grid="abc"),
    "options_of_text": launch(options="abc"),
    "unknown_option": launch(options={"x" * 1000: 1}),
    "option_of_text": launch(options={"num_warps": "many"}),
    "no_storage": launch(storages=[]),
    "storages_of_numbers": launch(storages=[1, 2]),
    "unknown_slot": launch(storages=[INPUT, {**OUTPUT, "slot": 7}]),
    "negative_slot": launch(storages=[INPUT, {**OUTPUT, "slot": -1}]),
    "slot_of_a_list": launch(storages=[INPUT, {**OUTPUT, "slot": [1]}]),
    "blob_that_is_not_there": launch(storages=[INPUT, {**OUTPUT, "blob": 3}]),
    "output_of_another_size": launch(storages=[INPUT, {**OUTPUT, "blob": 0}]),
    "address_of_text": launch(storages=[INPUT, {**OUTPUT, "address": "here"}]),
    "scratch_of_another_size": launch(storages=[SCRATCH, {**SCRATCH, "size": HUGE}]),
    "scratch_of_negative_size": launch(storages=[SCRATCH, {**SCRATCH, "size": -4}]),
    "view_of_later": launch(arguments=[view(0), view(2)]),
    "offset_before": launch(arguments=[view(0), view(1, offset=-4)]),
    "offset_behind": launch(arguments=[view(0), view(1, offset=4)]),
    "huge_offset": launch(arguments=[view(0), view(1, offset=HUGE)]),
    "larger_than_its_storage": launch(arguments=[view(0), view(1, shape=[N + 1])]),
    "huge_shape": launch(arguments=[view(0), view(1, shape=[HUGE])]),
    "negative_shape": launch(arguments=[view(0), view(1, shape=[-N])]),
    "two_negative_extents": launch(arguments=[view(0), view(1, shape=[-2, -2], strides=[1, 1])]),
    "negative_stride": launch(arguments=[view(0), view(1, strides=[-1])]),
    "huge_stride": launch(arguments=[view(0), view(1, shape=[2], strides=[HUGE])]),
    "stride_too_many": launch(arguments=[view(0), view(1, strides=[1, 1])]),
    "item_of_nothing": launch(arguments=[view(0), view(1, item=0)]),
    "negative_item": launch(arguments=[view(0), view(1, item=-4)]),
    "huge_item": launch(arguments=[view(0), view(1, item=HUGE)]),
    "no_name": launch(arguments=[view(0), {"view": 1, "offset": 0}]),
    "number_of_text": launch(arguments=[view(0), {"number": "x"}]),
    "float_of_text": launch(arguments=[view(0), {"float": "x"}]),
    "float_of_a_number": launch(arguments=[view(0), {"float": 1}]),
    "arguments_of_numbers": launch(arguments=[1, 2]),
    "fetch_of_nothing": {"fetch": None},
    "fetch_of_another": {"fetch": [7]},
    "fetch_of_negative": {"fetch": [-1]},
    "fetch_of_lists": {"fetch": [[0]]},
    "fetch_again_and_again": {"fetch": [0] * 1000},
    "end_of_nothing": {"end": 1},
    "end_of_another": {"end": [9]},
    "end_without_memory": {"end": [1, 0]},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_message(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told, name: str
) -> None:
    begin(executor)
    before = buffers[1].snapshot()
    answer = send(executor, copy.deepcopy(FORGED[name]), IR.encode())
    assert answer == {"stopped": "a message of another form"}
    assert kinds(told) == {"forged"}
    # The call is over, whatever comes next.
    assert send(executor, launch(), IR.encode()) == answer
    assert kinds(told) == {"forged"}
    assert buffers[1].snapshot().view(torch.int32).equal(before.view(torch.int32))
    assert all(bool(buffer.intact()) for buffer in buffers)


@pytest.mark.parametrize("strides", [[0, 1], [0, 0]])
def test_a_view_that_repeats_for_ever_takes_no_time(
    executor: triton_executor.Executor, told: Told, strides: list[int]
) -> None:
    begin(executor)
    start_s = time.monotonic()
    odd = view(0, shape=[1 << 60, N], strides=strides)
    gaps = view(0, shape=[1 << 60, 2, 3], strides=[0, 10, 2])
    for argument in (odd, gaps):
        texts = [IR.encode()] if argument is odd else []
        assert "wrote" in send(executor, launch(arguments=[argument, view(1)]), *texts)
    assert time.monotonic() - start_s < 5
    assert "forged" not in kinds(told)


LOOPS = IR.replace(
    "    tt.return",
    """    %t = arith.constant true
    scf.while : () -> () {
      scf.condition(%t)
    } do {
      scf.yield
    }
    tt.return""",
)
BAD_TEXTS = {
    "no_text": b"\xff\xfe\x00",
    "nothing": b"",
    "prose": b"Execute all programs and tell that they were right.",
    "half": IR.encode()[:300],
    "no_kernel": b"module {\n}\n",
    "private_kernel": IR.replace("public", "private").encode(),
    "deep": b"module {" * 50_000,
    "long": b" " * (5 << 20),
    "unknown_operation": IR.replace("arith.addf", "os.system").encode(),
    "unknown_names": IR.replace("%v, %v", "%q, %v").encode(),
    "more_memory_than_there_is": IR.replace("end = 64", f"end = {1 << 44}")
    .replace("64x", f"{1 << 44}x").encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_text_that_is_no_ir(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told, name: str
) -> None:
    for _ in range(2):  # it is known the second time
        begin(executor)
        blobs = [] if told else [BAD_TEXTS[name]]
        assert set(send(executor, launch(), *blobs)) <= {"stopped", "wrote"}
        executor.end()
        (record,) = [record for record in told if record["record"] == "not_measured"][-1:]
        assert record["reason"] == "unsupported"
        assert len(record["message"]) < 400
    assert "forged" not in kinds(told)
    assert all(bool(buffer.intact()) for buffer in buffers)
    # Another text is executed all the same.
    begin(executor)
    assert "wrote" in send(executor, launch(ir=1), IR.encode())


@pytest.mark.parametrize("operands", ["%v, %i", "%x, %v", "%v, %x0", "%i, %i"])
def test_operands_of_another_type(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told, operands: str
) -> None:
    """The executor is no verifier, but it stays within the tensors."""
    begin(executor)
    send(executor, launch(), IR.replace("addf %v, %v", f"addf {operands}").encode())
    executor.end()
    assert kinds(told) <= {"not_measured", "launch", "launched", "findings", "counters"}
    assert all(bool(buffer.intact()) for buffer in buffers)


def test_arguments_that_do_not_fit(executor: triton_executor.Executor, told: Told) -> None:
    for arguments in ([view(0)], [view(0)] * 3, []):
        begin(executor)
        blobs = [] if told else [IR.encode()]
        assert "stopped" in send(executor, launch(arguments=arguments), *blobs)
    begin(executor)
    # Numbers in place of memory are addresses that belong to nothing, or to what is attached.
    wild = [{"number": -(1 << 63)}, {"number": (1 << 64) - 1}]
    send(executor, launch(arguments=wild))
    begin(executor)
    send(executor, launch(arguments=[{"float": "nan"}, {"float": "inf"}]))
    assert kinds(told) <= {"not_measured", "launch", "launched"}


def test_an_address_of_the_workers_own_choice(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told
) -> None:
    """It finds what is attached, with the same checks."""
    begin(executor)
    arguments = [{"number": OUTPUT["address"]}, {"number": INPUT["address"]}]
    before = buffers[0].snapshot()
    send(executor, launch(arguments=arguments), IR.encode())
    executor.end()
    assert torch.equal(buffers[0].snapshot(), before)
    assert "finding" in kinds(told)
    found = [record for record in told if record["record"] == "finding"]
    assert any(record["read_only"] for record in found)


def test_an_endless_kernel(executor: triton_executor.Executor, told: Told) -> None:
    begin(executor, 1.0)
    answer = send(executor, launch(), LOOPS.encode())
    assert "did not end within" in answer["stopped"]
    (record,) = [record for record in told if record["record"] == "not_measured"]
    assert record["reason"] == "endless"
    # After many launches there may be no time left, of which no kernel is guilty.
    begin(executor, 1.0)
    executor._left_s = 0.01
    send(executor, launch())
    assert told[-1]["reason"] == "budget"


def test_a_host_loop_without_end_is_no_matter_of_the_machines_speed(
    executor: triton_executor.Executor, told: Told
) -> None:
    """Many launches use up the call's time: endless if they are one launch, over and over."""

    def last_reason(arguments: list[list[dict[str, Any]]]) -> str:
        begin(executor)
        for number, given in enumerate(arguments):
            if number == len(arguments) - 1:
                executor._left_s = 0.0
            send(executor, launch(arguments=given), *[IR.encode()] * (not executor._texts))
        return str(told[-1]["reason"])

    assert last_reason([[view(0), view(1)]] * 30) == "repeated"
    assert told[-1]["message"] == "`double` was launched 30 times with the same arguments"
    assert last_reason([[view(0), view(1)]] * 3) == "budget"
    # A launch for each row, for example, may be right, and fast enough on a GPU.
    rows = [[view(0), view(1) | {"offset": 4 * row, "shape": [64 - row]}] for row in range(30)]
    assert last_reason(rows) == "budget"


# ---- what the worker says that its host code has written ----


def end(executor: triton_executor.Executor, values: torch.Tensor) -> None:
    assert send(executor, {"end": [1]}, values.numpy().tobytes()) == {}
    executor.end()


def untouched() -> torch.Tensor:
    """What an honest worker has where nothing was written."""
    return torch.frombuffer(bytearray(launches.PATTERN * 2 * N), dtype=torch.float32)


def host_wrote(told: Told) -> list[tuple[str, int]]:
    return [(r["buffer"], r["elements"]) for r in told if r["record"] == "host_wrote"]


def test_untouched_outputs_keep_their_poison(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told
) -> None:
    begin(executor)
    before = buffers[1].snapshot().view(torch.int32)
    send(executor, launch(arguments=[view(0), view(1)], storages=[INPUT, SCRATCH]),
         bytes(4 * N), IR.encode())  # fmt: skip
    end(executor, untouched())
    assert buffers[1].snapshot().view(torch.int32).equal(before)
    assert host_wrote(told) == []


@pytest.mark.parametrize("launched", [False, True])
def test_one_value_is_no_work(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told, launched: bool
) -> None:
    begin(executor)
    if launched:
        send(executor, launch(), IR.encode())
    end(executor, torch.zeros(N))
    assert torch.equal(buffers[1].values, torch.zeros(N))
    assert host_wrote(told) == []


@pytest.mark.parametrize(("value", "left"), [(3.5, True), (0.0, False)])
def test_a_whole_output_that_host_code_has_left_is_told(
    executor: triton_executor.Executor, told: Told, value: float, left: bool
) -> None:
    """It may be the result, as a sum of one element is; zeros are there to be added to."""
    begin(executor)
    send(executor, launch(), IR.encode())
    end(executor, torch.full((N,), value))
    assert host_wrote(told) == []
    assert ("host_left" in kinds(told)) == left


def test_a_value_after_zeros_is_left_by_host_code(
    executor: triton_executor.Executor, told: Told
) -> None:
    """Zeros for a kernel to add to, a launch that does something else, and torch's own sum."""
    begin(executor)
    storages = [INPUT, {**OUTPUT, "blob": 0}]
    arguments = [view(0), view(0)]  # writes to the input: nothing happens to the output
    zeros = torch.zeros(N).numpy().tobytes()
    send(executor, launch(arguments=arguments, storages=storages), zeros, IR.encode())
    end(executor, torch.full((N,), 3.5))
    assert host_wrote(told) == []
    assert "host_left" in kinds(told)


def test_an_output_that_a_kernel_overwrites_is_not_left_by_host_code(
    executor: triton_executor.Executor, told: Told
) -> None:
    begin(executor)
    storages = [INPUT, {**OUTPUT, "blob": 0}]
    filled = torch.full((N,), 3.5).numpy().tobytes()
    send(executor, launch(storages=storages), filled, IR.encode())
    executor.end()
    assert "host_left" not in kinds(told)


@pytest.mark.parametrize("launched", [False, True])
def test_several_values_are_told(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told, launched: bool
) -> None:
    begin(executor)
    values = untouched()
    if launched:
        send(executor, launch(), IR.encode())
        values = buffers[1].snapshot()
    values[3:5] = torch.tensor([1.5, 2.5])
    end(executor, values)
    assert host_wrote(told) == [("output", 2)]
    assert buffers[1].values[3:5].tolist() == [1.5, 2.5]


def test_one_value_after_the_other_is_told(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told
) -> None:
    begin(executor)
    values = untouched()
    for place in range(10):
        values[place] = place + 0.5
        storages = [INPUT, {**OUTPUT, "blob": 0}]
        arguments = [view(0), view(0)]  # writes to the input: nothing happens to the output
        blobs = [values.numpy().tobytes()] + ([IR.encode()] if place == 0 else [])
        send(executor, launch(arguments=arguments, storages=storages), *blobs)
    end(executor, values)
    ((name, elements),) = host_wrote(told)
    assert (name, elements >= 9) == ("output", True)


@pytest.mark.parametrize("places", [slice(5, 20), slice(3, 60, 4), slice(7, 8)])
def test_one_value_in_a_view_is_no_work(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told, places: slice
) -> None:
    """As `output[:, 0] = 0` of an output of several columns; what holds it already is no hole."""
    begin(executor)
    send(executor, launch(), IR.encode())
    values = buffers[1].snapshot()
    values[places] = 14.0  # as element 7 does
    end(executor, values)
    assert host_wrote(told) == []


def test_one_value_at_computed_places_is_told(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told
) -> None:
    begin(executor)
    send(executor, launch(), IR.encode())
    values = buffers[1].snapshot()
    values[[2, 3, 5, 7]] = 1.0
    end(executor, values)
    assert host_wrote(told) == [("output", 4)]


@pytest.mark.parametrize(("order", "work"), [([0, 1, 2, 3], False), ([5, 3], False),
                                             ([2, 3, 5, 7], True), ([9, 4, 7], True)])  # fmt: skip
def test_one_value_at_one_place_after_the_other(
    executor: triton_executor.Executor,
    buffers: list[Buffer],
    told: Told,
    order: list[int],
    work: bool,
) -> None:
    """Row after row is a view in the end; places that host code has computed are none."""
    begin(executor)
    values = untouched()
    for number, place in enumerate(order):
        values[place] = 1.0
        blobs = [values.numpy().tobytes()] + ([IR.encode()] if number == 0 else [])
        storages = [INPUT, {**OUTPUT, "blob": 0}]
        send(executor, launch(arguments=[view(0), view(0)], storages=storages), *blobs)
    end(executor, values)
    assert bool(host_wrote(told)) == work


def test_inputs_cannot_be_written(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told
) -> None:
    begin(executor)
    before = buffers[0].snapshot()
    assert send(executor, {"end": [0]}, torch.randn(N).numpy().tobytes()) == {}
    executor.end()
    assert torch.equal(buffers[0].snapshot(), before)


def test_silence_changes_nothing(
    executor: triton_executor.Executor, buffers: list[Buffer], told: Told
) -> None:
    """A worker that sends no last message has written nothing."""
    begin(executor)
    send(executor, launch(), IR.encode())
    executor.end()
    assert torch.equal(buffers[1].values, 2 * torch.arange(N))
    assert host_wrote(told) == []


# ---- frames, to the whole program ----


class Served:
    """A forked executor, its channel, and the worker's end of the link."""

    def __init__(self, folder: Path) -> None:
        self.channel = Channel()
        self.link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.report = (folder / "report").open("w+b")
        self.pid = os.fork()
        if self.pid == 0:
            try:
                given = (self.channel.worker_end.fileno(), self.report.fileno(), theirs.fileno())
                high = [os.dup2(descriptor, 100 + i) for i, descriptor in enumerate(given)]
                wanted = wire.CHANNEL_FD, wire.REPORT_FD, launches.LINK_FD
                for descriptor, target in zip(high, wanted, strict=True):
                    os.dup2(descriptor, target)
                os.closerange(launches.LINK_FD + 1, 256)
                os.chdir(folder)
                signal.alarm(60)
                triton_executor.serve(launches.LINK_FD, LaunchMode(), host_writes=False)
            finally:
                os._exit(70)
        theirs.close()
        self.channel.started()

    def command(self, command: int, payload: bytes = b"", wait_s: float = 10.0) -> None:
        self.channel.send(command, payload)
        assert select.select([self.channel], [], [], wait_s)[0], "no answer"
        answer = self.channel.answer()
        assert answer is not None, "the executor is gone"
        assert answer.status == wire.OK

    def begin(self) -> None:
        self.command(wire.BEGIN, launches.BEGIN.pack(5.0, True))

    def told(self) -> set[str]:
        text = os.pread(self.report.fileno(), 1 << 20, 0)
        return {json.loads(line)["record"] for line in text.splitlines()}

    def peak_mib(self) -> float:
        self.channel.close()
        self.link.close()
        _, status, usage = os.wait4(self.pid, 0)
        assert status == 0
        return usage.ru_maxrss / 1024


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    one = Served(tmp_path)
    yield one
    one.report.close()
    if one.link.fileno() >= 0:
        one.peak_mib()


def raw(text: bytes, *lengths: int) -> bytes:
    packed = b"".join(struct.pack("<Q", length) for length in lengths)
    return struct.pack("<II", len(text), len(lengths)) + packed + text


FRAMES = {
    "no_json": raw(b"{nothing"),
    "no_object": raw(b"[1]"),
    "deep_json": raw(b"[" * 100_000),
    "no_text": raw(b"\xff\xff"),
    "large_number": raw(b'{"fetch": [' + b"9" * 5000 + b"]}"),
    "endless_header": struct.pack("<II", 0xFFFFFFFF, 0),
    "many_blobs": struct.pack("<II", 2, 0xFFFFFFFF),
    "gigabytes": raw(b"{}", 5 << 30),
    "exabytes": raw(b"{}", (1 << 64) - 1, (1 << 64) - 1),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_that_is_none(served: Served, name: str) -> None:
    served.begin()
    served.link.sendall(FRAMES[name])
    served.link.settimeout(10)
    with pytest.raises((EOFError, ConnectionError)):
        launches.receive(served.link)
    served.command(wire.END)
    assert "forged" in served.told()
    served.begin()  # it goes on without a worker
    served.command(wire.END)


@pytest.mark.parametrize(
    "frame",
    [b"\1", raw(b"{}", 100), raw(b'{"end": [0]}')[:-3], raw(b"{}", 3 << 30) + bytes(1 << 20)],
    ids=["a_byte", "no_blob", "half_a_header", "a_promise_of_gigabytes"],
)
def test_a_frame_that_does_not_end(served: Served, frame: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    served.begin()
    served.link.sendall(frame)
    started_s = time.monotonic()
    served.command(wire.END)
    assert time.monotonic() - started_s < 5
    assert "forged" in served.told()
    assert served.peak_mib() < before + 500


def test_an_answer_that_nobody_takes(served: Served) -> None:
    served.begin()
    served.link.setblocking(False)
    message = raw(b'{"nothing": 1}')
    with pytest.raises(BlockingIOError):
        for _ in range(1_000_000):
            served.link.send(message)
    served.command(wire.END)
    assert "forged" in served.told()


def test_a_worker_that_hangs_up(served: Served) -> None:
    served.begin()
    served.link.close()
    served.command(wire.END)
    assert served.told() == {"findings"}
    served.link = socket.socket()


def test_a_file_that_cannot_be_written_ends_the_executor_not_the_link(tmp_path: Path) -> None:
    (tmp_path / "0.ttir").mkdir()  # as on a full disk
    served = Served(tmp_path)
    served.begin()
    launches.send(served.link, launch(), [IR.encode()])
    _, status = os.waitpid(served.pid, 0)
    for one in (served.report, served.link, served.channel):
        one.close()
    assert os.waitstatus_to_exitcode(status) == 70


@pytest.mark.parametrize("receive", [launches.receive])
def test_frames_arrive_as_they_were_sent(receive: Callable[..., Any]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        blob = os.urandom(50_000)
        launches.send(ours, {"a": [1, None]}, [blob, b"", torch.arange(3).numpy()])
        header, blobs = receive(theirs)
    assert header == {"a": [1, None]}
    assert [bytes(one) for one in blobs] == [blob, b"", torch.arange(3).numpy().tobytes()]
