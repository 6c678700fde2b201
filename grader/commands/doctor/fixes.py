"""The command that fixes a problem on this machine.

Each method is named after the missing thing. Its command fits the system's package
manager and the running Python; if no command can do it, it is one step in words.
"""

from __future__ import annotations

import os
import shlex

from grader.commands.doctor.facts import Facts

# torch's wheels on PyPI are built for CUDA 12 up to 2.10 and for CUDA 13 since.
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


class Fixes:
    """Commands for one machine."""

    def __init__(self, facts: Facts) -> None:
        self.system = facts.system
        self._python = facts.python.executable

    def system_package(self, debian_name: str) -> str:
        """Install a package of the distribution, given its name in Debian."""
        manager = self.system.package_manager
        if manager is None:
            return f"install {debian_name} with your system's package manager"
        name = _NAMES.get(debian_name, {}).get(manager, debian_name)
        return f"{self._sudo()}{_INSTALL[manager]} {name}"

    def pip(self, *requirements: str, force: bool = False) -> str:
        """Install packages into the running Python."""
        # A short path if it is below the current folder.
        here = os.path.relpath(self._python)
        python = str(self._python) if here.startswith("..") else here
        options = ["--force-reinstall"] if force else []
        return shlex.join([python, "-m", "pip", "install", *options, *requirements])

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
        return f"ask this machine's administrator for NVIDIA driver {FIRST_DRIVER[13]} or newer"

    def nvidia_smi(self, *words: str) -> str:
        """Change a setting of a GPU."""
        return f"{self._sudo()}nvidia-smi {shlex.join(words)}"

    def _sudo(self) -> str:
        return "" if self.system.root else "sudo "
