"""A GPU without memory for the judge: the cause, and the message.

The GPU is simulated: the driver is a fake, and memory is missing as long as the submission's worker
lives, as with a submission that does not free its memory.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from builds import silu_build
from grading_bench import Bench, small_silu
from paths import HAND_INS
from timed_bursts import FakeSession, right, silu_buffer_pool

from grader.assignment.model import Limits
from grader.assignment.signature import ElementType
from grader.build.artifact import Built
from grader.checks.common import case_run
from grader.checks.common.diagnosis import Phase, explain
from grader.checks.performance import measurement
from grader.checks.performance.buffer_pool import BufferPool
from grader.checks.performance.timed_worker import Timed
from grader.errors import GraderError
from grader.gpu.nvml import gpus, visible
from grader.judge import buffers, gpu_out_of_memory
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError, gpu_errors
from grader.judge.python_server import PythonServer
from grader.judge.session import Session
from grader.protocol.cuda_driver import CudaError, Driver
from grader.report.evidence import BuildEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import Device, Language, Memory, Role

GRANULE = 2 << 20


class FakeDriver:
    """A driver whose `create_shared` fails with these codes, one after the other."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)

    def granularity(self) -> int:
        return GRANULE

    def create_shared(self, size: int) -> tuple[int, int]:
        raise CudaError("cuMemCreate", self.codes.pop(0))


def make(driver: FakeDriver) -> None:
    buffers.make_buffer(
        name="x",
        role=Role.OUT,
        kind=ElementType.FLOAT32,
        shape=(GRANULE,),
        memory=Memory.DEVICE,
        device=Device.CUDA,
        private=False,
        driver=cast(Driver, driver),
    )


def test_a_full_gpu_has_a_clear_message() -> None:
    driver = FakeDriver(2, 2)
    with pytest.raises(
        GpuOutOfMemoryError, match="too little memory left: the grader needs 10 MiB"
    ) as no:
        make(driver)
    assert "nvidia-smi" in (no.value.tip or "")
    assert driver.codes == [], "tried again after torch had given back what it kept"


def test_a_gpu_that_fails_has_a_clear_message() -> None:
    with pytest.raises(GraderError, match="of the grader failed: cuMemCreate returned 999"):
        make(FakeDriver(999))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has …"),
            "the grader needs 20.00 MiB",
        ),
        (torch.OutOfMemoryError("CUDA out of memory."), "too little memory left for the grader"),
        (
            torch.AcceleratorError("CUDA error: out of memory\nCUDA kernel errors …"),
            "too little memory left",
        ),
    ],
)
def test_torch_without_memory_has_a_clear_message(error: Exception, words: str) -> None:
    with pytest.raises(GpuOutOfMemoryError, match=words), gpu_errors():
        raise error


def test_torch_on_a_gpu_that_fails_has_a_clear_message() -> None:
    with (
        pytest.raises(GraderError, match="of the grader failed: CUDA error: unspecified") as e,
        gpu_errors(),
    ):
        raise torch.AcceleratorError("CUDA error: unspecified launch failure\nCompile with …")
    assert not isinstance(e.value, GpuOutOfMemoryError)


def test_a_full_gpu_does_not_look_like_one_that_cannot_share() -> None:
    with pytest.raises(GpuOutOfMemoryError):
        buffers._sharing_works(cast(Driver, FakeDriver(2, 2)))
    assert not buffers._sharing_works(cast(Driver, FakeDriver(801)))


# --- the cause ---------------------------------------------------------------------------------


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Bench:
    small_silu(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(case_run, "_FREED_S", 0.2)
    return Bench(tmp_path, capsys)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[], bool]], None]]:
    """Make memory missing whenever the given function returns True."""

    def fill(missing: Callable[[], bool]) -> None:
        make_buffer = buffers.make_buffer

        def made(**arguments: Any) -> buffers.Buffer:
            if missing():
                raise gpu_out_of_memory._out_of_memory("2 MiB")
            return make_buffer(**arguments)

        monkeypatch.setattr(case_run, "make_buffer", made)

    yield fill


