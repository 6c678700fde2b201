"""Inline CUDA: what a `load_inline` call may say, and a sentence with its line for all else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
from grading_bench import Bench, Graded, quick_gradings
from language_bench import checked_silu
from paths import REPOSITORY

from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.build.artifact import Rejected
from grader.build.python_source import build_python
from grader.languages.inline_cuda import InlineCuda
from grader.languages.registry import support_of
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.vocabulary import Device, Language

FILE = "silu_inline.py"
KERNEL = """
__global__ void silu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / (1.0f + expf(-x[i]));
}
"""
TENSORS = "void silu(torch::Tensor input, torch::Tensor output, int n)"
HOST = """ {
    TORCH_CHECK(input.is_cuda() && input.dim() == 1 && input.size(-1) == n, "n floats");
    silu_kernel<<<(input.numel() + 255) / 256, 256>>>(
        input.data_ptr<float>(), output.data_ptr<float>(), n);
}
"""
SOURCE = KERNEL + TENSORS + HOST
IMPORT = "from torch.utils.cpp_extension import load_inline\n"
CALL = 'module = load_inline("silu", "", CUDA, functions=["silu"])\n'


def file_of(source: str = SOURCE, call: str = CALL) -> str:
    return f'{IMPORT}CUDA = r"""{source}"""\n{call}'


@pytest.fixture(scope="module")
def silu() -> Assignment:
    return read_assignment(REPOSITORY / "assignments" / "silu")


def translated(silu: Assignment, text: str) -> SourceFile | Rejected:
    support = support_of(Language.INLINE_CUDA)
    assert isinstance(support, InlineCuda)
    return support.translate(silu, SourceFile(path=FILE, text=text))


# ---- what is taken ----

CALLS = {
    "as in the lectures": f"""\
