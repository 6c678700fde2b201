"""Stub, reference and header agree: files that follow from each other are current.

reference/NAME/FILE    is there for every kernel and language
generated files        stubs, header, fingerprints and the handout's tiers are as made anew
signature              reference and stub define the entry as the spec has it:
                       the same parameters, types (CUDA C++) and names, in order
header                 declares it
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from grader.assignment.generated import REFERENCES, TEMPLATES, generated_for
from grader.assignment.model import Assignment
from grader.assignment.signature import Signature
from grader.commands.verify.row import Row, State, differs_if
from grader.errors import GraderError
from grader.vocabulary import Language

_REMEDY = "run `python -m grader.assignment.generated`"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def agreement_rows(assignment: Assignment, repository: Path) -> Iterator[Row]:
    """Yield a row for each file that must be there, and for each thing that must agree."""
    for kernel in assignment.kernels:
        for language, path in kernel.files.items():
            yield from _file_rows(assignment, language, path, repository)
    yield _generated_row(assignment, repository)
    if any(Language.CUDA in kernel.files for kernel in assignment.kernels):
        yield _header_row(assignment, repository)


def _file_rows(
    assignment: Assignment, language: Language, path: str, repository: Path
) -> Iterator[Row]:
    solved = repository / REFERENCES / assignment.name / path
    stub = repository / TEMPLATES / assignment.name / path
    if not solved.is_file():
        yield _row(
            assignment, f"reference {path}", "is there", "a solved file", "none", State.DIFFERS
        )
        return
    wanted = (
        parameters(assignment.signature.c_declaration, assignment.signature, language)
        if language is Language.CUDA
        else assignment.signature.python_declaration
    )
    found = [
        parameters(
            file.read_text(encoding="utf-8-sig", errors="replace"), assignment.signature, language
        )
        if file.is_file()
        else None
        for file in (solved, stub)
    ]
    wrong = [
        f"the {what}: {line or f'no definition of {assignment.signature.entry}'}"
        for what, line in zip(("reference", "stub"), found, strict=True)
        if line != wanted
    ]
    yield _row(
        assignment,
        f"reference {path}",
        "signature",
        f"{wanted}, in reference and stub",
        "; ".join(wrong) or "as expected",
        differs_if(bool(wrong)),
    )


def parameters(text: str, signature: Signature, language: Language) -> str | None:
    """Return the entry's definition in a file on one line, None if there is none.

    Of CUDA C++: the last thing that looks like one, without comments,
    `extern "C"`, `__restrict__` and the space that does not matter.
    """
    if language is Language.TRITON:
        return _python_definition(text, signature.entry)
    plain = _COMMENT.sub(" ", text)
    found = re.findall(rf"\bvoid\s+{re.escape(signature.entry)}\s*\(([^()]*)\)", plain)
    if not found:
        return None
    words = re.sub(r"\b__restrict__\b", " ", found[-1])
    return f"void {signature.entry}({', '.join(map(_parameter, words.split(',')))})"


def _parameter(text: str) -> str:
    """Return `const float *input` as `const float* input`."""
    return re.sub(r"\s*\*\s*", "* ", " ".join(text.split())).strip()


def _python_definition(text: str, entry: str) -> str | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    for node in reversed(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == entry:
            return f"def {entry}({ast.unparse(node.args)})"
    return None


def _generated_row(assignment: Assignment, repository: Path) -> Row:
    try:
        generated = list(generated_for(assignment, repository))
        problems = [
            str(path.relative_to(repository))
            for path, text in generated
            if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text
        ]
        note = _REMEDY if problems else f"{len(generated)} files"
    except GraderError as error:
        problems, note = [error.message], error.tip or ""
    return _row(
        assignment,
        "generated files",
        "current",
        "stubs, header, fingerprints and the handout's tiers as made anew",
        f"not current: {', '.join(problems)}" if problems else "as expected",
        differs_if(bool(problems)),
        note,
    )


def _header_row(assignment: Assignment, repository: Path) -> Row:
    signature = assignment.signature
    header = repository / TEMPLATES / assignment.name / signature.header_name
    declared = header.is_file() and f"{signature.c_declaration};" in header.read_text(
        encoding="utf-8", errors="replace"
    )
    return _row(
        assignment,
        f"header {signature.header_name}",
        "declares the entry",
        f"{signature.c_declaration};",
        "as expected" if declared else "no such line" if header.is_file() else "no such file",
        differs_if(not declared),
        "" if declared else _REMEDY,
    )


def _row(
    assignment: Assignment,
    subject: str,
    check: str,
    expected: str,
    actual: str,
    state: State,
    note: str = "",
) -> Row:
    return Row(
        assignment=assignment.name,
        subject=subject,
        check=check,
        state=state,
        expected=expected,
        actual=actual,
        note=note,
    )
