"""Agreement of stub, reference, header and spec.

reference/NAME/FILE    exists for every kernel and language
generated files        stubs, header, fingerprints and the handout's tables are up to date
signature              reference and stub define the entry as in the spec: the same
                       parameters, types (CUDA C++) and names, in order; inline CUDA in any of
                       its forms
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grader.assignment.dialects import dialect
from grader.assignment.generated import REFERENCES, TEMPLATES, generated_for
from grader.assignment.model import PROGRAM_FILE, Assignment
from grader.assignment.signature import Signature
from grader.build.artifact import Rejected
from grader.commands.verify.row import Row, proof
from grader.errors import GraderError
from grader.languages.cuda_cpp import TranslatedToCuda
from grader.languages.registry import support_of
from grader.submission.reader import SourceFile
from grader.vocabulary import Language

_FIX = "`grade verify --update` writes them"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def agreement_rows(assignment: Assignment, repository: Path) -> Iterator[Row]:
    """Yield a row for each required file and for each agreement."""
    for kernel in assignment.kernels:
        for language in kernel.files:
            paths, own = kernel.paths_in(language), assignment.of(kernel)
            yield from _file_rows(own, language, paths, repository)
    program = repository / REFERENCES / assignment.name / PROGRAM_FILE
    if assignment.program is not None and not program.is_file():
        yield _missing_row(assignment, PROGRAM_FILE)
    yield _generated_row(assignment, repository)


def _file_rows(
    assignment: Assignment, language: Language, paths: Sequence[str], repository: Path
) -> Iterator[Row]:
    signature = assignment.signature
    solved, stub = (repository / tree / assignment.name for tree in (REFERENCES, TEMPLATES))
    subject = f"reference {paths[0]}"
    if not (solved / paths[0]).is_file():
        yield _missing_row(assignment, paths[0])
        return
    python = language.base.syntax == "python"
    declarations = dialect(language).declarations(signature)
    support = support_of(language)
    translation = support if isinstance(support, TranslatedToCuda) else None
    # A translated file has the entry as CUDA C++ declares it, in whichever form it was written.
    compared = [signature.c_declaration] if translation else declarations
    allowed = [one if python else parameters(one, signature, language) for one in compared]
    wrong = []
    # A given header, such as a launcher, may define the entry.
    given = assignment.given if dialect(language).includes else ()
    for what, folder in (("reference", solved), ("stub", stub)):
        text = _text(map(folder.joinpath, paths))
        if translation:
            made = translation.translate(assignment, SourceFile(path=paths[0], text=text))
            if isinstance(made, Rejected):
                wrong.append(f"the {what}: {made.message}")
                continue
            text = made.text
        text = "\n".join((_text(assignment.folder / name for name in given), text))
        defined = parameters(text, signature, language)
        if defined not in allowed:
            found = (
                defined or _syntax_error(text, language) or f"no definition of {signature.entry}"
            )
            wrong.append(f"the {what}: {found}")
    expected = f"{declarations[0] if translation else allowed[0]}, in reference and stub"
    yield proof(assignment.name, subject, "signature", expected=expected, problem="; ".join(wrong))


def _missing_row(assignment: Assignment, file: str) -> Row:
    subject = f"reference {file}"
    return proof(assignment.name, subject, "is there", expected="a solved file", problem="none")


def _text(files: Iterable[Path]) -> str:
    return "\n".join(
        file.read_text(encoding="utf-8-sig", errors="replace") for file in files if file.is_file()
    )


def parameters(text: str, signature: Signature, language: Language) -> str | None:
    """Return the entry's definition in a file, on one line; None if there is none.

    In CUDA C++ it is the last text that looks like a definition, without comments,
    `extern "C"`, `__restrict__` and insignificant whitespace.
    """
    if language.base.syntax == "python":
        return _python_definition(text, signature.entry)
    plain = _COMMENT.sub(" ", text)
    lists = re.findall(rf"\bvoid\s+{re.escape(signature.entry)}\s*\(([^()]*)\)", plain)
    if not lists:
        return None
    words = re.sub(r"\b__restrict__\b", " ", lists[-1])
    return f"void {signature.entry}({', '.join(map(_parameter, words.split(',')))})"


def _parameter(text: str) -> str:
    """Return `const float *input` as `const float* input`."""
    return re.sub(r"\s*\*\s*", "* ", " ".join(text.split())).strip()


def _syntax_error(text: str, language: Language) -> str:
    """Return why a Python file cannot be parsed; "" if it can."""
    if language.base.syntax == "python":
        try:
            ast.parse(text)
        except SyntaxError as error:
            return (
                f"line {error.lineno} is not Python: {error.msg}; code that it needs must be "
                "outside of TODO(student) and end"
            )
        except ValueError:
            return "not Python"
    return ""


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
        outdated = [
            str(path.relative_to(repository))
            for path, text in generated
            if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text
        ]
        problem = f"out of date: {', '.join(outdated)}" if outdated else ""
        note = _FIX if outdated else f"{len(generated)} files"
    except GraderError as error:
        problem, note = error.message, error.tip or ""
    return proof(
        assignment.name,
        "generated files",
        "current",
        expected="stubs, header, fingerprints and the handout's tables are up to date",
        problem=problem,
        note=note,
    )
