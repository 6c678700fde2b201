"""What keeps an untrusted program from everything that is not its own.

    fence      which files it may read, write and run (Landlock; `grader.sandbox.landlock`)
    filter     which system calls it may not make (seccomp; `grader.sandbox.seccomp`)
    own user   a user that nobody else is, where the judge is root (`grader.sandbox.users`)
    own group  the kernel's limit on its memory and tasks (`grader.sandbox.cgroup`)

Which of them work on a machine is found out once (`grader.sandbox.probe`) and said
to `use_layers`; until then the kernel's own two are put up, which every recent
kernel has. A program on a GPU needs more than others, so its layers are a choice
of their own. `grader.worker.confine` applies them, in the program's own process.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox import cgroup, landlock, users
from grader.sandbox.cgroup import Group
from grader.sandbox.seccomp import For, program


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """What a program is kept in. Without any of them it has limits and a session only."""

    landlock: bool = True
    filter: bool = True
    own_user: bool = False
    own_group: bool = False
    powers: bool = False  # keep those of root, where the judge has them

    @property
    def words(self) -> str:
        """The layers, for people."""
        names = (
            (self.landlock, "fenced files"),
            (self.filter, "filtered system calls"),
            (self.own_user, "a user of its own"),
            (self.own_group, "a control group of its own"),
        )
        return ", ".join(name for there, name in names if there) or "limits only"


# For what runs no code of a hand-in's and starts programs that do: a child can
# only change its user if its parent might have.
UNCONFINED = Layers(landlock=False, filter=False, powers=True)

# By whether the program uses a GPU.
_layers: dict[bool, Layers] = {False: Layers(), True: Layers()}


def use_layers(layers: Layers, *, gpu: bool) -> None:
    """Say what works on this machine."""
    _layers[gpu] = layers


def layers_in_use(*, gpu: bool) -> Layers:
    """Return what programs are kept in from here on."""
    return _layers[gpu]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """One program's own folder, the layers around it, its user and group, None for ours."""

    folder: Path
    layers: Layers
    gpu: bool
    user: int | None
    group: Group | None

    def settings(self) -> dict[str, object]:
        """Return what `confine.py` is told about the layers."""
        code = program(For.GPU if self.gpu else For.PROCESSOR) if self.layers.filter else b""
        return {
            "user": self.user,
            "groups": [] if self.group is None else self.group.entrances,
            "powers": self.layers.powers,
            "fence": landlock.granted(gpu=self.gpu) if self.layers.landlock else None,
            "filter": base64.b64encode(code).decode() if code else None,
        }

    def end(self) -> None:
        """Kill what is left in the group and of the user's, and let another program have it."""
        try:
            if self.group is not None:
                self.group.end()
        finally:
            if self.user is not None:
                try:
                    users.kill_all_of(self.user)
                finally:
                    users.give_back(self.user)


def confinement(
    cwd: Path,
    *,
    memory_mib: int,
    tasks: int,
    gpu: bool = False,
    layers: Layers | None = None,
) -> Confinement:
    """Prepare the layers for one program, whose own folder `cwd` becomes.

    `layers` are for trying some out; else they are those that work here. Memory
    and tasks, threads among them, are limited by its group, if it gets one.
    """
    layers = _layers[gpu] if layers is None else layers
    user = users.take() if layers.own_user else None
    if user is not None:
        users.hand_over(cwd, user)
    group = cgroup.make(memory_mib, tasks) if layers.own_group else None
    return Confinement(folder=cwd, layers=layers, gpu=gpu, user=user, group=group)
