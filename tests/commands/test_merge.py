"""`grade merge`: fills in only pending points from another machine's report."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
import sample_reports as samples
from classrooms import grade

from grader.commands.merge import run_merge
from grader.errors import UsageError
from grader.grading.merge import merge
from grader.report.model import CheckResult, Report, to_json
from grader.report.verdict import Verdict, aggregate
from grader.vocabulary import CheckName, Language, Visibility

SCHEMA = json.loads(resources.files("grader").joinpath("schemas/report.schema.json").read_text())
SAME: dict[str, str | int | float | None] = {
    "hand_in_hash": "a1",
    "spec_hash": "b2",
    "public_seed": 0,
    "secret_seed": 7,
}
TIMED = CheckResult(
    check=CheckName.PERFORMANCE,
    name="performance",
    verdict=Verdict.ACCEPTED,
    score=20.0,
    max_score=20.0,
    message="1.2 times as fast as torch",
)


def report(*checks: CheckResult, **environment: str | int | None) -> Report:
    kernel = samples.kernel(*checks, verdict=aggregate(c.verdict for c in checks))
    made: Report = samples.report(kernel)
    return replace(made, environment={**made.environment, **SAME, **environment})


def on_cpu(*checks: CheckResult, **environment: str | int | None) -> Report:
    judged = checks or (samples.build(), samples.visible(), samples.unmeasured())
    return report(*judged, device="cpu", **environment)


def on_gpu(*checks: CheckResult, **environment: str | int | None) -> Report:
    judged = checks or (samples.build(), samples.visible(), TIMED)
    return report(*judged, **{"device": "cuda", "gpu": "NVIDIA H200", **environment})


def test_pending_points_are_filled_in() -> None:
    first = on_cpu()
    assert (first.score, first.pending) == (40, 20)
    merged = merge(first, on_gpu(), "two")
    jsonschema.validate(to_json(merged.report), SCHEMA)
    assert (merged.report.score, merged.report.pending) == (60, 0)
    assert merged.report.verdict == "accepted"
    assert merged.report.environment["device"] == "cpu"
    assert "NVIDIA H200" in str(merged.report.environment["filled_in_by"])
    assert merged.filled == 1
    assert not merged.differences
    assert first == on_cpu(), "the first report itself was changed"


def test_a_slow_kernel_gets_its_verdict_too() -> None:
    slow = replace(TIMED, verdict=Verdict.TOO_SLOW, score=5.0)
    merged = merge(on_cpu(), on_gpu(samples.build(), samples.visible(), slow), "two")
    assert (merged.report.score, merged.report.verdict) == (45, "too_slow")


def test_checks_that_neither_report_measured_stay_pending() -> None:
    merged = merge(on_cpu(), on_cpu(), "two")
    assert (merged.report, merged.filled) == (on_cpu(), 0)


def test_checks_that_the_first_report_judged_keep_their_points() -> None:
    wrong = samples.visible(verdict=Verdict.WRONG_ANSWER, score=0.0, message="wrong")
    skipped = replace(TIMED, verdict=Verdict.SKIPPED, score=0.0)
    first = on_cpu(samples.build(), wrong, skipped)
    merged = merge(first, on_gpu(), "two")
    assert (merged.report.score, merged.report.pending) == (0, 0)
    assert merged.report.verdict == "wrong_answer"
    [difference] = merged.differences
    assert difference.endswith("correctness: wrong answer in the first, accepted in the second")


def test_a_kernel_that_the_cpu_cannot_run_is_judged_by_the_gpu() -> None:
    unknown = samples.visible(verdict=Verdict.NOT_MEASURED, score=0.0, pending=40.0)
    skipped = replace(TIMED, verdict=Verdict.SKIPPED, score=0.0)
    merged = merge(on_cpu(samples.build(), unknown, skipped), on_gpu(), "two")
    assert (merged.report.score, merged.report.pending) == (60, 0)


def test_one_pending_entry_may_stand_for_several() -> None:
    """A kernel that does not build for the CPU has one entry for visible and hidden cases."""
    hidden = samples.visible(name="correctness, hidden", visibility=Visibility.HIDDEN, score=20.0)
    on_both = samples.visible(score=20.0, max_score=20.0), replace(hidden, max_score=20.0)
    unknown = samples.visible(verdict=Verdict.NOT_MEASURED, score=0.0, pending=40.0)
    unbuilt = replace(samples.build(), verdict=Verdict.NOT_MEASURED)
    gpu = on_gpu(samples.build(), *on_both, TIMED)
    for first in (
        on_cpu(unbuilt, unknown, samples.unmeasured()),
        on_cpu(samples.build(), unknown, samples.unmeasured()),
        on_cpu(unknown, samples.unmeasured()),
    ):
        merged = merge(first, gpu, "two").report
        assert (merged.score, merged.pending, merged.verdict) == (60, 0, "accepted")
        assert [c.name for c in merged.kernels[0].checks] == [
            "build", "correctness", "correctness, hidden", "performance",
        ]  # fmt: skip
    late = replace(samples.unmeasured(), name="memory", check=CheckName.MEMORY, pending=0.0)
    judged = on_cpu(samples.build(), unknown, replace(late, verdict=Verdict.MEMORY_ERROR))
    assert merge(judged, gpu, "two").report.score == 40


def test_a_rule_that_only_the_second_report_finds_broken_costs_all_points() -> None:
    broken = samples.of(Verdict.FORBIDDEN).kernels[0].checks
    unknown = samples.visible(verdict=Verdict.NOT_MEASURED, score=0.0, pending=40.0)
    unbuilt = replace(samples.build(), verdict=Verdict.NOT_MEASURED)
    merged = merge(on_cpu(unbuilt, unknown), on_gpu(*broken), "two").report
    assert (merged.score, merged.pending, merged.verdict) == (0, 0, "forbidden")
    assert merge(on_cpu(*broken), on_gpu(), "two").report.verdict == "forbidden"


def test_obeying_the_rules_does_not_accept_what_no_machine_measured() -> None:
    obeyed = replace(samples.build(), check=CheckName.RULES, name="rules")
    unknown = samples.visible(verdict=Verdict.NOT_MEASURED, score=0.0, pending=40.0)
    both = on_cpu(samples.build(), obeyed, unknown), on_gpu(samples.build(), obeyed, unknown)
    assert merge(*both, "two").report.verdict is Verdict.NOT_MEASURED


def test_the_better_language_is_chosen_again() -> None:
    def both(*thirds: CheckResult) -> Report:
        kernels = [
            replace(
                samples.kernel(
                    samples.build(), samples.visible(score=score), third, verdict=third.verdict
                ),
                language=language,
                counted=language is Language.CUDA,
            )
            for language, score, third in zip(
                (Language.CUDA, Language.TRITON), (40.0, 39.0), thirds, strict=True
            )
        ]
        return replace(samples.report(*kernels), environment=dict(SAME))

    waiting = both(samples.unmeasured(), samples.unmeasured())
    slow = replace(TIMED, verdict=Verdict.TOO_SLOW, score=0.0)
    merged = merge(waiting, both(slow, TIMED), "two").report
    assert [kernel.counted for kernel in merged.kernels] == [False, True]
    assert merged.score == 59


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hand_in_hash": "other"}, "different submissions"),
        ({"spec_hash": "other"}, "different specs"),
        ({"secret_seed": 8}, "different seeds"),
        ({"public_seed": 8}, "different seeds"),
        ({"spec_hash": None}, "has no `spec_hash`"),
    ],
)
def test_reports_that_do_not_match_are_refused(
    changes: dict[str, str | int | None], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        merge(on_cpu(), on_gpu(**changes), "two")


def test_a_report_in_which_the_grader_failed_is_refused() -> None:
    failed = replace(on_gpu(), score=None, verdict=Verdict.GRADER_ERROR)
    with pytest.raises(UsageError, match="the grader failed"):
        merge(on_cpu(), failed, "two")


def test_a_check_in_which_the_grader_failed_is_refused() -> None:
    failed = on_gpu(replace(TIMED, score=None, verdict=Verdict.GRADER_ERROR))
    with pytest.raises(UsageError, match="the grader failed"):
        merge(on_cpu(), failed, "two")


def test_the_command_merges_files_and_folders(tmp_path: Path) -> None:
    for folder, made in (("cpu", on_cpu()), ("gpu", on_gpu())):
        (tmp_path / folder / "silu").mkdir(parents=True)
        for name in ("ada", "bob"):
            values = to_json(replace(made, environment={**made.environment, "hand_in_hash": name}))
            (tmp_path / folder / "silu" / f"{name}.json").write_text(json.dumps(values))
    (tmp_path / "gpu/silu/bob.json").unlink()
    ada = "silu/ada.json"

    done = grade("merge", tmp_path / "cpu" / ada, tmp_path / "gpu" / ada)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["score"] == 60

    done = grade("merge", tmp_path / "cpu", tmp_path / "gpu", "--output", tmp_path / "both")
    assert done.returncode == 0, done.stderr
    scores = {p.stem: json.loads(p.read_text())["score"] for p in tmp_path.glob("both/silu/*")}
    assert scores == {"ada": 60, "bob": 40}
    assert f"silu/bob.json: not in {tmp_path}" in done.stderr

    done = grade("merge", tmp_path / "cpu" / ada, tmp_path / "cpu/silu/bob.json")
    assert done.returncode == 2
    assert "they are of different submissions: ada and bob" in done.stderr


def test_every_report_that_is_left_out_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cpu, gpu, both = (tmp_path / name for name in ("cpu", "gpu", "both"))
    for folder, made in ((cpu, on_cpu()), (gpu, on_gpu())):
        (folder / "silu").mkdir(parents=True)
        for name in ("ada", "bob", "cyd"):
            (folder / "silu" / f"{name}.json").write_text(json.dumps(to_json(made)))
    for cut in (gpu / "silu/bob.json", cpu / "silu/cyd.json"):
        cut.write_text(cut.read_text()[:500])
    (gpu / "silu/dee.json").write_text(json.dumps(to_json(on_gpu())))

    assert run_merge(cpu, gpu, both) == 1
    output = capsys.readouterr().err
    scores = {p.stem: json.loads(p.read_text())["score"] for p in both.glob("silu/*")}
    assert scores == {"ada": 60, "bob": 40}
    assert f"{gpu}/silu/bob.json:" in output
    assert f"{cpu}/silu/bob.json is copied unchanged" in output
    assert f"{cpu}/silu/cyd.json:" in output
    assert f"silu/dee.json: only in {gpu}" in output
    assert f"2 reports in {both}, 1 of them refused; 2 left out" in output


def test_the_output_of_a_batch_is_merged_without_its_other_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, made in (("cpu", on_cpu()), ("gpu", on_gpu())):
        (tmp_path / folder / "reports/silu").mkdir(parents=True)
        (tmp_path / folder / "reports/silu/ada.json").write_text(json.dumps(to_json(made)))
        (tmp_path / folder / "batch.json").write_text("{}")
    both = tmp_path / "both"
    assert run_merge(tmp_path / "cpu", tmp_path / "gpu", both) == 0, capsys.readouterr().err
    assert json.loads((both / "reports/silu/ada.json").read_text())["score"] == 60
