"""The judge's end of the socket to a worker.

Every command carries a fresh random number. The submission wrote an answer with another number or
size, or one that arrives before its command: it cannot know the number before the command.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
from dataclasses import dataclass

from grader.protocol import wire


class StrayAnswerError(Exception):
    """A message arrived that the worker program did not send."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The worker's answer to a command; `wire` defines both numbers."""

    status: int
    code: int


class Channel:
    """A SEQPACKET socket: whole messages, one command at a time."""

    def __init__(self) -> None:
        self._socket, self.worker_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)
        self._number: int | None = None

    def fileno(self) -> int:
        """Return the judge's descriptor, for waiting."""
        return self._socket.fileno()

    def started(self) -> None:
        """Close the judge's copy of the worker's end, once the worker has it."""
        self.worker_end.close()

    def send(self, command: int, payload: bytes = b"", descriptors: tuple[int, ...] = ()) -> None:
        """Send a command.

        Raises StrayAnswerError if an unsolicited message is in the socket, OSError if the worker
        is gone.
        """
        if self._receive() is not None:
            raise StrayAnswerError("sent an answer before the command")
        self._number = secrets.randbits(64)
        message = wire.COMMAND.pack(self._number, command) + payload
        socket.send_fds(self._socket, [message], list(descriptors))

    def poll_until_readable(self, poll_s: float) -> None:
        """Poll for an answer for at most `poll_s`, because waking up takes longer than polling."""
        wire.poll_until_readable(self._socket, poll_s)

    def answer(self) -> Answer | None:
        """Return the answer, None if there is none yet or the worker is gone."""
        data = self._receive()
        if data is None:
            return None
        if len(data) != wire.ANSWER.size:
            raise StrayAnswerError(f"sent a message of {len(data)} bytes")
        number, status, code = wire.ANSWER.unpack(data)
        if number != self._number:
            raise StrayAnswerError("sent a forged answer")
        self._number = None
        return Answer(status, code)

    def _receive(self) -> bytes | None:
        try:
            # `recv` drops descriptors that a submission may send.
            return self._socket.recv(wire.MESSAGE_BYTES) or None
        except (BlockingIOError, ConnectionError):
            return None

    def check_no_answer(self) -> None:
        """Raise StrayAnswerError if another message is in the socket."""
        if self._receive() is not None:
            raise StrayAnswerError("sent a second answer")

    def shut_down(self) -> None:
        """Signal the worker, if it still listens, that no more commands follow."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close both ends."""
        self._socket.close()
        self.worker_end.close()
