"""Time limits of calls: what the machine causes is tried again, what the submission causes is not.

The limits are those of `grading_bench`: a second for a call, so four seconds of idle time in all.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from grading_bench import Bench, Graded, quick_gradings, scratch_folder, small_silu
from paths import HAND_INS

from grader.checks.correctness import judging
from grader.judge.outcome import Outcome
from grader.judge.session import Session

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with quick_gradings():
        yield


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Bench]:
    small_silu(tmp_path)
    with pytest.MonkeyPatch.context() as patch, scratch_folder(tmp_path / "scratch"):
        patch.chdir(tmp_path)
        yield Bench(tmp_path, capsys)


def stop_calls(monkeypatch: pytest.MonkeyPatch, number: int) -> list[int]:
    """Stop the worker before each of the first `number` calls, as a machine that stalls does."""
    stopped: list[int] = []

    class Stalled(Session):
        def call(self, arguments: bytes, *, private: bool, checked: bool = False) -> Outcome:
            if len(stopped) < number:
                stopped.append(self.pid)
                os.kill(self.pid, signal.SIGSTOP)
            return super().call(arguments, private=private, checked=checked)

    monkeypatch.setattr(judging, "Session", Stalled)
    return stopped


@pytest.mark.parametrize("name", ["right.cu", "right.py"])
def test_a_call_on_a_machine_that_stalls_is_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stopped = stop_calls(monkeypatch, 1)
    graded = bench.grade_file(HAND_INS / name)
    assert len(stopped) == 1
    assert graded.verdict == "accepted", graded.printed


@pytest.mark.parametrize("name", ["right.cu", "right.py"])
def test_a_call_is_tried_again_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stopped = stop_calls(monkeypatch, 100)
    graded = bench.grade_file(HAND_INS / name)
    assert graded.verdict == "time_limit"
    # Twice the first case, once the second; the rest is not run.
    assert len(stopped) == 3
    assert "within 1 s, most of which it waited" in graded.failed["message"]


def sleeping(bench: Bench, name: str, at: float) -> Graded:
    """Grade a right file in which every call sleeps, with a limit of `at` seconds for a call."""
    bench.limit_calls(at)
    text = (HAND_INS / name).read_text(encoding="utf-8")
    if name.endswith(".cu"):
        head, entry, body = text.partition('extern "C" void silu(')
        body = body.replace("{", "{ usleep(1400000);", 1)
        text = f"#include <unistd.h>\n{head}{entry}{body}"
    else:
        head, entry, body = text.partition("def silu(input, output, n):\n")
        text = f"import time\n{head}{entry}    time.sleep(1.4)\n{body}"
    assert entry
    source = bench.root / name
    source.write_text(text, encoding="utf-8")
    return bench.grade_file(source)


@pytest.mark.parametrize("name", ["right.cu", "right.py"])
def test_a_submission_that_sleeps_a_little(bench: Bench, name: str) -> None:
    graded = sleeping(bench, name, 1.5)
    assert graded.verdict == "accepted", "four calls of 1.4 s are within six seconds"


@pytest.mark.parametrize("name", ["right.cu", "right.py"])
def test_a_submission_that_sleeps_too_much(bench: Bench, name: str) -> None:
    spec = bench.root / "assignments" / "silu" / "assignment.toml"
    spec.write_text(spec.read_text().replace("[33, 1000, 1025]", "[1, 2, 3, 4, 5, 6, 7, 8, 9]"))
    graded = sleeping(bench, name, 1.5)
    assert graded.verdict == "time_limit"
    assert (
        "silu slept for 6 s in 7 calls; all calls of a submission together may sleep for 6 s"
        in (graded.failed["message"])
    )
    assert "sleep" in graded.failed["hint"]


def test_a_submission_that_claims_to_compile(bench: Bench) -> None:
    spec = bench.root / "assignments" / "silu" / "assignment.toml"
    spec.write_text(spec.read_text().replace("build_s = 5\n", "build_s = 2\n"))
    text = (HAND_INS / "endless_loop.py").read_text(encoding="utf-8")
    claim = 'os.write(4, b\'{"record": "compiling", "at_s": 0}\\n\')'
    source = bench.root / "endless_loop.py"
    source.write_text(text.replace("    while True", f"    import os\n    {claim}\n    while True"))
    graded = bench.grade_file(source)
    assert graded.verdict == "time_limit"
    evidence = graded.failed["evidence"]["cases"]
    assert evidence[0]["wall_s"] > 2.5, "the claim was not believed"
    assert evidence[1]["wall_s"] < 2.5, "the claim was believed twice"
