"""The judge's end of the socket to a worker.

Every command goes out under a fresh random number. An answer with another
number, of another size, or one that is there before it was asked for, was
written by the hand-in: it cannot know the number before the command is sent.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
from dataclasses import dataclass

from grader.protocol import wire


class StrayAnswerError(Exception):
    """A message came that the worker's own program did not send."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the worker's program says of a command."""

    status: int
    code: int


class Channel:
    """A SEQPACKET socket: whole messages, one command at a time."""

    def __init__(self) -> None:
        self._ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.setblocking(False)
        self._number: int | None = None

    def fileno(self) -> int:
        """Return our descriptor, for waiting."""
        return self._ours.fileno()

    def started(self) -> None:
        """Close the worker's end here, once the worker has it."""
        self.theirs.close()

    def send(self, command: int, payload: bytes = b"", descriptors: tuple[int, ...] = ()) -> None:
        """Send a command.

        Raises StrayAnswerError if something lies in the socket unasked, OSError
        if the worker is gone.
        """
        if self._receive() is not None:
            raise StrayAnswerError("answered before it was asked")
        self._number = secrets.randbits(64)
        message = wire.COMMAND.pack(self._number, command) + payload
        socket.send_fds(self._ours, [message], list(descriptors))

    def look_until(self, eager_s: float) -> None:
        """Look for an answer again and again for so long: to be woken up would take longer."""
        wire.look_until(self._ours, eager_s)

    def answer(self) -> Answer | None:
        """Return the answer if it is there, None if not (or the worker is gone)."""
        data = self._receive()
        if data is None:
            return None
        if len(data) != wire.ANSWER.size:
            raise StrayAnswerError(f"sent {len(data)} bytes of its own")
        number, status, code = wire.ANSWER.unpack(data)
        if number != self._number:
            raise StrayAnswerError("sent an answer of its own")
        self._number = None
        return Answer(status, code)

    def _receive(self) -> bytes | None:
        try:
            # Descriptors that a hand-in may send are never taken.
            return self._ours.recv(wire.MESSAGE_BYTES) or None
        except (BlockingIOError, ConnectionError):
            return None

    def quiet(self) -> None:
        """Raise StrayAnswerError if anything lies in the socket."""
        if self._receive() is not None:
            raise StrayAnswerError("answered twice")

    def hang_up(self) -> None:
        """Tell the worker, if it still listens, that no more commands come."""
        with contextlib.suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close both ends."""
        self._ours.close()
        self.theirs.close()
