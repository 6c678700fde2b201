"""Execute the launches of a Triton worker: a trusted program, confined as a worker is.

    judge  ── ATTACH, BEGIN, END ──→ executor ←── launches ── worker (runs student code)
                                        │
                    the judge's buffers, mapped here and in no other process but the judge's

The worker's messages are not trusted: their IR is parsed by `grader.emulation.triton_ir`, and every
number is checked against what was attached. What is found goes to the judge in this process's own
report. A launch outside of a call, between END and the next BEGIN, is refused.
"""

import math
import os
import select
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from grader.emulation.common import findings
from grader.emulation.common.errors import Unsupported
from grader.emulation.common.location import Location
from grader.emulation.common.picking import WHOLE, put, same, some_of
from grader.emulation.common.storage import Storage, View, repeated
from grader.emulation.triton_ir import execution, memory, ptx
from grader.emulation.triton_ir.ir import Module
from grader.emulation.triton_ir.parser import IRError, parse
from grader.emulation.triton_ir.requests import Requests, UncountedError
from grader.protocol import launches, wire
from grader.worker import host_memory, worker_log
from grader.worker.executor_buffers import ExecutorBuffer
from grader.worker.launch_arguments import (
    Given,
    RefusedError,
    compiled_arguments,
    read_argument,
    whole_view,
)
from grader.worker.launch_recording import Recording

_MOST_LAUNCHES_TOLD = 64
_MOST_LINES_TOLD = 1000  # of one kernel
_MOST_TEXTS = 4096
_MOST_TEXT = 4 << 20  # bytes of IR; a kernel of a thousand lines has some 200,000
_SHARE = 0.8  # of a call's time, which its launches together may take
_ENDLESS_SHARE = 0.4  # of a call's time, in which the programs of any launch could end
_MOST_REPEATS = 16  # of one launch, if a call's time is not enough: no sizes of a case require more
_WAITING = (
    "a program waits in this loop for what no earlier program does, and a later one may not start "
    "before this one ends: only the end of a launch orders programs"
)


_MOST_GRIDS_TOLD = 4  # of a call
# What is counted of a kernel's launches.
_COUNTED = ("launches", "programs", "operations", "loaded_bytes", "stored_bytes")
# What a message of another form ends in.
_MALFORMED = (RefusedError, AttributeError, KeyError, TypeError, ValueError, IndexError,
              OverflowError, RuntimeError)  # fmt: skip


