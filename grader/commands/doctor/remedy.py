"""The one command that mends a thing on this machine.

Named by what the student lacks; each answer fits the system's package manager
and the Python that runs this. Where no command can do it, it is one step in words.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from grader.commands.doctor.facts import Facts, System

# torch's wheels on PyPI were built for CUDA 12 up to 2.10 and for CUDA 13 since.
TORCH_FOR_CUDA_12 = "torch>=2.6,<2.11"
TORCH = "torch>=2.6"
CUDA_PACKAGES = (
    "cuda-toolkit[nvcc,nvvm,crt,cudart,cccl]==13.0.*",
    "nvidia-cuda-sanitizer-api>=13.4.92",  # older ones cannot start a program
)

# NVIDIA, "CUDA Compatibility": the first driver of each major release of CUDA.
FIRST_DRIVER = {12: 525, 13: 580}

_NAMES = {
    "g++": {"dnf": "gcc-c++", "pacman": "gcc", "zypper": "gcc-c++"},
    "python3-venv": {"dnf": "python3", "pacman": "python", "zypper": "python3"},
    "python3-dev": {"dnf": "python3-devel", "pacman": "python", "zypper": "python3-devel"},
}
_INSTALL = {
    "apt-get": "apt-get install -y",
    "dnf": "dnf install -y",
    "pacman": "pacman -S --noconfirm",
    "zypper": "zypper install -y",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedies:
    """Commands for one machine."""

    system: System
    python: Path

    def system_package(self, debian_name: str) -> str:
        """Install a package of the distribution, named as Debian names it."""
        manager = self.system.package_manager
        if manager is None:
            return f"install {debian_name} with your system's package manager"
        name = _NAMES.get(debian_name, {}).get(manager, debian_name)
        return f"{self._sudo()}{_INSTALL[manager]} {name}"

    def pip(self, *requirements: str, force: bool = False) -> str:
        """Install packages into the Python that runs this."""
        words = [self._python(), "-m", "pip", "install", *(["--force-reinstall"] if force else [])]
        return shlex.join([*words, *requirements])

    def nvcc(self, cuda: tuple[int, int] | None) -> str:
        """Install a CUDA compiler that the driver supports (None: no driver yet)."""
        if cuda is None or cuda >= (13, 0):
            return self.pip(*CUDA_PACKAGES)
        # PyPI has a complete nvcc for CUDA 13 only; conda-forge has every release.
        return f"conda install -c conda-forge cuda-nvcc cuda-version={cuda[0]}.{cuda[1]}"

    def torch(self, cuda: tuple[int, int] | None, *, force: bool = False) -> str:
        """Install a torch that the driver supports."""
        old = cuda is not None and cuda < (13, 0)
        return self.pip(TORCH_FOR_CUDA_12 if old else TORCH, force=force)

    def driver(self) -> str:
        """Install or update NVIDIA's driver."""
        if self.system.wsl:
            return "update the NVIDIA driver in Windows, then run `wsl --shutdown` there"
        if self.system.container:
            return "start the container with its GPUs: docker run --gpus all …"
        if "Ubuntu" in self.system.distribution:
            return f"{self._sudo()}ubuntu-drivers install"
        return f"ask for NVIDIA driver {FIRST_DRIVER[13]} or newer (whoever runs this machine)"

    def nvidia_smi(self, *words: str) -> str:
        """Change a setting of a GPU."""
        return f"{self._sudo()}nvidia-smi {shlex.join(words)}"

    def _sudo(self) -> str:
        return "" if self.system.root else "sudo "

    def _python(self) -> str:
        # As typed from the project's folder, where the student stands.
        here = os.path.relpath(self.python)
        return str(self.python) if here.startswith("..") else here


def remedies(facts: Facts) -> Remedies:
    """Return the commands for this machine."""
    return Remedies(system=facts.system, python=facts.python.executable)
