"""Calibration: tiers from figures, warnings, and stored figures. Timing needs a GPU."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import sample_reports
from click.testing import CliRunner
from fake_nvml import FakeGpu, FakeNvml
from paths import REPOSITORY

from grader.assignment.calibration import BenchmarkFigure, SourceFigure, read_calibration
from grader.assignment.model import Tiers
from grader.assignment.reader import read_assignment
from grader.cli.main import cli
from grader.commands.calibrate.measure import (
    calibration,
    kept_figures,
    timed_folders,
    write_calibration,
)
from grader.commands.calibrate.run import run_calibrate
from grader.errors import ToolError, UsageError
from grader.gpu import nvml as nvidia
from grader.grading.plan import Options
from grader.report.evidence import PerformanceEvidence
from grader.timing.decision import Criterion, Tier
from grader.timing.proposal import propose, round_down, sensitivities
from grader.vocabulary import Language

SILU = read_assignment(REPOSITORY / "assignments" / "silu")
H200 = nvidia.gpus(FakeNvml(FakeGpu()))[0]
IN_CUDA = Options(languages=frozenset({Language.CUDA}))


def figures(reference: float, *, roof: float | None = None, **slow: float) -> list[SourceFigure]:
    evidence = sample_reports.performance().evidence
    assert isinstance(evidence, PerformanceEvidence)
    benchmarks = tuple(BenchmarkFigure.of(asdict(timing)) for timing in evidence.benchmarks)
    named = {"reference": reference} | {f"too_slow/{name}": value for name, value in slow.items()}
    if roof is not None:
        named["accepted/at-the-roof"] = roof
    return [
        SourceFigure(
            kernel="silu",
            language=Language.CUDA,
            hand_in=name,
            speedup=value,
            benchmarks=benchmarks,
        )
        for name, value in named.items()
    ]


# ---- proposals ----


def times(torch: float, roof: float | None = None) -> dict[Criterion, float]:
    return {Criterion.TORCH: torch} | ({} if roof is None else {Criterion.ROOF: roof})


def test_full_points_leave_the_reference_a_margin() -> None:
    proposal = propose(times(1.02), [])
    assert [tier.speedup for tier in proposal.tiers] == [0.71, 0.93]
    assert [tier.share for tier in proposal.tiers] == [0.6, 1.0]
    assert proposal.sensitive == ()


def test_accepted_tier_keeps_clear_of_a_slow_sample() -> None:
    proposal = propose(times(1.0), [("too_slow/naive", times(0.7)), ("too_slow/worse", times(0.2))])
    accepted = proposal.tiers[0].speedup
    assert 0.7 * 1.1 < accepted < 0.92
    assert proposal.sensitive == ()


def test_both_figures_are_proposed_each_with_a_margin() -> None:
    proposal = propose(times(3.19, 0.875), [("too_slow/one-thread", times(0.46, 0.13))])
    assert proposal.tiers == (
        Tier(speedup=2.2, roof=0.61, share=0.6),
        Tier(speedup=2.9, roof=0.8, share=1.0),
    )
    assert proposal.sensitive == ()


def test_a_tier_never_asks_for_more_than_the_roofline() -> None:
    assert propose(times(1.0, 1.2), []).tiers[-1].roof == 1.0


def test_equal_shares_of_the_roofline_are_asked_for_once() -> None:
    proposal = propose(times(2.0, 0.5), [("too_slow/x", times(0.1, 0.49))])
    assert [tier.roof for tier in proposal.tiers] == [None, 0.46]


def test_a_slow_sample_is_near_a_tier_by_either_figure() -> None:
    tiers = [Tier(speedup=1.0, roof=0.5, share=1.0)]
    slow = [("too_slow/a", times(0.5, 0.48)), ("too_slow/b", times(0.5, 0.6))]
    assert sensitivities(tiers, times(0.9, 0.51), slow) == [
        "the reference (0.90, roof 0.51) is near the tier at 1 (roof 0.5)",
        "too_slow/a (0.50, roof 0.48) is near the tier at 1 (roof 0.5)",
        "too_slow/b (0.50, roof 0.60) reaches the tier at 1 (roof 0.5)",
    ]


@pytest.mark.parametrize("slow", [0.9, 0.95, 1.2])
def test_slow_sample_near_the_reference_is_sensitive(slow: float) -> None:
    assert propose(times(1.0), [("too_slow/naive", times(slow))]).sensitive


def test_figures_on_the_wrong_side_of_a_tier_are_reported() -> None:
    tiers = [Tier(speedup=0.5, share=0.5), Tier(speedup=1.0, share=1.0)]
    slow = [("too_slow/a", times(0.6)), ("too_slow/b", times(0.47)), ("c", times(0.1))]
    sentences = sensitivities(tiers, times(0.9), slow)
    assert sentences == [
        "the reference (0.90) does not reach the tier at 1",
        "too_slow/a (0.60) reaches the tier at 0.5",
        "too_slow/b (0.47) is near the tier at 0.5",
    ]


@pytest.mark.parametrize(
    ("speedup", "rounded"), [(0.9384, 0.93), (1.0, 1.0), (13.9, 13.0), (0.0456, 0.045)]
)
def test_tiers_have_two_digits_and_never_ask_for_more(speedup: float, rounded: float) -> None:
    assert round_down(speedup) == rounded


# ---- an assignment's figures ----


def test_every_timed_reference_gets_a_proposal() -> None:
    found = calibration(SILU, figures(1.0, naive=0.3), H200)
    assert found.proposal("silu", Language.CUDA) == propose(
        times(1.0), [("too_slow/naive", times(0.3))]
    )
    assert found.proposal("silu", Language.TRITON) is None


def test_a_sample_at_the_roofline_does_not_change_the_tiers() -> None:
    """Full points follow the reference; a faster sample is no slow one."""
    tiers = Tiers(default={Language.CUDA: (Tier(speedup=0.7, share=1.0),)})
    kernel = replace(SILU.kernels[0], tiers=tiers)
    timed = calibration(SILU, figures(1.0, roof=1.4, naive=0.3), H200)
    without = calibration(SILU, figures(1.0, naive=0.3), H200)
    found = (one.proposal("silu", Language.CUDA) for one in (timed, without))
    assert next(found) == next(found)
    assert timed.sensitivities(kernel, Language.CUDA) == []


def test_references_roofline_samples_and_slow_samples_are_timed() -> None:
    solved = REPOSITORY / "reference" / "transpose"
    assert list(timed_folders(solved)) == [
        "reference",
        "accepted/at-the-roof",
        "too_slow/column-at-a-time",
        "too_slow/no-tile",
        "too_slow/one-thread",
        "too_slow/row-at-a-time",
        "too_slow/tile-for-one-size",
    ]
    assert all(folder.is_dir() for folder in timed_folders(solved).values())


def test_a_tier_that_the_reference_misses_gets_a_warning() -> None:
    tiers = Tiers(default={Language.CUDA: (Tier(speedup=1.1, share=1.0),)})
    kernel = replace(SILU.kernels[0], tiers=tiers)
    sentences = calibration(SILU, figures(1.0), H200).sensitivities(kernel, Language.CUDA)
    assert sentences == ["the reference (1.00) does not reach the tier at 1.1"]


def test_figures_are_stored_beside_the_spec_under_the_gpus_name(tmp_path: Path) -> None:
    assignment = replace(SILU, folder=tmp_path)
    path = write_calibration(assignment, figures(1.0, naive=0.3, roof=1.4), H200)
    assert path == tmp_path / "calibration" / "nvidia-h200.json"
    document = json.loads(path.read_text())
    assert document["assignment"] == "silu"
    assert document["environment"]["gpu"] == "NVIDIA H200"
    assert [figure["hand_in"] for figure in document["figures"]] == [
        "reference",
        "accepted/at-the-roof",
        "too_slow/naive",
    ]
    assert all(f["evidence"]["benchmarks"] for f in document["figures"])


def test_the_share_of_the_roofline_is_stored_and_old_files_without_it_are_read(
    tmp_path: Path,
) -> None:
    timed = [replace(one, roof=0.91) for one in figures(2.7)]
    path = write_calibration(replace(SILU, folder=tmp_path), timed, H200)
    assert read_calibration(path).timed("silu", Language.CUDA) == {"reference": times(2.7, 0.91)}
    document = json.loads(path.read_text())
    for figure in document["figures"]:
        del figure["roof"]
        for timing in figure["evidence"]["benchmarks"]:
            del timing["peak_share"]
    path.write_text(json.dumps(document))
    assert read_calibration(path).timed("silu", Language.CUDA) == {"reference": times(2.7)}


def test_a_part_replaces_its_own_figures_only(tmp_path: Path) -> None:
    assignment = replace(SILU, folder=tmp_path)
    triton = [replace(one, language=Language.TRITON) for one in figures(0.9, slow=0.2)]
    write_calibration(assignment, figures(1.0, naive=0.3) + triton, H200)
    others = kept_figures(assignment, H200, IN_CUDA)
    path = write_calibration(assignment, [*others, *figures(1.5)], H200)
    found = json.loads(path.read_text())["figures"]
    assert [(one["hand_in"], one["language"], one["speedup"]) for one in found] == [
        ("reference", "cuda", 1.5),
        ("reference", "triton", 0.9),
        ("too_slow/slow", "triton", 0.2),
    ]


def test_figures_of_removed_kernels_are_not_kept(tmp_path: Path) -> None:
    assignment = replace(SILU, folder=tmp_path)
    triton = [replace(one, language=Language.TRITON) for one in figures(0.9)]
    write_calibration(assignment, figures(1.0) + triton, H200)
    files = {Language.CUDA: SILU.kernels[0].files[Language.CUDA]}
    kernel = replace(SILU.kernels[0], files=files)
    less = replace(assignment, kernels=(kernel,))
    assert kept_figures(less, H200, IN_CUDA) == []


def test_a_complete_calibration_replaces_all_figures(tmp_path: Path) -> None:
    assignment = replace(SILU, folder=tmp_path)
    write_calibration(assignment, figures(1.0), H200)
    assert kept_figures(assignment, H200, Options()) == []


def test_a_part_beside_figures_of_other_versions_is_refused(tmp_path: Path) -> None:
    assignment = replace(SILU, folder=tmp_path)
    path = write_calibration(assignment, figures(1.0), H200)
    document = json.loads(path.read_text())
    document["environment"]["torch"] = "2.6.0"
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError, match=r"was measured with torch 2\.6\.0, here \d") as caught:
        kept_figures(assignment, H200, IN_CUDA)
    assert caught.value.tip == "measure everything again: grade calibrate silu"


def test_a_part_that_names_no_kernel_is_refused() -> None:
    options = Options(kernels=frozenset({"sliu"}))
    with pytest.raises(UsageError, match="there is no kernel `sliu`; did you mean `silu`"):
        run_calibrate([SILU], REPOSITORY / "reference", H200, options, keep=False)


def test_calibrating_without_a_gpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "state", lambda: nvidia.State())
    monkeypatch.chdir(REPOSITORY)
    result = CliRunner().invoke(cli, ["calibrate", "silu"])
    assert isinstance(result.exception, ToolError)
    assert "no usable NVIDIA GPU" in str(result.exception)


def test_an_unknown_assignment_is_reported_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    result = CliRunner().invoke(cli, ["calibrate", "siluu"])
    assert "did you mean `silu`?" in str(result.exception)
