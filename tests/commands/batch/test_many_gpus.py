"""Several pretended GPUs: all are used, only one process times on each, and one may be lost."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path

import pytest
from fake_nvml import FakeGpu, FakeNvml
from pretended_gpus import Use, pool, prepare, used, uuids

from grader.commands.batch.gpu_slots import GpuHealth
from grader.commands.batch.job import Answer, Job, Outcome, failure
from grader.commands.batch.run import run_jobs
from grader.gpu import nvml
from grader.grading.progress import Progress
from grader.vocabulary import Device

GRADED = Answer(outcome=Outcome.GRADED)
FAILED = failure("the baseline failed")


class Kept:
    """Stands in for the output folder."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, Answer]] = []

    def keep(self, assignment: str, name: str, answer: Answer) -> None:
        self.answers.append((name, answer))


def jobs(folder: Path, count: int, prefix: str = "s") -> list[Job]:
    return [
        Job(
            name=name,
            source=folder / name,
            assignment=Path("silu"),
            device=Device.CUDA,
            secret_seed=7,
        )
        for name in (f"{prefix}{number:02}" for number in range(count))
    ]


def grade(folder: Path, tasks: list[Job], count: int) -> tuple[Kept, tuple[str, ...]]:
    kept = Kept()
    with pool(folder, count) as several, Progress().step("test", total=len(tasks)) as step:
        run_jobs(several, kept, tasks, step)  # type: ignore[arg-type]  # only `keep` is called
        return kept, several.given_up


def timed_alone(uses: list[Use]) -> bool:
    """True if no GPU was used for anything else while something was timed on it."""
    for uuid in {use.uuid for use in uses}:
        timings = sorted(
            (use.begin_s, use.end_s) for use in uses if (use.uuid, use.what) == (uuid, "timing")
        )
        checks = [(u.begin_s, u.end_s) for u in uses if (u.uuid, u.what) == (uuid, "check")]
        if any(first[1] > second[0] for first, second in pairwise(timings)):
            return False
        if any(b < end and begin < e for begin, end in timings for b, e in checks):
            return False
    return True


def most_at_once(uses: list[Use]) -> int:
    """Return the greatest number of GPUs in use at the same moment."""
    return max(
        len({other.uuid for other in uses if other.begin_s <= use.begin_s < other.end_s})
        for use in uses
    )


@pytest.mark.slow
def test_every_gpu_is_used_and_timing_is_exclusive(tmp_path: Path) -> None:
    prepare(tmp_path / "class", 4)
    kept, given_up = grade(tmp_path / "class", jobs(tmp_path / "class", 16), 4)
    uses = used(tmp_path / "class")
    assert sorted(name for name, _ in kept.answers) == [f"s{n:02}" for n in range(16)]
    assert {use.uuid for use in uses} == set(uuids(4))
    assert most_at_once(uses) == 4
    assert timed_alone(uses)
    assert not given_up


@pytest.mark.slow
def test_two_batches_never_time_on_one_gpu_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    prepare(folder, 2)
    with pool(folder, 2) as one, pool(folder, 2) as other:
        several = [
            threading.Thread(target=lambda p=p, t=t: list(p.results(t)))
            for p, t in ((one, jobs(folder, 8)), (other, jobs(folder, 8, "t")))
        ]
        for thread in several:
            thread.start()
        for thread in several:
            thread.join()
    uses = used(folder)
    assert len({use.name for use in uses if use.what == "timing"}) == 16
    assert timed_alone(uses)
    meeting = {use.uuid for use in uses if use.name[0] == "s"} & {
        use.uuid for use in uses if use.name[0] == "t"
    }
    assert meeting == set(uuids(2))


@pytest.mark.slow
def test_the_submissions_of_a_lost_gpu_go_to_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    prepare(folder, 4)
    lost = uuids(4)[1]
    tasks = jobs(folder, 16)
    kept = Kept()
    with pool(folder, 4) as several, Progress().step("test", total=len(tasks)) as step:
        keep = kept.keep

        def lose(assignment: str, name: str, answer: Answer) -> None:
            keep(assignment, name, answer)
            if len(kept.answers) == 4:
                (folder / "lost").write_text(lost)

        kept.keep = lose  # type: ignore[method-assign]
        run_jobs(several, kept, tasks, step)  # type: ignore[arg-type]
        assert several.given_up == (f"the GPU {lost} was lost: the driver no longer lists it",)
    assert sorted(name for name, _ in kept.answers) == [job.name for job in tasks]
    assert {answer.outcome for _, answer in kept.answers} == {Outcome.GRADED}
    uses = used(folder)
    assert len([use for use in uses if use.what == "failure"]) == 1
    assert len([use for use in uses if use.what == "timing"]) == 16


def test_the_last_gpu_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    prepare(folder, 2)
    (folder / "lost").write_text(" ".join(uuids(2)))
    kept, given_up = grade(folder, jobs(folder, 2), 2)
    assert len(given_up) == 1
    assert [answer.outcome for _, answer in kept.answers] == [Outcome.FAILED] * 2


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([FAILED, FAILED, GRADED, FAILED, FAILED], ""),
        ([FAILED, FAILED, FAILED], "failed 3 times in a row: the baseline failed"),
    ],
)
def test_a_gpu_that_always_fails_is_given_up(answers: list[Answer], words: str) -> None:
    health = GpuHealth(lambda: nvml.state(FakeNvml(*(FakeGpu(uuid=uuid) for uuid in uuids(2)))))
    slot = {"CUDA_VISIBLE_DEVICES": uuids(2)[0]}
    reasons = [health.unusable(slot, answer) for answer in answers]
    assert not any(reasons[:-1])
    assert words in reasons[-1]
    assert bool(words) == bool(reasons[-1])
    assert not health.unusable({"CUDA_VISIBLE_DEVICES": uuids(2)[1]}, FAILED)
