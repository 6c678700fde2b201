"""What the grading of one hand-in shares: builds under way, oracle, server, driver.

Time is saved by order: compilers are started first, in threads; then the
server that imports torch and triton for Python workers; then torch is imported
here. All three take a second or so, side by side.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import grader
from grader import family, interruption, toolchain
from grader import gpu as nvidia
from grader.build.gate import compile_launches
from grader.build.product import Built, Rejected
from grader.build.unit import Checked, build, build_checked
from grader.errors import ToolError
from grader.evidence import CorrectnessEvidence
from grader.gpu import Gpu
from grader.isolation import isolation, with_hidden
from grader.judge.server import PythonServer
from grader.spec import Assignment, Case, Kernel
from grader.submission import HandIn
from grader.verdict import Verdict
from grader.words import CheckName, Device, Language, Visibility
from grader.worker import cuda_driver

if TYPE_CHECKING:
    # They import torch, which takes a second: only once the compilers are busy.
    from grader.check.memory import MemoryVerdict
    from grader.check.stage import Bench
    from grader.judge.oracle import Oracle

Transport = Literal["shared", "private"]

_ABANDON_S = 0.02  # between two rounds of killing compilers


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is asked for. Empty filters leave nothing out.

    `gpu` is the one to use, None for the CPU. `transport` None means shared
    memory where a probe shows that it works.
    """

    gpu: Gpu | None = None
    kernels: frozenset[str] = frozenset()
    languages: frozenset[Language] = frozenset()
    checks: frozenset[CheckName] = frozenset()
    public_seed: int = 0
    secret_seed: int = 0
    transport: Transport | None = None

    @property
    def device(self) -> Device:
        """The device to grade on."""
        return Device.CPU if self.gpu is None else Device.CUDA

    @property
    def filtered(self) -> bool:
        """True if something is left out on request."""
        return bool(self.kernels or self.languages or self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One file to grade."""

    kernel: Kernel
    language: Language
    hand_in: HandIn

    @property
    def title(self) -> str:
        """The name for progress."""
        return f"{self.kernel.name} · {self.language.phrase}"


@contextmanager
def open_workshop(
    assignment: Assignment, options: Options, units: Sequence[Unit]
) -> Iterator[Workshop]:
    """Start all builds, and torch, side by side; end every process on the way out."""
    isolation(gpu=options.device is Device.CUDA)
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="build")
        shop = Workshop(assignment, options, Path(folder), pool)
        try:
            shop.start(units)
            yield shop
        except BaseException:
            shop.abandon()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            shop.close()
            family.sweep()


class Workshop:
    """The builds and tools of one hand-in; made by `open_workshop`."""

    def __init__(
        self, assignment: Assignment, options: Options, folder: Path, pool: ThreadPoolExecutor
    ) -> None:
        self._assignment = assignment
        self._options = options
        self._folder = folder
        self._pool = pool
        self._builds: dict[tuple[str, Language], Future[Built | Rejected]] = {}
        self._checked: dict[tuple[str, Language], Future[Checked | Rejected]] = {}
        self._launches: dict[tuple[str, Language], list[dict[str, Any]]] = {}
        self._server: PythonServer | None = None
        self._oracle: Oracle | None = None
        self._driver: cuda_driver.Driver | None = None
        # On a processor the tools know the bounds of shared buffers.
        self._private = options.transport == "private" and options.device is Device.CUDA

    def start(self, units: Sequence[Unit]) -> None:
        """Start the compilers, then the Python server, then import torch here."""
        gpu = self._options.gpu
        for unit in units:
            self._builds[unit.kernel.name, unit.language] = self._pool.submit(
                build,
                self._assignment,
                unit.hand_in,
                unit.language,
                self._options.device,
                architecture=gpu.compute_capability if gpu else None,
                scratch=self._folder / unit.kernel.name / unit.language.value,
            )
        for unit in units:
            on_host = self._options.device is Device.CPU and unit.language is Language.CUDA
            if on_host and self.checks_memory(unit):
                self._checked[unit.kernel.name, unit.language] = self._pool.submit(
                    build_checked, self._assignment, unit.hand_in
                )
        if any(unit.language is Language.TRITON for unit in units):
            # Spawned from here, not from the pool: it dies with its thread.
            self._server = PythonServer(self._options.device)
        if units and self.wants(CheckName.CORRECTNESS):
            # A second's work for this thread, while the others compile.
            import grader.check.correctness  # noqa: F401

            interruption.check()

    def abandon(self) -> None:
        """End the builds under way, which nobody wants any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        builds: list[Future[Any]] = [*self._builds.values(), *self._checked.values()]
        while not all(future.done() for future in builds):
            # Again and again: a build may be about to start its next program.
            family.kill_all()
            time.sleep(_ABANDON_S)
        family.kill_all()

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.close()

    def wants(self, check: CheckName) -> bool:
        """True unless the check was filtered out."""
        return not self._options.checks or check in self._options.checks

    def built(self, unit: Unit) -> Built | Rejected:
        """Wait for the unit's build."""
        interruption.check()
        return self._builds[unit.kernel.name, unit.language].result()

    def cases(self, unit: Unit) -> tuple[Case, ...]:
        """Return the cases of this run for the unit's language."""
        options = self._options
        return self._assignment.draw_cases(
            options.device,
            unit.language,
            public_seed=options.public_seed,
            secret_seed=options.secret_seed,
        )

    def check_correctness(
        self, unit: Unit, built: Built, cases: Sequence[Case], advance: Callable[[str], None]
    ) -> CorrectnessEvidence:
        """Run the cases of one built file."""
        from grader.check.correctness import check_correctness

        oracle = self._prepare()
        bench = self._bench(built, private=self._private)
        launches = self._launches.setdefault((unit.kernel.name, unit.language), [])

        def hear(record: dict[str, Any]) -> None:
            if record.get("record") == "launch":
                launches.append(record)

        return check_correctness(
            bench, cases, lambda case: oracle.data(case, unit.language), advance, hear
        )

    def compile_gate(self, unit: Unit, built: Built) -> Rejected | None:
        """Ask a GPU's compiler about the Triton kernels that the interpreter ran."""
        launches = self._launches.get((unit.kernel.name, unit.language))
        if unit.language is not Language.TRITON or not launches:
            return None
        return compile_launches(built, launches)

    def checks_memory(self, unit: Unit) -> bool:
        """True if the unit's memory safety is to be checked."""
        return CheckName.MEMORY in unit.kernel.points and self.wants(CheckName.MEMORY)

    def check_memory(
        self, unit: Unit, built: Built, advance: Callable[[str], None]
    ) -> MemoryVerdict:
        """Run the small cases of one built file under the tool for its device."""
        from grader.check.ending import Sentence
        from grader.check.memory import (
            MemoryVerdict,
            check_gpu_memory,
            check_host_memory,
            check_interpreter_memory,
        )

        oracle = self._prepare()
        cases = [
            (case, oracle.data(case, unit.language))
            for case in self.cases(unit)
            if case.memory and case.visibility is Visibility.VISIBLE
        ]
        if self._options.device is Device.CUDA:
            tool = toolchain.find_compute_sanitizer()
            if tool is None:
                message = "compute-sanitizer is not on this machine"
                sentence = Sentence(verdict=Verdict.NOT_MEASURED, message=message)
                return MemoryVerdict(sentence=sentence, evidence=None)
            bench = self._bench(built, private=True)
            return check_gpu_memory(bench, tool, cases, advance)
        if unit.language is Language.TRITON:
            return check_interpreter_memory(self._bench(built, private=False), cases, advance)
        checked = self._checked[unit.kernel.name, unit.language]
        product = checked.result()
        if isinstance(product, Rejected):
            sentence = Sentence(verdict=product.verdict, message=product.message)
            return MemoryVerdict(sentence=sentence, evidence=None)
        bench = self._bench(product.built, private=self._private)
        return check_host_memory(bench, product.text, cases, advance)

    def _bench(self, built: Built, *, private: bool) -> Bench:
        from grader.check.stage import Bench

        return Bench(
            assignment=self._assignment,
            built=built,
            server=self._server,
            driver=self._driver,
            private=private,
        )

    def _prepare(self) -> Oracle:
        """Load the oracle and, on a GPU, open the driver; once."""
        from grader.judge.oracle import Oracle

        if self._oracle is None:
            self._oracle = Oracle(self._assignment)
            if self._options.device is Device.CUDA:
                self._open_gpu()
        return self._oracle

    def _open_gpu(self) -> None:
        import torch

        if not torch.cuda.is_available():
            raise ToolError(
                f"torch {torch.__version__} cannot use this machine's GPU",
                tip="`grade doctor` says why; `--device cpu` grades without it",
            )
        torch.cuda.init()  # type: ignore[no-untyped-call] # torch's own
        self._driver = cuda_driver.Driver()
        if self._options.transport is None:
            self._private = not self._sharing_works(self._driver)

    def _sharing_works(self, driver: cuda_driver.Driver) -> bool:
        """Probe whether memory can be exported (it cannot on WSL2)."""
        try:
            size = driver.granularity()
            address, descriptor = driver.create_shared(size)
        except cuda_driver.CudaError:
            return False
        os.close(descriptor)
        driver.unmap(address, size)
        return True

    def environment(self) -> dict[str, str | int | float | None]:
        """Say what graded: for the report."""
        gpu = self._options.gpu
        cxx, nvcc = toolchain.find_cxx(), toolchain.find_nvcc()
        driver = nvidia.state()
        cuda = driver.cuda_version
        kept_apart = isolation(gpu=gpu is not None)
        return {
            "grader": grader.__version__,
            "device": self._options.device.value,
            "gpu": gpu.name if gpu else None,
            "compute_capability": ".".join(map(str, gpu.compute_capability)) if gpu else None,
            "gpu_memory_mib": gpu.memory_total_mib if gpu else None,
            "driver": driver.driver_version,
            "cuda": ".".join(map(str, cuda)) if cuda else None,
            "nvcc": nvcc.version if nvcc else None,
            "host_compiler": f"g++ {cxx.version}" if cxx else None,
            "torch": _version("torch"),
            "triton": _version("triton"),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cpu": _processor(),
            **with_hidden(kept_apart, [self._assignment.folder]).facts,
            "public_seed": self._options.public_seed,
            "secret_seed": self._options.secret_seed,
        }


def _processor() -> str:
    """Return the processor's name, or its kind where the name is not told."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
