"""What a GPU's driver prints about a failed assertion."""

from __future__ import annotations

import pytest
from builds import silu_build

from grader.assignment.model import Limits
from grader.checks.common.diagnosis import Phase, explain
from grader.judge.outcome import Outcome, Status
from grader.report.verdict import Verdict
from grader.sandbox import spawn
from grader.vocabulary import Device

THREAD = "block: [0,0,0], thread: [31,0,0] Assertion"


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (f"silu.cu:7: void k(int): {THREAD} `i < n` failed.", "`i < n` failed (silu.cu:7)"),
        (f"x\n/box/silu.cu:7: void k(int): {THREAD} `a` failed.\n", "`a` failed (silu.cu:7)"),
        (f"/usr/cub.cuh:7: void k(T) [with T = int]: {THREAD} `a` failed.", "`a` failed"),
        ("silu.cu:7: void k(int): Assertion `host` failed.", ""),
        ("", ""),
    ],
)
def test_an_assertion_on_a_gpu(printed: str, said: str) -> None:
    ended = spawn.Ended(
        end=spawn.End.EXITED, exit_code=0, signal=None, output=printed, wall_s=0.0, limit_s=1.0
    )
    outcome = Outcome(status=Status.CUDA_ERROR, code=710, ended=ended)
    told = explain(outcome, silu_build(device=Device.CUDA), Limits(), Phase.CALLING)
    named = (
        f": the assertion {said}" if said else " gave CUDA error 710: device-side assert triggered"
    )
    assert (told.verdict, told.message) == (Verdict.RUNTIME_ERROR, f"calling silu{named}")


def test_a_cooperative_launch_with_too_many_blocks() -> None:
    record = {"record": "refused_launch", "kernel": "k", "what": "cooperative_blocks"}
    outcome = Outcome(
        status=Status.CUDA_ERROR,
        code=720,
        records=({**record, "value": 391, "limit": 128, "error": 720},),
    )
    told = explain(outcome, silu_build(device=Device.CPU), Limits(), Phase.CALLING)
    assert told.message == (
        "calling silu gave CUDA error 720: too many blocks in cooperative launch: `k` is launched "
        "with 391 blocks, and a cooperative launch has only as many as can run at once, here 128"
    )
    assert "let each block loop" in told.hint