class Watched:
    """All sessions, and the commands in the session that is alive."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.living: list[Session] = []
        self.calls = 0
        call, close = Session.call, Session.close

        def counted(session: Session, *arguments: Any, **more: Any) -> Any:
            self.living, self.calls = [session], self.calls + 1
            return call(session, *arguments, **more)

        def closed(session: Session) -> None:
            self.living = []
            close(session)

        monkeypatch.setattr(Session, "call", counted)
        monkeypatch.setattr(Session, "close", closed)


@pytest.mark.slow
def test_memory_that_comes_back_with_the_workers_end_was_held_by_the_submission(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, full: Callable[[Callable[[], bool]], None]
) -> None:
    watched = Watched(monkeypatch)
    full(lambda: bool(watched.living))
    graded = bench.grade_file(HAND_INS / "right.cu")
    assert graded.verdict == "memory_limit"
    verdicts = [case["verdict"] for c in graded.checks for case in c["evidence"].get("cases", ())]
    # A new worker for every other case, until two of them have filled the GPU.
    assert verdicts[:4] == ["accepted", "memory_limit", "accepted", "memory_limit"], verdicts
    assert "kept so much of the GPU's memory" in graded.failed["message"]
    assert "allocates (cudaFree" in graded.failed["hint"]


def test_memory_that_stays_away_is_not_the_submissions_fault(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, full: Callable[[Callable[[], bool]], None]
) -> None:
    watched = Watched(monkeypatch)
    full(lambda: watched.calls >= 1)
    graded = bench.grade_file(HAND_INS / "right.cu")
    assert (graded.verdict, graded.report["score"]) == ("grader_error", None)
    assert "the GPU has too little memory left" in graded.failed["message"]


def test_memory_that_is_missing_from_the_beginning_is_not_the_submissions_fault(
    bench: Bench, full: Callable[[Callable[[], bool]], None]
) -> None:
    full(lambda: True)
    assert bench.grade_file(HAND_INS / "right.cu").verdict == "grader_error"


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[BufferPool]:
    with silu_buffer_pool(tmp_path) as made:
        yield made


@pytest.mark.parametrize("held", [pytest.param(True, marks=pytest.mark.slow), False])
def test_memory_is_missing_while_a_submission_is_timed(
    pool: BufferPool,
    monkeypatch: pytest.MonkeyPatch,
    held: bool,
) -> None:
    monkeypatch.setattr(case_run, "_FREED_S", 0.2)
    built = silu_build()
    full_gpu = False
    refresh = BufferPool.refresh

    def refreshed(self: BufferPool, order: Sequence[int], most: int = 0) -> None:
        if full_gpu:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 MiB.")
        refresh(self, order, most)

    monkeypatch.setattr(BufferPool, "refresh", refreshed)

    class Filling(FakeSession):
        pid = os.getpid()

        def __enter__(self) -> Filling:
            return self

        def __exit__(self, *_: object) -> None:
            nonlocal full_gpu
            full_gpu = full_gpu and not held

        def run(self, *, wall_s: float) -> Any:
            nonlocal full_gpu
            full_gpu = True
            return super().run(wall_s=wall_s)

    class Torch(FakeSession):
        pid = os.getpid()

    def measured() -> measurement.Measured:
        return measurement.measure(
            pool,
            Timed(built, Limits(), lambda: cast(Session, Filling(pool, right))),
            built,
            cast(Session, Torch(pool, right)),
            budget_s=5.0,
            throttled=list,
            first=lambda: True,
            enough=lambda rounds: True,
        )

    if held:
        failure = measured().failure
        assert failure is not None
        assert failure.verdict.value == "memory_limit"
        assert "GPU's memory" in failure.message
    else:
        with pytest.raises(GpuOutOfMemoryError):
            measured()


# --- a worker that cannot open the GPU ---------------------------------------------------------


@pytest.mark.parametrize(
    "language", [Language.CUDA, pytest.param(Language.TRITON, marks=pytest.mark.slow)]
)
def test_who_is_to_be_graded_is_not_blamed_for_a_gpu_that_cannot_be_opened(
    tmp_path: Path, language: Language
) -> None:
    if visible(gpus()):
        pytest.skip("there is a GPU, and it can be opened")
    path = tmp_path / ("silu.so" if language is Language.CUDA else "silu.py")
    if language is Language.CUDA:
        source = tmp_path / "silu.c"
        source.write_text("void grader_call(void) {}")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, source], check=True)
    else:
        path.write_text("def silu(input, output, n): ...")
    built = Built(
        language=language,
        device=Device.CUDA,
        path=path,
        file=f"silu.{'cu' if language is Language.CUDA else 'py'}",
        entry="silu",
        evidence=BuildEvidence(tool="none", cached=False),
    )
    limits = Limits()
    server = PythonServer(Device.CUDA)
    with closing(server), Session(built, limits, server) as session:
        outcome = session.load()
        sentence = explain(outcome, built, limits, Phase.LOADING)
    assert sentence.verdict is Verdict.NOT_MEASURED, sentence
    assert sentence.message.startswith(f"no GPU could be opened for {built.file}: ")
    assert "nvidia-smi" in sentence.hint
