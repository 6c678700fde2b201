"""Launches of Triton kernels on the CPU: recorded by a worker, executed by another process."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path

import pytest
from slow import slow_unless
from triton_samples import Told, counted, files, findings, marks, records, requests, run

from grader.worker import triton_rehearsal

QUICK = {
    "arguments_of_all_sorts",
    "autotuned",
    "filled_with_its_poison",
    "in_place_on_output",
    "kernels_anywhere",
    "pointers_in_a_tensor",
    "scratch_written_by_torch",
}
FAULTS = files("faults")
QUICK_FAULTS = {"beyond_the_view", "scratch_never_written", "store_to_input", "pointer_in_a_tensor"}


def is_quick(file: Path) -> bool:
    return file.stem in QUICK | QUICK_FAULTS


@functools.cache
def results() -> dict[str, Told]:
    """Run all quick samples and the texts below: one process imports torch and Triton for all."""
    folder = Path(tempfile.mkdtemp())
    texts = [folder / f"{name}.py" for name in RIGHT | ODD]
    for path, text in zip(texts, (RIGHT | ODD).values(), strict=True):
        path.write_text(COPY.lstrip() + text)
    sampled = [file for folder in ("correct", "faults") for file in files(folder)]
    quick = [file for file in sampled if is_quick(file)]
    try:
        return run([*quick, *files("uncompilable"), *files("unmeasured"), *texts])
    finally:
        shutil.rmtree(folder)


@functools.cache
def slow_results(folder: str) -> dict[str, Told]:
    """Run the samples of a folder that are not quick."""
    return run([file for file in files(folder) if not is_quick(file)])


def result(file: Path) -> Told:
    return (results() if is_quick(file) else slow_results(file.parent.name))[file.stem]


@pytest.mark.parametrize("file", slow_unless(is_quick, files("correct")), ids=lambda f: f.stem)
def test_correct_sample(file: Path) -> None:
    found = result(file)
    assert set(found["statuses"]) == {"done"}, found["worker"]
    assert (found["right"], found["intact"]) == (True, True)
    assert findings(found) == []
    assert records(found, "host_wrote") == []
    assert records(found, "counters"), "nothing was launched"


@pytest.mark.parametrize("file", slow_unless(is_quick, FAULTS), ids=lambda f: f.stem)
def test_planted_fault_is_found(file: Path) -> None:
    found = result(file)
    assert marks(file), "the file marks no fault"
    assert findings(found) == marks(file)
    assert found["intact"]
    for record in records(found, "finding"):
        assert record["count"] > 0
        assert len(record["program"]) == 3
        assert record["kernel"] and record["hint"]


@pytest.mark.slow
def test_requests_are_counted_by_line() -> None:
    (file,) = files("counted")
    assert requests(counted([file])[file.stem]) == marks(file)


def test_every_configuration_is_taken() -> None:
    told = records(results()["autotuned"], "autotune", "worker")
    assert [record["call"] for record in told] == [0, 1, 2, 3]
    blocks = [record["config"].split(",")[0] for record in told]
    assert blocks == ["BLOCK: 32", "BLOCK: 64", "BLOCK: 256", "BLOCK: 32"]


@pytest.mark.parametrize("file", files("uncompilable"), ids=lambda file: file.stem)
def test_error_of_the_compiler_has_its_line(file: Path) -> None:
    found = results()[file.stem]
    assert found["statuses"] == ["exception"]
    (raised,) = records(found, "exception", "worker")
    assert [(raised["line"], "")] == marks(file)
    assert raised["type"] in ("AssertionError", "CompilationError", "UnsupportedLanguageConstruct")
    assert raised["message"]
    assert records(found, "launch") == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("breaks_out", "unsupported AST node type: Break"),
        ("type_changes_in_loop", "Loop-carried variable sum has initial type int32 but is"),
        ("one_is_a_constant", "as `n` did: use @triton.jit(do_not_specialize=['n'])"),
    ],
)
def test_words_of_the_compiler(name: str, words: str) -> None:
    (raised,) = records(results()[name], "exception", "worker")
    assert words in raised["message"]


@pytest.mark.parametrize("file", files("unmeasured"), ids=lambda file: file.stem)
def test_not_measured(file: Path) -> None:
    found = results()[file.stem]
    (record,) = records(found, "not_measured")
    ((line, reason),) = marks(file)
    assert record["reason"] == reason
    assert record["line"] in (line, line + 1)  # the loop's head or its body
    assert findings(found) == []


def test_a_program_that_waits_is_said_to_wait() -> None:
    (record,) = records(results()["waits_for_a_later_program"], "not_measured")
    assert record["message"].startswith("a program waits in this loop for what no earlier program")


COPY = """
import os
import threading

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def add(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n, other=0.0)
    tl.atomic_add(out + offsets, value, mask=offsets < n)


