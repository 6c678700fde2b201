"""What the executor records of a call: arguments, memory, and what nothing has written."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from recordings import Record, records, replay

from grader.assignment.signature import ElementType
from grader.judge.buffers import Buffer, make_buffer
from grader.protocol import launches, wire
from grader.protocol.launches import LaunchMode
from grader.vocabulary import Device, Memory, Role
from grader.worker import triton_executor, worker_log

N = 8
DOUBLE = f"""
module {{
  tt.func public @scale(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %by: f32, %n: i64) {{
    %i = tt.make_range {{end = {N} : i32, start = 0 : i32}} : tensor<{N}xi32>
    %x0 = tt.splat %x : !tt.ptr<f32> -> tensor<{N}x!tt.ptr<f32>>
    %xi = tt.addptr %x0, %i : tensor<{N}x!tt.ptr<f32>>, tensor<{N}xi32>
    %v = tt.load %xi : tensor<{N}x!tt.ptr<f32>>
    %b = tt.splat %by : f32 -> tensor<{N}xf32>
    %w = arith.mulf %v, %b : tensor<{N}xf32>
    %y0 = tt.splat %y : !tt.ptr<f32> -> tensor<{N}x!tt.ptr<f32>>
    %yi = tt.addptr %y0, %i : tensor<{N}x!tt.ptr<f32>>, tensor<{N}xi32>
    tt.store %yi, %w : tensor<{N}x!tt.ptr<f32>>
    tt.return
  }}
}}
"""
INPUT = {"slot": 0, "address": 4096, "blob": None}
OUTPUT = {"slot": 1, "address": 8192, "blob": None}
EMPTY = launches.PATTERN * (2 * N)  # what torch.empty holds in a worker
HALF = int.from_bytes(struct.pack("<f", 0.5), "little")
KERNEL = "0.cubin scale 128 0 1 0 6 0 1 0 1 0\n"


def view(storage: int, **change: Any) -> dict[str, Any]:
    plain = {"view": storage, "offset": 0, "shape": [N], "strides": [1], "item": 4, "name": "x"}
    return plain | change


def scratch(blob: int, **change: Any) -> dict[str, Any]:
    return {"size": 4 * N, "address": 16384, "blob": blob, "fresh": True} | change


def launch(arguments: list[dict[str, Any]], storages: list[dict[str, Any]]) -> dict[str, Any]:
    numbers = [{"float": (0.5).hex()}, {"number": N}]
    return {
        "launch": {
            "ir": 0,
            "grid": [1, 1, 1],
            "options": {"num_warps": 4},
            "arguments": [*arguments, *numbers],
            "storages": storages,
        }
    }


class Call:
    """An executor that records, its buffers, and one call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[dict[str, Any]] = []
        self.buffers = [self._buffer("input", Role.IN), self._buffer("output", Role.OUT)]
        self.buffers[0].fill(torch.arange(N).float())
        self.buffers[1].poison(0xFF)
        self.executor = triton_executor.Executor(LaunchMode(records=True), host_writes=True)
        for slot, buffer in enumerate(self.buffers):
            message = buffer.message(slot, uninitialised=True)
            wire.for_each_buffer(self.executor.attach)(message, [buffer.descriptor])
        self.executor.begin(launches.BEGIN.pack(10.0, True))

    def _buffer(self, name: str, role: Role) -> Buffer:
        return make_buffer(
            name=name, role=role, kind=ElementType.FLOAT32, shape=(N,), memory=Memory.DEVICE,
            device=Device.CPU, private=False, driver=None,
        )  # fmt: skip

    def send(self, message: dict[str, Any], *blobs: bytes) -> list[bytes]:
        """Send a message; return the blobs of the answer."""
        answer, more = self.executor.message(message, [bytearray(blob) for blob in blobs])
        assert "wrote" in answer or answer == {}, answer
        return [bytes(blob) for blob in more]

    def end(self) -> list[Record]:
        """End the call; return what was recorded."""
        self.executor.end()
        (told,) = (record for record in self.told if record["record"] == "recording")
        assert told["problem"] is None
        return records(self.data)

    @property
    def data(self) -> bytes:
        """The recording."""
        return (self.folder / launches.RECORDING).read_bytes()


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    monkeypatch.chdir(tmp_path)
    made = Call(tmp_path)
    monkeypatch.setattr(
        worker_log, "tell", lambda record, **more: made.told.append({"record": record, **more})
    )
    yield made
    made.executor.close()
    for buffer in made.buffers:
        buffer.close()


def writes(found: list[Record]) -> list[Record]:
    return [record for record in found if record[0] == "write"]


VALUES = torch.arange(N).float().numpy().tobytes()


