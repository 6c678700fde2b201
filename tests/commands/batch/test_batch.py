"""`grade batch`: each submission gets one report, whatever fails meanwhile."""

from __future__ import annotations

import csv
import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from classrooms import GRADE, grade, surroundings
from paths import REPOSITORY
from silu_points import KERNEL

from grader.assignment.reader import read_assignment
from grader.commands.batch.job import Answer, Job, Outcome, failure, report_key
from grader.commands.batch.run import MOST_ATTEMPTS, missing, run_jobs
from grader.commands.batch.store import Store, open_store
from grader.commands.batch.submissions import find_submissions
from grader.commands.batch.summary import summarise
from grader.errors import GraderError, UsageError
from grader.grading.progress import Progress
from grader.pool.process_pool import Pool
from grader.submission.reader import read_submission
from grader.vocabulary import Device

SCHEMA = json.loads(resources.files("grader").joinpath("schemas/report.schema.json").read_text())
SILU = read_assignment(REPOSITORY / "assignments" / "silu")
TERMS = (Device.CPU, 7)  # device and secret seed


def reports(out: Path) -> dict[str, Path]:
    return {path.stem: path for path in (out / "reports" / "silu").glob("*.json")}


def score(path: Path) -> float:
    value = json.loads(path.read_text())["score"]
    assert isinstance(value, float)
    return value


def write_times(out: Path) -> dict[str, int]:
    return {name: path.stat().st_mtime_ns for name, path in reports(out).items()}


def report_text(place: str, folder: Path, **changes: object) -> str:
    """Return a report of a submission without grading it."""
    environment = report_key(SILU, read_submission(folder / place, SILU), *TERMS)
    report = {
        "format": 1, "assignment": "silu", "title": "SiLU", "verdict": "accepted", "score": 90.0,
        "max_score": 100.0, "pending": 0.0, "handed_in": 1, "kernels_total": 2, "filtered": False,
        "wall_s": 0.1, "environment": environment, "kernels": [],
    }  # fmt: skip
    return json.dumps({**report, **changes})


class Scripted:
    """An engine with given answers by submission name, one answer per attempt."""

    given_up = ()

    def __init__(self, **answers: Sequence[Answer]) -> None:
        self._answers = {name: list(several) for name, several in answers.items()}
        self.done: list[str] = []
        self._again: list[Job] = []

    def add(self, task: Job) -> None:
        self._again.append(task)

    def results(self, tasks: Sequence[Job]) -> Iterator[tuple[Job, Answer]]:
        waiting = list(tasks)
        while waiting or self._again:
            job = waiting.pop(0) if waiting else self._again.pop(0)
            self.done.append(job.name)
            yield job, self._answers[job.name].pop(0)


def grade_with(engine: Scripted, store: Store, folder: Path) -> None:
    jobs = list(missing(store, find_submissions(folder), [SILU], *TERMS))
    with Progress().step("test", total=len(jobs)) as step:
        run_jobs(engine, store, jobs, step)


def graded(text: str) -> Answer:
    return Answer(outcome=Outcome.GRADED, text=text)


FAILED = failure("the worker process ended by signal 9")


