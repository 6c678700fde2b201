"""An oracle that never ends or fills the memory: stopped, with its name and line."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from bad_specs import GOOD, ORACLE

from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.errors import GraderError
from grader.judge.oracle import Oracle
from grader.judge.oracle_limits import BeyondLimitError, limited
from grader.vocabulary import Device, Language

CASE_S = 0.3


def assignment_with(
    tmp_path: Path, expected: str, *, oracle_s: float = 60, oracle_mib: int = 16384
) -> Assignment:
    """Return an assignment with other lines in `expected`, which begin in line 9."""
    folder = tmp_path / "scale"
    folder.mkdir()
    made = (
        'return {"input": torch.zeros(tuple(case.sizes[n] for n in ("rows", "cols")), dtype=dtype)}'
    )
    text = ORACLE.replace("return {}", made, 1).replace("return {}", expected, 1)
    (folder / "oracle.py").write_text(text, encoding="utf-8")
    (folder / "assignment.toml").write_text(GOOD, encoding="utf-8")
    assignment = read_assignment(folder)
    limits = replace(assignment.limits, oracle_s=oracle_s, oracle_mib=oracle_mib)
    return replace(assignment, limits=limits)


def failure(assignment: Assignment) -> str:
    case = assignment.draw_cases(Device.CPU, Language.CUDA, public_seed=0, secret_seed=0)[0]
    with pytest.raises(GraderError) as caught:
        Oracle(assignment).data(case, Language.CUDA)
    return caught.value.message


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "while True:\n        try: sum(range(1000))\n        except Exception: pass",
    ],
    ids=["endless", "catches-exceptions"],
)
def test_a_loop_that_never_ends_is_named_with_its_line(body: str, tmp_path: Path) -> None:
    assignment = assignment_with(tmp_path, body, oracle_s=CASE_S)
    message = failure(assignment)
    place, _, what = message.partition(": ")
    assert place in {f"{assignment.oracle}:{line}" for line in (9, 10, 11)}
    name = "expected(rows=1, cols=33)"
    assert what == f"{name} did not end within {CASE_S} s (`oracle_s` in [limits])"


def test_memory_without_end_is_named_with_its_line(tmp_path: Path) -> None:
    body = "kept = []\n    while True: kept.append(torch.ones(1 << 20))"
    assignment = assignment_with(tmp_path, body, oracle_mib=64)
    message = failure(assignment)
    assert message.startswith(f"{assignment.oracle}:10: expected(rows=1, cols=33) took more than ")
    assert message.endswith("64 MiB of memory (`oracle_mib` in [limits])")


def test_the_line_is_kept_if_the_call_ends_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Freeing 16 GiB took so long that a second exception hit the code around the call.
    @contextlib.contextmanager
    def slowly(*_: object) -> Iterator[SimpleNamespace]:
        try:
            yield SimpleNamespace(problem="took more than 64 MiB of memory")
        except BeyondLimitError:
            raise BeyondLimitError  # noqa: B904

    monkeypatch.setattr("grader.judge.oracle.limited", slowly)
    body = "from grader.judge.oracle_limits import BeyondLimitError\n    raise BeyondLimitError"
    assignment = assignment_with(tmp_path, body)
    assert failure(assignment).startswith(f"{assignment.oracle}:10: expected(rows=1, cols=33) took")


def test_an_array_that_no_memory_holds_is_named_with_its_line(tmp_path: Path) -> None:
    assignment = assignment_with(tmp_path, "return torch.ones(1 << 50)")
    assert failure(assignment).startswith(
        f"{assignment.oracle}:9: expected(rows=1, cols=33) raised"
    )


def test_the_exception_reaches_its_thread_and_no_later_code(tmp_path: Path) -> None:
    assignment = assignment_with(tmp_path, "return {}", oracle_s=0.2)
    ended: list[str] = []

    def late() -> None:
        with (
            contextlib.suppress(BeyondLimitError),
            limited(assignment.limits, "oracle.py", "late") as watched,
        ):
            time.sleep(0.5)  # in C: the exception comes after it
        ended.append(watched.problem)
        for _ in range(1000):
            time.sleep(0)

    thread = threading.Thread(target=late)
    thread.start()
    with limited(assignment.limits, "oracle.py", "quick") as quick:
        time.sleep(0.05)
    thread.join()
    assert not quick.problem
    assert ended == ["did not end within 0.2 s (`oracle_s` in [limits])"]


_STUCK = """
import time
from grader.assignment.model import Limits
from grader.judge import oracle_limits
oracle_limits._GRACE_S = 0.3
with oracle_limits.limited(Limits(oracle_s=0.2), "oracle.py", "expected(n=1)"):
    time.sleep(60)
"""


def test_a_call_that_stays_in_c_ends_the_process_with_the_same_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _STUCK], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 3
    assert done.stderr == (
        "error: oracle.py: expected(n=1) did not end within 0.2 s (`oracle_s` in [limits])\n"
    )
