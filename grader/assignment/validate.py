"""Rules beyond the JSON Schema: signature, kernels, oracle.

Every rule takes data that the schema accepted, yields problems, and never raises.
`validate_cases`, `validate_timing`, `tolerance` and `counter_bounds` have the other rules.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.assignment.counter_bounds import counter_problems
from grader.assignment.dialects import dialect
from grader.assignment.entries import entry_problems, entry_views
from grader.assignment.expression import Expression
from grader.assignment.launch import launch_problems
from grader.assignment.model import ORACLE_FILE, PROGRAM_FILE, PROGRAM_LANGUAGE, PROGRAM_NAME
from grader.assignment.names import reserved, reserved_entry, type_meant
from grader.assignment.problem import Problem
from grader.assignment.signature import ElementType, Signature
from grader.assignment.tolerance import tolerance_problems
from grader.assignment.toml_locations import KeyPath
from grader.assignment.validate_cases import case_problems, scalar_problem, used_languages
from grader.assignment.validate_timing import timing_problems
from grader.text.did_you_mean import did_you_mean
from grader.vocabulary import Language

# The functions that the oracle must define, with their arguments.
ORACLE_FUNCTIONS = {
    "inputs": ("case", "dtype", "generator"),
    "expected": ("inputs",),
    "baseline": ("inputs", "outputs"),
}


# Optional functions: cheaper ways to prepare and check timed calls, a comparison of its own, and
# what students take for the right result.
ORACLE_HOOKS = {
    "refresh": ("inputs", "generator"),
    "verify": ("inputs", "outputs", "generator"),
    "accept": ("inputs", "outputs"),
    "mistakes": ("inputs",),
}
_NEAR = 0.8  # to the name of an optional function: `accepts` and `verified` are


def meaning_problems(data: Mapping[str, Any], folder: Path) -> Iterator[Problem]:
    """Yield all problems of a spec that the schema accepted."""
    name = folder.resolve().name
    if data["name"] != name:
        yield Problem(
            ("name",), f'is "{data["name"]}" but the folder is "{name}": rename one of them'
        )
    yield from _kernel_problems(data)
    yield from _given_problems(data, folder)
    misnamed = list(entry_problems(data))
    yield from misnamed
    views = [] if misnamed else entry_views(data)
    for view in views:
        yield from map(view.whole, _entry_problems(view.data))
    suffixes = [view.suffix for view in views] or [""]
    yield from _oracle_problems(folder / ORACLE_FILE, suffixes)


def _entry_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of a spec with one entry that are not about files."""
    wrong = [*_signature_problems(data), *_type_problems(data), *launch_problems(data)]
    yield from wrong
    # Sizes and outputs can be checked only against a valid signature.
    signature = None if wrong else Signature.of(data["signature"])
    yield from tolerance_problems(data, signature, used_languages(data))
    if signature is not None:
        yield from _program_problems(data, signature)
        yield from case_problems(data, signature)
        yield from timing_problems(data, signature)
        yield from counter_problems(data, signature)


def _signature_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    signature = data["signature"]
    entry, arguments = signature["entry"], signature["arguments"]
    languages = set(map(Language, used_languages(data)))
    why = reserved_entry(entry, languages)
    if why:
        yield Problem(("signature", "entry"), f'is "{entry}", {why}')
    seen = {entry: "the entry's name"}
    if signature.get("kind") == "kernel":
        seen |= dict.fromkeys(("BLOCK", "BLOCK_X", "BLOCK_Y", "BLOCK_Z"), "for the launch's block")
    for index, argument in enumerate(arguments):
        at: KeyPath = ("signature", "arguments", index)
        name = argument["name"]
        why = reserved(name, languages)
        if why:
            yield Problem((*at, "name"), f'is "{name}", {why}')
        if name in seen:
            yield Problem((*at, "name"), f'is "{name}", which is {seen[name]}: choose another')
        seen[name] = "also the name of an argument before it"
        yield from _argument_problems(argument, at, signature, languages)
        yield from _extent_problems(argument, at, data)
    if all(argument.get("role", "in") == "in" for argument in arguments):
        yield Problem(("signature", "arguments"), 'has no output: one needs role = "out"')


