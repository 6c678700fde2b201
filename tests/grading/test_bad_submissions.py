"""Every bad submission gets a clear message and the right verdict, and leaves nothing behind.

The files are in `hand_ins/`, each named for what is wrong with it. Tests compare the key phrases of
messages: what happened, and where.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from grading_bench import Bench, nothing_left, quick_gradings, scratch_folder, small_silu
from paths import HAND_INS
from slow import slow_unless

import grader.checks.correctness.judging  # noqa: F401 # imports torch, before anyone counts descriptors
from grader.grading import context
from grader.vocabulary import Device

# file · verdict · part of the message · part of the hint
WROTE_INPUT = "wrote to `input`, an input, in the kernel silu_kernel"

CUDA = [
    ("syntax_error.cu", "compile_error", "silu.cu:7: expected", "semicolon"),
    ("empty.cu", "compile_error", "silu.cu is empty", "expected: void silu("),
    ("python_in_it.cu", "compile_error", "silu.cu:1: ‘import’", "misspelt"),
    ("hundred_errors.cu", "compile_error", "silu.cu:12: ‘undeclared_0’", "misspelt"),
    ("missing_header.cu", "compile_error", "silu.cu:2: my_helpers.h", "only this file is graded"),
    ("endless_templates.cu", "time_limit", "compiling took longer than 5 s", ""),
    ("entry_missing.cu", "compile_error", "defines no function `silu`", "expected: void silu("),
    ("entry_misspelt.cu", "compile_error", "did you mean `sliu`?", "expected: void silu("),
    (
        "entry_with_other_parameters.cu",
        "compile_error",
        "silu.cu:8: `silu` has a wrong parameter list; found: void silu(int, const float*)",
        "expected: void silu(const float* input, float* output, int n)",
    ),
    ("entry_with_a_wrong_type.cu", "compile_error", "silu(const double*, double*, int)", "expect"),
    ("entry_is_a_kernel.cu", "compile_error", "silu.cu:2: `silu` is a __global__ kernel", "expect"),
    ("entry_in_a_namespace.cu", "compile_error", "silu.cu:9: `silu` is inside a namesp", "expect"),
    ("entry_static_method.cu", "compile_error", "silu.cu:9: `silu` is inside a namespac", "expect"),
    ("entry_twice.cu", "compile_error", "silu.cu:8: `silu` is defined more than once", "expected"),
    ("entry_declared_only.cu", "compile_error", "declares `silu` but does not", "define it in"),
    ("undefined_function.cu", "compile_error", "uses `prepare` but does not", "define it in"),
    ("segfault_on_host.cu", "runtime_error", "null pointer was dereferenced (silu.cu:12)", "never"),
    (
        "follows_device_pointer_on_host.cu",
        "runtime_error",
        "host code accessed device memory (`input`) (silu.cu:5)",
        "cudaMemcpy",
    ),
    ("divides_by_zero.cu", "runtime_error", "integer division by zero (silu.cu:12)", ""),
    ("exits.cu", "runtime_error", "ended the program with exit code 0", "return from"),
    ("exits_at_once.cu", "runtime_error", "ended the program with exit code 0", "return from"),
    ("throws.cu", "runtime_error", "std::runtime_error: no idea how to go on", "catch"),
    ("fails_an_assertion.cu", "runtime_error", "`n < 0` failed (silu.cu:12)", ""),
    ("asserts_in_kernel.cu", "runtime_error", "in the kernel silu_kernel (silu.cu:7)", ""),
    ("kills_itself.cu", "runtime_error", "crashed: killed", "out of memory"),
    ("dies_of_a_real_time_signal.cu", "runtime_error", "crashed: signal 39", ""),
    ("keeps_its_sum.cu", "wrong_answer", "", "state kept between calls"),
    ("copies_elements_not_bytes.cu", "wrong_answer", "in part: 1 of its 4", "count bytes"),
    ("stops_itself.cu", "time_limit", "calling silu did not end within 1 s", ""),
    ("endless_loop_on_host.cu", "time_limit", "calling silu did not end within 1 s", "a loop"),
    (
        "endless_loop_in_kernel.cu",
        "time_limit",
        "calling silu did not end within 1 s",
        "each round",
    ),
    ("segfaults_in_constructor.cu", "runtime_error", "loading silu.cu crashed: segmentation", ""),
    ("exits_in_constructor.cu", "runtime_error", "loading silu.cu ended the program", "return"),
    ("throws_in_constructor.cu", "runtime_error", "std::runtime_error: not today", "catch"),
    ("endless_loop_in_constructor.cu", "time_limit", "loading silu.cu did not end within 3", ""),
    ("answers_in_constructor.cu", "tampered", "sent a forged answer", "descriptor"),
    ("answers_first.cu", "tampered", "sent a forged answer", "descriptor"),
    ("answers_twice.cu", "tampered", "wrote on the grader's channel", "descriptor"),
    ("answers_at_length.cu", "tampered", "sent a message of 100 bytes", "descriptor"),
    ("closes_the_channel.cu", "runtime_error", "silu closed its channel", "close no descriptor"),
    ("closes_the_channel_and_waits.cu", "runtime_error", "silu closed its channel", "descriptor"),
    ("steals_commands.cu", "time_limit", "left running blocked the grader", "end every thread"),
    ("dies_between_calls.cu", "runtime_error", "ended the program with exit code 0", ""),
    ("forges_a_report.cu", "runtime_error", "ended the program with exit code 0", "return from"),
    ("floods_the_report.cu", "output_limit", "wrote more than 1 MiB of reports", "descriptor"),
    ("child_writes_after_done.cu", "tampered", "was written to after the call", "end every"),
    ("starts_many_processes.cu", "forbidden", "starts another process (fork)", "remove it"),
    ("leaves_a_child.cu", "forbidden", "starts another process (fork)", "remove it"),
    ("leaves_a_daemon.cu", "forbidden", "starts another process (fork)", "remove it"),
    ("leaves_a_comet.cu", "forbidden", "starts another process (fork)", "remove it"),
    ("prints_for_ever.cu", "output_limit", "printed more than 64 KiB", "remove the printing"),
    ("uses_gigabytes.cu", "memory_limit", "used more than 256 MiB of memory", "allocation"),
    ("uses_shared_gigabytes.cu", "memory_limit", "used more than 256 MiB of memory", "allocation"),
    ("prints_escapes.cu", "runtime_error", "ended the program with exit code 3", ""),
    ("nests_folders.cu", "runtime_error", "ended the program with exit code 5", ""),
    ("writes_one_past_the_end.cu", "memory_error", "`output`: the element past the last", "if (i"),
    ("writes_one_before_the_start.cu", "memory_error", "the element before the first", "if (i"),
    ("writes_far_outside.cu", "memory_error", "the kernel silu_kernel (silu.cu:6)", "if (i < n)"),
    ("follows_null_in_kernel.cu", "memory_error", "in the kernel silu_kernel (silu.cu:7)", ""),
    ("writes_the_input.cu", "wrong_answer", "wrote to `input`, an input,", "read-only"),
    ("not_a_number.cu", "wrong_answer", "every element is not a number", "0/0"),
    ("zeros.cu", "wrong_answer", "every element is 0 (n=33)", ""),
    ("copies_the_input.cu", "wrong_answer", "the wrong elements equal the input `input`", ""),
    ("off_by_one.cu", "wrong_answer", "one element too far forward (off by one)", ""),
    (
        "first_block_only.cu",
        "wrong_answer",
        "only the last 744 elements: never written",
        "compute their number from `n`",
    ),
    ("every_second_block.cu", "wrong_answer", "every second block of 256 elements", "cover"),
    ("writes_nothing.cu", "wrong_answer", "nothing was ever written", "stores nothing here"),
    ("doubles.cu", "wrong_answer", "every element is 2 times the expected value", ""),
    ("counts_on_luck.cu", "wrong_answer", "right in a process of its own", "from one call to the"),
    (
        "launches_no_blocks.cu",
        "runtime_error",
        "is launched with grid.x = 0; the least is 1",
        "rounds down",
    ),
    (
        "hides_a_failed_launch.cu",
        "runtime_error",
        "is launched with 2,048 threads in each block; the limit is 1,024",
        "at most 1024 threads",
    ),
    (
        "launches_2048_threads.cu",
        "runtime_error",
        "is launched with 2,048 threads in each block; the limit is 1,024",
        "at most 1024 threads",
    ),
]
PYTHON = [
    ("syntax_error.py", "compile_error", "silu.py:9: syntax error: expected ':'", ""),
    ("mixed_tabs.py", "compile_error", "silu.py:16: syntax error: inconsistent use of tabs", ""),
    ("empty.py", "compile_error", "silu.py defines no function `silu`", "expected: def silu("),
    ("entry_missing.py", "compile_error", "defines no function `silu`", "expected: def silu("),
    ("entry_of_another_name.py", "compile_error", "; is `solve` meant?", "expected: def silu("),
    ("entry_misspelt.py", "compile_error", "did you mean `sliu`?", "expected: def silu("),
    (
        "entry_with_other_parameters.py",
        "compile_error",
        "silu.py:14: `silu` has a wrong parameter list; found: def silu(input, n)",
        "expected: def silu(input, output, n)",
    ),
    ("entry_is_a_kernel.py", "compile_error", "silu.py:7: `silu` is a @triton.jit ker", "expected"),
    ("entry_is_a_wrapped_kernel.py", "compile_error", "is a @triton.jit kernel", "def silu"),
    ("entry_is_no_function.py", "compile_error", "not a function: its type is int", "def silu"),
    ("entry_is_conditional.py", "compile_error", "no function `silu` when it is import", "define"),
    ("entry_is_a_class.py", "runtime_error", "TypeError: silu() takes no arguments", ""),
    ("imports_missing_module.py", "compile_error", "'my_helpers' (silu.py:2)", "only silu.py is"),
    ("raises_at_import.py", "runtime_error", "RuntimeError: not ready yet (silu.py:4)", ""),
    ("exits_at_import.py", "runtime_error", "loading silu.py ended the program with", "return"),
    ("quits_at_import.py", "runtime_error", "with exit() (silu.py:6)", "return"),
    ("segfaults_at_import.py", "runtime_error", "segmentation fault (silu.py:6)", ""),
    ("endless_loop_at_import.py", "time_limit", "loading silu.py did not end within 3 s", "loop"),
    ("answers_at_import.py", "tampered", "sent a forged answer", "descriptor"),
    ("raises.py", "runtime_error", "ValueError: odd sizes are too hard (silu.py:15)", ""),
    ("raises_in_kernel.py", "compile_error", "silu.py:11: y is not defined", ""),
    ("misuses_arange.py", "compile_error", "silu.py:8: arange", ""),
    ("recurses_for_ever.py", "runtime_error", "RecursionError: maximum", ""),
    ("exits.py", "runtime_error", "ended the program with exit code 0", "return from"),
    ("quits.py", "runtime_error", "ended the program with exit() (silu.py:16)", "return from"),
    ("segfaults.py", "runtime_error", "segmentation fault (silu.py:17)", ""),
    ("aborts.py", "runtime_error", "aborted (silu.py:17)", ""),
    ("endless_loop.py", "time_limit", "calling silu did not end within 1 s", "loop"),
    ("endless_loop_in_kernel.py", "time_limit", "calling silu did not end", "each round"),
    ("computes_too_much.py", "not_measured", ": too much for the executor: 1,073,", "a GPU"),
    ("claims_not_to_be_measured.py", "runtime_error", "raised ValueError (silu.py:22)", ""),
    ("answers_first.py", "tampered", "sent a forged answer", "descriptor"),
    ("answers_with_the_right_number.py", "tampered", "wrote on the grader's channel", "descriptor"),
    ("closes_the_channel.py", "runtime_error", "silu closed its channel", "close no descriptor"),
    ("kills_the_server.py", "runtime_error", "crashed: killed", ""),
    ("prints_for_ever.py", "output_limit", "printed more than 64 KiB", "remove the printing"),
    ("uses_gigabytes.py", "memory_limit", "used more than 256 MiB of memory", "allocation"),
    ("raises_without_a_word.py", "runtime_error", "silu raised an exception and closed", "close"),
    ("raises_something_odd.py", "runtime_error", "calling silu raised Odd (silu.py:20)", ""),
    ("stores_one_past_the_end.py", "memory_error", "1 element past the end of `output`", "mask"),
    ("stores_one_before_the_start.py", "memory_error", "1 element before the start", "negative"),
    ("stores_far_outside.py", "memory_error", "the kernel silu_kernel (silu.py:11)", "is added"),
    ("stores_into_the_input.py", "wrong_answer", f"{WROTE_INPUT} (silu.py:11)", "read-only"),
    ("adds_to_the_input.py", "wrong_answer", f"{WROTE_INPUT} (silu.py:12)", "read-only"),
    ("not_a_number.py", "wrong_answer", "every element is not a number", "0/0"),
    ("zeros.py", "wrong_answer", "every element is 0", ""),
    ("returns_the_result.py", "wrong_answer", "nothing was ever written", "returned a value"),
    ("copies_the_input.py", "wrong_answer", "the wrong elements equal the input `input`", ""),
    ("off_by_one.py", "wrong_answer", "one element too far forward (off by one)", ""),
    ("first_block_only.py", "wrong_answer", "only the last 744 elements: never written", "cover"),
    ("every_second_block.py", "wrong_answer", "every second block of 256 elements", "the mask of"),
    ("writes_nothing.py", "wrong_answer", "nothing was ever written", "is the kernel launched"),
    ("launches_no_programs.py", "wrong_answer", "nothing was ever written", "is the kernel launch"),
]
# Correct submissions, whose leftovers are cleaned up.
RIGHT = [
    "launches_many_programs.py",
    "defines_common_names.cu",
    "right.cu",
    "right.py",
    "closes_its_output.cu",
    "leaves_a_daemon.py",
    # Without a GPU it writes to memory of its own.
    "child_writes_after_done.py",
]


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with quick_gradings():
        yield


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    # Before processes and files that a submission leaves are counted.
    context.PythonServer(Device.CPU).ready()  # type: ignore[attr-defined]
    with scratch_folder(tmp_path / "scratch") as folder:
        yield folder


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Bench:
    small_silu(tmp_path)
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path, capsys)


# A thread that never stops is caught writing, or crashes because the memory was unmapped, or
# (Triton without a GPU) has spoiled what host code says that it has written: that depends on the
# scheduler.
SCRIBBLERS = ["thread_writes_after_done.cu", "thread_writes_after_done.py"]


@pytest.mark.slow  # it races against the clock
@pytest.mark.parametrize("file", SCRIBBLERS)
def test_a_thread_that_goes_on_writing_wins_nothing(bench: Bench, scratch: Path, file: str) -> None:
    with nothing_left(scratch):
        graded = bench.grade_file(HAND_INS / file)
    wrong = ("tampered", "memory_error", "runtime_error", "wrong_answer")
    assert graded.verdict in wrong, graded.failed
    assert (graded.exit_code, graded.report["score"], graded.report["pending"]) == (1, 0, 0)


@pytest.mark.slow  # it races against the clock
@pytest.mark.parametrize("file", ["endless_loop_in_kernel.cu", "endless_loop.py"])
def test_nobody_waits_twice_for_a_loop_that_never_ends(
    bench: Bench, scratch: Path, file: str
) -> None:
    graded = bench.grade_file(HAND_INS / file)
    first, second, *others = graded.failed["evidence"]["cases"]
    assert first["message"].startswith("calling silu did not end within 1 s; it was ")
    reduced = "within 0.25 s (reduced from 1 s because an earlier call did not end); it was "
    assert reduced in second["message"]
    assert second["wall_s"] < 0.9
    assert {case["verdict"] for case in others} == {"skipped"}


# A record of the executor's, which only the executor may write.
FORGES_A_FINDING = "forges_a_finding.cu"


@pytest.mark.slow
def test_a_forged_finding_is_no_error_of_the_graders(bench: Bench, scratch: Path) -> None:
    with nothing_left(scratch):
        graded = bench.grade_file(HAND_INS / FORGES_A_FINDING)
    assert graded.verdict == "tampered", graded.printed
    assert "wrote into the counters' report" in graded.failed["message"]
    assert graded.exit_code == 1


def test_every_file_is_in_a_table() -> None:
    listed = [name for name, *_ in (*CUDA, *PYTHON)] + [*RIGHT, *SCRIBBLERS, FORGES_A_FINDING]
    assert sorted(listed) == sorted(file.name for file in HAND_INS.iterdir())


# What waits for a limit or watches processes end: `make test` has one of each.
WAITS = ("forbidden", "memory_limit", "not_measured", "output_limit", "tampered", "time_limit")
QUICK = (
    "answers_first.cu",
    "endless_loop.py",
    "prints_for_ever.py",
    "uses_gigabytes.cu",
)


# They wait for something else.
LONG = ("closes_the_channel_and_waits.cu", "nests_folders.cu")


def is_quick(row: tuple[str, str, str, str]) -> bool:
    file, verdict, *_ = row
    return file in QUICK or (verdict not in WAITS and file not in LONG)


@pytest.mark.parametrize(
    ("file", "verdict", "message", "hint"), slow_unless(is_quick, CUDA + PYTHON)
)
def test_a_bad_submission(
    bench: Bench, scratch: Path, file: str, verdict: str, message: str, hint: str
) -> None:
    if file == "computes_too_much.py":  # the executor has 0.8 of it: the rest is for the compiler
        bench.limit_calls(3)
    with nothing_left(scratch):
        graded = bench.grade_file(HAND_INS / file)
    assert graded.verdict == verdict, graded.failed["message"]
    assert message in graded.failed["message"]
    assert hint in graded.failed["hint"]
    assert graded.exit_code == 1
    assert graded.report["score"] == 0
    # Points that this machine cannot measure are pending.
    assert graded.report["pending"] == (100 if verdict == "not_measured" else 0)
    assert "\x1b" not in graded.printed
    assert str(scratch) not in graded.printed


@pytest.mark.parametrize("file", slow_unless(lambda file: "child" not in file, RIGHT))
def test_a_right_submission(bench: Bench, scratch: Path, file: str) -> None:
    with nothing_left(scratch):
        graded = bench.grade_file(HAND_INS / file)
    assert graded.verdict == "accepted", graded.failed
    assert graded.exit_code == 0
    assert graded.report["score"] == 100
