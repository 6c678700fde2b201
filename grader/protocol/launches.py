"""The messages between a Triton worker and the executor of its launches.

    worker   ── {"launch": …} + memory, IR ──→   executor
             ←── {"wrote": …} + memory ───────

One stream socket: a frame is the length of a JSON header, the number of blobs and their lengths,
then the header and the blobs. The worker runs student code, so the executor trusts no frame: sizes
are bounded, and every field is checked where it is used.

    fetch    {"fetch": [slot, …]}                  the contents of buffers that are inputs too
    launch   {"launch": {"ir": n, "grid": [x, y, z], "options": {…},
                         "arguments": [argument, …], "storages": [storage, …]}}
                                                   n of a new IR: its text is the last blob
             of PTX also "block": [x, y, z], "shared": bytes, "kernel": name, "file": the student's,
             "line": of the launch
    end      {"end": [slot, …]}                    the worker's copies of outputs, less those that
                                                   are as the executor has sent them
    refuse   {"refuse": why, "line": n or null}    host code needs what only a GPU has (Numba)
    answer   {"wrote": [[slot or null, storage, blob], …]}  |  {}
             {"failed": why}                       the kernel has stopped: a device_assert
             {"stopped": why}                      nothing more of this call is executed

    argument {"view": storage, "offset": bytes, "shape": […], "strides": […], "item": bytes,
              "name": …}  |  {"number": n}  |  {"float": hexadecimal}
    storage  {"slot": n, "address": n, "blob": n or null}
             {"size": bytes, "address": n, "blob": n, "fresh": bool}     scratch of the submission
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

LINK_FD = 5  # in the worker and in the executor

# The payload of BEGIN: the seconds that the call may take, and whether to look for races and reads
# of unwritten memory.
BEGIN = struct.Struct("<d?")
# In the executor's folder: the file of `worker.launch_recording`.
RECORDING = "launches.recording"

# The programs of a grid, in its first dimension and in each of the others.
MOST_PROGRAMS, MOST_PROGRAMS_YZ = (1 << 31) - 1, 65535
# Of the compiler's options, those that go into the compile gate.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")

# The executor's folder with the code of launches, if it counts their accesses.
CODE = "code"

_FOLDER = re.compile(r'"[^"\n]*/(?=[^"/\n]+":\d+:\d+)')
_HEADER = struct.Struct("<II")
_LENGTH = struct.Struct("<Q")
# What never-written memory holds: a NaN of every float type.
PATTERN = b"\xf5\x7f"

MOST_HEADER = 4 << 20
MOST_BLOBS = 300
MOST_BYTES = 4 << 30
_CHUNK = 16 << 20  # that a frame promises more costs nobody memory


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchMode:
    """How a Python submission's launches are made.

    With `tuning`, autotuners measure and choose, as in timing; otherwise each case takes the next
    configuration, from number `turn` on, and with `trials` the first call with a key launches it
    twice. With `idle`, launches are left out. `records` makes the executor record the launches.
    """

    tuning: bool = False
    turn: int = 0
    trials: bool = False
    idle: bool = False
    records: bool = False


ONCE_EACH = LaunchMode()


class Stream(Protocol):
    """What frames go through: a socket."""

    def recv_into(self, buffer: memoryview, /) -> int:
        """Receive bytes; return how many, 0 at the end."""

    def sendall(self, data: Any, /) -> None:
        """Send all of the bytes."""


class ProtocolError(Exception):
    """The other side sent what is no frame."""


def without_folders(text: str) -> str:
    """Return IR whose locations name files without their folder, which each worker has its own."""
    return _FOLDER.sub('"', text)


def code_name(text: str, options: Mapping[str, int]) -> str:
    """Return the name of the files with the code that a GPU's compiler made of a launch's IR."""
    key = json.dumps([without_folders(text), sorted(options.items())])
    return hashlib.sha256(key.encode()).hexdigest()


def send(link: Stream, header: dict[str, Any], blobs: Sequence[Any] = ()) -> None:
    """Send a frame; blobs are bytes or memory."""
    text = json.dumps(header).encode()
    views = [memoryview(blob).cast("B") for blob in blobs]
    lengths = b"".join(_LENGTH.pack(view.nbytes) for view in views)
    link.sendall(_HEADER.pack(len(text), len(views)) + lengths + text)
    for view in views:
        link.sendall(view)


def receive(link: Stream) -> tuple[dict[str, Any], list[bytearray]]:
    """Return a frame; EOFError if the other side is gone, ProtocolError if it is none."""
    size, count = _HEADER.unpack(_exactly(link, _HEADER.size))
    if size > MOST_HEADER or count > MOST_BLOBS:
        raise ProtocolError("a frame that is too large")
    lengths = [_LENGTH.unpack(_exactly(link, _LENGTH.size))[0] for _ in range(count)]
    if sum(lengths) > MOST_BYTES:
        raise ProtocolError("a frame that is too large")
    text = _exactly(link, size)
    blobs = [_exactly(link, length) for length in lengths]
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("a header that is no JSON") from error
    if not isinstance(header, dict):
        raise ProtocolError("a header that is no object")
    return header, blobs


def _exactly(link: Stream, size: int) -> bytearray:
    data = bytearray(min(size, _CHUNK))
    filled = 0
    while filled < size:
        if filled == len(data):
            data.extend(bytes(min(size - filled, max(_CHUNK, filled))))
        with memoryview(data) as view:
            got = link.recv_into(view[filled:])
        if not got:
            raise EOFError
        filled += got
    return data
