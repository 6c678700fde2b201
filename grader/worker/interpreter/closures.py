"""Kernels that use variables of the function that made them, and other names of constexpr.

The compiler takes what a kernel's closure holds. The interpreter runs the text
of the kernel once more, as if it stood in its module, and there `activation` of
`def make(activation)` does not exist. So that text is run inside of a function
with such parameters, which is called with what the closure holds.

It also reads annotations as text, and knows `tl.constexpr` only. `language.constexpr`
is one as well.
"""

import ast
from types import SimpleNamespace
from typing import Any

_AROUND = "grader_around"
_CONSTANT = "constexpr"  # in the name of its class, and in what a file from the future says


def install(interpreter: Any) -> None:
    """Have kernels keep their closures and their constants."""
    rewriter_class = interpreter.FunctionRewriter
    run_text = rewriter_class._compile_and_exec

    def _compile_and_exec(rewriter: Any, tree: ast.Module) -> Any:
        function = rewriter.fn
        made = _run(rewriter, tree) if function.__closure__ else run_text(rewriter, tree)
        for name, kind in function.__annotations__.items():
            if _CONSTANT in str(kind):
                made.__annotations__[name] = _CONSTANT
        return made

    def _run(rewriter: Any, tree: ast.Module) -> Any:
        function = rewriter.fn
        names = ", ".join(function.__code__.co_freevars)
        around = ast.parse(f"def {_AROUND}({names}): return {function.__name__}")
        outer: Any = around.body[0]
        outer.body[:0] = tree.body
        rewriter.fn = SimpleNamespace(__name__=_AROUND, __globals__=function.__globals__)
        try:
            make = run_text(rewriter, around)
        finally:
            rewriter.fn = function
        return make(*(cell.cell_contents for cell in function.__closure__))

    rewriter_class._compile_and_exec = _compile_and_exec
