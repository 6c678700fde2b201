"""Inline CUDA: a Python file that gives CUDA source to torch's `load_inline`.

The source is read from the file, which is not run, and built as CUDA C++ is. So it costs no 20 s of
building, is checked without a GPU, and cannot leave the work to torch.
"""

from __future__ import annotations

from grader.assignment.model import Assignment
from grader.assignment.signature import Signature
from grader.build.artifact import Rejected, reject_source
from grader.build.python_source import inspected
from grader.build.torch_entry import cuda_file
from grader.languages.cuda_cpp import TranslatedToCuda
from grader.protocol import programs
from grader.submission.reader import SourceFile
from grader.vocabulary import Language

_FILE = """\
from torch.utils.cpp_extension import load_inline

CUDA = r\"\"\"
{text}\"\"\"

module = load_inline(name="{entry}", cpp_sources="", cuda_sources=CUDA, functions=["{entry}"])
"""


class InlineCuda(TranslatedToCuda):
    """CUDA C++ in a string of a Python file."""

    language = Language.INLINE_CUDA

    def translate(self, assignment: Assignment, source: SourceFile) -> SourceFile | Rejected:
        """Return the CUDA source of the only call of `load_inline`."""
        signature = assignment.signature
        found = inspected(source, programs.INSPECT_INLINE, signature.entry)
        if "syntax" in found:
            problem = {"message": f"syntax error: {found['syntax']['message']}", "hint": ""}
            problem |= {"line": found["syntax"]["line"]}
        else:
            problem = found.get("problem", {})
        if problem:
            line = f":{problem['line']}" if problem["line"] else ""
            return reject_source(f"{source.path}{line}: {problem['message']}", problem["hint"])
        return cuda_file(signature, source, found["text"], found["line"])

    def zeros(self, signature: Signature) -> str | None:
        """Return a file whose CUDA source uses cudaMemset."""
        text = super().zeros(signature)
        return None if text is None else _FILE.format(text=text, entry=signature.entry)
