"""The messages between judge and worker, byte for byte.

The channel is one SOCK_SEQPACKET socket: a message is whole or absent. The judge sends a command
with a fresh random number, and the worker's answer repeats that number; an unsolicited answer has
a wrong number and is evidence of tampering. Answers have a fixed size and carry no text. A worker
reports text (an exception, a fault) as JSON lines in a separate report pipe, which can cost points
and never earn any.

Descriptors in every worker: 0 /dev/null, 1 and 2 the captured output, and:
"""

import os
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")
_clock = time.perf_counter  # bound before a submission can replace it

CHANNEL_FD = 3
REPORT_FD = 4

# Commands.
LOAD = 1  # load the submission
ATTACH = 2  # map buffers, whose descriptors come with the message
CALL = 3  # call the entry
COPY_IN = 4  # private transport: fill the worker's allocations from the mapped files
COPY_OUT = 5  # private transport: the reverse, for outputs
DETACH = 6  # forget all buffers
FINISH = 7  # free all resources and exit normally, for a tool that watches the worker
PREPARE = 8  # lay out the arguments of calls on many buffer sets
RUN = 9  # make the prepared calls, one after the other, and synchronise once
BEGIN = 10  # to the executor of Triton's launches: a call begins
END = 11  # the call has ended: report what was found

# The last argument of a worker's program: open the GPU before the first command.
CONTEXT = "context"
# The same of the Python worker: the entry is a kernel, which the worker launches.
LAUNCHED = "launched"

# Where an attached buffer lies.
HOST = 0  # ordinary memory of the worker
DEVICE = 1  # device memory, shared with the judge
PRIVATE = 2  # device memory of the worker alone, exact size, filled by copies
LOCAL = 3  # memory of the worker alone; the executor has the buffer

# The status of an answer.
OK: int = 0
EXCEPTION: int = 1  # Python raised; details in the report pipe
CUDA_ERROR = 2  # `code` is the cudaError_t
LOAD_FAILED: int = 3  # the submission could not be loaded; details in the report pipe

# Exit codes of a worker that cannot continue; a submission can forge them.
EXIT_FAILED = 70
EXIT_CHANNEL_LOST = 71  # the submission closed the channel

COMMAND = struct.Struct("<QI")  # number, command
ANSWER = struct.Struct("<QIi")  # number, status, code

# Flags of a buffer.
WRITABLE = 1
UNINITIALISED = 2  # uninitialised: a read before the first write is a fault
READ = 4  # its contents are an input

# A buffer of ATTACH: slot, where, flags, dtype, dimensions, file bytes, data offset, data bytes,
# shape, name.
BUFFER = struct.Struct("<IIIIIQQQ4q32s")


class BufferMessage(NamedTuple):
    """One buffer of ATTACH; offset and sizes in bytes."""

    slot: int
    where: int
    flags: int
    dtype: str
    shape: tuple[int, ...]
    file_bytes: int
    offset: int
    size: int
    name: bytes

    @property
    def writable(self) -> bool:
        """True if the submission may write to it."""
        return bool(self.flags & WRITABLE)

    @property
    def bare(self) -> bool:
        """True if a read before the first write is a fault."""
        return bool(self.flags & UNINITIALISED)


def attach_messages(
    buffers: Sequence[tuple[bytes, int]],
) -> Iterator[tuple[bytes, tuple[int, ...]]]:
    """Yield the payload and the descriptors of each ATTACH for these buffers.

    A buffer is packed and has its descriptor with it, -1 if it is local.
    """
    for first in range(0, len(buffers), ATTACHED):
        some = buffers[first : first + ATTACHED]
        descriptors = tuple(descriptor for _, descriptor in some if descriptor >= 0)
        yield b"".join(packed for packed, _ in some), descriptors


def unpack_buffers(
    payload: bytes, descriptors: Sequence[int]
) -> Iterator[tuple[BufferMessage, int]]:
    """Read the payload of ATTACH; yield each buffer and its descriptor, -1 for a local one."""
    left = iter(descriptors)
    for buffer in BUFFER.iter_unpack(payload):
        slot, where, flags, dtype, rank, file_bytes, offset, size, *shape, name = buffer
        extents, name = tuple(shape[:rank]), name.rstrip(b"\0")
        message = BufferMessage(
            slot, where, flags, DTYPES[dtype], extents, file_bytes, offset, size, name
        )
        yield message, -1 if where == LOCAL else next(left)


