"""Compile the IR of Triton kernels for a GPU, without one: for the compile gate, and for replay.

    python triton_compile.py CAPABILITY < launches.json > results.json

Triton's IR is the work of its front end, which ran in the submission's process. The rest of the
compiler runs here, down to the machine code of a GPU (CAPABILITY, such as 80). No code of the
submission runs here; its IR is text of a process that does, so use the sandbox, and a writable
TRITON_CACHE_DIR.

Standard input: a JSON list of {"kernel", "text", "options"}. The code of launch N is left in
N.ttgir (the GPU dialect), N.ptx and N.cubin. Standard output: one JSON object

    { "triton": version,
      "results": [ { "kernel", "ok", "threads", "shared_bytes",
                     "ptxas": what ptxas prints about the machine code,
                     "error": null | {"type", "message"},
                     "problem": null | why it could not be tried,
                     "cubin": what a launch of it needs to know } ] }

An `error` is the compiler's verdict on the kernel. A `problem` is not the student's fault.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import standalone  # noqa: F401 # so that the imports below find their modules

from grader.protocol.targets import WARP

_MESSAGE = 2000
_MOST_PLACES = 20
_MOST_LOG = 20_000
# Verdicts on the kernel; any other exception may be a fault of the tool.
_VERDICTS = ("CompilationError", "PTXASError", "OutOfResources")


def compile_all(launches: list[dict[str, Any]], capability: int) -> dict[str, Any]:
    """Compile each launch's IR; leave the code in this folder."""
    import triton

    from grader.worker import triton_cache_key

    triton_cache_key.install()  # the cache does not outlive this program
    results = []
    for number, launch in enumerate(launches):
        empty = {"kernel": launch["kernel"], "ok": False, "error": None, "problem": None}
        results.append({**empty, **_compile(number, launch, capability)})
    return {"triton": triton.__version__, "results": results}


def _compile(number: int, launch: dict[str, Any], capability: int) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget

    file = Path(f"{number}.ttir").absolute()
    file.write_text(launch["text"], encoding="utf-8")
    gpu = GPUTarget("cuda", capability, WARP)
    try:
        with _assembler_log() as log:
            compiled = triton.compile(_source(file), target=gpu, options=dict(launch["options"]))
    except Exception as error:
        return _judge(error)
    for kind in ("ttgir", "ptx"):
        Path(f"{number}.{kind}").write_text(compiled.asm[kind], encoding="utf-8")
    Path(f"{number}.cubin").write_bytes(compiled.asm["cubin"])
    return {
        "ok": True,
        "threads": int(compiled.metadata.num_warps) * WARP,
        "shared_bytes": int(compiled.metadata.shared),
        "ptxas": "".join(log)[-_MOST_LOG:],
        "cubin": _cubin(compiled),
    }


def _cubin(compiled: Any) -> dict[str, Any]:
    """Return what Triton's launcher knows of a kernel."""
    known = compiled.metadata._asdict()
    entry = re.search(r"\.entry\s+[^(]*\(([^)]*)\)", str(compiled.asm["ptx"]))
    return {
        "name": str(known["name"]),
        "threads": int(known["num_warps"]) * int(known.get("warp_size", 32)),
        "shared": int(known["shared"]),
        "ctas": int(known.get("num_ctas", 1)),
        "cooperative": bool(known.get("launch_cooperative_grid")),
        "parameters": entry[1].count(".param") if entry else 0,
        # Older versions have no scratch of one kind or the other.
        "scratch_bytes": int(known.get("global_scratch_size") or 0),
        "scratch_alignment": int(known.get("global_scratch_align") or 1),
        "profile_bytes": int(known.get("profile_scratch_size") or 0),
        "profile_alignment": int(known.get("profile_scratch_align") or 1),
        "descriptors": [_descriptor(one) for one in known.get("tensordesc_meta") or ()],
    }


def _descriptor(known: dict[str, Any]) -> list[int]:
    """Return what a tensor map needs: swizzle, element, its type, whether halves, the block."""
    kind = int(known["elem_type"])
    # Numbered in another order on the device than by the driver.
    kind = {8: 10, 9: 8, 10: 9}.get(kind, kind)
    block = [int(extent) for extent in known["block_size"]]
    return [int(known["swizzle"]), int(known["elem_size"]), kind, int(known["fp4_padded"]), *block]


@contextlib.contextmanager
def _assembler_log() -> Iterator[list[str]]:
    """Yield a list that gets what ptxas prints; Triton removes its file."""
    log: list[str] = []
    original: Any = subprocess.run

    def run(*arguments: Any, **more: Any) -> Any:
        done = original(*arguments, **more)
        if hasattr(more.get("stderr"), "name"):
            log.append(Path(more["stderr"].name).read_text(errors="replace"))
        return done

    subprocess.run = run
    try:
        yield log
    finally:
        subprocess.run = original


def _source(file: Path) -> Any:
    """Return the IR in a file as what the front end makes of a kernel.

    Triton's own source for a file skips the passes that inline functions.
    """
    from triton._C.libtriton import ir
    from triton.compiler import ASTSource, compiler

    class TextSource(ASTSource):  # type: ignore[misc] # triton has no types
        def __init__(self) -> None:
            text = file.read_text(encoding="utf-8")
            # As in its constructor, which wants the function.
            self.ext, self.fn = "ttir", None
            self.signature: dict[str, Any] = {}
            self.constants: dict[Any, Any] = {}
            self.language = getattr(compiler, "Language", SimpleNamespace(TRITON=None)).TRITON
            self.name = next(iter(re.findall(r"tt\.func public @([\w$]+)", text)), "kernel")
            self.attrs: dict[Any, Any] = {}
            self._hash = hashlib.sha256(text.encode()).hexdigest()

        def hash(self) -> str:
            return self._hash

        def make_ir(self, *given: Any, context: Any = None, **_: Any) -> Any:
            context = context or given[-1]
            module = ir.parse_mlir_module(str(file), context)
            module.context = context
            return module

    return TextSource()


def _judge(error: BaseException) -> dict[str, Any]:
    """Describe an exception of the compiler."""
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    kind = type(cause).__name__
    if kind not in _VERDICTS:
        return {"problem": f"{kind}: {error}"[:_MESSAGE]}
    message = str(getattr(cause, "error_message", None) or cause)
    return {"error": {"type": kind, "message": message[:_MESSAGE], "places": _places(message)}}


def _places(message: str) -> list[tuple[str, int]]:
    """Return where in the source the PTX comes from that ptxas refuses, the innermost place first.

    Triton leaves the file of PTX there if ptxas fails.
    """
    found = re.search(r"ptxas (\S+\.ptx), line (\d+)", message)
    if found is None or not Path(found[1]).is_file():
        return []
    lines = Path(found[1]).read_text(errors="replace").splitlines()[: int(found[2])]
    last = next((line for line in reversed(lines) if re.match(r"\s*\.loc\s", line)), "")
    places = re.findall(r"([^\s@\[\]:]+):(\d{1,9}):\d+", last.partition("//")[2])
    return [(file.rpartition("/")[2], int(line)) for file, line in places[:_MOST_PLACES]]


def main() -> None:
    """Read launches, write results."""
    results = os.dup(1)
    os.dup2(2, 1)
    report = compile_all(json.load(sys.stdin), int(sys.argv[1]))
    with os.fdopen(results, "w") as out:
        json.dump(report, out)
    os._exit(0)


if __name__ == "__main__":
    main()
