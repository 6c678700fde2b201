"""Finds the CUDA source in a Python file that calls `load_inline`, without running the file.

    python -I -S start.py inspect_inline.py FILE ENTRY      prints one JSON object

Runs in a separate process, because a hostile file may crash the parser.
"""

import ast
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from grader.worker.inspect_python import parsed

_MODULE = "cpp_extension"
_CALL = "load_inline"
_POSITIONAL = ("name", "cpp_sources", "cuda_sources")
# Options that change nothing about what the kernel computes.
_IGNORED = (
    "build_directory", "is_python_module", "keep_intermediates", "name", "no_implicit_headers",
    "use_pch", "verbose", "with_cuda", "with_pytorch_error_handling",
)  # fmt: skip
_OF_FLAGS = ("extra_cflags", "extra_cuda_cflags")
_FLAGS = re.compile(r"-O[0-3]|-{1,2}std=c\+\+(?:17|20)|-{1,2}(?:generate-)?line-?info|-g|-v")
_SHOWN = 60  # characters of an expression
_MOST_CHARACTERS = 100_000  # of a source; the answer has to fit into what a program may print
_RAW = 'write the CUDA source as one string, r"""…""", at the top of the file'


class _RefusedError(Exception):
    """What is wrong, in a sentence without its place, with a hint; at `line`."""

    def __init__(self, line: int | None, message: str, hint: str) -> None:
        super().__init__(message)
        self.problem = {"line": line, "message": message, "hint": hint}


def extract(source: bytes, entry: str) -> dict[str, Any]:
    """Return {"syntax": …}, {"problem": {"line", "message", "hint"}} or {"line", "text"}.

    `text` is the CUDA source, which begins in this line of the file.
    """
    try:
        return parsed(source, lambda tree: _extract(tree, entry))
    except _RefusedError as refused:
        return {"problem": refused.problem}


def _extract(tree: ast.Module, entry: str) -> dict[str, Any]:
    call = _only_call(tree)
    options = _options(call)
    literals = _literals(tree)
    for name, value in options.items():
        _check_option(name, value, literals)
    _check_functions(options.get("functions"), entry, literals)
    _check_cpp(options.get("cpp_sources"), literals)
    sources = options.get("cuda_sources")
    found = [] if sources is None else _strings(sources, literals, "cuda_sources")
    if len(found) != 1:
        raise _RefusedError(
            call.lineno,
            f"`{_CALL}` has {len(found) or 'no'} CUDA source{'s' * (len(found) > 1)}",
            "give it one string, cuda_sources=…",
        )
    (literal,) = found
    text = str(literal.value)
    if text.count("\n") != (literal.end_lineno or literal.lineno) - literal.lineno:
        raise _RefusedError(
            literal.lineno,
            "the CUDA source has an escape such as \\n, which moves its lines",
            'write the string as r"""…""", in which \\n stays as it is',
        )
    if len(text) > _MOST_CHARACTERS:
        raise _RefusedError(
            literal.lineno,
            f"the CUDA source has {len(text):,} characters, more than {_MOST_CHARACTERS:,}",
            "hand in less",
        )
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise _RefusedError(
            literal.lineno, "the CUDA source has characters that no file can have", _RAW
        )
    return {"line": literal.lineno, "text": text}


# ---- the call ----


