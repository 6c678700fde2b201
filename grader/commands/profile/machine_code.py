"""What a kernel became for a GPU: PTX or SASS, with each source line above its instructions.

    CUDA C++    nvcc  ─→  PTX, or machine code  ─→  nvdisasm  ─→  SASS
    Triton      the launches of one case, compiled as by the compile gate, and likewise

No GPU is needed. The compilers and nvdisasm run in the sandbox. Triton brings an nvdisasm of its
own, which is used where the CUDA toolkit has none.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from grader.assignment.model import Assignment
from grader.build.compile_gate import gpu_code
from grader.build.cubins import CubinError, cubins
from grader.build.nvcc import nvcc_code_compiler
from grader.commands.profile.resources import (
    architecture_of,
    as_built,
    demangled,
    triton_launches,
    write_sources,
)
from grader.errors import GraderError
from grader.gpu.target import course_target
from grader.grading.context import FileContext
from grader.sandbox import scratch_dir, spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.submission.reader import SourceFile
from grader.system import toolchain
from grader.system.toolchain import Tool
from grader.vocabulary import Language

_MOST_BYTES = 32 << 20  # of one file of code
_DISASSEMBLE_S = 60.0
_MADE = "kernel.code"
_NO_SUCH = (
    "nvdisasm is needed for SASS: it is in the CUDA toolkit and in Triton's package, and neither "
    "is installed"
)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"')
_LOC = re.compile(r"^\s*\.loc\s")
_LOC_PLACE = re.compile(r"(?:\.loc|inlined_at)\s+(\d+)\s+(\d+)")
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_SASS_PLACE = re.compile(r'"([^"]*)", line (\d+)')
_SASS_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/")
_SASS_LABEL = re.compile(r"^\.L_x?\w*:")
_SASS_KERNEL = re.compile(r"^\.text\.([\w$]+):")

Sources = Mapping[str, Sequence[str]]  # the lines of the submission's files, by name
Place = tuple[str, int]


class Code(Enum):
    """A form of a kernel's code, by the name that students know."""

    PTX = "PTX"
    SASS = "SASS"


def machine_code(file: FileContext, code: Code) -> tuple[str, str]:
    """Return the listing of a file's kernels, and why there is none ("" if there is one)."""
    source = as_built(file.built)
    files = {Path(source.path).name: source.text, **source.header_texts}
    sources = {name: text.splitlines() for name, text in files.items()}
    try:
        if file.file.language is Language.NUMBA:
            return "", "is of CUDA C++ and Triton; Numba has `kernel.inspect_asm()`, on a GPU"
        if file.file.language.imported:
            texts, gpu = _triton(file, code), course_target().name
        else:
            architecture = architecture_of(file)
            gpu = "sm_{}{}".format(*architecture)
            texts = [_cuda(file.assignment, source, _nvcc(), architecture, code)]
    except GraderError as error:
        return "", error.message
    made = ptx_listing if code is Code.PTX else sass_listing
    lines = [line for text in texts for line in made(text, sources)]
    if not lines:
        return "", "the file has no kernel"
    return "\n".join([f"// {file.file.title}: {code.value} for {gpu}", *lines]), ""


def ptx_listing(text: str, sources: Sources) -> Iterator[str]:
    """Yield the PTX of kernels without debugging sections, with source lines as comments."""
    lines = text.splitlines()
    numbered = {found[1]: found[2] for found in map(_FILE.match, lines) if found}
    begun, shown, place = False, None, None
    for line in lines:
        if entry := _ENTRY.search(line):
            yield from ("", f"// kernel {_plain(entry[1])}")
            begun, shown, place = True, None, None
        if not begun or _FILE.match(line) or not line.strip():
            continue
        if line.lstrip().startswith(".section"):
            return  # for debuggers, after all code
        if _LOC.match(line):
            found = ((numbered.get(file, ""), number) for file, number in _LOC_PLACE.findall(line))
            place = _own_place(found, sources)
            continue
        if place and place != shown:
            yield _source_line(place, sources)
            shown = place
        yield line


def sass_listing(text: str, sources: Sources) -> Iterator[str]:
    """Yield the instructions and labels of nvdisasm's output, with source lines as comments."""
    shown: Place | None = None
    for line in text.splitlines():
        if kernel := _SASS_KERNEL.match(line):
            yield from ("", f"// kernel {_plain(kernel[1])}")
            shown = None
        elif line.lstrip().startswith("//## "):
            place = _own_place(_SASS_PLACE.findall(line), sources)
            if place and place != shown:
                yield _source_line(place, sources)
                shown = place
        elif _SASS_INSTRUCTION.match(line) or _SASS_LABEL.match(line):
            yield line.rstrip()