@triton.jit
def turn(x, out, rows, cols, x_row, x_col, out_row, out_col, BLOCK: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + r * x_row + c * x_col, mask=c < cols)
    tl.store(out + r * out_row + c * out_col, value, mask=c < cols)


GRID = (4,)


"""
RIGHT = {
    "views_that_are_not_contiguous": """
def entry(input, output, n):
    x, out = input.view(20, 50).t(), output.view(50, 20)
    turn[(50,)](x, out, 50, 20, *x.stride(), *out.stride(), BLOCK=32)
    # The last columns once more, by a view with an offset.
    x, out = x[:, 15:], out[:, 15:]
    turn[(50,)](x, out, 50, 5, *x.stride(), *out.stride(), BLOCK=8)

def expected(input):
    return input.view(20, 50).t().reshape(-1)
""",
    "views_with_offsets": """
def entry(input, output, n):
    for first in range(0, n, 300):
        part = output[first:first + 300]
        copy[(2,)](input[first:], part, part.numel(), BLOCK=256)

def expected(input):
    return input
""",
    "view_with_repeated_rows": """
def entry(input, output, n):
    x, out = input[:50].expand(20, 50), output.view(20, 50)
    turn[(20,)](x, out, 20, 50, *x.stride(), *out.stride(), BLOCK=64)

def expected(input):
    return input[:50].repeat(20)
""",
    "descriptors_of_the_host": """
@triton.jit
def tiles(source, target, TILE: tl.constexpr):
    tile = source.load([tl.program_id(0) * TILE, 0])
    target.store([tl.program_id(0) * TILE, 0], tile)

def entry(input, output, n):
    # A column to the right, and the last rows cut off: the offset is a multiple of 16 bytes.
    x, out = input.view(10, 100)[:, 4:], output.view(10, 100)
    shape = [10, 32]
    source = TensorDescriptor(x, shape, [100, 1], [4, 32])
    target = TensorDescriptor.from_tensor(out, [4, 32])
    output.zero_()
    tiles[(3,)](source, target, TILE=4)

def expected(input):
    out = torch.zeros(10, 100)
    out[:, :32] = input.view(10, 100)[:, 4:36]
    return out.view(-1)
""",
    "output_set_to_zero_between_launches": """