@pytest.mark.slow
def test_a_second_run_grades_only_what_changed(classroom: Path, tmp_path: Path) -> None:
    out, book = tmp_path / "out", tmp_path / "grades.csv"
    command = ("batch", classroom, "silu", "--out", out, "--device", "cpu", "--csv", book)
    done = grade(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: score(path) for name, path in reports(out).items()} == {
        "ada": KERNEL, "bob": KERNEL, "cyd": 0, "dee": 0,
    }  # fmt: skip
    for path in reports(out).values():
        jsonschema.validate(json.loads(path.read_text()), SCHEMA)
    with book.open(newline="") as file:
        rows = {row["Submission ID"]: row for row in csv.DictReader(file)}
    assert rows["ada"]["silu"] == f"{KERNEL:g}"
    assert rows["dee"]["silu - Status"] == "Missing"
    before = write_times(out)

    shutil.copy(REPOSITORY / "reference/silu/silu.cu", classroom / "dee")
    done = grade(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    after = write_times(out)
    assert {name for name in after if after[name] != before[name]} == {"dee"}
    assert score(reports(out)["dee"]) == KERNEL
    assert "1 graded now" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_batch_resumes(classroom: Path, tmp_path: Path, ending: signal.Signals) -> None:
    out = tmp_path / "out"
    command = ("batch", str(classroom), "silu", "--out", str(out), "--device", "cpu", "--jobs", "1")
    process = subprocess.Popen(
        [*GRADE, *command], cwd=REPOSITORY, env=surroundings(), stderr=subprocess.PIPE, text=True
    )
    deadline_s = time.monotonic() + 100
    while not reports(out) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    process.send_signal(ending)
    _, output = process.communicate()
    if ending is signal.SIGINT:
        assert process.returncode == 130
        assert "finished reports are kept; run the same command to grade the rest" in output
    before = write_times(out)
    assert before, "killed before anything was graded"
    assert len(before) < 4
    for path in reports(out).values():
        jsonschema.validate(json.loads(path.read_text()), SCHEMA)

    done = grade(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    after = write_times(out)
    assert set(after) == {"ada", "bob", "cyd", "dee"}
    assert {name: after[name] for name in before} == before
    assert not list(out.rglob(".*-*")), "something half-written was left"


@pytest.mark.slow
def test_a_killed_workers_job_is_graded_by_another(classroom: Path, tmp_path: Path) -> None:
    pool: Pool[Job, Answer] = Pool(
        1,
        "grader.commands.batch.job:do",
        lambda _, problem: failure(problem),
        deaths_end=False,
    )
    with open_store(tmp_path / "out") as store, pool:
        jobs = list(missing(store, find_submissions(classroom), [SILU], *TERMS))
        killed: list[int] = []

        def keep(assignment: str, name: str, answer: Answer) -> None:
            Store.keep(store, assignment, name, answer)
            if not killed:
                killed.extend(pool.pids)
                os.kill(killed[0], signal.SIGKILL)

        store.keep = keep  # type: ignore[method-assign]  # kills a worker after the first report
        with Progress().step("test", total=4) as step:
            run_jobs(pool, store, jobs, step)
        assert pool.pids != tuple(killed)
    assert {name: score(p) for name, p in reports(tmp_path / "out").items()} == {
        "ada": KERNEL, "bob": KERNEL, "cyd": 0, "dee": 0,
    }  # fmt: skip


def test_a_submission_that_kills_its_worker_every_time_is_listed(
    classroom: Path, tmp_path: Path
) -> None:
    engine = Scripted(
        ada=[FAILED] * MOST_ATTEMPTS,
        **{name: [graded(report_text(name, classroom))] for name in ("bob", "cyd", "dee")},
    )
    with open_store(tmp_path / "out") as store:
        grade_with(engine, store, classroom)
        assert engine.done.count("ada") == 3
        assert set(reports(tmp_path / "out")) == {"bob", "cyd", "dee"}
        assert "signal 9" in store.failure("silu", "ada")
        # The next run tries only this one again.
        second = Scripted(ada=[FAILED, graded(report_text("ada", classroom))])
        grade_with(second, store, classroom)
        assert second.done == ["ada", "ada"]
        assert store.failure("silu", "ada") == ""


def test_a_failed_regrading_leaves_no_report_of_an_older_submission(
    classroom: Path, tmp_path: Path
) -> None:
    answers = {n: [graded(report_text(n, classroom))] for n in ("ada", "bob", "cyd", "dee")}
    with open_store(tmp_path / "out") as store:
        grade_with(Scripted(**answers), store, classroom)
        (classroom / "ada" / "silu.cu").write_text("// another one\n")
        grade_with(Scripted(ada=[FAILED] * 3), store, classroom)
        assert store.report("silu", "ada") is None


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "grader_error", "score": None},
        {"filtered": True},
        {"format": 2},
        {"environment": {}},
    ],
)
def test_an_outdated_report_is_made_again(
    change: dict[str, object], classroom: Path, tmp_path: Path
) -> None:
    with open_store(tmp_path / "out") as store:
        store.keep("silu", "ada", graded(report_text("ada", classroom)))
        folder = find_submissions(classroom)
        assert "ada" not in [j.name for j in missing(store, folder, [SILU], *TERMS)]
        store.keep("silu", "ada", graded(report_text("ada", classroom, **change)))
        assert "ada" in [j.name for j in missing(store, folder, [SILU], *TERMS)]


@pytest.mark.parametrize(
    "damage",
    [
        '"kernels": [1]',
        '"kernels": [{"name": "silu"}]',
        '"environment": null',
        '"environment": []',
        '"verdict": "splendid"',
        '"score": "90"',
        '"score": 1e999',
        '"score": NaN',
        f'"score": {"9" * 400}',
        f'"score": {"9" * 5000}',
        '"title": "\\ud800"',
        f'"kernels": {"[" * 100_000}',
        f'"kernels": {"[" * 900}{"]" * 900}',
    ],
    ids=lambda damage: damage[:30],
)
def test_a_damaged_report_is_made_again(damage: str, tmp_path: Path) -> None:
    (tmp_path / "class/ada").mkdir(parents=True)
    found = find_submissions(tmp_path / "class")
    with open_store(tmp_path / "out") as store:
        sound = report_text("ada", found.folder)
        store.keep("silu", "ada", graded(sound))
        assert not list(missing(store, found, [SILU], *TERMS))
        store.keep("silu", "ada", graded(f"{sound[:-1]}, {damage}}}"))
        assert [job.name for job in missing(store, found, [SILU], *TERMS)] == ["ada"]
        summary = summarise(store, found, [SILU], graded_now=0)
        assert summary.ungraded == 1


def test_a_report_without_a_key_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "class/ada").mkdir(parents=True)
    found = find_submissions(tmp_path / "class")
    with open_store(tmp_path / "out") as store:
        report = json.loads(report_text("ada", found.folder))
        del report["wall_s"]
        store.keep("silu", "ada", graded(json.dumps(report)))
        assert [job.name for job in missing(store, found, [SILU], *TERMS)] == ["ada"]


