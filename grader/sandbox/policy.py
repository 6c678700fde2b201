"""The protections of untrusted programs: the layers, and one program's confinement.

    Landlock       which files it may read, write and run (`grader.sandbox.landlock`)
    seccomp        which system calls it may not make (`grader.sandbox.seccomp`)
    own user       a temporary user, where the judge is root (`grader.sandbox.users`)
    control group  the kernel's limit on its memory and tasks (`grader.sandbox.cgroup`)

`grader.sandbox.probe` finds out once which of them work on a machine and calls `use_layers`. Until
then Landlock and seccomp are on, which every recent kernel has. Programs on a GPU have layers of
their own, because they need more. The layers in use are module state: they are a fact about the
machine, and a compiler that runs deep inside a build must not run without them by mistake.
`grader.worker.confine` applies the layers in the program's own process.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox import cgroup, landlock, seccomp, users
from grader.sandbox.cgroup import Group
from grader.sandbox.users import TemporaryUser


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """The protections of a program. Without any of them it has only limits and a session."""

    landlock: bool = True
    filter: bool = True
    own_user: bool = False
    own_group: bool = False
    capabilities: bool = False  # keep the capabilities of root, if the judge has them

    @property
    def description(self) -> str:
        """The layers in words."""
        names = (
            (self.landlock, "fenced files"),
            (self.filter, "filtered system calls"),
            (self.own_user, "a user of its own"),
            (self.own_group, "a control group of its own"),
        )
        return ", ".join(name for there, name in names if there) or "limits only"


# For a program that runs no student code and starts programs that do: a child can change its
# user only if its parent could.
UNCONFINED = Layers(landlock=False, filter=False, capabilities=True)

# By whether the program uses a GPU.
_layers: dict[bool, Layers] = {False: Layers(), True: Layers()}


def use_layers(layers: Layers, *, gpu: bool) -> None:
    """Set the layers that work on this machine."""
    _layers[gpu] = layers


def layers_in_use(*, gpu: bool) -> Layers:
    """Return the layers of programs that are started from now on."""
    return _layers[gpu]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """One program's folder, its layers, and its temporary user and control group, if any."""

    folder: Path
    layers: Layers
    gpu: bool
    user: TemporaryUser | None
    group: Group | None

    def settings(self) -> dict[str, object]:
        """Return the settings of `worker/confine.py` about the layers."""
        code = seccomp.program(gpu=self.gpu) if self.layers.filter else b""
        return {
            "user": None if self.user is None else self.user.uid,
            "groups": [] if self.group is None else self.group.entrances,
            "powers": self.layers.capabilities,
            "landlock": landlock.granted(gpu=self.gpu) if self.layers.landlock else None,
            "seccomp": code.hex() if code else None,
        }

    def end(self) -> None:
        """Kill every process left in the control group and of the user, and release both."""
        with contextlib.ExitStack() as stack:
            if self.user is not None:
                stack.callback(self.user.end)
            if self.group is not None:
                self.group.end()


def confinement(
    cwd: Path, *, memory_mib: int, tasks: int, gpu: bool = False, layers: Layers | None = None
) -> Confinement:
    """Prepare the layers for one program, which gets the folder `cwd`.

    `layers` overrides the layers in use. The control group, if there is one, limits memory and
    tasks, that is processes and threads.
    """
    layers = _layers[gpu] if layers is None else layers
    user = users.claim() if layers.own_user else None
    if user is not None:
        users.give_folder(cwd, user.uid)
    group = cgroup.make(memory_mib, tasks) if layers.own_group else None
    return Confinement(folder=cwd, layers=layers, gpu=gpu, user=user, group=group)