module = load_inline(
    name="silu_extension",
    cpp_sources="{TENSORS};",
    cuda_sources=CUDA,
    functions=["silu"],
    with_cuda=True,
    extra_cuda_cflags=["-O2"],
    build_directory="./load_inline_cuda",
    verbose=True,
)
""",
    "a list": "load_inline(name='a', cpp_sources=[''], cuda_sources=[CUDA], functions='silu')\n",
    "by the module's name": "torch.utils.cpp_extension.load_inline('a', '', CUDA)\n",
    "in a function": f"def build():\n    return {CALL.partition('= ')[2]}",
    "options without a value": "load_inline('a', '', CUDA, extra_ldflags=[], extra_cflags=None)\n",
    "names with texts": "load_inline('a', '', CUDA, functions={'silu': 'x / (1 + exp(-x))'})\n",
}


@pytest.mark.parametrize("name", CALLS)
def test_lines_stay_where_they_are(silu: Assignment, name: str) -> None:
    text = file_of(call=CALLS[name])
    found = translated(silu, text)
    assert isinstance(found, SourceFile), found
    lines = found.text.replace("silu_of_tensors", "silu").splitlines()
    of_file = text.splitlines()
    for number in range(3, 3 + SOURCE.count("\n") - 1):
        assert lines[number - 1] == of_file[number - 1] != ""


def test_the_example_of_the_page_is_taken(silu: Assignment) -> None:
    page = (REPOSITORY / "docs" / "languages.md").read_text(encoding="utf-8")
    text = page.partition("```python\n")[2].partition("```")[0]
    found = translated(silu, text)
    assert isinstance(found, SourceFile), found
    assert [PurePosixPath(one.path).name for one in found.headers] == ["inline_torch.h"]


def test_pointers_are_taken_as_in_a_cuda_file(silu: Assignment) -> None:
    source = KERNEL + 'extern "C" void silu(const float* input, float* output, int n) {}\n'
    found = translated(silu, file_of(source))
    assert isinstance(found, SourceFile)
    assert found.headers == ()
    assert source in found.text


# ---- what is not taken: text of the file · its line · message · hint ----

OPTIONS = "load_inline('a', '', CUDA, functions=['silu'], "
BAD = {
    "an option": (file_of(call=f"{OPTIONS}extra_ldflags=['-lcublas'])"), "the option `extra_ldfl"),
    "a flag": (
        file_of(call=f"{OPTIONS}extra_cuda_cflags=['-O3', '--use_fast_math'])"),
        "`--use_fast_math` in `extra_cuda_cflags` is not taken",
    ),
    "options in a dictionary": (file_of(call=f"{OPTIONS}**options)"), "which options `load_in"),
    "many positional arguments": (
        file_of(call="load_inline('a', '', CUDA, ['silu'])"),
        "which options `load_inline` has is not clear",
    ),
    "two modules": (file_of(call=CALL + CALL), "this is a second module; the first is built in li"),
    "C++ sources": (
        file_of(call='load_inline("a", "int f() { return 1; }", CUDA)'),
        "there are C++ sources besides the CUDA source",
    ),
    "two CUDA sources": (
        file_of(call="load_inline('a', '', [CUDA, CUDA])"),
        "`load_inline` has 2 CUDA sources",
    ),
    "no CUDA source": (file_of(call="load_inline('a', '')"), "`load_inline` has no CUDA source"),
    "a file": (
        file_of(call="load_inline('a', '', open('silu.cu').read())"),
        "`cuda_sources` is `o",
    ),
    "an f-string": (file_of(call="load_inline('a', '', f'{CUDA}')"), "`cuda_sources` is `f'{CUDA}"),
    "a changed string": (
        file_of(call=f"CUDA += '//'\n{CALL}"),
        "`cuda_sources` is `CUDA`, which is no string in this file",
    ),
    "a function of another name": (
        file_of(call="load_inline('a', '', CUDA, functions=['square'])"),
        "`functions` names `square`, but the grader calls `silu`",
    ),
    "load": (
        "from torch.utils.cpp_extension import load\nload('a', ['silu.cu'])\n",
        "`load` builds from files, which the grader does not have",
    ),
    "an escape": (
        file_of().replace('r"""', '"""').replace("TORCH_CHECK(", 'printf("\\n"); TORCH_CHECK('),
        "the CUDA source has an escape such as \\n",
    ),
    "a returned number": (
        file_of(KERNEL + "int silu(torch::Tensor input, torch::Tensor output, int n) {}\n"),
        "`silu` has a wrong parameter list; found: int silu(",
    ),
    "several returned tensors": (
        file_of(KERNEL + "std::vector<torch::Tensor> silu(torch::Tensor input) { }\n"),
        "`silu` returns tensors, but there is 1 output",
    ),
    "a returned tensor that is an argument too": (
        file_of(KERNEL + "torch::Tensor silu(torch::Tensor input, torch::Tensor output) { }\n"),
        "`silu` has a wrong parameter list; found: torch::Tensor silu(torch::Tensor input, ",
    ),
    "other parameters": (
        file_of(KERNEL + "void silu(torch::Tensor input, int n) {}\n"),
        "`silu` has a wrong parameter list; found: void silu(torch::Tensor input, int n)",
    ),
    "a source without an end": (
        file_of("//" + "é" * 100_000),
        "the CUDA source has 100,002 characters, more than 100,000",
    ),
    "half a character": (
        file_of().replace('r"""', '"""// \\ud800'),
        "the CUDA source has characters that no file can have",
    ),
    "no Python": (f"{IMPORT}def f(:\n", "syntax error: "),
}
LINES = {
    "two modules": 14, "load": 2, "an escape": 2, "a returned number": 7,
    "several returned tensors": 7, "a returned tensor that is an argument too": 7,
    "other parameters": 7,
    "a changed string": 14, "no Python": 2, "a source without an end": 2, "half a character": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_all_else_is_a_sentence_with_its_line(silu: Assignment, name: str) -> None:
    text, phrase = BAD[name]
    found = translated(silu, text)
    assert isinstance(found, Rejected), found
    assert found.verdict is Verdict.COMPILE_ERROR
    assert found.message.startswith(f"{FILE}:{LINES.get(name, 13)}: {phrase}"), found.message
    assert found.hint or name == "no Python"


def test_a_file_without_a_call_says_so(silu: Assignment) -> None:
    found = translated(silu, "import torch\n")
    assert isinstance(found, Rejected)
    assert found.message == f"{FILE}: there is no call of `load_inline`, which has the CUDA source"
    assert 'r"""' in found.hint


# ---- graded ----


@pytest.fixture
def grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], Graded]:
    """Return a function that grades a file's text as silu."""
    checked_silu(tmp_path)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "submission"
    folder.mkdir()

    def graded(text: str) -> Graded:
        (folder / FILE).write_text(text, encoding="utf-8")
        return Bench(tmp_path, capsys).grade(folder, kernels=("silu",))

    return graded


def test_tensors_are_graded_and_the_file_is_not_run(grade: Callable[[str], Graded]) -> None:
    with quick_gradings():
        graded = grade(file_of(call=CALL + "raise SystemExit('this line is never run')\n"))
    assert (graded.verdict, graded.report["score"]) == ("accepted", 100.0)


RETURNING = """
torch::Tensor silu(torch::Tensor input) {
    const auto n = input.numel();
    auto output = torch::empty_like(input);
    silu_kernel<<<(n + 255) / 256, 256>>>(input.data_ptr<float>(), output.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return output;
}
"""


