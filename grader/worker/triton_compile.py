"""The compile gate's program: compile a submission's Triton kernels without a GPU.

    python triton_compile.py FILE [CAPABILITY] < launches.json > results.json

The interpreter accepts code that the compiler rejects: types that do not fit, a tile that is no
power of two, `break`, a Python list. So the launches that `triton_recorder` logged are compiled
here, in a process without TRITON_INTERPRET, down to the machine code of a GPU (sm_80 by default).
That takes about a second and needs no GPU. The submission's module-level code runs here: use the
sandbox, and a writable TRITON_CACHE_DIR.

Standard input: a JSON list of launch records. Standard output: one JSON object

    { "triton": version, "load": null | why the file could not be imported,
      "results": [ { "kernel", "ok",
                     "error": null | {"type", "message", "hint", "line"},
                     "problem": null | why it could not be tried } ] }

An `error` is the compiler's verdict on the submission, at the student's line; its hint may be
empty. A `problem` is not the student's fault: a launch that cannot be rebuilt, a tool that fails.
"""

import ast
import contextlib
import importlib.util
import json
import os
import re
import sys
from collections import namedtuple
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import standalone  # noqa: F401 # so that the imports below find their modules

if TYPE_CHECKING:
    from grader.worker.triton_kernels import Kernels

_MESSAGE = 2000
# Verdicts on the source; any other exception may be a fault of the tool.
_VERDICTS = (
    "CompilationError",
    "CompileTimeAssertionFailure",
    "UnsupportedLanguageConstruct",
    "PTXASError",
)


def compile_all(file: str, launches: list[dict[str, Any]], capability: int) -> dict[str, Any]:
    """Import the submission and compile each launch."""
    import triton

    from grader.worker import triton_cache_key
    from grader.worker.triton_kernels import Kernels

    triton_cache_key.install()  # the cache does not outlive this program
    report: dict[str, Any] = {"triton": triton.__version__, "load": None, "results": []}
    name = Path(file).stem
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _host(file):
            spec.loader.exec_module(module)
    except BaseException as error:
        report["load"] = f"{type(error).__name__}: {error}"[:_MESSAGE]
        return report
    kernels = Kernels(module, file)
    for launch in launches:
        result = {"kernel": launch["kernel"], "ok": False, "error": None, "problem": None}
        report["results"].append({**result, **_compile(kernels, launch, capability)})
    return report


def _host(file: str) -> AbstractContextManager[object]:
    """Return a context that answers queries about a GPU, which the file's import may need."""
    text = Path(file).read_bytes()
    if b"torch" not in text and b"driver" not in text:
        return contextlib.nullcontext()  # no queries: save the second for importing torch
    from grader.worker import triton_host

    return triton_host.install(file)()


def _compile(kernels: "Kernels", launch: dict[str, Any], capability: int) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    if launch.get("problem"):
        return {"problem": launch["problem"]}
    try:
        function = kernels.find(launch["kernel"], launch["line"])
    except LookupError as error:
        return {"problem": str(error)[:_MESSAGE]}
    ones: list[str] = []
    try:
        signature, constants, attributes, ones = _specialized(function, launch)
        constants.update(
            (_place(function, path), _decode(value, kernels))
            for path, value in launch["constants"].items()
        )
        source = ASTSource(function, signature, constants, attributes)
        target = GPUTarget("cuda", capability, 32)
        triton.compile(source, target=target, options=launch["options"])
    except Exception as error:
        return _judge(error, kernels, ones)
    return {"ok": True}


def _specialized(function: Any, launch: dict[str, Any]) -> tuple[Any, Any, Any, list[str]]:
    """Return signature, constants, attributes, and the arguments that are a constant 1.

    As in triton's launcher: a parameter's annotation is its type, an integer 1 is a constant and a
    multiple of 16 has the attribute of divisibility, except for parameters with
    `do_not_specialize`. Items of a tuple are always specialized.
    """
    aligned = {_place(function, path) for path in launch["aligned"]}
    constants = {_place(function, path): 1 for path in launch["ones"]}
    signature, ones = {}, []
    for index, parameter in enumerate(function.params):
        name, place = parameter.name, (index,)
        kind = signature[name] = _tuples(launch["signature"][name], name, launch["fields"])
        if kind == "constexpr" or isinstance(kind, tuple):
            continue
        annotated = parameter.annotation_type
        if annotated:
            signature[name] = annotated
        if annotated or parameter.do_not_specialize:
            constants.pop(place, None)
        elif place in constants:
            signature[name] = "constexpr"
            ones.append(name)
        if (
            parameter.do_not_specialize
            or parameter.do_not_specialize_on_alignment
            or annotated.startswith(("fp", "bf", "u1"))
        ):
            aligned.discard(place)
    attributes = {place: [["tt.divisibility", 16]] for place in sorted(aligned)}
    return signature, constants, attributes, ones