def _own_place(places: Iterable[tuple[str, str]], sources: Sources) -> Place | None:
    """Return the first place in the submission: an inlined header's line has it as its caller."""
    for file, number in places:
        name = Path(file).name
        if name in sources and 0 < int(number) <= len(sources[name]):
            return name, int(number)
    return None


def _source_line(place: Place, sources: Sources) -> str:
    name, number = place
    return f"// {name}:{number}: {sources[name][number - 1].strip()}"


def _plain(name: str) -> str:
    return demangled([name]).get(name, name)


def _nvcc() -> Tool:
    nvcc = toolchain.find_nvcc()
    if nvcc is None:
        raise GraderError("nvcc is needed but not installed (`grade doctor`)")
    return nvcc


def _cuda(
    assignment: Assignment,
    source: SourceFile,
    nvcc: Tool,
    architecture: tuple[int, int],
    code: Code,
) -> str:
    """Compile a CUDA C++ file with line information; return its PTX, or its SASS."""
    compiler = nvcc_code_compiler(nvcc, architecture, "ptx" if code is Code.PTX else "cubin")
    with scratch_folder("grade-code-") as folder:
        first = write_sources(folder, assignment, source)
        ended = spawn.run(
            compiler.command(first, Path(), Path(_MADE)),
            cwd=folder,
            environment=spawn.clean_environment(folder) | compiler.environment,
            wall_s=assignment.limits.build_s,
        )
        content = scratch_dir.read_if_there(folder / _MADE, _MOST_BYTES)
        if not content:
            last = (ended.output.strip().splitlines() or ["it printed nothing"])[-1][:200]
            raise GraderError(f"nvcc made no {code.value}: {last}")
        return content.decode("utf-8", "replace") if code is Code.PTX else _disassembled(content)


def _triton(file: FileContext, code: Code) -> list[str]:
    """Execute a Triton file's counted case; return the code of each launch of another kind."""
    if file.gpu is not None:
        raise GraderError("Triton compiles at run time: `--device cpu` shows what it makes")
    case, launches, problem = triton_launches(file)
    if not launches:
        raise GraderError(problem or f"no kernel was launched on {case.name}")
    if code is Code.PTX:
        compiled = gpu_code(launches)
        if compiled.problem:
            raise GraderError(compiled.problem)
        found = [path for folder in compiled.folders for path in folder.glob("*.ptx")]
        return [path.read_text(encoding="utf-8", errors="replace") for path in found]
    try:
        folder = cubins(_distinct(launches), course_target())
    except CubinError as error:
        raise GraderError(str(error)) from error
    return [_disassembled(path.read_bytes()) for path in sorted(folder.glob("*.cubin"))]


def _distinct(launches: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one launch of each compiled kernel."""
    return list({f"{one.get('text')}{one.get('options')}": one for one in launches}.values())


def _disassembled(machine_code: bytes) -> str:
    """Return nvdisasm's text for a file of machine code."""
    program = _nvdisasm()
    with scratch_folder("grade-code-") as folder:
        (folder / "kernel.cubin").write_bytes(machine_code)
        spawn.run(
            ["/bin/sh", "-c", 'exec "$0" -g -c kernel.cubin > kernel.sass', str(program)],
            cwd=folder,
            environment=spawn.clean_environment(folder),
            wall_s=_DISASSEMBLE_S,
        )
        text = scratch_dir.read_if_there(folder / "kernel.sass", _MOST_BYTES)
    if not text:
        raise GraderError("nvdisasm cannot read the machine code: it may be older than nvcc")
    return text.decode("utf-8", "replace")


def _nvdisasm() -> Path:
    """Return the path of nvdisasm, the toolkit's or Triton's. Raises GraderError."""
    if on_path := shutil.which("nvdisasm"):
        return Path(on_path)
    triton = importlib.util.find_spec("triton")
    for folder in (triton.submodule_search_locations or ()) if triton else ():
        program = Path(folder) / "backends" / "nvidia" / "bin" / "nvdisasm"
        if program.is_file():
            return program
    raise GraderError(_NO_SUCH)
