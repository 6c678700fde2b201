"""Detect NVIDIA's multi-process service (MPS).

Under MPS the processes of one user share one context on the GPU: a crash in a student's kernel
then ends every client, also the judge. MPS also lets several processes use a GPU in
exclusive-process mode, which otherwise admits only one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

PIPE_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
_DEFAULT_PIPE_DIRECTORY = "/tmp/nvidia-mps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mps:
    """The visible signs of the service.

    The daemon of a container may run outside of it, with processes that are invisible here: then
    only its pipe directory shows.
    """

    control_running: bool
    server_running: bool
    pipe_directory: Path
    pipe_present: bool

    @property
    def active(self) -> bool:
        """True if a new CUDA process here would be a client of the service."""
        return self.pipe_present or self.control_running or self.server_running


def detect(environment: Mapping[str, str] = os.environ) -> Mps:
    """Look for the service's processes and its pipe."""
    running = {_name(process) for process in psutil.process_iter()}
    pipe = Path(environment.get(PIPE_VARIABLE) or _DEFAULT_PIPE_DIRECTORY)
    return Mps(
        control_running="nvidia-cuda-mps-control" in running,
        server_running="nvidia-cuda-mps-server" in running,
        pipe_directory=pipe,
        # The daemon removes its control pipe when it quits normally.
        pipe_present=(pipe / "control").exists(),
    )


def _name(process: psutil.Process) -> str | None:
    try:
        return str(process.name())
    except psutil.Error:  # it ended meanwhile, or is not visible to this user
        return None