def entry(input, output, n):
    for _ in range(3):
        output.zero_()
        add[GRID](input, output, n, BLOCK=256)
    output[: n // 2].zero_()

def expected(input):
    input[:500] = 0
    return input
""",
    "output_filled_with_two_values": """
def entry(input, output, n):
    output.fill_(7)
    add[GRID](input, output, n, BLOCK=256)
    output.fill_(float("-inf"))
    copy[(2,)](input, output, 512, BLOCK=256)

def expected(input):
    input[512:] = float("-inf")
    return input
""",
    "output_read_by_the_host": """
def entry(input, output, n):
    copy[GRID](input, output, n, BLOCK=256)
    assert torch.equal(output, input)
    least = output.min().item()
    kept = torch.from_numpy(output.numpy().copy())
    copy[GRID](kept - least, output, n, BLOCK=256)

def expected(input):
    return input - input.min()
""",
    "input_that_is_an_output": """
IN_PLACE = True

def entry(input, output, n):
    assert torch.equal(input, output)
    add[GRID](output.clone(), output, n, BLOCK=256)
    add[GRID](input, output, n, BLOCK=256)

def expected(input):
    return 3 * input
""",
    "scratch_of_zeros_and_of_nothing": """
def entry(input, output, n):
    zeros, nothing = torch.zeros(n), torch.empty(2 * n)
    add[GRID](input, zeros, n, BLOCK=256)
    copy[GRID](zeros, nothing[n:], n, BLOCK=256)
    copy[GRID](nothing[n:], output, n, BLOCK=256)
    assert torch.equal(zeros, nothing[n:])

def expected(input):
    return input
""",
    "scratch_kept_for_the_next_call": """
CALLS = 3
kept = torch.zeros(1000)

def entry(input, output, n):
    add[GRID](input, kept, n, BLOCK=256)
    copy[GRID](kept, output, n, BLOCK=256)
    kept.sub_(output)

def expected(input):
    return input
""",
    "new_memory_at_an_old_address": """
def entry(input, output, n):
    for _ in range(20):
        torch.empty(1000)
        copy[GRID](torch.ones(1000), output, n, BLOCK=256)
        copy[GRID](torch.full((1000,), 2.0), output, n, BLOCK=256)

def expected(input):
    return torch.full((1000,), 2.0)
""",
    "launches_of_threads": """
def entry(input, output, n):
    def one(first):
        copy[(1,)](input[first:], output[first:first + 100], 100, BLOCK=128)
    threads = [threading.Thread(target=one, args=(first,)) for first in range(0, n, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def expected(input):
    return input
""",
    "launch_at_import": """
ONES = torch.empty(1000)
copy[GRID](torch.ones(1000), ONES, 1000, BLOCK=256)

def entry(input, output, n):
    output.zero_()
    add[GRID](input, output, n, BLOCK=256)
    add[GRID](ONES, output, n, BLOCK=256)

def expected(input):
    return input + 1
""",
    "grid_of_nothing": """
def entry(input, output, n):
    copy[(0,)](input, output, n, BLOCK=256)
    copy[lambda meta: (triton.cdiv(n, meta["BLOCK"]), 1)](input, output, n, BLOCK=256)

def expected(input):
    return input
""",
    "warmup_without_tensors": """
def entry(input, output, n):
    kernel = copy.warmup(torch.float32, torch.float32, n, BLOCK=256, grid=(1,))
    kernel[(4, 1, 1)](input, output, n, 256)
    assert "tt.func" in kernel.asm["ttir"]

def expected(input):
    return input
""",
    "configuration_that_does_not_fit": """
@triton.autotune([triton.Config({"BLOCK": b}) for b in (2048, 1024)], key=[])
@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK <= 1024)
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

def entry(input, output, n):
    kernel[(1,)](input, output, n)

def expected(input):
    return input
""",
    "nothing_is_caught_away": """
def entry(input, output, n):
    try:
        copy[GRID](input)
    except TypeError:
        copy[GRID](input, output, n, BLOCK=256)

def expected(input):
    return input
""",
}
ODD = {
    "ten_thousand_findings": f"""
@triton.jit
def kernel(x, n):
    pid = tl.program_id(0)
{"".join(f"    tl.device_print('', tl.load(x + n + pid + {i})){chr(10)}" for i in range(100))}
def entry(input, output, n):
    kernel[(100,)](input, n)
""",
    "raises_before_the_first_kernel": """
def entry(input, output, n):
    raise ValueError("no")
""",
    "launches_nothing": """
def entry(input, output, n):
    output.copy_(input)

def expected(input):
    return input
""",
    "restores_what_it_has_changed_for_a_launch": """
def entry(input, output, n):
    copy[GRID](input, output, n, BLOCK=256)
    kept = output.clone()
    output.neg_()
    copy[GRID](output, torch.empty(n), n, BLOCK=256)
    output.copy_(kept)

def expected(input):
    return input
""",
    "writes_bit_by_bit": """
def entry(input, output, n):
    for i in range(50):
        output[i] = float(i)
        copy[(1,)](input[50:], output[50:], 1, BLOCK=16)
""",
    "writes_with_numpy": """
def entry(input, output, n):
    copy[GRID](input, output, n, BLOCK=256)
    output.numpy()[:] = input.numpy() * 2
""",
    "writes_with_ctypes": """
def entry(input, output, n):
    import ctypes
    copy[GRID](input, output, n, BLOCK=256)
    (ctypes.c_float * n).from_address(output.data_ptr())[:3] = 1.0, 2.0, 3.0
""",
    "writes_before_a_launch": """
def entry(input, output, n):
    output[:500] = input[:500]
    copy[(2,)](input[500:], output[500:], 500, BLOCK=256)

def expected(input):
    return input
""",
    "raises_after_a_fault": """
def entry(input, output, n):
    copy[GRID](input, output, n + 1, BLOCK=256)
    raise ValueError("no")
""",
    "dies_after_a_fault": """
def entry(input, output, n):
    copy[GRID](input, output, n + 1, BLOCK=256)
    os._exit(3)
""",
    "catches_all": """
SYNC = tl.constexpr("bar.warp.sync -1; add.f32 $0, $1, $1;")

@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    value = tl.inline_asm_elementwise(SYNC, "=f,f", [value], tl.float32, True, 1)
    tl.store(out + tl.arange(0, BLOCK), value)

def entry(input, output, n):
    for _ in range(3):
        try:
            kernel[(1,)](input, output, BLOCK=256)
        except BaseException:
            copy_again()

def copy_again():
    try:
        copy[GRID](input, output, n, BLOCK=256)
    except BaseException:
        pass
""",
    "asserts": """
@triton.jit
def kernel(x, out, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    tl.device_assert(value > 1e9, "large")
    tl.store(out + tl.arange(0, BLOCK), value)

def entry(input, output, n):
    try:
        kernel[(1,)](input, output, BLOCK=256, debug=True)
    except Exception:
        copy[GRID](input, output, n, BLOCK=256)
""",
    "empty_tensor": """
def entry(input, output, n):
    copy[(1,)](torch.empty(0), output, 1, BLOCK=16)
""",
    "wrong_arguments": """
def entry(input, output, n):
    copy[GRID](input, BLOCK=256)
""",
    "scratch_of_nothing": """
def entry(input, output, n):
    copy[GRID](torch.empty(n), output, n, BLOCK=256)
""",
    "many_launches": """
SECONDS = 1

def entry(input, output, n):
    while True:
        copy[GRID](input, output, n, BLOCK=256)
""",
}
LINE = COPY.count("\n", 0, COPY.index("tl.store(out")) + 1  # of the copy


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    found = results()[name]
    assert set(found["statuses"]) == {"done"}, found["worker"]
    assert (found["right"], found["intact"]) == (True, True)
    assert findings(found) == []
    told = {record["record"] for record in found["told"]}
    assert told - {"launched"} == {"counters", "findings", "launch"}


def test_an_output_is_as_host_code_left_it_though_a_launch_has_seen_it_otherwise() -> None:
    found = results()["restores_what_it_has_changed_for_a_launch"]
    assert (found["statuses"], found["right"]) == (["done"], True)


def test_a_configuration_that_does_not_fit_is_passed_over() -> None:
    tried = records(results()["configuration_that_does_not_fit"], "autotune", "worker")
    assert [t["config"].split(",")[0] for t in tried] == ["BLOCK: 2048", "BLOCK: 1024"]


def test_ten_thousand_findings() -> None:
    found = results()["ten_thousand_findings"]
    total = records(found, "findings")[-1]
    assert (total["told"], total["occurrences"]) == (50, 10_000)
    told = records(found, "finding")
    assert len(told) == len(findings(found)) == 50
    assert sum(record["count"] for record in told) == 5000


def test_nothing_found_is_said() -> None:
    found = results()["raises_before_the_first_kernel"]
    assert records(found, "exception", "worker")[0]["message"] == "no"
    nothing = {"record": "findings", "told": 0, "distinct": 0, "occurrences": 0}
    assert found["told"] == [nothing, nothing]  # of the import, and of the call


@pytest.mark.parametrize(
    ("name", "elements"),
    [
        ("launches_nothing", 1000),
        ("writes_bit_by_bit", 49),
        ("writes_with_numpy", 1000),
        ("writes_with_ctypes", 3),
        ("writes_before_a_launch", 500),
    ],
)
def test_what_host_code_writes_is_told(name: str, elements: int) -> None:
    (record,) = records(results()[name], "host_wrote")
    assert record == {"record": "host_wrote", "buffer": "output", "elements": elements}
    assert results()[name]["statuses"] == ["done"]
    # It counts all the same: a wrong result is told before who has computed it.
    assert results()[name]["right"] in (True, None)


@pytest.mark.parametrize(
    ("name", "status"), [("raises_after_a_fault", "exception"), ("dies_after_a_fault", "died")]
)
def test_findings_before_the_end_are_told(name: str, status: str) -> None:
    found = results()[name]
    assert found["statuses"] == [status]
    assert findings(found) == [
        (LINE - 1, "out_of_bounds error load x 1000"),
        (LINE - 1, "out_of_bounds error store out 1000"),
    ]


def test_what_the_executor_lacks_is_told_once() -> None:
    (record,) = records(results()["catches_all"], "not_measured")
    assert record["reason"] == "unsupported"
    assert len(records(results()["catches_all"], "launch")) == 1


def test_an_assertion_of_a_kernel() -> None:
    (record,) = records(results()["asserts"], "exception")
    assert (record["type"], record["line"] is None) == ("KernelError", False)
    assert "large" in record["message"]


def test_an_empty_tensor_has_no_elements() -> None:
    (found,) = records(results()["empty_tensor"], "finding")
    assert (found["kind"], found["tensor"]) == ("out_of_bounds", "x")
    assert "it is empty" in found["message"]


def test_wrong_arguments_are_tritons_to_tell() -> None:
    (raised,) = records(results()["wrong_arguments"], "exception", "worker")
    assert raised["type"] == "TypeError"
    assert "missing" in raised["message"]


def test_memory_that_nothing_has_written_is_found() -> None:
    (found,) = records(results()["scratch_of_nothing"], "finding")
    assert found["message"].startswith("reads 256 elements of `x` that nothing has written yet")


def test_many_launches_end_without_a_word_of_endless_kernels() -> None:
    (record,) = records(results()["many_launches"], "not_measured")
    assert record["reason"] == "repeated"


def test_enough_of_both() -> None:
    assert len(files("faults")) >= 20
    assert len(files("correct")) >= 20


def test_the_server_can_compile_and_execute_the_kernel_of_its_rehearsal() -> None:
    triton_rehearsal.rehearse()