def test_a_full_disk_ends_the_run_and_keeps_what_is_there(
    classroom: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("ada", "bob", "cyd", "dee")
    answers = {name: [graded(report_text(name, classroom))] for name in names}
    with open_store(tmp_path / "out") as store:
        written = 0

        def fsync(descriptor: int) -> None:
            nonlocal written
            written += 1
            if written > 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as full:
            full.setattr(os, "fsync", fsync)
            with pytest.raises(GraderError, match="No space left on device") as caught:
                grade_with(Scripted(**answers), store, classroom)
        assert "are kept" in (caught.value.tip or "")
        assert set(reports(tmp_path / "out")) == {"ada", "bob"}
        assert not list((tmp_path / "out").rglob(".cyd-*"))
        rest = Scripted(**{n: [graded(report_text(n, classroom))] for n in names})
        grade_with(rest, store, classroom)
        assert rest.done == ["cyd", "dee"]


def test_two_batches_on_one_folder_do_not_mix(classroom: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "out"):
        done = grade("batch", classroom, "silu", "--out", tmp_path / "out", "--device", "cpu")
    assert done.returncode == 2
    assert "another `grade batch` is writing in" in done.stderr
    assert not reports(tmp_path / "out")


def test_the_lock_of_a_killed_batch_is_gone(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from grader.commands.batch.store import open_store\n"
        "with open_store(Path(sys.argv[1])):\n    print('open', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen(
        [GRADE[0], "-c", script, str(tmp_path)], env=surroundings(), stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"open\n"
        with (tmp_path / ".lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process.kill()
        process.wait()
    with open_store(tmp_path) as store:
        assert store.folder == tmp_path


def test_the_seed_of_the_class_is_kept(tmp_path: Path) -> None:
    with open_store(tmp_path / "one") as store:
        drawn = store.secret_seed(None)
        assert store.secret_seed(None) == store.secret_seed(drawn) == drawn
        with pytest.raises(UsageError, match=f"drawn from the seed {drawn}, not"):
            store.secret_seed(drawn + 1)
    with open_store(tmp_path / "two") as store:
        assert store.secret_seed(None) != drawn


@pytest.mark.parametrize(
    "seed",
    ["1e400", "NaN", "-5", "9" * 400, "9" * 5000, "7.5", "true", '"7"', "null", "[" * 100_000],
    ids=lambda seed: seed[:9],
)
def test_an_invalid_seed_is_reported(seed: str, tmp_path: Path) -> None:
    (tmp_path / "batch.json").write_text(f'{{"format": 1, "secret_seed": {seed}}}')
    with open_store(tmp_path) as store, pytest.raises(UsageError) as caught:
        store.secret_seed(None)
    assert (
        f"{tmp_path}/batch.json: `secret_seed` is missing or is no integer" in caught.value.message
    )
    assert "remove the file, and give --seed" in (caught.value.tip or "")


def test_an_unreadable_submission_is_listed_for_staff_and_has_no_score(
    classroom: Path, tmp_path: Path
) -> None:
    for name in ("ada", "bob", "cyd"):
        shutil.rmtree(classroom / name)
    (classroom / "eve.zip").write_bytes(b"not a zip")
    book = tmp_path / "grades.csv"
    done = grade(
        "batch", classroom, "silu", "--out", tmp_path / "out", "--device", "cpu",
        "--csv", book, "--csv-for", "canvas",
    )  # fmt: skip
    assert done.returncode == 1
    assert "ungraded: silu · eve: " in done.stdout
    assert book.read_text().splitlines() == [
        "Student,ID,SIS User ID,SIS Login ID,Section,SiLU",
        "Points Possible,,,,,100",
        "dee,,,,,0",
        "eve,,,,,",
    ]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["ungraded"] == 1
    assert [item["name"] for item in summary["attention"]] == ["eve"]


def test_files_under_a_wrong_name_are_listed_for_staff(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    for place in ("ada/week 3/mine/silu.cu", "bob/Silu.cu", "cyd/notes.md"):
        (folder / place).parent.mkdir(parents=True)
        shutil.copy(REPOSITORY / "reference/silu/silu.cu", folder / place)
    out = tmp_path / "out"
    done = grade("batch", folder, "silu", "--out", out, "--device", "cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "flag: silu · bob: silu: no silu.cu or silu.py in the submission; is" in done.stdout
    found = json.loads((out / "summary.json").read_text())
    reasons = {item["name"]: (item["kind"], item["reason"]) for item in found["attention"]}
    assert reasons == {
        "ada": (
            "flag",
            "silu: no silu.cu or silu.py in the submission; `week 3/mine/silu.cu` is there: "
            "hand in silu.cu without the folders",
        ),
        "bob": (
            "flag",
            "silu: no silu.cu or silu.py in the submission; is `Silu.cu` meant? "
            "It must be called silu.cu",
        ),
    }
