"""Without a GPU, host code that queries one gets answers, and the same verdict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from grading_bench import Bench, Graded, quick_gradings, scratch_folder, small_silu

KERNEL = """
import threading
import torch
import triton
import triton.language as tl

@triton.jit
def silu_kernel(x, y, n, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n)
        tl.store(y + i, v / (1.0 + tl.exp(-v)), mask=i < n)

def launch(x, y, n, programs=3):
    return silu_kernel[(programs,)](x, y, n, BLOCK=256)
"""
# Queries of tutorials and well-known libraries, at module level and in the entry.
ASKS = """
driver = triton.runtime.driver.active
DEVICE = driver.get_active_torch_device()
assert driver.get_current_target().backend == "cuda"
assert driver.get_device_interface().current_device() == 0
SIZES = driver.utils.get_device_properties(DEVICE.index)
PROGRAMS = torch.cuda.get_device_properties("cuda").multi_processor_count
assert SIZES["multiprocessor_count"] == PROGRAMS == 8
assert torch.cuda.get_device_capability() == (8, 0)
torch.manual_seed(0)
TABLE = torch.ones(4, device="cuda:0").cuda()

def silu(input, output, n):
    assert input.is_cuda and not output.is_cpu and input.device == DEVICE
    assert all(t.is_cuda for t in (input, output))
    elsewhere = {"t": input}
    truth = "assert not t.is_cuda and t.device.type == 'cpu' and t.get_device() == -1"
    exec(compile(truth, "torch's own code would go on to call CUDA.py", "exec"), elsewhere)
    assert input.device.type == "cuda" and input.get_device() == input.device.index == 0
    if input.device != output.device or str(input.device) != "cuda:0":
        raise ValueError("two devices")
    generator = torch.Generator(device=input.device).manual_seed(1)
    torch.rand(3, device=input.device, generator=generator)
    with torch.device("cuda"):
        assert torch.arange(3).device == DEVICE
    torch.set_default_device("cuda")
    scratch = torch.empty(n)
    assert scratch.device == torch.zeros(1, device=0).device == DEVICE
    copied = input.to("cuda", non_blocking=True).to(torch.device("cuda", 0), torch.float32)
    copied = copied.to(device="cuda").cuda(non_blocking=True)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    assert stream.device == input.new_empty(1, device=copied.device).device == input.device
    for given in (input.device, input.device.index, 0, "cuda:0", None):
        with torch.cuda.device(given), torch.cuda.stream(stream):
            start.record()
            launch(copied, scratch, n, PROGRAMS)
            end.record(stream)
    scratch.record_stream(stream)
    with torch.cuda.nvtx.range("one more"):
        assert not torch.cuda.is_current_stream_capturing()
        assert min(torch.cuda.mem_get_info()) > 0
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0
    seen = []
    # There a tensor is made where it says that it is: it says the truth.
    there = lambda: seen.append((input.is_cuda, torch.empty(1, device=input.device).numel()))
    thread = threading.Thread(target=there)
    thread.start()
    thread.join()
    assert seen == [(True, 1)]
    launch(input, output, n, PROGRAMS)
"""
# As in the tutorial of the fused softmax: the grid depends on the kernel's registers and memory.
LAUNCHES_WHAT_WAS_COMPILED = """
compiled = {}

def silu(input, output, n):
    size = triton.runtime.driver.active.utils.get_device_properties(0)
    kernel = silu_kernel.warmup(input, output, n, BLOCK=256, num_warps=8, grid=(1,))
    kernel._init_handles()
    occupancy = size["max_num_regs"] // (kernel.n_regs * size["warpSize"] * 8)
    occupancy = min(occupancy, size["max_shared_mem"] // kernel.metadata.shared)
    programs = min(size["multiprocessor_count"] * occupancy, triton.cdiv(n, 256))
    assert kernel.n_spills == 0 and kernel.metadata.num_warps == 8
    # What was compiled in stays: the last argument does not count.
    kernel[(programs, 1, 1)](input, output, n, 1)
    try:
        kernel[(programs, 1, 1)](input, output, n)
    except TypeError as error:
        assert "takes all 4 arguments of `silu_kernel`" in str(error)
    else:
        raise AssertionError("the compiled kernel took too few arguments")
    launched = launch(input, output, n)
    print(launched.n_regs, "registers", launched.asm["ptx"], launched.name)
"""
# Like the wrappers of libraries: an operator for each device, and torch's compiler around it.
IS_AN_OPERATOR = """
@torch.library.custom_op("hand_in::silu", mutates_args=("y",), device_types="cuda")
def operator(x: torch.Tensor, y: torch.Tensor) -> None:
    launch(x, y, x.numel())

@operator.register_kernel("cpu")
def _(x, y):
    raise AssertionError("on a GPU this is not called")

library = torch.library.Library("hand_in_too", "DEF")
library.define("silu(Tensor x, Tensor(a!) y) -> ()")
library.impl("silu", lambda x, y: launch(x, y, x.numel()) and None, "CUDA")

@torch.library.custom_op("hand_in::anywhere", mutates_args={"y"})
def anywhere(x: torch.Tensor, y: torch.Tensor) -> None:
    launch(x, y, x.numel())

@torch.library.custom_op("hand_in::with_scratch", mutates_args=("y",), device_types="cuda")
def with_scratch(x: torch.Tensor, y: torch.Tensor) -> None:
    assert x.device.type == "cuda"
    scratch = torch.empty(x.shape, device=x.device)
    launch(x, scratch, x.numel())
    launch(x, y, x.numel())

@torch.compile
def helper(x, y, n):
    return launch(x, y, n)

@torch.compile(fullgraph=True, mode="max-autotune")
def silu(input, output, n):
    asked = (operator, torch.ops.hand_in.silu, torch.ops.hand_in_too.silu, anywhere, with_scratch)
    for call in asked:
        output.zero_()
        call(input, output)
    helper(input, output, n)
"""
WARMS_UP_ONLY = """
def silu(input, output, n):
    silu_kernel.warmup(torch.float32, torch.float32, n, BLOCK=256, grid=(1,))
"""
DEMANDS_A_GPU = """
assert torch.cuda.is_available() in (True, False)

def silu(input, output, n):
    assert input.device.type == "cuda", "input must be on the GPU"
    launch(input, output, n)
"""
# On a GPU both are "cuda", on the CPU both are "cpu".
CHOOSES_A_DEVICE = """
ASKED
ACTIVE = triton.runtime.driver.active.get_active_torch_device()

def silu(input, output, n):
    assert input.device.type == output.device.type == DEVICE.type == ACTIVE.type
    scratch = torch.empty_like(input, device=DEVICE)
    assert scratch.device == input.device
    launch(input, scratch, n)
    launch(input, output, n)
"""
# A submission that has seen a GPU sees it to the end.
ASKS_LATER = """
def silu(input, output, n):
    assert input.device.type == "cuda"
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    torch.accelerator.synchronize()
    assert input.device.type == "cuda"
    launch(input, output, n)
"""
TORCH_DOES_THE_WORK = """
def silu(input, output, n):
    with torch.cuda.stream(torch.cuda.Stream()):
        there = input.cuda().to("cuda")
        output.copy_(there * torch.sigmoid(there))
"""
TORCH_COMPILES_THE_WORK = """
@torch.compile
def work(x):
    return x * torch.sigmoid(x)

def silu(input, output, n):
    output.copy_(work(input))
"""
DOES_NOT_COMPILE = """
DEVICE = triton.runtime.driver.active.get_active_torch_device()
SCRATCH = torch.zeros(1, device="cuda")

@triton.jit
def stops(x, y, n, BLOCK: tl.constexpr):
    for _ in range(n):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n)
        tl.store(y + i, v / (1.0 + tl.exp(-v)), mask=i < n)
        break

