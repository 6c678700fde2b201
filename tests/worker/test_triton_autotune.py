"""Outside timing, autotuners rotate through their configurations, also on a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.gpu.nvml import Gpu
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.pool.state import WorkerState
from grader.report.evidence import CorrectnessEvidence, MemoryEvidence
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName, Language
from grader.worker.triton_autotune import Turns

WORKER = REPOSITORY / "grader" / "worker" / "python_worker.py"

# The part of a worker for a GPU that runs without one; the kernel is a stand-in that logs its
# launch arguments.
PROGRAM = """
import importlib.util, json, sys
from grader.protocol.launches import LaunchMode
spec = importlib.util.spec_from_file_location("python_worker", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
mode, turn = sys.argv[2:]
trials = mode in ("trials", "pruned")
launching = LaunchMode(tuning=mode == "tuning", trials=trials, turn=int(turn))
module.Worker("silu.py", "silu", "cuda", mode=launching)
import triton
from triton.runtime.autotuner import Autotuner

class Kernel:
    launches = []
    def run(self, *args, **kwargs):
        self.launches.append(kwargs["BLOCK"])

@triton.jit
def kernel(x, n, BLOCK):
    pass

configs = [triton.Config({"BLOCK": block}) for block in (32, 64, 256)]
prune = {"early_config_prune": lambda configs, *_, **__: configs[1:2]}
prune = prune if mode == "pruned" else None
tuner = triton.autotune(configs, key=["n"], prune_configs_by=prune)(kernel)
tuner.fn = Kernel()
for _ in range(4):
    try:
        tuner.run("x", 5, grid=(1,), warmup=False)
    except RuntimeError as error:
        print(json.dumps(str(error)))
        break
print(json.dumps(Kernel.launches))
"""


class Tuner:
    """Stands for an autotuner."""


def launches(mode: str, folder: Path, turn: int = 0) -> list[str]:
    program = folder / "program.py"  # triton reads a kernel's source
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, program, WORKER, mode, str(turn)],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_case_that_is_called_again_gets_the_same_configurations() -> None:
    one, other, turns = Tuner(), Tuner(), Turns(3)

    def call(*tuners: Tuner, again: bool = False) -> list[int]:
        turns.call_begins(again=again)
        return [turns.take(tuner) for tuner in tuners]

    assert call(one, one) == [3, 4]
    assert call(one, other) == [5, 3]
    assert call(one, other, again=True) == [5, 3]
    assert call(one, again=True) == [5]
    assert call(other, one) == [3, 6]


@pytest.mark.usefixtures("no_nvcc")
def test_what_explains_a_result_does_not_change_the_verdicts(
    tmp_path: Path, state: WorkerState
) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / "gemm")
    given = (REPOSITORY / "reference" / "gemm" / "v4_autotuned.py").read_text()
    found = []
    (tmp_path / "v4_autotuned.py").write_text(
        given.replace('tile["BM"]', "64").replace('tile["BN"]', "64")
    )
    for explain in (True, False):
        options = Options(
            kernels=frozenset({"v4_autotuned"}), checks=frozenset({CheckName.CORRECTNESS}),
            languages=frozenset({Language.TRITON}), explain=explain,
        )  # fmt: skip
        report = state.grade(assignment, read_submission(tmp_path, assignment), options)
        evidence = [check.evidence for kernel in report.kernels for check in kernel.checks]
        cases = [c for e in evidence if isinstance(e, CorrectnessEvidence) for c in e.cases]
        found.append([(case.name, case.verdict) for case in cases])
        assert any(case.pattern for case in cases) is explain
    assert found[0] == found[1]
    assert {verdict for _, verdict in found[0]} == {Verdict.ACCEPTED, Verdict.WRONG_ANSWER}


@pytest.mark.slow
def test_the_worker_for_a_gpu_takes_every_configuration(tmp_path: Path) -> None:
    assert [json.loads(line) for line in launches("tests", tmp_path)] == [[32, 64, 256, 32]]


@pytest.mark.slow
def test_a_worker_that_compiles_ahead_begins_at_the_turn_of_its_first_case(tmp_path: Path) -> None:
    found = [json.loads(line) for line in launches("tests", tmp_path, turn=7)]
    assert found == [[64, 256, 32, 64]]


@pytest.mark.slow
def test_the_first_call_with_a_key_has_a_trial_of_its_configuration(tmp_path: Path) -> None:
    found = [json.loads(line) for line in launches("trials", tmp_path, turn=1)]
    assert found == [[64, 64, 256, 32, 64]]
    # Triton also tries the only one that is left after pruning.
    found = [json.loads(line) for line in launches("pruned", tmp_path)]
    assert found == [[64, 64, 64, 64, 64]]


@pytest.mark.slow
@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="here a tuner could measure")
def test_in_timing_tuners_are_left_alone(tmp_path: Path) -> None:
    # Triton's own tuner looks for a GPU.
    first, *_ = launches("tuning", tmp_path)
    assert "drivers" in first


HALF_WRONG = """
import triton
import triton.language as tl

@triton.autotune([triton.Config({"BLOCK": 256, "GUARD": g}) for g in (1, 0)], key=["n"])
@triton.jit
def k(x, y, n, BLOCK: tl.constexpr, GUARD: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n if GUARD else i < n + 1
    v = tl.load(x + i, mask=mask, other=0.0)
    tl.store(y + i, v / (1.0 + tl.exp(-v)), mask=mask)

def silu(input, output, n):
    k[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](input, output, n)
"""


@pytest.mark.gpu
def test_a_configuration_that_a_tuner_might_not_choose_is_found(
    first_gpu: Gpu, tmp_path: Path
) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    (tmp_path / "silu.py").write_text(HALF_WRONG)
    options = Options(gpu=first_gpu, languages=frozenset({Language.TRITON}))
    report = grade(assignment, read_submission(tmp_path, assignment), options, Progress())
    by_name = {check.check: check for check in reversed(report.kernels[0].checks)}
    assert by_name[CheckName.CORRECTNESS].verdict is Verdict.MEMORY_ERROR
    assert by_name[CheckName.MEMORY].verdict is Verdict.MEMORY_ERROR
    assert isinstance(by_name[CheckName.MEMORY].evidence, MemoryEvidence)
