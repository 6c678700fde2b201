"""Import torch and triton for `grade doctor`, and print one JSON object for each.

    {"torch": {"problem": …, "cuda_build": "13.0", "device_problem": …}}
    {"triton": {"problem": …}}

Runs in its own process, because either import can crash, hang, or take seconds. If
the process dies, the line of the package that killed it is missing. Imports nothing
from the grader. `--gpu` makes torch calculate on the GPU.
"""

import os

# Without this setting triton 3.9 prints a warning at import.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
os.environ.pop("TRITON_INTERPRET", None)

import json
import sys
import tempfile

# Keep the packages' own output out of the lines of JSON.
lines = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def report(package: str, **facts: object) -> None:
    """Print the outcome of one package."""
    print(json.dumps({package: facts}), file=lines, flush=True)


def sentence(error: BaseException) -> str:
    """Return an exception as one line."""
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0]}" if first else type(error).__name__


def try_torch(*, on_gpu: bool) -> None:
    """Import torch; with `on_gpu`, add two numbers on the GPU."""
    import torch

    device_problem = None
    if torch.version.cuda is not None and on_gpu:
        try:
            # A sum, unlike a copy, needs a kernel for this architecture.
            if torch.ones(2, device="cuda").sum().item() != 2:
                device_problem = "1 + 1 was not 2"
        except Exception as error:
            device_problem = sentence(error)
    report("torch", problem=None, cuda_build=torch.version.cuda, device_problem=device_problem)


def try_triton() -> None:
    """Compile a kernel to machine code, which needs no GPU."""
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    @triton.jit  # type: ignore[untyped-decorator]
    def add_up(source, target, length, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
        total = 0.0
        for start in range(0, length, BLOCK):
            offsets = start + tl.arange(0, BLOCK)
            total += tl.sum(tl.load(source + offsets, mask=offsets < length, other=0.0))
        tl.store(target, total)

    kinds = {"source": "*fp32", "target": "*fp32", "length": "i32", "BLOCK": "constexpr"}
    kernel = ASTSource(add_up, signature=kinds, constexprs={(3,): 32})
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        compiled = triton.compile(kernel, target=GPUTarget("cuda", 80, 32))
    made = bool(compiled.asm.get("cubin"))
    report("triton", problem=None if made else "it makes no machine code")


if __name__ == "__main__":
    try:
        try_torch(on_gpu="--gpu" in sys.argv)
    except BaseException as error:
        report("torch", problem=sentence(error), cuda_build=None, device_problem=None)
        sys.exit(0)
    try:
        try_triton()
    except BaseException as error:
        report("triton", problem=sentence(error))
