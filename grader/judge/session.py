"""A session with one worker that has a submission loaded: send commands, return outcomes.

A session ends with the first event that is not a valid answer: a crash, a limit, an unsolicited
answer. The next case then gets a new session.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.assignment.model import Limits
from grader.build.artifact import Built
from grader.errors import GraderError, ToolError
from grader.gpu.target import course_target
from grader.judge.channel import Answer, Channel, StrayAnswerError
from grader.judge.launch_executor import LaunchExecutor
from grader.judge.outcome import OF_LIMIT, OF_STATUS, Outcome, Status, compiled_s, parse_records
from grader.judge.python_server import PythonServer, Request
from grader.judge.time_budget import TimeBudget
from grader.protocol import programs, wire
from grader.protocol.launches import ONCE_EACH, LaunchMode
from grader.protocol.targets import Target
from grader.sandbox import spawn
from grader.sandbox.capture import Capture
from grader.sandbox.quick_start import quick_start
from grader.sandbox.scratch_dir import refuses_programs, scratch_folder
from grader.system import process_tree
from grader.vocabulary import Device

if TYPE_CHECKING:
    from grader.judge.buffers import Buffer  # it imports torch

_PROCESSES_S = 1.0  # how long a count of the submission's processes stays valid
_PLACES, _PLACE_S = 10, 0.005  # samples of where a call is that does not end, and between them
_FINDINGS_S = 0.5  # for the emulation's report of what it found before a time limit
_EXIT_S = 5.0  # from the end of the channel to the end of the process
_TOOL_EXIT_S = 30.0  # the same for a tool, which writes its report meanwhile
_TOOL_REPORT_S = 10.0  # for the report after a time limit; compute-sanitizer takes 1.3 s on an H200
# For commands that run no student code: mapping gigabytes takes seconds. A driver serves one
# process after another.
COMMAND_S = 10.0
_ON_A_GPU = 3.0  # times as long
_REPORT_FLOODED = f"wrote more than {spawn.REPORT_BYTES >> 20} MiB of reports to the grader"
_FOLDER_FILLED = f"wrote more than {spawn.Limits().folder_mib} MiB, or too many files"
_CHANNEL_CLOSED = "closed its channel to the grader"


class Session:
    """A worker process for one built submission; use it as a context manager.

    `tool_command`, such as compute-sanitizer's, is put in front of the worker's. `host_settings`
    configure the emulation's runtime for a CUDA C++ submission. `mode` is about the launches of a
    submission in Python, `target` the GPU for which they are compiled without one, by default the
    course's. `code` are folders with their code for a GPU, with which their accesses are counted.
    Calls and the load spend from `budget`.

    A worker starts with the kernels that earlier workers have compiled. With `contributes`, it
    passes on its own kernels: those compiled before `contribute_kernels` is called, after which it
    may see hidden cases, or before it ends without an error.
    """

    def __init__(
        self,
        built: Built,
        limits: Limits,
        server: PythonServer | None,
        *,
        tool_command: tuple[str, ...] | None = None,
        host_settings: str = "",
        mode: LaunchMode = ONCE_EACH,
        target: Target | None = None,
        code: Sequence[Path] = (),
        contributes: bool = False,
        budget: TimeBudget | None = None,
    ) -> None:
        self._file = built.file
        self._imports = built.language.imported
        self._device = built.device
        self._budget = budget
        self._compiled = built.compiled
        self._uses_compiled = self._imports and not mode.idle
        self._contributes = contributes and self._imports
        self._limits = limits
        self._tool = tool_command
        self._executor: LaunchExecutor | None = None
        self._host_settings = host_settings
        self._mode = mode
        self._target = target
        self._ended: spawn.Ended | None = None
        self._alive = True
        self._report_from = self._output_from = 0  # byte offsets
        self._has_other_processes = False
        self._processes_valid_until_s = 0.0
        with contextlib.ExitStack() as undo:
            self._folder = undo.enter_context(scratch_folder("grade-box-"))
            self._channel = undo.enter_context(contextlib.closing(Channel()))
            # A copy, so that the worker does not learn the cache's path.
            self._copy = self._folder / Path(built.file).with_suffix(built.path.suffix).name
            shutil.copyfile(built.path, self._copy)
            link = None
            # Timed calls launch nothing without a GPU: only tests time there.
            executed = built.device is Device.CPU and not mode.tuning
            # Launches are executed from their IR; all else loads what was compiled into the folder.
            if not (self._imports and executed) and refuses_programs(self._folder):
                raise ToolError(
                    f"no program can run from {self._folder.parent}: it is mounted noexec",
                    tip="set TMPDIR to a folder on another disk",
                )
            if self._imports and server is None and (executed or tool_command is None):
                raise GraderError("a Python submission needs the Python server")
            if self._imports and executed:
                assert server is not None
                self._executor = LaunchExecutor(
                    server,
                    limits,
                    mode=mode,
                    worker=built.language.worker,
                    host_writes=built.torch_allowed,
                    code=code,
                )
                undo.callback(self._executor.close)
                link = self._executor.link
            self._program = self._start(built, server, link)
            undo.callback(self._program.kill)
            if self._executor is not None:
                self._executor.linked()
            self._channel.started()
            self.pid = self._program.pid
            self._undo = undo.pop_all()

    def _start(self, built: Built, server: PythonServer | None, link: int | None) -> spawn.Program:
        limits = spawn.Limits(
            memory_mib=self._limits.memory_mib, output_kib=self._limits.output_kib
        )
        if self._imports and self._tool is None:
            assert server is not None
            request = Request(
                file=self._copy,
                entry=built.entry,
                device=built.device,
                launched=built.launched,
                worker=built.language.worker,
                cwd=self._folder,
                mode=self._mode,
                target=(self._target or course_target()).capability,
            )
            channel = self._channel.worker_end.fileno()
            return server.fork(request, channel=channel, limits=limits, link=link)
        command = self._worker_command(built)
        environment = spawn.clean_environment(self._folder)
        if self._tool is not None:
            command = [*self._tool, *command]
            limits = replace(limits, report_s=_TOOL_REPORT_S)
        return spawn.spawn(
            command,
            cwd=self._folder,
            environment=environment,
            limits=limits,
            descriptors={wire.CHANNEL_FD: self._channel.worker_end.fileno()},
            report=True,
            gpu=built.device is Device.CUDA,
        )

    def _worker_command(self, built: Built) -> list[str]:
        """Return the command of a worker that is not forked from the server."""
        file, device = str(self._copy), built.device.value
        program = programs.worker(built.language.worker)
        if program.parent != programs.START.parent:  # of a registered language: it may read this
            program = Path(shutil.copy(program, self._folder))
        if self._imports:
            worker = [sys.executable, "-I", str(program), file, built.entry, device]
            return [*worker, wire.LAUNCHED] if built.launched else worker
        command = quick_start(program, file, device)
        if self._tool is None:
            return [*command, f"{built.launch_limits} {self._host_settings}".strip()]
        return [*command, wire.CONTEXT] if built.device is Device.CUDA else command

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """True while commands can be sent."""
        return self._alive

    @property
    def _command_s(self) -> float:
        return COMMAND_S * (_ON_A_GPU if self._device is Device.CUDA else 1.0)

    def contribute_kernels(self) -> None:
        """Pass on the kernels compiled so far to later workers, and none compiled after that."""
        if self._contributes and self._alive:
            self._compiled.collect_from(self._folder)
        self._contributes = False

    @property
    def folder(self) -> Path:
        """The worker's scratch folder, its current directory; removed by `close`."""
        return self._folder

    @property
    def recording(self) -> Path:
        """The recording of the launches of a session that records them; removed by `close`."""
        assert self._executor is not None
        return self._executor.recording

    @property
    def copy_name(self) -> str:
        """The file name of the submission in the worker's folder."""
        return self._copy.name

    @property
    def output(self) -> str:
        """The submission's output so far, or since `forget_output`."""
        text = self._program.output.text(self._output_from)
        # The folder that the file runs in means nothing to the student: warnings name it.
        return text.replace(f"{self._folder}/", "")

    @property
    def has_other_processes(self) -> bool:
        """True if the submission has more processes than the worker.

        Counted at most once a second, because that may mean a walk over all processes.
        """
        now_s = time.monotonic()
        if now_s >= self._processes_valid_until_s:
            self._has_other_processes = self._program.processes > 1
            self._processes_valid_until_s = now_s + _PROCESSES_S
        return self._has_other_processes

    def forget_output(self) -> None:
        """Leave the output so far out of `output` from now on."""
        if self._alive:
            self._program.drain()
        self._output_from = self._program.output.total_bytes

    def load(self) -> Outcome:
        """Load the submission; its constructors or module-level code run.

        Raises OSError if the disk is too full for the kernels of earlier workers.
        """
        if self._uses_compiled:
            self._compiled.copy_to(self._folder)
        self._program.mark_memory()
        if self._executor is None:
            return self._command(wire.LOAD, wall_s=self._limits.load_s)
        begun = self._executor.begin(self._limits.load_s, checked=True)
        if not begun.done:
            return begun
        return self._executor.end(self._command(wire.LOAD, wall_s=self._limits.load_s))

    def attach(self, buffers: Sequence[Buffer], *, uninitialised: bool = False) -> Outcome:
        """Map the buffers in the worker, slot by slot.

        With `uninitialised`, a read of an output before its first write is a fault.
        """
        self._program.grant_memory(sum(buffer.whole.numel() for buffer in buffers) / 2**20)
        if self._executor is not None:
            outcome = self._executor.attach(buffers, uninitialised=uninitialised)
            if not outcome.done:
                return outcome
        parts = []
        for slot, buffer in enumerate(buffers):
            local = self._executor is not None and buffer.role.written
            message = buffer.message(slot, uninitialised=uninitialised, local=local)
            parts.append((message, -1 if local else buffer.descriptor))
        for payload, descriptors in wire.attach_messages(parts):
            outcome = self._command(wire.ATTACH, payload, descriptors, wall_s=self._command_s)
            if not outcome.done:
                return outcome
        return Outcome(status=Status.DONE)

    def call(self, arguments: bytes, *, private: bool, checked: bool = False) -> Outcome:
        """Call the entry once; with private buffers, copy in before and out after.

        With `checked`, the executor of launches looks for races and reads of unwritten memory.
        """
        if private and not (copied := self._command(wire.COPY_IN, wall_s=self._command_s)).done:
            return copied
        if (
            self._executor is not None
            and not (begun := self._executor.begin(self._limits.call_s, checked=checked)).done
        ):
            return begun
        outcome = self._command(wire.CALL, arguments, wall_s=self._limits.call_s)
        if self._executor is not None:
            outcome = self._executor.end(outcome)
        if outcome.done and private:
            return self._command(wire.COPY_OUT, wall_s=self._command_s)
        return outcome

    def prepare(self, calls: bytes) -> Outcome:
        """Make the worker lay out the arguments of many calls, before a clock starts."""
        return self._command(wire.PREPARE, calls, wall_s=self._command_s)

    def run(self, *, wall_s: float) -> Outcome:
        """Make the prepared calls; the worker synchronises once, at the end."""
        return self._command(wire.RUN, wall_s=wall_s)

    def detach(self) -> Outcome:
        """Make the worker unmap all buffers."""
        if self._executor is not None and not (outcome := self._executor.detach()).done:
            return outcome
        return self._command(wire.DETACH, wall_s=self._command_s)

    def finish(self, wall_s: float) -> spawn.Ended:
        """Let the worker exit normally, and its tool write its report."""
        deadline_s = time.monotonic() + wall_s
        if self._alive:
            self._command(wire.FINISH, wall_s=wall_s)
        if self._ended is not None:
            return self._ended
        self._channel.shut_down()
        end = self._program.wait_for(None, deadline_s)
        assert end is not None  # there is no channel to become readable
        self._alive = False
        return self._program.finish(end)

    def _command(
        self,
        command: int,
        payload: bytes = b"",
        descriptors: tuple[int, ...] = (),
        *,
        wall_s: float,
    ) -> Outcome:
        deadline_s = time.monotonic() + wall_s
        budget = self._budget if command in (wire.LOAD, wire.CALL) else None
        opens_gpu = command == wire.LOAD and self._device is Device.CUDA
        idle_s = math.inf if budget is None else budget.idle_left_s(opens_gpu=opens_gpu)
        detail = ""
        self._program.drain()
        self._report_from = self._report.total_bytes
        try:
            # If the worker is gone already, the wait below finds out how it ended.
            with contextlib.suppress(BrokenPipeError, ConnectionError):
                self._channel.send(command, payload, descriptors)
            self._channel.poll_until_readable(wire.POLL_S if command == wire.RUN else 0.0)
            end = self._program.wait_for(
                self._channel.fileno(),
                deadline_s,
                idle_s=idle_s,
                beside=() if self._executor is None else (self._executor.pid,),
                compiled_s=self._compiled_s,
            )
            if budget is not None:
                spent = self._program.spent(self._compiled_s())
                budget.spend(self._file, spent, opens_gpu=opens_gpu)
                if end is spawn.End.TIME_LIMIT and spent.idle_s >= idle_s:
                    detail = budget.exhaustion
            answer = self._channel.answer() if end is None else None
            if end is None and answer is None:
                # The socket was closed: the worker is ending, or the submission closed it.
                exit_s = _EXIT_S if self._tool is None else _TOOL_EXIT_S
                end = self._program.wait_for(None, min(deadline_s, time.monotonic() + exit_s))
                if end is spawn.End.TIME_LIMIT:
                    return self._over(Status.DIED, end, _CHANNEL_CLOSED)
            if answer is not None:
                self._channel.check_no_answer()
        except StrayAnswerError as error:
            return self._over(Status.STRAY_ANSWER, spawn.End.EXITED, str(error))
        if answer is not None:
            return self._answered(answer)
        assert end is not None
        if end is spawn.End.OUTPUT_LIMIT and self._report.over_limit:
            return self._over(Status.OUTPUT_LIMIT, end, _REPORT_FLOODED)
        if end is spawn.End.FOLDER_LIMIT:
            return self._over(Status.OUTPUT_LIMIT, end, _FOLDER_FILLED)
        if end is spawn.End.TIME_LIMIT and command in (wire.CALL, wire.LOAD):
            self._ask_for_place()
        outcome = self._over(OF_LIMIT.get(end, Status.DIED), end, detail)
        assert outcome.ended is not None
        if outcome.ended.exit_code == wire.EXIT_CHANNEL_LOST:
            return replace(outcome, detail=_CHANNEL_CLOSED)
        return outcome

    def _ask_for_place(self) -> None:
        """Let a worker that exceeds its time limit report where it is, a few times.

        It may be in a function of a library at one moment, and in the student's loop at the next.
        """
        if self._tool is not None:
            return
        for _ in range(_PLACES):
            with contextlib.suppress(OSError):  # it has just ended
                signal.pidfd_send_signal(self._program.pidfd, signal.SIGUSR1)
            time.sleep(_PLACE_S)
        if self._device is not Device.CUDA:
            # The emulation writes what it has found.
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._program.pidfd, signal.SIGTERM)
            self._drain_until_the_end(_FINDINGS_S)
        self._program.drain()

    def _drain_until_the_end(self, wall_s: float) -> None:
        """Read what the worker writes until it has ended, for `wall_s` at most."""
        deadline_s = time.monotonic() + wall_s
        while time.monotonic() < deadline_s:
            self._program.drain()
            if process_tree.readable(self._program.pidfd, _PLACE_S):
                return

    def _compiled_s(self) -> float:
        """Return how long the present command has compiled, within its budget for that."""
        if self._budget is None or not self._imports:
            return 0.0
        return min(
            compiled_s(self._records(self._report_from), time.monotonic()),
            self._budget.compile_left_s(self._file),
        )

    def _answered(self, answer: Answer) -> Outcome:
        status = OF_STATUS.get(answer.status)
        if status is None:
            return self._over(Status.STRAY_ANSWER, spawn.End.EXITED, "sent an unknown answer")
        if status in (Status.DONE, Status.EXCEPTION):
            self._program.drain()
            return Outcome(status=status, records=self._records(self._report_from))
        if self._tool is not None:
            self._alive = False  # the tool still has to write its report; `finish` ends it
            records = self._records(self._report_from)
            return Outcome(status=status, code=answer.code, records=records)
        # After a CUDA error the context may be unusable: this worker is done.
        return self._over(status, spawn.End.EXITED, code=answer.code)

    def _over(self, status: Status, end: spawn.End, detail: str = "", *, code: int = 0) -> Outcome:
        self._alive = False
        self._ended = ended = self._program.finish(end)
        return Outcome(
            status=status,
            code=code,
            ended=ended,
            records=self._records(self._report_from),
            stack=self._report.text(self._report_from),
            detail=detail,
        )

    @property
    def _report(self) -> Capture:
        assert self._program.report is not None
        return self._program.report

    def records(self) -> tuple[dict[str, Any], ...]:
        """Return all untrusted records of the worker so far."""
        if self._alive:
            self._program.drain()
        return self._records(since=0)

    def _records(self, since: int) -> tuple[dict[str, Any], ...]:
        return parse_records(self._report.text(since))

    def close(self) -> None:
        """Kill the worker and all its descendants, and remove its folder."""
        contributes, self._alive = self._contributes and self._alive, False
        with self._undo:
            if contributes:
                self._program.kill()  # raises if a process is left that could still write
                self._compiled.collect_from(self._folder)
