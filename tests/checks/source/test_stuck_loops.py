"""Loops that the source proves to be endless, and those that it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.model import Limits
from grader.build.artifact import Built
from grader.checks.common.diagnosis import Phase, explain
from grader.checks.source.stuck_loops import misses_end, runs_away, stuck_loop
from grader.judge.outcome import Outcome, Status
from grader.report.evidence import BuildEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import Device, Language

CPP = "void f(int n, const int* a) {\n    int i = 0;\n    LOOP\n}\n"


def found(loop: str, line: int | None = 3) -> str | None:
    stuck = stuck_loop(CPP.replace("LOOP", loop), Language.CUDA, line)
    return stuck.why if stuck else None


@pytest.mark.parametrize(
    ("loop", "why"),
    [
        ("while (i < n) g(a[i]);", "no round of the loop `i < n` changes `i` or `n`"),
        ("for (int p = 0; p < n; p + 8) g(a[p]);", "no round of the loop `p < n` changes `p` or"),
        ("for (; i < n; i += blockIdx.x) g(a[i]);", "adds `blockIdx.x` to `i`, which is 0 in the"),
        ("for (int s = 16; s >= 0; s /= 2) g(a[s]);", "goes on at `s` = 0, which `/=` leaves at 0"),
        ("for (int s = 0; s < n; s *= 2) g(a[s]);", "begins at `s` = 0, which `*=` leaves at 0"),
        ("while (i < n) { if (a[i] > 0) { ++i; } }", "changes `i` only inside `if (a[i] > 0)`"),
        ("while (a[0] != n) {}", "the loop `a[0] != n` waits until another thread has changed"),
        ("for (int s = 0; s != n; s += 32) g(a[s]);", "goes past `n` if the steps of `32` do not"),
        ("for (int s = 16; s >= 0; s /= 2) v += __shfl_xor_sync(~0u, v, s);", "goes on at `s` = 0"),
        ("int d = n / 64;\n    for (; i < n; i += d) g(a[i]);", "`n / 64` is 0 for a small `n`"),
        (
            "while (n >= 1) { int m = (n + B - 1) / B; g<<<m, B>>>(a, n); n = m; }",
            "the loop `n >= 1` goes on at `n` = 1, which `(n + B - 1) / B` leaves at 1",
        ),
        ("while (i < n) { g(a[i]);  /* ++i; */ }", "no round of the loop `i < n`"),
        (
            "int d = (int)blockIdx.x * 64 + threadIdx.x;\n    for (; i < n; i += d) g(a[i]);",
            "adds `d` to `i`, the thread's own number, which is 0 in the first thread",
        ),
    ],
)
def test_a_loop_that_cannot_end(loop: str, why: str) -> None:
    assert why in (found(loop) or "")
    assert found(loop, line=1) == found(loop, line=None)  # the only one of the file


@pytest.mark.parametrize(
    "loop",
    [
        "while (i < n) ++i;",
        "while (i < n) { g(&i); }",
        "while (i < n) { g(i); }",  # perhaps by reference
        "while (a[i] < n) g(n);",  # another thread may write it
        "while (next(i) < n) g(n);",
        "while (i < n) { if (a[i]) break; }",
        "while (i < n) { if (a[i]) ++i; else i += 2; }",
        "for (int s = 16; s > 0; s /= 2) g(a[s]);",
        "for (int s = 1; s < n; s *= 2) g(a[s]);",
        "for (; i < n; i += blockIdx.x + 1) g(a[i]);",
        "for (const int x : list) g(x);",
        "int d = blockIdx.x * 4 + threadIdx.x + 1;\n    for (; i < n; i += d) g(a[i]);",
        "for (int s = 0; s != n; s += 1) g(a[s]);",
        "while (i != n) g(a[i++]);",
        "int d = n / 64 + 1;\n    for (; i < n; i += d) g(a[i]);",
        "float d = n / 64.0f;\n    for (; i < n; i += d) g(a[i]);",
        "while (n > 1) { int m = (n + B - 1) / B; g<<<m, B>>>(a, n); n = m; }",
        "while (n >= 1) { int m = n / B; g<<<m, B>>>(a, n); n = m; }",
    ],
)
def test_a_loop_that_may_end(loop: str) -> None:
    assert found(loop) is None


def test_of_two_loops_the_one_around_the_line_counts() -> None:
    text = CPP.replace("LOOP", "while (i < n) g(1);\n    while (n > i) g(2);")
    stuck = stuck_loop(text, Language.CUDA, 4)
    assert stuck is not None
    assert stuck.line == 4
    assert stuck_loop(text, Language.CUDA, 1) is None


def test_a_while_of_python() -> None:
    text = "def f(n):\n    size = 1\n    while size < n:\n        size << 1\n"
    stuck = stuck_loop(text, Language.TRITON, 4)
    assert stuck is not None
    assert (stuck.line, stuck.why) == (3, "no round of the loop `size < n` changes `size` or `n`")
    assert stuck_loop(text.replace("<< 1", "*= 2"), Language.TRITON, 4) is None
    assert stuck_loop("while (", Language.TRITON, 1) is None


def test_no_solution_of_ours_has_one() -> None:
    files = [
        path for path in sorted(REPOSITORY.glob("reference/*/*")) if path.suffix in (".cu", ".py")
    ]
    assert len(files) > 20
    for path in files:
        language = Language.CUDA if path.suffix == ".cu" else Language.TRITON
        assert stuck_loop(path.read_text("utf-8"), language, None) is None, path


@pytest.mark.parametrize(
    ("rounds", "stuck"),
    [
        ("kernel[(n,)](x, i, n)", True),  # a number of Python is not changed by a call
        ("kernel[(n,)](x, i, n)\n        i += 1", False),
        ("kernel[(n,)](x)\n        i, j = j, i", False),
        ("n.advance()", False),
        ("if x: break", False),
    ],
)
def test_a_loop_of_host_code_in_python(rounds: str, stuck: bool) -> None:
    text = f"def f(x, n):\n    i = j = 0\n    while i < n:\n        {rounds}\n"
    assert (stuck_loop(text, Language.TRITON, 4) is not None) == stuck


@pytest.mark.parametrize(
    ("loop", "why"),
    [
        ("for (int k = 0; k < n; k -= 8) g(k);", "counts `k` down, away from its end: `k -= 8`"),
        ("for (int k = n; k > 0; ++k) g(a[k]);", "counts `k` up, away from its end: `++k`"),
        ("for (int k = n; k > 0; --k) g(a[k]);", None),
        ("for (int k = 0; k < n; k += 8) g(a[k]);", None),
        ("while (i < n) { if (a[i]) --i; else i += 2; }", None),
    ],
)
def test_a_loop_that_goes_away_from_its_end(loop: str, why: str | None) -> None:
    away = runs_away(CPP.replace("LOOP", loop))
    assert (away is not None and away.line == 3 and why in away.why) if why else away is None


def test_a_loop_that_steps_over_its_end() -> None:
    text = CPP.replace("LOOP", "for (; i != n; i += 32)\n        g(a[i]);\n    g(i);")
    stepped = misses_end(text, 4)
    assert stepped is not None
    assert "write `i < n`" in stepped.why
    assert misses_end(text, 5) is None


def test_a_host_loop_reads_the_same_whoever_ends_it() -> None:
    """On a slow machine the executor's time is over before the call's."""
    text = "def f(x, rows):\n    done = 0\n    while done < rows:\n        k[(rows,)](x)\n"
    built = Built(
        language=Language.TRITON, device=Device.CPU, path=Path("f.py"), file="f.py", entry="f",
        evidence=BuildEvidence(tool="Python", cached=False), text=text,
    )  # fmt: skip
    gave_up = {
        "record": "not_measured",
        "reason": "repeated",
        "message": "`k` was launched 65 times",
    }
    outcome = Outcome(status=Status.EXCEPTION, records=(gave_up,), executed=(gave_up,))
    said = explain(outcome, built, Limits(), Phase.CALLING)
    assert said.verdict is Verdict.TIME_LIMIT
    assert "(f.py:3): no round of the loop `done < rows` changes" in said.message