def test_two_launches_with_scratch_between(call: Call) -> None:
    """Kernels' work is not recorded: a replay repeats it. torch.empty is uninitialised."""
    first = launch([view(0), view(2)], [INPUT, OUTPUT, scratch(0)])
    (filled,) = call.send(first, EMPTY, DOUBLE.encode())
    second = launch([view(2), view(1)], [INPUT, OUTPUT, scratch(0)])
    call.send(second, filled)
    found = call.end()
    assert found == [
        ("call",),
        ("allocate", 1, 4 * N, 0),
        ("write", 1, 0, 4 * N, VALUES),
        ("allocate", 2, 4 * N, 1),
        ("allocate", 3, 4 * N, 0),
        ("launch", 0, 1, 1, 1, [(1, 0), (3, 0), (HALF,), (N,)]),
        ("launch", 0, 1, 1, 1, [(3, 0), (2, 0), (HALF,), (N,)]),
        ("end",),
    ]
    _, _, log = replay(call.folder, call.data, KERNEL, parameters=2)
    # The stand-in runs no kernel, so that scratch and output are as allocated.
    assert log == [
        f"scale 1 1 1 128 0 32:{VALUES.hex()} 32:{'ee' * 32}",
        f"scale 1 1 1 128 0 32:{'ee' * 32} 32:{'ee' * 32}",
    ]


def test_what_host_code_writes_between_launches_is_recorded(call: Call) -> None:
    message = launch([view(0), view(2)], [INPUT, OUTPUT, scratch(0)])
    (filled,) = call.send(message, EMPTY, DOUBLE.encode())
    changed = torch.frombuffer(bytearray(filled), dtype=torch.float32)
    changed[2:4] = torch.tensor([7.0, 9.0])
    call.send(message, changed.numpy().tobytes())
    output = struct.pack("<f", 3.0) * N
    call.send({"end": [1]}, output)
    found = call.end()
    assert [record[0] for record in found[-4:]] == ["write", "launch", "write", "end"]
    _, (_, number, offset, size, data), (_, slot, *_, content) = writes(found)
    assert (number, offset, size, data) == (3, 8, 8, struct.pack("<2f", 7.0, 9.0))
    assert (slot, content) == (2, output)


def test_an_element_of_torch_empty_that_host_code_wrote_is_initialised(call: Call) -> None:
    part = EMPTY[:12] + struct.pack("<f", 7.0) + EMPTY[16:]
    call.send(launch([view(2), view(1)], [INPUT, OUTPUT, scratch(0)]), part, DOUBLE.encode())
    assert writes(call.end())[1:] == [("write", 3, 12, 4, struct.pack("<f", 7.0))]


def test_another_allocation_at_the_same_place_is_new(call: Call) -> None:
    message = launch([view(0), view(2)], [INPUT, OUTPUT, scratch(0)])
    call.send(message, EMPTY, DOUBLE.encode())
    call.send(message, EMPTY)  # freed, and allocated again
    larger = launch([view(0), view(2)], [INPUT, OUTPUT, scratch(0, address=16380, size=4 * N + 8)])
    call.send(larger, EMPTY + EMPTY[:8])
    found = [record for record in call.end() if record[0] in ("allocate", "free")]
    assert found[3:] == [
        ("free", 3), ("allocate", 4, 4 * N, 0), ("free", 4), ("allocate", 5, 4 * N + 8, 0),
    ]  # fmt: skip


def test_addresses_in_memory_and_in_numbers_are_storages(call: Call) -> None:
    table = struct.pack("<4Q", 5, 8192 + 4, 4096, 1 << 60)
    arguments = [view(0), view(1)]
    storages = [INPUT, OUTPUT, scratch(0, fresh=False)]
    message = launch([*arguments], storages)
    message["launch"]["arguments"][3] = {"number": 4096 + 8}
    call.send(message, table, DOUBLE.encode())
    message["launch"]["arguments"][1] = view(2, item=8, shape=[4])
    call.send(message, table)
    found = call.end()
    assert next(record for record in found if record[0] == "launch")[5] == [
        (1, 0), (2, 0), (HALF,), (1, 8),
    ]  # fmt: skip
    assert {record for record in found if record[0] == "address"} == {
        ("address", 3, 8, 2, 4),
        ("address", 3, 16, 1, 0),
    }


def test_a_launch_that_cannot_be_executed_is_recorded(call: Call) -> None:
    """A GPU can execute it, and those that follow."""
    strange = DOUBLE.replace("arith.mulf", "arith.unheard_of")
    message = launch([view(0), view(1)], [INPUT, OUTPUT])
    call.send(message, strange.encode())
    call.send(message)
    assert [record[0] for record in call.end()].count("launch") == 2
    kinds = [record["record"] for record in call.told]
    assert kinds.count("not_executed") == 1 and "not_measured" not in kinds


def test_a_recording_that_is_too_large_is_of_no_use(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.worker.launch_recording._MOST_BYTES", len(call.data) + 40)
    call.send(launch([view(0), view(1)], [INPUT, OUTPUT]), DOUBLE.encode())
    call.executor.end()
    assert "MiB" in next(r["problem"] for r in call.told if r["record"] == "recording")
    assert torch.equal(call.buffers[1].values, torch.arange(N) / 2), "executed all the same"
