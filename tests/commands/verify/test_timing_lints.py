"""Lints that use calibrations: tiers are reachable and above slow samples, benchmarks are long."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from paths import REPOSITORY, timed_assignments

from grader.assignment.calibration import calibrations
from grader.assignment.model import Assignment, Kernel, Tiers
from grader.assignment.reader import read_assignment
from grader.commands.verify.lints import benchmarks, tiers, unproven
from grader.commands.verify.row import State
from grader.timing.decision import Tier
from grader.timing.proposal import margin
from grader.vocabulary import CheckName, Language

TIERS = (Tier(speedup=0.5, share=0.6), Tier(speedup=1.0, share=1.0))


def silu(folder: Path, **speedups: float) -> Assignment:
    """Return SiLU in CUDA C++ with tiers and these speedups in a calibration on an H200."""
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    [kernel] = assignment.kernels
    timed: Kernel = replace(
        kernel,
        files={Language.CUDA: "silu.cu"},
        points={**kernel.points, CheckName.PERFORMANCE: 10.0},
        tiers=Tiers(default={Language.CUDA: TIERS}, on={"sm_75": {Language.CUDA: ()}}),
    )
    if speedups:
        calibrate(folder, "9.0", gpu=None, **speedups)
    return replace(assignment, folder=folder, kernels=(timed,))


def calibrate(
    folder: Path,
    capability: str,
    *,
    us: float = 130.0,
    roof: float | None = None,
    gpu: str | None = None,
    **speedups: float,
) -> None:
    gpu = gpu or f"GPU {capability}"
    timing = {
        "name": "n", "baseline_us": us, "submission_us": us, "speedup": 1.0, "gb_s": 4000.0,
        "tflop_s": None, "low": 0.9, "high": 1.1,
    }  # fmt: skip
    document = {
        "format": 1,
        "assignment": "silu",
        "environment": {"gpu": gpu, "compute_capability": capability},
        "figures": [
            {
                "kernel": "silu",
                "language": "cuda",
                "hand_in": name.replace("__", "/"),
                "speedup": speedup,
                **({} if roof is None else {"roof": roof}),
                "evidence": {"benchmarks": [timing]},
            }
            for name, speedup in speedups.items()
        ],
    }
    (folder / "calibration").mkdir(exist_ok=True)
    (folder / "calibration" / f"{gpu}.json").write_text(json.dumps(document))


def test_reachable_tiers_above_slow_samples_agree(tmp_path: Path) -> None:
    assignment = silu(tmp_path, reference=1.2, too_slow__naive=0.3)
    assert list(tiers(assignment, tmp_path)) == []
    assert list(benchmarks(assignment, tmp_path)) == []


def test_a_tier_that_nobody_reaches_differs(tmp_path: Path) -> None:
    found = list(tiers(silu(tmp_path, reference=0.9, too_slow__naive=0.3), tmp_path))
    differing = [text for state, text in found if state is State.DIFFERS]
    assert differing == [
        "silu in CUDA C++: nobody reaches the tier at 1 on GPU 9.0: the best is 0.90"
    ]


def test_a_sample_at_the_roofline_is_no_slow_sample(tmp_path: Path) -> None:
    speedups = {"reference": 1.2, "accepted__at-the-roof": 1.6, "too_slow__naive": 0.3}
    assert list(tiers(silu(tmp_path, **speedups), tmp_path)) == []


def test_a_reference_that_was_not_timed_is_a_warning(tmp_path: Path) -> None:
    speedups = {"accepted__at-the-roof": 1.6, "too_slow__naive": 0.3}
    [(state, text)] = tiers(silu(tmp_path, **speedups), tmp_path)
    assert state is State.WARNING
    assert "no calibration times the reference: run `grade calibrate`" in text


def test_a_tier_counts_only_on_its_architecture(tmp_path: Path) -> None:
    assignment = silu(tmp_path, reference=1.2, too_slow__naive=0.3)
    calibrate(tmp_path, "7.5", reference=0.2)  # the tiers are not scored on this GPU
    assert list(tiers(assignment, tmp_path)) == []


@pytest.mark.parametrize(("slow", "phrase"), [(0.6, "reaches the tier"), (0.48, "is near")])
def test_a_slow_sample_near_a_tier_is_a_warning(tmp_path: Path, slow: float, phrase: str) -> None:
    found = list(tiers(silu(tmp_path, reference=1.2, too_slow__naive=slow), tmp_path))
    assert [state for state, _ in found] == [State.WARNING]
    assert phrase in found[0][1]


def test_tiers_without_a_calibration_are_a_warning(tmp_path: Path) -> None:
    [(state, text)] = tiers(silu(tmp_path), tmp_path)
    assert state is State.WARNING
    assert "run `grade calibrate`" in text


def test_a_later_rung_without_points_for_speed_is_a_warning(tmp_path: Path) -> None:
    assignment = silu(tmp_path, reference=1.2, too_slow__naive=0.3)
    other = replace(assignment.kernels[0], name="v2", points={CheckName.CORRECTNESS: 1.0})
    assignment = replace(assignment, kernels=(*assignment.kernels, other))
    assert [text for _, text in tiers(assignment, tmp_path)] == [
        "v2 has no points for performance, but silu before it has"
    ]
    # The first rungs of a ladder may be slow.
    ladder = replace(assignment, kernels=assignment.kernels[::-1])
    assert list(tiers(ladder, tmp_path)) == []


# ---- shares of the roofline, and the GPUs that the tiers name ----


def with_tiers(assignment: Assignment, made: Tiers) -> Assignment:
    [kernel] = assignment.kernels
    return replace(assignment, kernels=(replace(kernel, tiers=made),))


def test_a_tier_that_only_the_roofline_reaches_agrees(tmp_path: Path) -> None:
    roof = Tiers(default={Language.CUDA: (Tier(speedup=2.0, roof=0.8, share=1.0),)})
    assignment = with_tiers(silu(tmp_path), roof)
    calibrate(tmp_path, "9.0", roof=0.9, reference=1.2)
    assert list(tiers(assignment, tmp_path)) == []
    calibrate(tmp_path, "8.0", roof=0.7, reference=1.2)
    assert [text for state, text in tiers(assignment, tmp_path) if state is State.DIFFERS] == [
        "silu in CUDA C++: nobody reaches the tier at 2 (roof 0.8) on GPU 8.0: "
        "the best is 1.20, roof 0.70"
    ]


def test_a_slow_sample_that_reaches_a_tier_by_the_roofline_is_a_warning(tmp_path: Path) -> None:
    """Any kernel of this calibration reaches 0.9 of the roofline."""
    roof = Tiers(default={Language.CUDA: (Tier(speedup=1.0, roof=0.8, share=1.0),)})
    assignment = with_tiers(silu(tmp_path), roof)
    calibrate(tmp_path, "9.0", roof=0.9, reference=1.2, too_slow__naive=0.3)
    assert [text for _, text in tiers(assignment, tmp_path)] == [
        "silu in CUDA C++, on GPU 9.0: too_slow/naive (0.30, roof 0.90) reaches the tier at 1 "
        "(roof 0.8)"
    ]


@pytest.mark.parametrize(
    ("keys", "measured", "missing"),
    [
        (["sm_90"], ["NVIDIA H200"], "H100"),
        (["sm_90"], ["NVIDIA H200", "NVIDIA H100 80GB HBM3"], None),
        (["H100", "sm_90"], ["NVIDIA H200"], "H100"),
        (["RTX 4090"], [], "RTX 4090"),
        (["sm_103"], ["NVIDIA H200"], "sm_103"),
    ],
)
def test_gpus_that_the_tiers_name_and_nobody_measured_are_a_warning(
    tmp_path: Path, keys: list[str], measured: list[str], missing: str | None
) -> None:
    """The tiers of an architecture were measured on one model and failed on another."""
    on: dict[str, dict[Language, tuple[Tier, ...]]] = {key: {Language.CUDA: TIERS} for key in keys}
    on["sm_75"] = {Language.CUDA: ()}  # nothing to prove
    made = Tiers(default={Language.CUDA: TIERS}, on=on)
    for gpu in measured:
        calibrate(tmp_path, "9.0", gpu=gpu, reference=1.2)
    found = list(unproven(with_tiers(silu(tmp_path), made), tmp_path))
    warned = [text for state, text in found if state is State.WARNING]
    assert warned == [
        f"tiers are unproven on {missing}, which the spec names: run `grade calibrate silu` there"
    ] * (missing is not None)
    said = f"proven on {', '.join(sorted(measured))}; unproven on any other GPU"
    assert found[-1] == (State.AGREES, said if measured else "unproven on every GPU")


@pytest.mark.parametrize("folder", timed_assignments(), ids=lambda folder: folder.name)
def test_every_reference_has_full_points_on_every_gpu_that_was_measured(folder: Path) -> None:
    """References got 3.6 of 6 points on an H100, with tiers from an H200."""
    assignment = read_assignment(folder)
    measured = calibrations(folder)
    assert measured
    for calibration in measured:
        for kernel in assignment.kernels:
            for language in kernel.files:
                scored = calibration.tiers(kernel, language)
                for hand_in, figures in calibration.timed(kernel.name, language).items():
                    what = f"{hand_in}, {kernel.name} in {language.phrase} on {calibration.gpu}"
                    if scored and hand_in == "reference":
                        assert margin(figures, scored[-1]) >= 1.02, what
                    if scored and hand_in.startswith("too_slow/"):
                        assert margin(figures, scored[0]) < 0.9, what


def test_a_calibration_without_the_reference_proves_nothing(tmp_path: Path) -> None:
    calibrate(tmp_path, "9.0", too_slow__naive=0.3)
    assert list(unproven(silu(tmp_path), tmp_path)) == [(State.AGREES, "unproven on every GPU")]


def test_a_benchmark_that_is_too_short_gets_a_warning(tmp_path: Path) -> None:
    assignment = silu(tmp_path)
    calibrate(tmp_path, "9.0", us=42.0, reference=1.2)
    [(state, text)] = benchmarks(assignment, tmp_path)
    assert state is State.WARNING
    assert "torch takes 42 us on GPU 9.0" in text


def test_a_language_without_a_benchmark_differs(tmp_path: Path) -> None:
    assignment = silu(tmp_path)
    only = replace(assignment.benchmarks[0], languages=frozenset({Language.TRITON}))
    assert list(benchmarks(replace(assignment, benchmarks=(only,)), tmp_path)) == [
        (State.DIFFERS, "no benchmark for CUDA C++")
    ]
