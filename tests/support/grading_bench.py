"""Grades single files on the CPU with small limits, and checks for leaked resources.

`grade local` runs in this process, with its Python server (`shared_server`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from paths import REPOSITORY

from grader.commands.local import Request, grade_local
from grader.gpu.nvml import gpus
from grader.judge import session
from grader.sandbox import fork_server, policy, probe
from grader.system import toolchain

_LIMITS = {"build_s": 5, "load_s": 3, "call_s": 1, "output_kib": 64, "memory_mib": 256}
# On a GPU, a first call makes a context or compiles, in parallel with other tests.
_LIMITS_ON_A_GPU = {**_LIMITS, "build_s": 60, "load_s": 20, "call_s": 5}
_CASES = """\
[[cases]]
sizes = { n = [33, 1000, 1025] }

[[cases]]
sizes = { n = { min = 300, max = 600 } }
visibility = "hidden"
"""


def small_silu(root: Path, *, on_gpu: bool = False) -> Path:
    """Make a copy of the silu assignment in `root`, with small limits and four cases."""
    folder = root / "assignments" / "silu"
    shutil.copytree(REPOSITORY / "assignments" / "silu", folder)
    spec = folder / "assignment.toml"
    text = spec.read_text(encoding="utf-8")
    text = re.sub(r"points = \{.*\}", "points = { correctness = 100 }", text)
    text = re.sub(r"^\[kernels\.tiers.*?(?=^\[(?!kernels))", "", text, flags=re.S | re.M)
    limits = "".join(
        f"{name} = {value}\n" for name, value in (_LIMITS_ON_A_GPU if on_gpu else _LIMITS).items()
    )
    text = re.sub(r"\[limits\].*", f"[limits]\n{limits}{_CASES}", text, flags=re.S)
    spec.write_text(text, encoding="utf-8")
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """The exit code, the report, and the output of a grading."""

    exit_code: int
    report: dict[str, Any]
    printed: str

    @property
    def verdict(self) -> str:
        """The verdict on the whole submission."""
        return str(self.report["verdict"])

    @property
    def checks(self) -> list[dict[str, Any]]:
        """All checks of all kernels."""
        return [check for kernel in self.report["kernels"] for check in kernel["checks"]]

    @property
    def failed(self) -> dict[str, Any]:
        """The first check that has the verdict."""
        return next(check for check in self.checks if check["verdict"] == self.verdict)

    @property
    def output(self) -> str:
        """The output of the submission."""
        return "".join((check["evidence"] or {}).get("output", "") for check in self.checks)


class Bench:
    """Grades in the folder `root`, which has the assignment."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def grade(self, folder: Path, **changes: Any) -> Graded:
        """Run `grade local silu --from FOLDER --device cpu --json FILE`."""
        path = self.root / "report.json"
        path.unlink(missing_ok=True)
        request: dict[str, Any] = {
            "assignments": ("silu",),
            "source": folder,
            "device": "cpu",
            "kernels": (),
            "languages": (),
            "checks": (),
            "seed": 0,
            "json_path": path,
        }
        self._capsys.readouterr()
        exit_code = grade_local(Request(**(request | changes)))
        printed = self._capsys.readouterr().out
        return Graded(exit_code=exit_code, report=json.loads(path.read_text()), printed=printed)

    def limit_calls(self, call_s: float) -> None:
        """Give a call so many seconds on the CPU, and not one."""
        spec = self.root / "assignments" / "silu" / "assignment.toml"
        spec.write_text(spec.read_text().replace("call_s = 1\n", f"call_s = {call_s}\n"))

    def grade_file(self, source: Path) -> Graded:
        """Grade a file under the file name in the assignment."""
        folder = self.root / "submission"
        folder.mkdir()
        shutil.copyfile(source, folder / f"silu{source.suffix}")
        return self.grade(folder)


@dataclass(frozen=True, slots=True)
class Traces:
    """The resources of a process: children by command, descriptors by target."""

    children: tuple[str, ...]
    descriptors: tuple[str, ...]

    @classmethod
    def now(cls) -> Traces:
        """Return the resources of this process."""
        processes = psutil.Process().children(recursive=True)
        children = []
        for child in processes:
            # A server that a submission killed is reaped when the next worker starts.
            with contextlib.suppress(psutil.ZombieProcess, psutil.NoSuchProcess):
                children.append(" ".join(child.cmdline()[:3]))
        links = []
        for entry in Path("/proc/self/fd").iterdir():
            if entry.is_symlink():  # the descriptor that listed the folder is closed by now
                links.append(re.sub(r"\d+", "N", str(entry.readlink())))
        links = [link for link in links if "grade-part" not in link]  # of a compiler: they stay
        return cls(tuple(sorted(children)), tuple(sorted(links)))


@contextmanager
def nothing_left(scratch: Path) -> Iterator[None]:
    """Assert that the block leaves no process, no descriptor and no temporary file."""
    fork_server.ready()  # it stays, as does what the GPU's library opens
    gpus()
    before = Traces.now()
    yield
    after = Traces.now()
    children = Counter(after.children) - Counter(before.children)
    descriptors = Counter(after.descriptors) - Counter(before.descriptors)
    files = list(scratch.iterdir())
    assert not (children or descriptors or files), (children, descriptors, files)


@contextmanager
def quick_gradings() -> Iterator[None]:
    """Grade without nvcc, and with less patience for a worker, in the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchain, "find_nvcc", lambda: None)
        patch.setattr(session, "COMMAND_S", 2.0)
        patch.delenv("GRADE_ASSIGNMENTS", raising=False)
        yield


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """Put the temporary files of the block into `folder`."""
    folder.mkdir()
    probe.isolation()
    if policy.layers_in_use(gpu=False).own_user:
        # Let workers of other users enter the folder.
        for parent in folder.parents:
            if parent.stat().st_uid == os.geteuid():
                parent.chmod(parent.stat().st_mode | 0o011)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        patch.setenv("TMPDIR", str(folder))
        yield folder
    folder.rmdir()