def _place(function: Any, path: str) -> tuple[int, ...]:
    """Return the position of an argument, or of an item in it: `pair.1` → (2, 1)."""
    name, *numbers = path.split(".")
    return function.arg_names.index(name), *map(int, numbers)


def _tuples(kinds: Any, path: str, fields: dict[str, list[str]]) -> Any:
    """Return a list of types as a tuple, named if `fields` has names, and a single type as is."""
    if isinstance(kinds, str):
        return kinds
    items = [_tuples(kind, f"{path}.{i}", fields) for i, kind in enumerate(kinds)]
    return _tuple(items, fields.get(path))


def _tuple(items: list[Any], fields: list[str] | None) -> Any:
    return namedtuple("Named", fields)(*items) if fields else tuple(items)


def _decode(value: Any, kernels: "Kernels") -> Any:
    """Undo the recorder's encoding of a constant."""
    import triton.language as tl

    if value is None:
        return None
    if "dtype" in value:
        kinds = {str(kind): kind for kind in vars(tl).values() if isinstance(kind, tl.dtype)}
        return kinds[value["dtype"]]
    if "function" in value:
        return kernels.find(value["function"], value["line"])
    if "tuple" in value:
        return _tuple([_decode(item, kernels) for item in value["tuple"]], value["fields"])
    if "float" in value:
        return float(value["float"])
    return value["value"]


def _judge(error: BaseException, kernels: "Kernels", ones: list[str]) -> dict[str, Any]:
    """Describe an exception of the compiler, at the innermost line of the submission."""
    innermost, cause = error, error
    while cause.__cause__ is not None:
        cause = cause.__cause__
        if hasattr(cause, "node") and hasattr(cause, "src"):
            innermost = cause
    kind = type(innermost).__name__
    if kind not in _VERDICTS:
        return {"problem": f"{kind}: {error}"[:_MESSAGE]}
    message = str(getattr(innermost, "error_message", None) or cause)
    # Triton converts some of its exceptions to text.
    message = re.sub(r"^\w+\((['\"])(.*)\1\)$", r"\2", message, flags=re.DOTALL)
    line = None
    if hasattr(innermost, "node") and hasattr(innermost, "src"):
        line = kernels.line(innermost.src, innermost.node.lineno)
    hint = _hint(message, getattr(innermost, "node", None), ones)
    return {"error": {"type": kind, "message": message[:_MESSAGE], "hint": hint, "line": line}}


def _hint(message: str, node: Any, ones: list[str]) -> str:
    """Explain an error whose cause is an argument that is 1; "" for other errors."""
    missing = re.search(r"'(?:int|constexpr)' object has no attribute '(\w+)'", message)
    if missing is None or not ones:
        return ""
    named = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)] if node else []
    # In a helper function the argument has another name.
    name = next((name for name in named if name in ones), ones[0])
    return (
        f"an integer argument that is 1 becomes a compile-time constant, as `{name}` did: "
        f"use @triton.jit(do_not_specialize=[{name!r}]), or do not use .{missing[1]} on it"
    )


def main() -> None:
    """Read launches, write results; the submission's own output goes to standard error."""
    results = os.dup(1)
    os.dup2(2, 1)
    file, *rest = sys.argv[1:]
    launches = json.load(sys.stdin)
    path = str(Path(file).absolute())
    report = compile_all(path, launches, int(rest[0]) if rest else 80)
    with os.fdopen(results, "w") as out:
        json.dump(report, out)
    # The submission's exit handlers must not run.
    os._exit(0)


if __name__ == "__main__":
    main()
