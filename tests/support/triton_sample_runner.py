"""Run sample hand-ins as a judge does on the CPU, without its sandbox, and print what was told.

    python triton_sample_runner.py [--unchecked] [--code FOLDER] FILE...

    this program ── commands ──→ worker ── launches ──→ executor ←── commands ── this program

It is a program, so that it runs under any version of triton: one line of JSON for each file. A
sample has `entry(input, output, n)`, and may have:

    N = 1000              the number of elements
    CALLS = 1             how often the entry is called
    IN_PLACE = False      the output begins as the input does
    SECONDS = 30          the time limit of a call
    expected(input)       what the output must be
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import runpy
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy
import torch
import triton.language
from triton.runtime.jit import JITFunction

from grader.assignment.signature import ElementType
from grader.judge.buffers import Buffer, make_buffer
from grader.judge.channel import Channel
from grader.protocol import launches, wire
from grader.vocabulary import Device, Memory, Role
from grader.worker import (
    python_worker,
    triton_autotune,
    triton_executor,
    triton_host,
    triton_launches,
)

assert triton_autotune and triton_host and triton_launches  # imported once, not in each worker
STATUS = {wire.OK: "done", wire.EXCEPTION: "exception", wire.LOAD_FAILED: "load failed"}
POISON = 0xFF
SECONDS = 30.0


class Process:
    """A forked worker or executor with its channel and its report."""

    def __init__(self, serve: Callable[[], None], link: socket.socket) -> None:
        self.channel = Channel()
        self._report = os.memfd_create("report")
        self.pid = os.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                # Out of the way first: one of them may have a number that is a target below.
                given = self.channel.worker_end.fileno(), self._report, link.fileno()
                high = [os.dup2(descriptor, 100 + i) for i, descriptor in enumerate(given)]
                wanted = wire.CHANNEL_FD, wire.REPORT_FD, launches.LINK_FD
                for descriptor, target in zip(high, wanted, strict=True):
                    os.dup2(descriptor, target)
                    os.close(descriptor)
                os.dup2(2, 1)
                # This process has only these: whoever closes its end has closed it.
                os.closerange(launches.LINK_FD + 1, 256)
                serve()
            os._exit(wire.EXIT_FAILED)
        self.channel.started()

    def command(self, command: int, payload: bytes = b"", descriptors: tuple[int, ...] = ()) -> str:
        """Carry out a command; return how it ended, "died" if the process is gone."""
        with contextlib.suppress(OSError):
            self.channel.send(command, payload, descriptors)
        self.channel._socket.setblocking(True)
        answer = self.channel.answer()
        self.channel._socket.setblocking(False)
        return "died" if answer is None else STATUS[answer.status]

    def records(self) -> list[dict[str, Any]]:
        """Return what was told so far."""
        text = os.pread(self._report, os.fstat(self._report).st_size, 0)
        return [json.loads(line) for line in text.splitlines()]

    def close(self) -> None:
        self.channel.close()
        os.waitpid(self.pid, 0)
        os.close(self._report)


def arrays(n: int, *, in_place: bool) -> list[Buffer]:
    """Return the input and the output of a call."""
    roles = Role.IN, Role.INOUT if in_place else Role.OUT
    return [
        make_buffer(
            name=name,
            role=role,
            kind=ElementType.FLOAT32,
            shape=(n,),
            memory=Memory.DEVICE,
            device=Device.CPU,
            private=False,
            driver=None,
        )
        for name, role in zip(("input", "output"), roles, strict=True)
    ]


def run(file: str, *, checked: bool, code: str | None = None) -> dict[str, Any]:
    """Load one sample and call it; return what happened."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if code is not None:
            shutil.copytree(code, launches.CODE)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)

        def execute() -> None:
            triton_executor.serve(launches.LINK_FD, launches.LaunchMode(), host_writes=False)

        executor = Process(execute, ours)
        worker = Process(
            lambda: python_worker.serve(file, "entry", "cpu", mode=launches.ONCE_EACH), theirs
        )
        ours.close()
        theirs.close()
        try:
            return called(file, worker, executor, checked=checked)
        finally:
            worker.close()
            executor.close()
            os.chdir("/")


def called(file: str, worker: Process, executor: Process, *, checked: bool) -> dict[str, Any]:
    executor.command(wire.BEGIN, launches.BEGIN.pack(SECONDS, checked))
    result: dict[str, Any] = {"file": file, "right": None, "loads": worker.command(wire.LOAD)}
    executor.command(wire.END)
    # Nothing is launched here, where only `expected` is of interest.
    with mock.patch.object(JITFunction, "run", lambda *_, **__: None):
        module = runpy.run_path(file)
    n, in_place = module.get("N", 1000), module.get("IN_PLACE", False)
    seconds = module.get("SECONDS", SECONDS)
    statuses = []
    buffers = arrays(n, in_place=in_place)

    def attach() -> None:
        for slot, buffer in enumerate(buffers):
            local = buffer.role.written
            message = buffer.message(slot, uninitialised=True)
            executor.command(wire.ATTACH, message, (buffer.descriptor,))
            message = buffer.message(slot, uninitialised=True, local=local)
            worker.command(wire.ATTACH, message, () if local else (buffer.descriptor,))

    attach()
    arguments = [(wire.SLOT, 0), (wire.SLOT, 1), (wire.INTEGER, n)]
    payload = b"".join(wire.ARGUMENT.pack(*pair) for pair in arguments)
    for call in range(module.get("CALLS", 1) if result["loads"] == "done" else 0):
        if call:  # as another case
            executor.command(wire.DETACH)
            worker.command(wire.DETACH)
            attach()
        torch.manual_seed(call)
        values = torch.randn(n)
        buffers[0].fill(values)
        buffers[1].fill(values) if in_place else buffers[1].poison(POISON)
        executor.command(wire.BEGIN, launches.BEGIN.pack(seconds, checked))
        statuses.append(worker.command(wire.CALL, payload))
        executor.command(wire.END)
        if "expected" in module:
            # A product of tiles rounds its factors to tf32, as a GPU does.
            rough = "tl.dot(" in Path(file).read_text()
            rtol, atol = (1e-2, 2e-2) if rough else (1e-4, 1e-5)
            expected = module["expected"](values)
            right = torch.allclose(buffers[1].values, expected, rtol=rtol, atol=atol)
            result["right"] = right and result["right"] is not False
    result["statuses"] = statuses
    result["intact"] = all(bool(buffer.intact()) for buffer in buffers)
    result["worker"], result["told"] = worker.records(), executor.records()
    for record in result["told"]:
        if record["record"] == "launch":  # its IR is in a file of the executor's
            record["text"] = Path(f"{record['ir']}.ttir").read_text()
    for buffer in buffers:
        buffer.close()
    return result


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--unchecked", action="store_true")
    options.add_argument("--code", type=os.path.abspath, help="count accesses, with this code")
    options.add_argument("files", nargs="+", type=os.path.abspath)
    asked = options.parse_args()
    torch.set_num_threads(1)
    numpy.seterr(all="ignore")
    print(json.dumps({"triton": triton.__version__}), flush=True)
    for file in asked.files:
        result = run(file, checked=not asked.unchecked, code=asked.code)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