class Traffic(Protocol):
    """How many bytes launches have moved so far."""

    loaded_bytes: int
    stored_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A launch that can be executed.

    `repeats` counts the same launches of this call, with this one. `execute` takes the thread's
    time at which to end, in seconds, and returns how many operations were executed. What it
    `tells` then goes with the launch's name and grid.
    """

    kernel: str
    grid: tuple[int, int, int]
    repeats: int
    storages: list[Given]
    memory: Traffic
    execute: Callable[[float], int]
    tells: Callable[[], dict[str, Any]]


class Executor:
    """The buffers of the judge, and the call that is running."""

    def __init__(self, mode: launches.LaunchMode, *, host_writes: bool) -> None:
        self._idle = mode.idle
        self._recording = Recording(Path(launches.RECORDING)) if mode.records else None
        self._blind = False  # the rest of this call's launches is recorded, and not executed
        self._checked = False
        self._host_writes = host_writes
        self._buffers: dict[int, ExecutorBuffer] = {}
        self._mapped: list[tuple[int, int]] = []
        self._texts: list[Module | str] = []  # why there is no module
        self._found = findings.Findings()
        self._memory = memory.Memory(self._found, checked=False)
        self._running = False
        self._stopped: str | None = None
        self._left_s = 0.0
        self._seconds = 0.0
        self._host_wrote: Counter[str] = Counter()
        self._repeats: Counter[int] = Counter()  # launches of this call, by a hash of each
        self._kernels: dict[str, dict[str, Any]] = {}
        self._told: dict[tuple[int, str], int] = {}
        # If the judge has put the code of launches here, their accesses are counted.
        self._counts = Path(launches.CODE).is_dir()
        self._sources: dict[int, str] = {}
        self._code: dict[str, tuple[Module, ptx.Widths] | str | None] = {}

    # ---- commands of the judge ----

    def attach(self, about: wire.BufferMessage, descriptor: int) -> None:
        """Map a buffer."""
        address = host_memory.map_file(descriptor, about.file_bytes, writable=about.writable)
        self._mapped.append((address, about.file_bytes))
        whole = host_memory.bytes_at(address, about.file_bytes)
        data = whole[about.offset : about.offset + about.size]
        self._buffers[about.slot] = ExecutorBuffer(about, data)

    def detach(self) -> None:
        """Forget and unmap all buffers."""
        self._buffers.clear()
        for address, size in self._mapped:
            host_memory.unmap(address, size)
        self._mapped.clear()

    def begin(self, payload: bytes) -> None:
        """Start a call, which may take so many seconds of this thread's processor time."""
        self._seconds, self._checked = launches.BEGIN.unpack(payload)
        self._memory.checked = self._checked
        self._left_s = _SHARE * self._seconds
        self._running, self._stopped, self._blind = True, None, False
        self._found.found.clear()
        self._found.occurrences = 0
        self._host_wrote.clear()
        self._repeats.clear()
        self._kernels.clear()
        for buffer in self._buffers.values():
            buffer.begin(checked=self._checked)
        if self._recording is not None:
            self._recording.begin()
            for slot, buffer in self._buffers.items():
                saved, bare = buffer.writable, buffer.bare
                self._recording.buffer(slot, buffer.data, saved=saved, bare=bare)

    def close(self) -> None:
        """Release everything."""
        self.detach()
        if self._recording is not None:
            self._recording.close()

    def end(self) -> None:
        """End the call: tell what was found."""
        self._running = False
        if self._recording is not None:
            self._recording.end()
            worker_log.tell("recording", problem=self._recording.problem)
        for finding in self._found.found.values():
            worker_log.tell("finding", **_record(finding))
        worker_log.tell(
            "findings",
            told=len(self._found.found),
            distinct=len(self._found.found),
            occurrences=self._found.occurrences,
        )
        for kernel in self._kernels.values():
            lines = [line for line in kernel.pop("requests").lines.values() if line.requests]
            told = [asdict(line) for line in lines[:_MOST_LINES_TOLD]]
            worker_log.tell("counters", **kernel, lines=told, lines_total=len(lines))
        if not self._host_writes:
            for buffer in self._buffers.values():
                if scattered := buffer.host_scattered():
                    self._host_wrote[buffer.name] += scattered
            if any(buffer.left_by_host() for buffer in self._buffers.values()):
                worker_log.tell("host_left")
        for name, elements in self._host_wrote.items():
            worker_log.tell("host_wrote", buffer=name, elements=elements)

    # ---- messages of the worker ----

    def message(self, header: dict[str, Any], blobs: list[bytearray]) -> tuple[Any, list[Any]]:
        """Carry out a message; return the answer's header and blobs."""
        if not self._running:
            return {"stopped": "no call is running"}, []
        if self._stopped is not None:
            return {"stopped": self._stopped}, []
        try:
            if "launch" in header:
                return self._launch(header["launch"], blobs)
            if "fetch" in header:
                return self._fetch(header["fetch"])
            if "end" in header:
                return self._last(header["end"], blobs)
            if "refuse" in header:
                return self._refused(header)
            raise RefusedError("an unknown message")
        except _MALFORMED as error:
            return self.forged(f"{type(error).__name__}: {error}"), []

    def _refused(self, header: dict[str, Any]) -> tuple[Any, list[Any]]:
        raise RefusedError("an unknown message")

    def forged(self, why: str) -> dict[str, Any]:
        """Tell that the worker does not speak as its program does, and stop the call."""
        worker_log.tell("forged", message=why[:300])
        return self._stop("a message of another form")

    def _stop(self, why: str) -> dict[str, Any]:
        self._stopped = why
        return {"stopped": why}

    def _not_measured(self, reason: str, message: str, at: Location | None) -> dict[str, Any]:
        line = at.in_kernels_file.line if at else None
        worker_log.tell("not_measured", reason=reason, message=message, line=line)
        return self._stop(message)

    def _not_executed(self, message: str, at: Location | None) -> tuple[dict[str, Any], list[Any]]:
        """Stop the call, because the executor cannot execute a launch.

        If launches are recorded, a GPU can: leave out the rest of the call's launches.
        """
        if self._recording is None or self._recording.problem:
            return self._not_measured("unsupported", message, at), []
        self._blind = True
        worker_log.tell(
            "not_executed", message=message, line=at.in_kernels_file.line if at else None
        )
        return {"wrote": []}, []

    def _fetch(self, slots: list[int]) -> tuple[Any, list[Any]]:
        if len(set(slots)) != len(slots):
            raise RefusedError("a buffer twice")
        blobs = [self._buffers[slot].data.numpy() for slot in slots]
        for slot in slots:
            self._buffers[slot].shown = True
        return {"wrote": [[slot, None, i] for i, slot in enumerate(slots)]}, blobs

    def _last(self, slots: list[int], blobs: list[bytearray]) -> tuple[Any, list[Any]]:
        for slot, blob in zip(slots, blobs, strict=True):
            self._from_host(slot, blob)
        return {}, []

    def _from_host(self, slot: int, blob: bytearray) -> None:
        """Take over what host code has written to an output, and remember it."""
        buffer = self._buffers[slot]
        if len(blob) != buffer.data.numel():
            raise RefusedError("an output of another size")
        if not buffer.writable or not blob or len(blob) % buffer.item:
            return
        whole = torch.frombuffer(blob, dtype=torch.uint8)
        if buffer.shown and same(whole, buffer.data):
            return  # as nearly always
        before = buffer.data if buffer.shown else repeated(launches.PATTERN, len(blob))
        kind = WHOLE[buffer.item]
        theirs, ours = whole.view(kind), buffer.data.view(kind)
        wrote = theirs != before.view(kind)
        if not wrote.numpy().any():
            return
        values = some_of(theirs, wrote)
        if not self._host_writes and (elements := buffer.host_wrote(theirs, wrote, values)):
            self._host_wrote[buffer.name] += elements
        put(ours, wrote, values)
        buffer.note_host_image(values)
        if self._recording is not None:
            self._recording.written(slot, buffer.data, wrote.repeat_interleave(buffer.item))
        storage = buffer.storage
        assert storage is not None
        if storage.written is not None:
            at = torch.nonzero(wrote).reshape(-1) * buffer.item
            storage.written[storage.cells(at, buffer.item).reshape(-1)] = True

    # ---- launches ----

    def _launch(self, launch: dict[str, Any], blobs: list[bytearray]) -> tuple[Any, list[Any]]:
        began_s = time.thread_time()
        prepared = self._prepare(launch, blobs)
        if not isinstance(prepared, Prepared):
            return prepared
        known, memory = self._kernel(prepared.kernel), prepared.memory
        loaded, stored = memory.loaded_bytes, memory.stored_bytes
        try:
            operations = prepared.execute(began_s + self._left_s)
        except execution.TimeLimitError as error:
            return self._too_long(error, prepared, began_s)
        except Unsupported as error:
            return self._not_executed(f"the executor cannot run {error}", error.at)
        except UncountedError as error:
            return self._not_executed(f"accesses of this line cannot be counted: {error}", error.at)
        except execution.KernelError as error:
            return self._failed(str(error), error.at.in_kernels_file.line if error.at else None)
        except Exception as error:  # torch and numpy raise many kinds
            # Not the launch's fault, as far as anybody knows.
            message = f"the executor failed: {type(error).__name__}: {error}"[:300]
            return self._not_executed(message, None)
        self._left_s -= time.thread_time() - began_s
        few = len(self._repeats) <= _MOST_GRIDS_TOLD  # else the sum would take ever longer
        if few and self._repeats.total() <= _MOST_GRIDS_TOLD:
            grid = list(prepared.grid)
            worker_log.tell("launched", kernel=prepared.kernel, grid=grid, **prepared.tells())
        known["launches"] += 1
        known["programs"] += math.prod(prepared.grid)
        known["operations"] += operations
        known["loaded_bytes"] += memory.loaded_bytes - loaded
        known["stored_bytes"] += memory.stored_bytes - stored
        return self._written(prepared.storages)

    def _prepare(
        self, launch: dict[str, Any], blobs: list[bytearray]
    ) -> Prepared | tuple[Any, list[Any]]:
        """Return what is to be executed, or the answer to a launch of which nothing is."""
        module = self._module(launch["ir"], blobs)
        if isinstance(module, str):
            return self._not_measured("unsupported", f"the executor cannot read {module}", None), []
        x, y, z = (int(extent) for extent in launch["grid"])
        if min(x, y, z) < 1 or x > launches.MOST_PROGRAMS or max(y, z) > launches.MOST_PROGRAMS_YZ:
            raise RefusedError("a grid that no GPU takes")
        storages = [self._storage(storage, blobs) for storage in launch["storages"]]
        arguments = [read_argument(argument, storages) for argument in launch["arguments"]]
        if len(arguments) != len(module.kernel.arguments):
            message = f"the executor cannot match the arguments of {module.kernel.name}"
            return self._not_measured("unsupported", message, module.kernel.location), []
        viewed = {id(a.storage) for a in arguments if isinstance(a, View)}
        others = [whole_view(given) for given in storages if id(given.storage) not in viewed]
        if self._idle:
            return {"wrote": []}, []
        repeats = self._repeated(launch["ir"], launch["grid"], launch["arguments"])
        number = self._tell_launch(launch, module)
        if self._recording is not None:
            if number is None:
                self._recording.problem = f"more than {_MOST_LAUNCHES_TOLD} kernels"
            else:
                kinds = [kind for _, kind in module.kernel.arguments]
                typed = list(zip(arguments, kinds, strict=True))
                self._recording.launch(number, (x, y, z), typed, storages)
        if self._blind:
            return {"wrote": []}, []
        run = execution.Launch(module=module, grid=(x, y, z), arguments=arguments, known=others)
        if self._counts:
            requests = self._kernel(module.kernel.name)["requests"]
            code = self._compiled(launch, requests)
            if isinstance(code, str):
                message = f"the executor cannot read what the compiler made of it: {code}"
                return self._not_measured("unsupported", message, module.kernel.location), []
            self._memory.requests = requests if code else None
            if code:
                run = replace(run, module=code, arguments=compiled_arguments(arguments, code))
        return Prepared(
            kernel=module.kernel.name,
            grid=(x, y, z),
            repeats=repeats,
            storages=storages,
            memory=self._memory,
            execute=lambda deadline_s: execution.execute(
                run,
                self._memory,
                self._found,
                deadline_s=deadline_s,
            ),
            tells=lambda: {"idle": self._memory.programs_without_a_store},
        )

    def _repeated(self, *what: Any) -> int:
        """Return how often this call has launched the same kernel with the same arguments."""
        key = hash(repr(what))
        self._repeats[key] += 1
        return self._repeats[key]

    def _failed(self, why: str, line: int | None) -> tuple[Any, list[Any]]:
        """Answer a launch that ends with an error."""
        why = why[:300]
        worker_log.tell("exception", type="KernelError", message=why, line=line, function=None)
        return {"failed": why}, []

    def _module(self, number: int, blobs: list[bytearray]) -> Module | str:
        """Return the module of that number, which comes with its first launch, or why not."""
        if type(number) is not int or not 0 <= number <= min(len(self._texts), _MOST_TEXTS):
            raise RefusedError("IR of another number")
        if number == len(self._texts):
            self._texts.append(self._parsed(number, blobs.pop()))
        return self._texts[number]

    def _parsed(self, number: int, given: bytearray) -> Module | str:
        if len(given) > _MOST_TEXT:
            return f"IR of {len(given):,} bytes"
        try:
            text = given.decode()
            module = parse(text)
            assert module.kernel
        except (IRError, UnicodeDecodeError) as error:
            return str(error)[:300]
        except Exception as error:  # a parser of text that anybody may have written
            return f"its IR ({type(error).__name__}: {error})"[:300]
        # The compilers of a GPU have the last word: the judge gives them this file.
        Path(f"{number}.ttir").write_text(text, encoding="utf-8")
        if self._counts:
            self._sources[number] = text
        return module

    def _compiled(self, launch: dict[str, Any], requests: Requests) -> Module | str | None:
        """Return what the compiler made of a launch, whose accesses are counted, or why not.

        None if the judge has not given it: then nothing is counted, and the judge sees that.
        """
        options = {name: int(launch["options"][name]) for name in launch["options"]}
        name = launches.code_name(self._sources[launch["ir"]], options)
        if name not in self._code:
            self._code[name] = _code(Path(launches.CODE) / name)
        code = self._code[name]
        if code is None or isinstance(code, str):
            return code
        module, widths = code
        if options.get("num_ctas", 1) != 1:
            return "programs of several thread blocks"
        requests.begin(widths, module.encodings, options.get("num_warps", 4))
        return module

    def _tell_launch(self, launch: dict[str, Any], module: Module) -> int | None:
        """Tell a launch's kernel once; return which it is of those told, None if too many are."""
        options = {name: int(launch["options"][name]) for name in sorted(launch["options"])}
        if not options.keys() <= set(launches.OPTIONS):
            raise RefusedError("an unknown option")
        key = int(launch["ir"]), str(options)
        if key not in self._told and len(self._told) < _MOST_LAUNCHES_TOLD:
            self._told[key] = len(self._told)
            worker_log.tell("launch", kernel=module.kernel.name, ir=key[0], options=options)
        return self._told.get(key)

    def _storage(self, storage: dict[str, Any], blobs: list[bytearray]) -> Given:
        if "slot" in storage:
            slot = storage["slot"]
            buffer = self._buffers[slot]
            if storage["blob"] is not None:
                self._from_host(slot, blobs[storage["blob"]])
            assert buffer.storage is not None
            buffer.storage.address = int(storage["address"])
            return Given(buffer.storage, slot, buffer.name)
        blob = blobs[storage["blob"]]
        data = torch.frombuffer(blob, dtype=torch.uint8) if blob else torch.empty(0).byte()
        if len(blob) != storage["size"]:
            raise RefusedError("scratch of another size")
        fresh = bool(storage["fresh"])
        bare = fresh and self._checked
        pattern = launches.PATTERN if bare else b""
        address = int(storage["address"])
        scratch = Storage(data, address=address, writable=True, bare=bare, pattern=pattern)
        return Given(scratch, fresh=fresh)

    def _written(self, storages: list[Given]) -> tuple[Any, list[Any]]:
        """Return what the launch may have changed."""
        wrote: list[list[int | None]] = []
        blobs: list[Any] = []
        for place, (storage, slot, _, _) in enumerate(storages):
            if storage.writable and storage.touched:
                if slot is not None:
                    self._buffers[slot].shown = True
                wrote.append([slot, place, len(blobs)])
                blobs.append(storage.data.numpy())
        return {"wrote": wrote}, blobs

    def _too_long(
        self,
        error: execution.TimeLimitError,
        launch: Prepared,
        began_s: float,
    ) -> tuple[dict[str, Any], list[Any]]:
        """Stop the call; tell a loop without end from more work than the executor can do.

        A host loop without end uses up this time or the call's own, and the machine's speed
        decides which comes first: the verdict must be the same. Where launches are recorded, the
        GPU's run of them decides.
        """
        at = error.at
        # After many launches the last one may have had no time left.
        if error.endless and self._left_s > _ENDLESS_SHARE * self._seconds:
            message = f"a program did not end within {time.thread_time() - began_s:.1f} s"
            return self._not_measured("endless", message, at), []
        message = (
            f"too much for the executor: {math.prod(launch.grid):,} programs did not end within "
            f"{_SHARE * self._seconds:g} s of processor time"
        )
        if error.waiting:
            message = _WAITING
        if self._recording is not None:
            return self._not_executed(message, at)
        if launch.repeats > _MOST_REPEATS:
            message = (
                f"`{launch.kernel}` was launched {launch.repeats:,} times with the same arguments"
            )
            return self._not_measured("repeated", message, None), []
        return self._not_measured("budget", message, at), []

    def _kernel(self, name: str) -> dict[str, Any]:
        """Return what is known of a kernel's launches in this call."""
        nothing = dict.fromkeys(_COUNTED, 0)
        return self._kernels.setdefault(name, {"kernel": name, **nothing, "requests": Requests()})