def _bound_types(word: str, types: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return the element types of an argument's type by language; "" is any language."""
    bound = types.get(word, [word])
    if isinstance(bound, list):
        return {"": set(bound)}
    return {language: {kind} for language, kind in bound.items()}


def _argument_problems(
    argument: Mapping[str, Any], at: KeyPath, signature: Mapping[str, Any], languages: set[Language]
) -> Iterator[Problem]:
    types = signature.get("types", {})
    elements = [kind.word for kind in ElementType]
    if argument["type"] not in types and argument["type"] not in elements:
        meant = type_meant(argument["type"], [*types, *elements])
        yield Problem((*at, "type"), f'is "{argument["type"]}", which is no type{meant}')
        return
    by_language = _bound_types(argument["type"], types)
    for one in Language:
        spoken = by_language.get("", set()) | by_language.get(one.base.value, set())
        for kind, instead in dialect(one).lacks.items() if one in languages else ():
            if kind.word in spoken:
                message = f'is "{kind.word}", which {one.phrase} lacks: {instead}'
                yield Problem((*at, "type"), message)
    if "shape" not in argument:
        for key in ("role", "memory"):
            if key in argument:
                yield Problem((*at, key), "is for arrays: add a `shape`, or remove it")
        kinds = [ElementType.named(kind) for kind in sorted(set().union(*by_language.values()))]
        for kind in kinds:
            if kind.header:  # C++ has no such built-in type
                message = f"makes a {kind.word} scalar: use float32, or an array"
                yield Problem((*at, "type"), message)
        if "default" in argument:
            wrong = scalar_problem(argument["default"], kinds)
            if wrong:
                yield Problem((*at, "default"), wrong)
        return
    if "default" in argument:
        yield Problem((*at, "default"), "is for scalars: remove it, or the `shape`")
    arrays = {other["name"] for other in signature["arguments"] if "shape" in other}
    for position, extent in enumerate(argument["shape"]):
        try:
            names = Expression.parse(extent).names
        except ValueError as error:
            yield Problem((*at, "shape", position), str(error))
            continue
        for name in sorted(names & arrays):
            yield Problem((*at, "shape", position), f"uses `{name}`, which is an array: use sizes")


def _extent_problems(
    argument: Mapping[str, Any], at: KeyPath, data: Mapping[str, Any]
) -> Iterator[Problem]:
    """Yield a problem for each size in a shape that looks misspelt: no case gives it."""
    arguments = data["signature"]["arguments"]
    scalars = [one["name"] for one in arguments if "shape" not in one]
    given = {name for case in data["cases"] for name in case["sizes"]}
    known = given | {one["name"] for one in arguments}
    for position, extent in enumerate(argument.get("shape", ())):
        with contextlib.suppress(ValueError):  # reported by `_argument_problems`
            for name in sorted(Expression.parse(extent).names - known):
                if meant := did_you_mean(name, scalars):
                    place: KeyPath = (*at, "shape", position)
                    yield Problem(place, f"names `{name}`, which no case gives a size{meant}")


def _type_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    signature = data["signature"]
    types = signature.get("types", {})
    used = {argument["type"] for argument in signature["arguments"]}
    names = {signature["entry"], *(argument["name"] for argument in signature["arguments"])}
    variables = [name for name, bound in types.items() if isinstance(bound, list)]
    for name, bound in types.items():
        at: KeyPath = ("signature", "types", name)
        if name in variables:
            why = reserved(name, set(map(Language, used_languages(data))))
            if why:
                yield Problem(at, f'is "{name}", {why}')
            elif name in names:
                yield Problem(at, "is the name of the entry or an argument: choose another")
            if name != variables[0]:
                message = f"is a second list: cases choose the type `{variables[0]}` alone"
                yield Problem(at, f"{message}; bind it by language")
        if name in {kind.word for kind in ElementType}:
            yield Problem(at, "is the name of an element type: choose another")
        elif name not in used:
            yield Problem(at, "is the type of no argument: use it, or remove it")
        used = {Language(word).base.value for word in used_languages(data)}
        for language in sorted(used - set(bound)) if name not in variables else ():
            yield Problem((*at, language), "is missing: a kernel has a file in this language")


def file_names(value: str | list[str]) -> tuple[str, ...]:
    """Return the files of a kernel in one language, that with the entry first."""
    return (value,) if isinstance(value, str) else tuple(value)


def _kernel_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    kernels, names, first = data["kernels"], set[str](), data["signature"]["entry"]
    if all(kernel.get("bonus") for kernel in kernels):
        yield Problem(("kernels", 0, "bonus"), "is set for every kernel: one must be no bonus")
    # By lower-case path: some file systems ignore case. Kernels of several entries share files.
    owners = {name.lower(): "given" for name in data.get("given", ())}
    shared: dict[str, set[str]] = {}
    for index, kernel in enumerate(kernels):
        name = kernel["name"]
        if name in names:
            yield Problem(
                ("kernels", index, "name"),
                f'is "{name}", the name of an earlier kernel: choose another',
            )
        names.add(name)
        if "libraries" in kernel.get("rules", {}) and not _includes(kernel["files"]):
            yield Problem(
                ("kernels", index, "rules", "libraries"),
                "is for CUDA C++, but the kernel has no .cu file: remove it",
            )
        for language, named in kernel["files"].items():
            key: KeyPath = ("kernels", index, "files", language)
            files = file_names(named)
            for position, file in enumerate(files):
                at = key if isinstance(named, str) else (*key, position)
                if file.lower() in map(str.lower, files[:position]):
                    message = "which is named twice (some file systems ignore case): remove one"
                    yield Problem(at, f'is "{file}", {message}')
                    continue
                entry, others = kernel.get("entry", first), shared.setdefault(file, set())
                if file.lower() in owners and (not others or entry in others):
                    yield Problem(
                        at,
                        f'is "{file}", which is also the file of `{owners[file.lower()]}` (some '
                        "file systems ignore case)",
                    )
                owners.setdefault(file.lower(), name)
                others.add(entry)
                if Path(file).parent != Path(files[0]).parent:
                    yield Problem(at, f'is "{file}", which is not beside {files[0]}: move it there')
                yield from _header_problems(file, data, at)
            file = files[0]
            if file.lower() == PROGRAM_FILE:
                yield Problem(key, f'is "{file}", the name of the student\'s own program')
            if why := dialect(Language(language)).reserved_stem(Path(file).stem):
                yield Problem(key, f'is "{file}", {why}')


def _includes(languages: Iterable[str]) -> bool:
    """True if files of one of the languages can include others."""
    return any(dialect(Language(word)).includes for word in languages)


def _header_problems(file: str, data: Mapping[str, Any], at: KeyPath) -> Iterator[Problem]:
    """Yield why a header cannot have this name: the compiler would find it in place of another."""
    name = Path(file).name
    entries = [data["signature"]["entry"], *(one["entry"] for one in data.get("entries", ()))]
    if name in [f"{entry}.h" for entry in entries]:
        yield Problem(at, f'is "{file}", the header that is generated: choose another name')
    elif name.endswith((".h", ".cuh")) and name.startswith(("cuda", "grader", "std")):
        yield Problem(at, f'is "{file}", which could hide a header of CUDA: choose another name')


def _given_problems(data: Mapping[str, Any], folder: Path) -> Iterator[Problem]:
    given = data.get("given", ())
    if given and not _includes(used_languages(data)):
        yield Problem(("given",), "is for CUDA C++, but no kernel has a .cu file: remove it")
    for index, name in enumerate(given):
        at: KeyPath = ("given", index)
        if name.lower() in [other.lower() for other in given[:index]]:
            message = "which is named twice (some file systems ignore case): remove one"
            yield Problem(at, f'is "{name}", {message}')
        yield from _header_problems(name, data, at)
        file = folder / name
        if file.is_symlink() or not file.is_file():
            yield Problem(at, f'is "{name}", but there is no such file beside assignment.toml')


def _program_problems(data: Mapping[str, Any], signature: Signature) -> Iterator[Problem]:
    """Yield why main.cu cannot be graded: its shim gets only the entry's arguments."""
    if "program" not in data:
        return
    kernels = data["kernels"]
    if signature.variable:
        message = f"needs a function of one type, not a template of `{signature.variable}`"
        yield Problem(("program",), f"{message}: remove it, or bind that type by language")
    if not any(PROGRAM_LANGUAGE in kernel["files"] for kernel in kernels):
        yield Problem(
            ("program",), "needs a kernel with a file in CUDA C++: add one, or remove the table"
        )
    for index, kernel in enumerate(kernels):
        if kernel["name"] == PROGRAM_NAME:
            yield Problem(
                ("kernels", index, "name"),
                f'is "{PROGRAM_NAME}", the name of the student\'s own program: choose another',
            )
    scalars = {scalar.name for scalar in signature.scalars}
    for output in signature.outputs:
        names = {name for extent in output.shape or () for name in extent.names}
        for name in sorted(names - scalars):
            yield Problem(
                ("program",),
                f"cannot know the size of `{output.name}`: `{name}` is no argument; "
                "make it one, or remove the table",
            )


def _oracle_problems(oracle: Path, suffixes: Sequence[str]) -> Iterator[Problem]:
    """Check the oracle without running it, because `grade list` must not import torch.

    It has functions for each entry, whose names end in a suffix.
    """
    try:
        tree = ast.parse(oracle.read_bytes())
    except FileNotFoundError:
        yield Problem((), "does not exist: it gives the inputs and the expected results", oracle)
        return
    except SyntaxError as error:
        yield Problem((), f"is not Python: {error.msg}", oracle, error.lineno)
        return
    except (OSError, ValueError) as error:
        yield Problem((), f"cannot be read: {error}", oracle)
        return
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    needed = {f"{name}{end}": has for end in suffixes for name, has in ORACLE_FUNCTIONS.items()}
    hooks = {f"{name}{end}": has for end in suffixes for name, has in ORACLE_HOOKS.items()}
    others = set(functions) - set(needed) - set(hooks)
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for name in sorted(others - called):  # a helper is called, an optional function is not
        if meant := did_you_mean(name, set(hooks) - set(functions), least=_NEAR):
            line = functions[name].lineno
            yield Problem((), f"has `{name}`, which is never called{meant}", oracle, line)
    hooks = {name: hooks[name] for name in sorted(set(functions) & set(hooks))}
    for name, arguments in {**needed, **hooks}.items():
        wanted = f"def {name}({', '.join(arguments)})"
        if name not in functions:
            yield Problem((), f"lacks `{wanted}`{did_you_mean(name, others)}", oracle)
            continue
        parameters = functions[name].args
        most = len(parameters.posonlyargs) + len(parameters.args)
        least = most - len(parameters.defaults)
        fits = least <= len(arguments) and (parameters.vararg or len(arguments) <= most)
        if not fits or any(default is None for default in parameters.kw_defaults):
            line = functions[name].lineno
            yield Problem((), f"has `{name}` with other arguments: write `{wanted}`", oracle, line)
