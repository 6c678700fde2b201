"""Kernels that use variables of the function that made them.

The compiler takes what a kernel's closure holds. The interpreter runs the text
of the kernel once more, as if it stood in its module, and there `activation` of
`def make(activation)` does not exist. So that text is run inside of a function
with such parameters, which is called with what the closure holds.
"""

import ast
from types import SimpleNamespace
from typing import Any

_AROUND = "grader_around"


def install(interpreter: Any) -> None:
    """Have kernels keep their closures."""
    rewriter_class = interpreter.FunctionRewriter
    run_text = rewriter_class._compile_and_exec

    def _compile_and_exec(rewriter: Any, tree: ast.Module) -> Any:
        function = rewriter.fn
        names = function.__code__.co_freevars
        if not names:
            return run_text(rewriter, tree)
        around = ast.parse(f"def {_AROUND}({', '.join(names)}): return {function.__name__}")
        outer: Any = around.body[0]
        outer.body[:0] = tree.body
        rewriter.fn = SimpleNamespace(__name__=_AROUND, __globals__=function.__globals__)
        try:
            make = run_text(rewriter, around)
        finally:
            rewriter.fn = function
        return make(*(cell.cell_contents for cell in function.__closure__))

    rewriter_class._compile_and_exec = _compile_and_exec