def _code(path: Path) -> tuple[Module, ptx.Widths] | str | None:
    """Return a launch's GPU dialect, and the widths of its instructions; or why there are none.

    None if there is no such file.
    """
    try:
        dialect = path.with_suffix(".ttgir").read_text(encoding="utf-8")
        module = parse(dialect)
        return module, ptx.widths(path.with_suffix(".ptx").read_text(encoding="utf-8"))
    except OSError:
        return None
    except Exception as error:  # a parser of what a compiler made of anybody's text
        return f"{type(error).__name__}: {error}"[:300]


def _record(finding: findings.Finding) -> dict[str, Any]:
    record = asdict(finding)
    record["offset"] = record.pop("element")
    return record


class _Link:
    """The worker's socket, for as long as the judge waits for the call's end.

    Then an honest worker's frames are whole, and its answers taken.
    """

    def __init__(self, link: socket.socket, channel: socket.socket) -> None:
        link.setblocking(False)
        self._socket = link
        self._channel = channel.fileno()

    def recv_into(self, buffer: memoryview) -> int:
        self._wait(select.POLLIN)
        return self._socket.recv_into(buffer)

    def sendall(self, data: Any) -> None:
        view = memoryview(data).cast("B")
        while view:
            self._wait(select.POLLOUT)
            view = view[self._socket.send(view) :]

    def _wait(self, event: int) -> None:
        poll = select.poll()
        poll.register(self._socket, event)
        poll.register(self._channel, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll()}
        if self._socket.fileno() not in ready:
            raise launches.ProtocolError("a frame that is not whole")


