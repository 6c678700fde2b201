"""The messages between judge and worker, byte for byte.

One SOCK_SEQPACKET socket: a message is whole or absent. The judge sends a
command under a fresh random number and the worker answers it with that number;
an answer nobody asked for has a wrong one and is evidence of tampering.
Answers have a fixed size and carry no text. What a worker has to say in words
(an exception, a fault) goes as JSON lines into a pipe of its own, where it can
cost points and never earn any.

Descriptors in every worker: 0 /dev/null, 1 and 2 the captured output, and:
"""

import os
import select
import socket
import struct
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")
_clock = time.perf_counter  # before a hand-in can put another in its place

CHANNEL_FD = 3
REPORT_FD = 4

# Commands.
LOAD = 1  # load the hand-in
ATTACH = 2  # map one buffer, whose descriptor comes with the message
CALL = 3  # call the entry
COPY_IN = 4  # private transport: fill the worker's allocations from the mapped files
COPY_OUT = 5  # private transport: the reverse, for outputs
DETACH = 6  # forget all buffers
FINISH = 7  # give everything back and end in good order, for a tool that watches
PREPARE = 8  # lay out the arguments of calls on many sets of buffers
RUN = 9  # make the calls that were prepared, one after the other, and wait once

# Where an attached buffer lies.
HOST = 0  # ordinary memory of the worker
DEVICE = 1  # device memory, shared with the judge
PRIVATE = 2  # device memory of the worker's own, exact size, filled by copies

# What an answer says.
OK: int = 0
EXCEPTION: int = 1  # Python raised; details in the report pipe
CUDA_ERROR = 2  # `code` is the cudaError_t
LOAD_FAILED: int = 3  # the hand-in could not be loaded; details in the report pipe

# How a worker's own program ends when it cannot go on; a hand-in may forge them.
EXIT_FAILED = 70
EXIT_CHANNEL_LOST = 71  # the hand-in closed the channel

COMMAND = struct.Struct("<QI")  # number, command
ANSWER = struct.Struct("<QIi")  # number, status, code

# Flags of a buffer.
WRITABLE = 1
BARE = 2  # nobody has written it: a read before the first write is a fault

# slot, where, flags, dtype, dimensions, file bytes, data offset, data bytes, shape, name
BUFFER = struct.Struct("<IIIIIQQQ4q32s")

# An argument of CALL: kind, then 64 bits.
ARGUMENT = struct.Struct("<IQ")
SLOT = 0  # the buffer in that slot
INTEGER = 1  # two's complement in 64 bits
FLOAT32 = 2  # its bits in the low 32
FLOAT64 = 3

# Ahead of the arguments of PREPARE, which name slots of the first set: how many
# arguments, how many slots a set has, how many calls. The sets follow, in order.
RUN_HEADER = struct.Struct("<III")
SET = struct.Struct("<I")

MESSAGE_BYTES = 32768

# Between PREPARE and RUN the judge puts a few cells right; it then waits for a burst.
EAGER_S = 0.05

# The order is the wire code of an element type.
DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int32", "int64")


def unpack_run(payload: bytes) -> tuple[int, list[list[tuple[int, int]]]]:
    """Return how many arguments a call has, and (kind, bits) of each for every call."""
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


def receive(channel: socket.socket, eager_s: float = 0.0) -> tuple[int, int, bytes, list[int]]:
    """Return (number, command, payload, descriptors); EOFError if the judge is gone.

    For `eager_s` it looks again and again: to be woken up would take longer.
    """
    look_until(channel, eager_s)
    data, descriptors, _, _ = _or_lost(socket.recv_fds, channel, MESSAGE_BYTES, 8)
    if not data:
        raise EOFError
    number, command = COMMAND.unpack_from(data)
    return number, command, data[COMMAND.size :], descriptors


def answer(channel: socket.socket, number: int, status: int = OK, code: int = 0) -> None:
    """Answer the command `number`."""
    _or_lost(channel.send, ANSWER.pack(number, status, code))


def look_until(channel: socket.socket, eager_s: float) -> None:
    """Return when there is something to read, or an end, or after `eager_s`; never sleep."""
    if not eager_s:
        return
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    until_s = _clock() + eager_s
    while not poll.poll(0) and _clock() < until_s:
        os.sched_yield()  # on a single core the other side needs it


def _or_lost(function: Callable[..., Result], *arguments: object) -> Result:
    """Call a function of the socket; if a hand-in has closed it, end this worker."""
    try:
        return function(*arguments)
    except OSError:
        os._exit(EXIT_CHANNEL_LOST)
