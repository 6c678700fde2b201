"""Compile a hand-in's kernels for a GPU that need not be there: the compile gate.

    python triton_compile.py FILE [CAPABILITY] < launches.json > results.json

The interpreter runs what the compiler rejects: types that do not fit, a tile
that is no power of two, `break`, a Python list. So the launches that
`triton_recorder` told are compiled here, in a process without TRITON_INTERPRET,
down to the machine code of a GPU (sm_80 by default). Takes about a second and
needs no GPU. The hand-in's module-level code runs here: use the sandbox, and
a TRITON_CACHE_DIR that can be written.

Standard input: a JSON list of launch records. Standard output: one JSON object

    { "triton": version, "load": null | why the file could not be imported,
      "results": [ { "kernel", "ok", "error": null | {"type", "message", "line"},
                     "problem": null | why it could not be tried } ] }

An `error` is the compiler's verdict on the hand-in, at its own line. A
`problem` is nobody's fault: a launch that cannot be rebuilt, a tool that fails.
"""

import importlib.util
import inspect
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent))  # isolated mode leaves it out

_MESSAGE = 2000
# Verdicts on the source; whatever else is raised may be a fault of the tool.
_VERDICTS = (
    "CompilationError",
    "CompileTimeAssertionFailure",
    "UnsupportedLanguageConstruct",
    "PTXASError",
)


def compile_all(file: str, launches: list[dict[str, Any]], capability: int) -> dict[str, Any]:
    """Import the hand-in and compile each launch."""
    import triton

    if TYPE_CHECKING:
        from grader.worker import triton_key
    else:
        import triton_key
    triton_key.install()  # the cache is gone when this program is
    report: dict[str, Any] = {"triton": triton.__version__, "load": None, "results": []}
    name = Path(file).stem
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        report["load"] = f"{type(error).__name__}: {error}"[:_MESSAGE]
        return report
    for launch in launches:
        result = {"kernel": launch["kernel"], "ok": False, "error": None, "problem": None}
        report["results"].append({**result, **_compile(module, launch, capability)})
    return report


def _compile(module: Any, launch: dict[str, Any], capability: int) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    if launch.get("problem"):
        return {"problem": launch["problem"]}
    functions = _functions(module)
    function = functions.get(launch["kernel"])
    if function is None:
        return {"problem": f"no kernel `{launch['kernel']}` in the file"}
    try:
        constants = {
            (function.arg_names.index(name),): _decode(value, functions)
            for name, value in launch["constants"].items()
        }
        aligned = {
            (function.arg_names.index(name),): [["tt.divisibility", 16]]
            for name in launch["aligned"]
        }
        signature = {name: launch["signature"][name] for name in function.arg_names}
        source = ASTSource(function, signature, constants, aligned)
        target = GPUTarget("cuda", capability, 32)
        triton.compile(source, target=target, options=launch["options"])
    except Exception as error:
        return _judge(error, functions)
    return {"ok": True}


def _functions(module: Any) -> dict[str, Any]:
    """Return the kernels and device functions of a module by their own names."""
    from triton.runtime.jit import JITFunction

    found = {}
    for value in vars(module).values():
        while value is not None and not isinstance(value, JITFunction):
            # Tuners and heuristics wrap a kernel.
            value = vars(value).get("fn") if hasattr(value, "__dict__") else None
        if value is not None:
            found[value.__name__] = value
    return found


def _decode(value: Any, functions: dict[str, Any]) -> Any:
    """Undo the recorder's encoding of a constant."""
    import triton.language as tl

    if value is None:
        return None
    if "dtype" in value:
        kinds = {str(kind): kind for kind in vars(tl).values() if isinstance(kind, tl.dtype)}
        return kinds[value["dtype"]]
    if "function" in value:
        return functions[value["function"]]
    if "float" in value:
        return float(value["float"])
    return value["value"]


def _judge(error: BaseException, functions: dict[str, Any]) -> dict[str, Any]:
    """Put an exception of the compiler into words, at the hand-in's innermost line."""
    innermost, cause = error, error
    while cause.__cause__ is not None:
        cause = cause.__cause__
        if hasattr(cause, "node") and hasattr(cause, "src"):
            innermost = cause
    kind = type(innermost).__name__
    if kind not in _VERDICTS:
        return {"problem": f"{kind}: {error}"[:_MESSAGE]}
    message = str(getattr(innermost, "error_message", None) or cause)
    # Triton wraps some of its own exceptions as text.
    message = re.sub(r"^\w+\((['\"])(.*)\1\)$", r"\2", message, flags=re.DOTALL)
    line = None
    for function in functions.values():
        if getattr(innermost, "src", None) == function.src:
            line = _definition_line(function) + innermost.node.lineno - 1  # type: ignore[attr-defined]
    return {"error": {"type": kind, "message": message[:_MESSAGE], "line": line}}


def _definition_line(function: Any) -> int:
    """Return the line of a kernel's `def`, which is line 1 to the compiler."""
    lines, first = inspect.getsourcelines(function.fn)
    for number, line in enumerate(lines):
        if re.match(r"\s*def\s", line):
            return first + number
    return first


def main() -> None:
    """Read launches, write results; the hand-in's own output goes to standard error."""
    results = os.dup(1)
    os.dup2(2, 1)
    file, *rest = sys.argv[1:]
    launches = json.load(sys.stdin)
    path = str(Path(file).absolute())
    report = compile_all(path, launches, int(rest[0]) if rest else 80)
    with os.fdopen(results, "w") as out:
        json.dump(report, out)
    # Nothing that the hand-in registered to run at exit is wanted.
    os._exit(0)


if __name__ == "__main__":
    main()