def serve(
    link_fd: int,
    mode: launches.LaunchMode,
    *,
    host_writes: bool,
    kind: type[Executor] = Executor,
) -> None:
    """Carry out the judge's commands and the worker's messages until the judge is gone."""
    torch.set_num_threads(1)
    channel = socket.socket(fileno=wire.CHANNEL_FD)
    link = socket.socket(fileno=link_fd)
    stream = _Link(link, channel)
    running = kind(mode, host_writes=host_writes)
    commands: dict[int, wire.Handler] = {
        wire.ATTACH: wire.for_each_buffer(running.attach),
        wire.DETACH: lambda *_: running.detach(),
        wire.BEGIN: lambda payload, _: running.begin(payload),
        wire.END: lambda *_: running.end(),
    }
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(link, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        # The worker's first: what it sent before it answered belongs to the call that is running.
        if link_fd in ready:
            try:
                header, blobs = launches.receive(stream)
                answer, more = running.message(header, blobs)
                launches.send(stream, answer, more)
                continue
            except (EOFError, ConnectionError):
                pass  # the worker is gone; another OSError, as of a full disk, ends this process
            except launches.ProtocolError as error:
                running.forged(str(error))
            poll.unregister(link)
            link.close()
            link_fd = -1
            continue
        try:
            wire.carry_out(channel, commands)
        except EOFError:
            os._exit(0)  # the judge is gone