# An argument of CALL: its kind, then 64 bits.
ARGUMENT = struct.Struct("<IQ")
SLOT = 0  # the buffer in that slot
INTEGER = 1  # two's complement in 64 bits
FLOAT32 = 2  # its bits in the low 32
FLOAT64 = 3
UNSIGNED = 4  # 64 bits
BOOL = 5  # 0 or 1

# PREPARE: the number of arguments, of slots per buffer set, and of calls; then the arguments,
# which name slots of the first set; then the set of each call.
RUN_HEADER = struct.Struct("<III")
SET = struct.Struct("<I")

MESSAGE_BYTES = 32768
ATTACHED = 200  # at most, by one message: the kernel passes on 253 descriptors
# Of a request to a fork server: most of it are the folders that a worker may read.
REQUEST_BYTES = 1 << 18
REQUEST_DESCRIPTORS = 8

# After PREPARE and RUN the next message comes soon: both sides poll this long before they sleep.
POLL_S = 0.05

# The order is the wire code of an element type.
DTYPES = (
    *("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "complex64"),
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)


def unpack_run(payload: bytes) -> tuple[int, list[list[tuple[int, int]]]]:
    """Return the number of arguments of a call, and (kind, bits) of each for every call."""
    arguments, slots, calls = RUN_HEADER.unpack_from(payload)
    data = memoryview(payload)[RUN_HEADER.size :]
    split = arguments * ARGUMENT.size
    template = list(ARGUMENT.iter_unpack(data[:split]))
    order = [number for (number,) in SET.iter_unpack(data[split:])]
    assert len(order) == calls
    return arguments, [
        [(kind, bits + slots * number if kind == SLOT else bits) for kind, bits in template]
        for number in order
    ]


def receive(channel: socket.socket, poll_s: float = 0.0) -> tuple[int, int, bytes, list[int]]:
    """Return (number, command, payload, descriptors); EOFError if the judge is gone.

    It polls for `poll_s` before it sleeps, because waking up takes longer than polling.
    """
    poll_until_readable(channel, poll_s)
    data, descriptors, _, _ = _or_lost(socket.recv_fds, channel, MESSAGE_BYTES, ATTACHED)
    if not data:
        raise EOFError
    number, command = COMMAND.unpack_from(data)
    return number, command, data[COMMAND.size :], descriptors


def answer(channel: socket.socket, number: int, status: int = OK, code: int = 0) -> None:
    """Send the answer to the command `number`."""
    _or_lost(channel.send, ANSWER.pack(number, status, code))


# Carries out a command, given its payload and descriptors; returns status and code if not OK.
Handler = Callable[[bytes, list[int]], tuple[int, int] | None]


def carry_out(channel: socket.socket, handlers: Mapping[int, Handler], poll_s: float = 0.0) -> int:
    """Receive, carry out and answer a command; return it. EOFError if the judge is gone."""
    number, command, payload, descriptors = receive(channel, poll_s)
    result = handlers[command](payload, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    answer(channel, number, *(result or (OK, 0)))
    return command


def for_each_buffer(attach: Callable[[BufferMessage, int], None]) -> Handler:
    """Return the handler of ATTACH that calls `attach` with each buffer and its descriptor."""

    def handler(payload: bytes, descriptors: list[int]) -> None:
        for message, descriptor in unpack_buffers(payload, descriptors):
            attach(message, descriptor)

    return handler


def serve(channel: socket.socket, handlers: Mapping[int, Handler]) -> None:
    """Carry out the commands up to FINISH. EOFError if the judge is gone."""
    command = LOAD
    while command != FINISH:
        command = carry_out(channel, handlers, POLL_S if command == PREPARE else 0.0)


def poll_until_readable(channel: socket.socket, poll_s: float) -> None:
    """Poll without sleeping until the channel is readable or closed, at most for `poll_s`."""
    if not poll_s:
        return
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    until_s = _clock() + poll_s
    while not poll.poll(0) and _clock() < until_s:
        os.sched_yield()  # on a single core the other process must run


def _or_lost(function: Callable[..., Result], *arguments: object) -> Result:
    """Call a function of the socket; end this worker if the submission has closed the socket."""
    try:
        return function(*arguments)
    except OSError:
        os._exit(EXIT_CHANNEL_LOST)
