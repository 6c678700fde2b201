"""The judge's handle on the executor of a Triton worker's launches (`worker.triton_executor`).

It is a trusted program, which maps the judge's buffers where the worker has none. Its records are
the judge's own, unlike the worker's.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.assignment.model import Limits
from grader.judge.channel import Channel, StrayAnswerError
from grader.judge.outcome import Outcome, Status, parse_records
from grader.judge.python_server import PythonServer, Request
from grader.protocol import launches, wire
from grader.sandbox import spawn
from grader.sandbox.capture import Capture
from grader.sandbox.scratch_dir import scratch_folder
from grader.vocabulary import Device

if TYPE_CHECKING:
    from grader.judge.buffers import Buffer  # it imports torch

_COMMAND_S = 30.0
_MEMORY_MIB = 4096  # for the values of a batch of programs, besides the worker's limit
_MOST_TEXT = 16 << 20
# What the executor alone may say.
_OWN = ("counters", "finding", "findings", "forged", "host_left", "host_wrote",
        "launch", "launched", "not_executed", "not_measured", "recording")  # fmt: skip


class LaunchExecutor:
    """One executor process; use it as a context manager.

    `worker` is the program of the worker whose launches it executes.
    With `host_writes` the submission's host code may compute outputs. `code` are folders with the
    code of launches, of which accesses are counted then.
    """

    def __init__(
        self,
        server: PythonServer,
        limits: Limits,
        *,
        mode: launches.LaunchMode,
        worker: str,
        host_writes: bool,
        code: Sequence[Path] = (),
    ) -> None:
        self._limits = limits
        self._from = 0
        with contextlib.ExitStack() as undo:
            self._folder = undo.enter_context(scratch_folder("grade-executor-"))
            for folder in code:
                shutil.copytree(folder, self._folder / launches.CODE, dirs_exist_ok=True)
            self._channel = undo.enter_context(contextlib.closing(Channel()))
            ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            undo.callback(self._theirs.close)
            with ours:
                self._program = server.fork(
                    Request(
                        file=Path("executor"),
                        entry="",
                        device=Device.CPU,
                        cwd=self._folder,
                        mode=mode,
                        executes=True,
                        worker=worker,
                        host_writes=host_writes,
                    ),
                    channel=self._channel.worker_end.fileno(),
                    limits=spawn.Limits(memory_mib=limits.memory_mib + _MEMORY_MIB),
                    link=ours.fileno(),
                )
            undo.callback(self._program.kill)
            self._channel.started()
            self._program.mark_memory()
            self._undo = undo.pop_all()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._program.pid

    @property
    def recording(self) -> Path:
        """The recording of the launches so far; removed by `close`."""
        return self._folder / launches.RECORDING

    @property
    def link(self) -> int:
        """The worker's end of the link; close it with `linked` once the worker has it."""
        return self._theirs.fileno()

    def linked(self) -> None:
        """Close the judge's copy of the worker's end."""
        self._theirs.close()

    def attach(self, buffers: Sequence[Buffer], *, uninitialised: bool) -> Outcome:
        """Map the buffers."""
        self._program.grant_memory(sum(buffer.whole.numel() for buffer in buffers) / 2**20)
        parts = [
            (buffer.message(slot, uninitialised=uninitialised), buffer.descriptor)
            for slot, buffer in enumerate(buffers)
        ]
        for payload, descriptors in wire.attach_messages(parts):
            outcome = self._command(wire.ATTACH, payload, descriptors)
            if not outcome.done:
                return outcome
        return Outcome(status=Status.DONE)

    def detach(self) -> Outcome:
        """Unmap all buffers."""
        return self._command(wire.DETACH)

    def begin(self, wall_s: float, *, checked: bool = False) -> Outcome:
        """Start a call of the entry, or the load of the file.

        With `checked`, races and reads of unwritten memory are found, too.
        """
        self._program.drain()
        self._from = self._report.total_bytes
        return self._command(wire.BEGIN, launches.BEGIN.pack(wall_s, checked))

    def end(self, outcome: Outcome) -> Outcome:
        """End the call; return the worker's outcome with what the executor has to say."""
        ended = self._command(wire.END)
        told = tuple(record for record in outcome.records if record.get("record") not in _OWN)
        if not ended.done:
            return replace(ended, records=(*told, *ended.records))
        own = [self._with_text(r) for r in parse_records(self._report.text(self._from))]
        kinds = {record.get("record") for record in own}
        status = outcome.status
        if "forged" in kinds:
            why = "sent its launches in another form than Triton does"
            return replace(outcome, status=Status.STRAY_ANSWER, records=told, detail=why)
        if status is Status.DONE and kinds & {"not_measured", "exception"}:
            status = Status.EXCEPTION  # whatever the submission made of it
        return replace(outcome, status=status, records=(*told, *own), executed=tuple(own))

    def _with_text(self, record: dict[str, Any]) -> dict[str, Any]:
        """Add a launch's IR, which is in a file, to its record."""
        if record.get("record") != "launch":
            return record
        file = self._folder / f"{int(record['ir'])}.ttir"
        text = ""
        with contextlib.suppress(OSError):
            text = file.read_text(encoding="utf-8", errors="replace")[:_MOST_TEXT]
        return {**record, "text": text}

    def _command(
        self, command: int, payload: bytes = b"", descriptors: tuple[int, ...] = ()
    ) -> Outcome:
        end: spawn.End | None = None
        answer = None
        with contextlib.suppress(BrokenPipeError, ConnectionError, StrayAnswerError):
            self._channel.send(command, payload, descriptors)
            deadline_s = time.monotonic() + self._limits.call_s + _COMMAND_S
            end = self._program.wait_for(self._channel.fileno(), deadline_s)
            answer = self._channel.answer() if end is None else None
        if answer is not None:
            self._program.drain()
            return Outcome(status=Status.DONE)
        ended = self._program.finish(end or spawn.End.EXITED)
        told = parse_records(self._report.text(0))
        if any(record.get("record") == "unusable" for record in told):
            return Outcome(status=Status.LOAD_FAILED, records=told)
        reason = ended.output.strip().splitlines()[-1:] or ["no output"]
        record = {
            "record": "not_measured",
            "reason": "unsupported",
            "message": f"the executor of launches ended: {reason[0][:200]}",
            "line": None,
        }
        return Outcome(status=Status.EXCEPTION, records=(record,))

    @property
    def _report(self) -> Capture:
        assert self._program.report is not None
        return self._program.report

    def close(self) -> None:
        """Kill the process, and remove its folder."""
        self._undo.close()
