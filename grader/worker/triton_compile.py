"""The compile gate's program: compile the IR of Triton kernels for a GPU, without one.

    python triton_compile.py CAPABILITY < launches.json > results.json

Triton's IR is the work of its front end, which ran in the submission's process. The rest of the
compiler runs here, down to the machine code of a GPU (CAPABILITY, such as 80): what does not
compile, or needs more than that GPU has, is rejected as on the GPU. No code of the submission runs
here; its IR is text of a process that does, so use the sandbox, and a writable TRITON_CACHE_DIR.

Standard input: a JSON list of {"kernel", "text", "options"}, and "keep", a name, if the code is
to be kept in NAME.ttgir (the GPU dialect) and NAME.ptx. Standard output: one JSON object

    { "triton": version,
      "results": [ { "kernel", "ok", "shared_bytes",
                     "error": null | {"type", "message"},
                     "problem": null | why it could not be tried } ] }

An `error` is the compiler's verdict on the kernel. A `problem` is not the student's fault.
"""

import hashlib
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import standalone  # noqa: F401 # so that the imports below find their modules

from grader.protocol.targets import TARGETS, WARP, Target

_MESSAGE = 2000
# Verdicts on the kernel; any other exception may be a fault of the tool.
_VERDICTS = ("CompilationError", "PTXASError", "OutOfResources")


def compile_all(launches: list[dict[str, Any]], target: Target) -> dict[str, Any]:
    """Compile each launch's IR."""
    import triton

    from grader.worker import triton_cache_key

    triton_cache_key.install()  # the cache does not outlive this program
    results = []
    for number, launch in enumerate(launches):
        empty = {"kernel": launch["kernel"], "ok": False, "error": None, "problem": None}
        results.append({**empty, **_compile(number, launch, target)})
    return {"triton": triton.__version__, "results": results}


def _compile(number: int, launch: dict[str, Any], target: Target) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget

    file = Path(f"{number}.ttir").absolute()
    file.write_text(launch["text"], encoding="utf-8")
    gpu = GPUTarget("cuda", target.capability, WARP)
    try:
        compiled = triton.compile(_source(file), target=gpu, options=dict(launch["options"]))
    except Exception as error:
        return _judge(error)
    shared = int(compiled.metadata.shared)
    most = target.shared_bytes_per_block
    if shared > most:
        message = f"{shared:,} bytes of shared memory for each block; {target.name} has {most:,}"
        return {"error": {"type": "OutOfResources", "message": message}}
    for kind in ("ttgir", "ptx") if "keep" in launch else ():
        Path(f"{launch['keep']}.{kind}").write_text(compiled.asm[kind], encoding="utf-8")
    return {"ok": True, "shared_bytes": shared}


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
    return {"error": {"type": kind, "message": message[:_MESSAGE]}}


def main() -> None:
    """Read launches, write results."""
    results = os.dup(1)
    os.dup2(2, 1)
    report = compile_all(json.load(sys.stdin), TARGETS[int(sys.argv[1])])
    with os.fdopen(results, "w") as out:
        json.dump(report, out)
    os._exit(0)


if __name__ == "__main__":
    main()