def _only_call(tree: ast.Module) -> ast.Call:
    """Return the only call of `load_inline`."""
    inline, files = _names(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls.sort(key=lambda node: (node.lineno, node.col_offset))
    found = [node for node in calls if _is_named(node.func, _CALL, inline)]
    of_files = [node for node in calls if _is_named(node.func, "load", files, dotted=_MODULE)]
    if of_files:
        raise _RefusedError(
            of_files[0].lineno,
            "`load` builds from files, which the grader does not have",
            f"put the CUDA source into a string, and call `{_CALL}`",
        )
    if not found:
        raise _RefusedError(None, f"there is no call of `{_CALL}`, which has the CUDA source", _RAW)
    if len(found) > 1:
        raise _RefusedError(
            found[1].lineno,
            f"this is a second module; the first is built in line {found[0].lineno}",
            f"put all of the CUDA source into one string, and call `{_CALL}` once",
        )
    return found[0]


def _names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the names that imports bind to `load_inline` and to `load`."""
    inline, files = set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(_MODULE):
            for one in node.names:
                bound = one.asname or one.name
                if one.name == _CALL:
                    inline.add(bound)
                elif one.name == "load":
                    files.add(bound)
    return inline, files


def _is_named(called: ast.expr, name: str, bound: set[str], *, dotted: str = "") -> bool:
    """True for a bound name, and for `….name`, after `dotted` if that is given."""
    if isinstance(called, ast.Name):
        return called.id in bound
    if not isinstance(called, ast.Attribute) or called.attr != name:
        return False
    return not dotted or ast.unparse(called.value).endswith(dotted)


def _options(call: ast.Call) -> dict[str, ast.expr]:
    """Return the arguments by name."""
    unclear = [one for one in call.args if isinstance(one, ast.Starred)]
    unnamed = any(one.arg is None for one in call.keywords)
    if unclear or unnamed or len(call.args) > len(_POSITIONAL):
        raise _RefusedError(
            call.lineno,
            f"which options `{_CALL}` has is not clear",
            "name each option but the first three, without * and **",
        )
    options = dict(zip(_POSITIONAL, call.args, strict=False))
    return options | {str(one.arg): one.value for one in call.keywords}


def _check_option(name: str, value: ast.expr, literals: dict[str, ast.Constant]) -> None:
    if name in (*_POSITIONAL, "functions") or name in _IGNORED or _is_nothing(value):
        return
    if name not in _OF_FLAGS:
        raise _RefusedError(
            value.lineno,
            f"the option `{name[:_SHOWN]}` is not taken: the grader builds every file alike",
            "remove it",
        )
    for flag in _strings(value, literals, name):
        if not _FLAGS.fullmatch(str(flag.value)):
            raise _RefusedError(
                flag.lineno,
                f"`{str(flag.value)[:_SHOWN]}` in `{name}` is not taken: the grader builds every "
                "file alike",
                "remove it; -O0 to -O3, -std=c++17 and -std=c++20 may stay",
            )


def _is_nothing(value: ast.expr) -> bool:
    """True for None, False, "" and an empty list."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return not value.elts
    return isinstance(value, ast.Constant) and not value.value


def _check_functions(value: ast.expr | None, entry: str, literals: dict[str, ast.Constant]) -> None:
    if value is None or _is_nothing(value):
        return
    if isinstance(value, ast.Dict):
        value = ast.copy_location(ast.List([one for one in value.keys if one is not None]), value)
    names = [str(one.value) for one in _strings(value, literals, "functions")]
    if entry not in names:
        raise _RefusedError(
            value.lineno,
            f"`functions` names {', '.join(f'`{name[:_SHOWN]}`' for name in names[:3])}, but the "
            f"grader calls `{entry}`",
            f'write functions=["{entry}"], and call the function so',
        )


def _check_cpp(value: ast.expr | None, literals: dict[str, ast.Constant]) -> None:
    """Take declarations in `cpp_sources`, which the lectures need for torch, and nothing else."""
    if value is None or _is_nothing(value):
        return
    for one in _strings(value, literals, "cpp_sources"):
        text = re.sub(r"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*", "", str(one.value), flags=re.S | re.M)
        if "{" in text or "=" in text:
            raise _RefusedError(
                one.lineno,
                "there are C++ sources besides the CUDA source",
                "put all code into cuda_sources; cpp_sources may declare the function, or be ''",
            )


# ---- literals ----


def _literals(tree: ast.Module) -> dict[str, ast.Constant]:
    """Return the strings by the names that are bound once, to a string in the file."""
    bound: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                bound.setdefault(target.id, []).append(node.value)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and isinstance(node.target, ast.Name):
            bound.setdefault(node.target.id, []).extend((node.target, node.target))
    return {
        name: values[0]
        for name, values in bound.items()
        if len(values) == 1 and _is_text(values[0]) and isinstance(values[0], ast.Constant)
    }


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _strings(value: ast.expr, literals: dict[str, ast.Constant], option: str) -> list[ast.Constant]:
    """Return the strings of an option: one, or a list of them, each in the file itself."""
    parts = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    found = []
    for part in parts:
        one = literals.get(part.id) if isinstance(part, ast.Name) else part
        if not isinstance(one, ast.Constant) or not _is_text(one):
            shown = " ".join(ast.unparse(part).split())[:_SHOWN]
            raise _RefusedError(
                part.lineno,
                f"`{option}` is `{shown}`, which is no string in this file that the grader can "
                "read without running it",
                'write it as one string, r"""…""", bound once to a name or in the call itself',
            )
        found.append(one)
    return found


def main() -> None:
    """Print what is in the file of the command line."""
    warnings.simplefilter("ignore")  # they would be printed before the result
    print(json.dumps(extract(Path(sys.argv[1]).read_bytes(), sys.argv[2])))