def test_a_returned_tensor_has_the_memory_of_the_output(silu: Assignment) -> None:
    for call in (RETURNING, RETURNING.replace("input)", "input, int n)", 1)):
        found = translated(silu, file_of(KERNEL + call))
        assert isinstance(found, SourceFile), found
        body = found.text.rpartition('extern "C" ')[2]
        assert "outputs({::torch::Tensor(output, {n})});" in body
        assert ("(::torch::Tensor(input, {n}), n)" in body) == ("int n" in call)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "verdict", "phrase"),
    [
        (("", ""), "accepted", ""),
        (("return output", "return input"), "wrong_answer", "0 of "),
        (("< n)", "<= n)"), "memory_error", "`output`"),
        (
            ("empty_like(input)", "empty({n + 1}, input.options())"),
            "runtime_error",
            "a returned tensor has ",
        ),
        (
            ("empty_like(input)", "empty({n}, torch::dtype(torch::kInt32))"),
            "runtime_error",
            "data_ptr<T>(): T is not",
        ),
    ],
)
@pytest.mark.usefixtures("no_nvcc")
def test_a_returned_tensor_is_the_output(
    grade: Callable[[str], Graded],
    change: tuple[str, str],
    verdict: str,
    phrase: str,
) -> None:
    graded = grade(file_of((KERNEL + RETURNING).replace(*change)))
    assert graded.verdict == verdict, graded.printed
    said = [check["message"] for check in graded.checks if check["verdict"] == verdict]
    assert any(phrase in message for message in said) or phrase in graded.output, said


# Two outputs of one size: which tensor has whose memory is not known before the return.
SIGNS = """
__global__ void parts(const float* x, float* up, float* down, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { up[i] = fmaxf(x[i], 0.0f); down[i] = fminf(x[i], 0.0f); }
}
std::tuple<torch::Tensor, torch::Tensor> silu(torch::Tensor x, int n) {
    auto unused = torch::zeros({n}, x.options());
    auto first = torch::empty(x.sizes(), torch::TensorOptions().dtype(torch::kFloat32));
    auto second = torch::empty_like(x);
    parts<<<(n + 255) / 256, 256>>>(
        x.data_ptr<float>(), FIRST.data_ptr<float>(), SECOND.data_ptr<float>(), n);
    return {FIRST, SECOND};
}
"""

PARTS = """
import torch

def inputs(case, dtype, generator):
    return {"input": torch.randn(case.sizes["n"], generator=generator)}

def expected(inputs):
    x = inputs["input"].double()
    return {"up": x.clamp(min=0), "down": x.clamp(max=0)}

def baseline(inputs, outputs):
    torch.clamp(inputs["input"], min=0, out=outputs["up"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("names", [("first", "second"), ("second", "first"), ("unused", "first")])
@pytest.mark.usefixtures("no_nvcc")
def test_several_outputs_are_returned_in_order(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    names: tuple[str, str],
) -> None:
    folder = checked_silu(tmp_path)
    spec = folder / "assignment.toml"
    text = spec.read_text(encoding="utf-8")
    output = re.search(r"^.*name = \"output\".*$", text, flags=re.M)
    assert output is not None
    both = output[0].replace('"output"', '"up"') + "\n" + output[0].replace('"output"', '"down"')
    spec.write_text(text.replace(output[0], both, 1), encoding="utf-8")
    (folder / "oracle.py").write_text(PARTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    submission = tmp_path / "submission"
    submission.mkdir()
    source = SIGNS.replace("FIRST", names[0]).replace("SECOND", names[1])
    (submission / FILE).write_text(file_of(source), encoding="utf-8")
    graded = Bench(tmp_path, capsys).grade(submission, kernels=("silu",))
    assert graded.verdict == "accepted", graded.printed


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        (("input.data_ptr<float>", "input.data_ptr<int>"), "silu_inline.py:9: cannot convert"),
        (("int i =", "int i = undeclared +"), "silu_inline.py:4: ‘undeclared’"),
        (("input.data_ptr<float>()", "(float*)input.data_ptr<int>()"), "calling silu crashed: "),
    ],
)
@pytest.mark.usefixtures("no_nvcc")
def test_messages_have_the_lines_of_the_python_file(
    grade: Callable[[str], Graded],
    change: tuple[str, str],
    phrase: str,
) -> None:
    graded = grade(file_of(SOURCE.replace(*change)))
    assert graded.failed["message"].startswith(phrase), graded.failed


def test_as_triton_such_a_file_is_a_sentence(silu: Assignment, tmp_path: Path) -> None:
    text = file_of(call=CALL + "def silu(x, y, n):\n    module.silu(x, y, n)\n")
    source = SourceFile(path="silu.py", text=text)
    found = build_python(silu.signature, source, Device.CPU, tmp_path)
    assert isinstance(found, Rejected)
    assert found.message.startswith("silu.py:1: this file asks torch to build CUDA source, but it")
    assert "write the kernel in Triton" in found.hint