def silu(input, output, n):
    stops[(triton.cdiv(n, 256),)](input, output, n, BLOCK=256)
"""


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with quick_gradings():
        yield


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Bench]:
    small_silu(tmp_path)
    with scratch_folder(tmp_path / "tmp"), pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        yield Bench(tmp_path, capsys)


def grade(bench: Bench, text: str) -> Graded:
    source = bench.root / "written.py"
    source.write_text(KERNEL + text)
    return bench.grade_file(source)


@pytest.mark.slow
def test_queries_of_tutorials_are_answered(bench: Bench) -> None:
    graded = grade(bench, ASKS)
    assert graded.verdict == "accepted", graded.printed


@pytest.mark.slow
def test_the_gpu_is_the_course_s(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADE_TARGET", "sm_90")
    text = """
assert torch.cuda.get_device_capability() == (9, 0)
assert triton.runtime.driver.active.get_current_target().arch == 90
SIZES = triton.runtime.driver.active.utils.get_device_properties(0)
assert SIZES["max_shared_mem"] == 227 * 1024
assert "H100" in torch.cuda.get_device_name()

def silu(input, output, n):
    launch(input, output, n)
"""
    graded = grade(bench, text)
    assert graded.verdict == "accepted", graded.printed


CUDA = 'DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
ACCELERATOR = 'DEVICE = torch.accelerator.current_accelerator() or torch.device("cpu")'


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        CHOOSES_A_DEVICE.replace("ASKED", CUDA),
        CHOOSES_A_DEVICE.replace("ASKED", ACCELERATOR),
        ASKS_LATER,
    ],
    ids=["chooses_cuda", "chooses_an_accelerator", "asks_later"],
)
def test_the_first_answer_is_kept(bench: Bench, text: str) -> None:
    graded = grade(bench, text)
    assert graded.verdict == "accepted", graded.printed


@pytest.mark.slow
def test_an_operator_for_a_gpu_is_called(bench: Bench) -> None:
    graded = grade(bench, IS_AN_OPERATOR)
    assert graded.verdict == "accepted", graded.printed


def test_a_compiled_kernel_has_figures_and_launches(bench: Bench) -> None:
    graded = grade(bench, LAUNCHES_WHAT_WAS_COMPILED)
    assert graded.verdict == "accepted", graded.printed
    assert "128 registers  silu_kernel" in graded.output


@pytest.mark.parametrize(
    ("text", "verdict", "words"),
    [
        (WARMS_UP_ONLY, "wrong_answer", "nothing was ever written"),
        (DEMANDS_A_GPU, "runtime_error", "input.is_cuda"),
        # The rules see through the stand-ins, and so does the compiler's gate.
        (TORCH_DOES_THE_WORK, "forbidden", "must be stored by a kernel"),
        (TORCH_COMPILES_THE_WORK, "forbidden", "must be stored by a kernel"),
        (DOES_NOT_COMPILE, "compile_error", "unsupported AST node type: Break"),
    ],
    ids=[
        "warms_up_only",
        "demands_a_gpu",
        "torch_does_the_work",
        "torch_compiles_the_work",
        "does_not_compile",
    ],
)
def test_unanswered_queries_are_reported(bench: Bench, text: str, verdict: str, words: str) -> None:
    graded = grade(bench, text)
    failed = graded.failed
    assert graded.verdict == verdict, graded.printed
    assert words in f"{failed['message']} {failed['hint']}"
