"""The program that replays launches, with a stand-in for the CUDA driver."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from recordings import record, replay

from grader.worker.launch_recording import (
    ADDRESS,
    ALLOCATE,
    CALL,
    DESCRIPTOR,
    END,
    FREE,
    LAUNCH,
    MAGIC,
    NUMBER,
    POINTER,
    WRITE,
)

KERNEL = "0.cubin k 128 64 1 0 4 0 1 0 1 0\n"
START = record(MAGIC) + record(CALL) + record(ALLOCATE, 1, 6, 1)


def test_a_launch_gets_storages_of_their_size_and_numbers(tmp_path: Path) -> None:
    data = (
        START
        + record(ALLOCATE, 2, 16, 0)
        + record(WRITE, 1, 2, 3, content=b"\1\2\3")
        + record(LAUNCH, 0, 2, 3, 4, 3, POINTER, 1, 1, NUMBER, 0x3F000000, POINTER, 2, 8)
        + record(END)
    )
    code, message, log = replay(tmp_path, data, KERNEL, parameters=5)
    assert (code, message) == (0, "")
    # Nothing has written the bytes `ee`. After the arguments: two scratch pointers of Triton's.
    assert log == ["k 2 3 4 128 64 6:ee010203ee 3f000000 16:eeeeeeeeeeeeeeee 0 0"]
    assert (tmp_path / "outputs").read_bytes() == b"\xee\xee\1\2\3\xee"


def test_a_kernel_that_goes_on_is_ended(tmp_path: Path) -> None:
    launch = record(LAUNCH, 0, 1, 1, 1, 1, POINTER, 1, 0)
    code, message, _ = replay(tmp_path, START + launch, KERNEL, hangs=True)
    assert (code, message) == (-signal.SIGALRM, "")


def test_memory_of_an_earlier_call_is_gone(tmp_path: Path) -> None:
    launch = record(LAUNCH, 0, 1, 1, 1, 1, POINTER, 1, 0)
    code, message, log = replay(tmp_path, START + launch + record(CALL) + launch, KERNEL)
    assert (code, message, len(log)) == (2, "replay: malformed input: an unknown storage", 1)


def test_an_address_in_memory_is_that_of_the_storage_here(tmp_path: Path) -> None:
    data = (
        START
        + record(ALLOCATE, 2, 8, 1)
        + record(WRITE, 2, 0, 8, content=bytes(8))
        + record(ADDRESS, 2, 0, 1, 4)
        + record(LAUNCH, 0, 1, 1, 1, 1, POINTER, 1, 4)
        + record(END)
    )
    code, _, log = replay(tmp_path, data, KERNEL, parameters=1)
    assert code == 0 and len(log) == 1
    table = (tmp_path / "outputs").read_bytes()[6:]
    assert int.from_bytes(table, "little") > 1 << 20


def test_what_the_compiler_asks_for_is_initialised(tmp_path: Path) -> None:
    kernel = "0.cubin k 32 0 1 0 2 16 128 0 1 0\n"
    data = START + record(LAUNCH, 0, 2, 1, 1, 0)
    code, _, log = replay(tmp_path, data, kernel, parameters=1)
    assert code == 0
    (scratch,) = (word for word in log[0].split() if ":" in word)
    size, content = scratch.split(":")
    assert int(size) == 2 * 16 + 128
    assert set(content) == {"0"}


def test_a_descriptor_without_tensor_maps_is_its_parts(tmp_path: Path) -> None:
    descriptor = (DESCRIPTOR, 1, 0, 2, 1, 3, 2, 2, 1)
    data = START + record(LAUNCH, 0, 1, 1, 1, 1, *descriptor)
    # Base, extents, strides, what is outside; newer versions have one more flag.
    for parameters, flags in ((8, "1"), (9, "1 0")):
        kernel = f"0.cubin k 128 0 1 0 {parameters} 0 1 0 1 0\n"
        _, _, log = replay(tmp_path, data, kernel, parameters=parameters)
        assert log == [f"k 1 1 1 128 0 6:eeeeeeeeeeee 3 2 2 1 {flags} 0 0"]


GOOD = START + record(LAUNCH, 0, 1, 1, 1, 1, POINTER, 1, 0) + record(END)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no recording"),
        (record(7), "not a recording"),
        (GOOD[:-4], "the recording ends early"),
        (GOOD + record(99), "an unknown record"),
        (START + record(ALLOCATE, 1, 6, 0), "a storage twice"),
        (START + record(ALLOCATE, 2, 1 << 62, 0), "a storage of more than a terabyte"),
        (START + record(FREE, 2), "an unknown storage"),
        (START + record(WRITE, 1, 4, 3, content=b"abc"), "an offset outside of its storage"),
        (START + record(WRITE, 1, 1 << 63, 3), "an offset outside of its storage"),
        (START + record(WRITE, 1, 0, 6), "the recording ends early"),
        (START + record(ADDRESS, 1, 0, 1, 0), "an offset outside of its storage"),
        (START + record(LAUNCH, 5, 1, 1, 1, 0), "an unknown kernel"),
        (START + record(LAUNCH, 0, 0, 1, 1, 0), "a grid"),
        (START + record(LAUNCH, 0, 1, 1, 1, 1 << 40), "too many arguments"),
        (START + record(LAUNCH, 0, 1, 1, 1, 1, 9), "an unknown argument"),
        (START + record(LAUNCH, 0, 1, 1, 1, 1, POINTER, 1, 7), "an offset outside of its storage"),
        (START + record(LAUNCH, 0, 1, 1, 1, 1, DESCRIPTOR, 1, 0, 9, 0), "a descriptor's rank"),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)  # fmt: skip
def test_a_malformed_recording_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    code, message, _ = replay(tmp_path, data, KERNEL)
    assert (code, message) == (2, f"replay: malformed input: {why}")


@pytest.mark.parametrize("table", ["0.cubin k many\n", "0.cubin k 1 1 1 0 4 0 1 0 1 1 0 4 7 0 9\n"])
def test_a_malformed_table_is_refused(tmp_path: Path, table: str) -> None:
    code, message, _ = replay(tmp_path, GOOD, table)
    assert code == 2 and message.startswith("replay: malformed input")
