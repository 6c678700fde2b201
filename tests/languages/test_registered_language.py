"""A language from outside the package is built, graded, scored and reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from grading_bench import small_silu

from grader.assignment.dialects import Dialect
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built, Rejected, reject_source
from grader.checks.check import BuildRequest, LanguageSupport
from grader.cli.main import cli
from grader.errors import SpecError
from grader.formats.output_format import terminal_text
from grader.formats.registry import formats
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.languages import registry
from grader.languages.cuda_cpp import TranslatedToCuda
from grader.report.evidence import BuildEvidence
from grader.report.model import KernelResult, Report, to_json
from grader.report.reader import from_json
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile, read_submission
from grader.vocabulary import CheckName, Language

_KERNEL = """
__global__ void formula(const float* input, float* output, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; float x = i < n ? input[i] : 0.0f;
    if (i < n) output[i] =
#line LINE
    FORMULA; }
extern "C" void silu(const float* input, float* output, int n) {
    if (n > 0) formula<<<(n + 255) / 256, 256>>>(input, output, n); }
"""


@pytest.fixture
def toy() -> Iterator[Language]:
    """A language of formulas in `x`, one in a file; lines that begin with ; are comments."""

    class Formula(TranslatedToCuda):
        language = Language.add(
            "formula",
            phrase="Formulas",
            suffix=".formula",
            syntax="text",
            comment=";",
            base=Language.CUDA,
        )

        def translate(self, assignment: Assignment, source: SourceFile) -> SourceFile | Rejected:
            lines = enumerate(source.text.splitlines(), start=1)
            formulas = [(n, text) for n, text in lines if text and not text.startswith(";")]
            if len(formulas) != 1:
                return reject_source(f"{source.path} has {len(formulas)} formulas", "write one")
            number, text = formulas[0]
            kernel = _KERNEL.replace("LINE", str(number)).replace("FORMULA", text)
            return replace(source, text=kernel)

    support = Formula()
    registry.register(support)
    yield support.language
    registry.unregister(support)


@pytest.fixture
def own_worker() -> Iterator[Language]:
    """The same language without a base: a worker of its own evaluates the formula."""

    class Formula(LanguageSupport):
        language = Language.add(
            "formula",
            phrase="Formulas",
            suffix=".formula",
            syntax="text",
            comment=";",
            worker=str(Path(__file__).with_name("formula_worker.py")),
        )

        def build(self, request: BuildRequest) -> Built | Rejected:
            path = request.scratch / request.source.path
            path.parent.mkdir(parents=True)
            path.write_text(request.source.text, encoding="utf-8")
            return Built(
                language=self.language,
                device=request.device,
                path=path,
                file=request.source.path,
                entry=request.assignment.signature.entry,
                evidence=BuildEvidence(tool="none", cached=False),
            )

    support = Formula()
    registry.register(support, Dialect(declarations=lambda signature: ("a formula in x",)))
    yield support.language
    registry.unregister(support)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """The spec of an assignment with a file in the language, checked and counted."""
    spec = small_silu(tmp_path) / "assignment.toml"
    text = spec.read_text(encoding="utf-8")
    for old, new in (
        ('triton = "silu.py"', 'formula = "silu.formula"'),
        ("correctness = 100", "correctness = 60, memory = 20, counters = 20"),
        ("[[cases]]\n", "[[cases]]\nmemory = true\n"),
        (
            "[tolerance]",
            "[kernels.counters]\nsizes = { n = 4096 }\nload_sectors = 1.1\n[tolerance]",
        ),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    spec.write_text(text, encoding="utf-8")
    return spec


def graded(spec: Path, text: str) -> tuple[Report, KernelResult]:
    assignment = read_assignment(spec.parent)
    folder = spec.parent / "submission"
    folder.mkdir()
    (folder / "silu.formula").write_text(text, encoding="utf-8")
    submission = read_submission(folder, assignment)
    report = grade(assignment, submission, Options(kernels=frozenset({"silu"})), Progress())
    (kernel,) = report.kernels
    return report, kernel


@pytest.mark.usefixtures("no_nvcc")
def test_a_registered_language_is_built_graded_scored_and_reported(
    toy: Language, spec: Path
) -> None:
    report, kernel = graded(spec, "; the logistic function\nx / (1.0f + expf(-x))\n")
    assert (report.score, report.max_score) == (100.0, 100.0)
    assert (kernel.language, kernel.file) == (toy, "silu.formula")
    assert {check.check: check.verdict for check in kernel.checks} == dict.fromkeys(
        (CheckName.BUILD, CheckName.CORRECTNESS, CheckName.MEMORY, CheckName.COUNTERS),
        Verdict.ACCEPTED,
    )
    written = json.loads(json.dumps(to_json(report)))
    assert from_json(written, "report.json") == report
    assert "Formulas" in terminal_text(report, staff=False)
    assert all(form.file(report) is not None for form in formats())


@pytest.mark.usefixtures("no_nvcc", "toy")
@pytest.mark.parametrize(
    ("text", "verdict", "phrase"),
    [
        ("x\n", Verdict.WRONG_ANSWER, "0 of"),
        ("input[i + 1]\n", Verdict.MEMORY_ERROR, "`input`"),
        (";\n\nx / (1.0f + exponential(-x))\n", Verdict.COMPILE_ERROR, "silu.formula:3: "),
        ("x\nx\n", Verdict.COMPILE_ERROR, "silu.formula has 2 formulas"),
    ],
)
def test_a_wrong_file_loses_its_points(
    spec: Path, text: str, verdict: Verdict, phrase: str
) -> None:
    report, kernel = graded(spec, text)
    assert (report.verdict, kernel.score) == (verdict, 0.0)
    failed = [check for check in kernel.checks if check.verdict is verdict]
    assert any(phrase in check.message for check in failed), [check.message for check in failed]


@pytest.mark.parametrize(
    ("text", "verdict", "points", "pending", "phrase"),
    [
        ("x / (1 + exp(-x))", Verdict.ACCEPTED, 60.0, 40.0, "3 of 3"),
        ("x", Verdict.WRONG_ANSWER, 0.0, 0.0, "`input`"),
        ("x / 0", Verdict.RUNTIME_ERROR, 0.0, 0.0, "ZeroDivisionError: "),
        ("[0] * 2**60", Verdict.RUNTIME_ERROR, 0.0, 0.0, "MemoryError"),
    ],
)
@pytest.mark.usefixtures("own_worker")
def test_a_language_may_have_a_worker_of_its_own(
    spec: Path, text: str, verdict: Verdict, points: float, pending: float, phrase: str
) -> None:
    report, kernel = graded(spec, text)
    assert (report.verdict, kernel.score, kernel.pending) == (verdict, points, pending)
    named = [check.message for check in kernel.checks if check.verdict is verdict]
    assert any(phrase in message for message in named), named
    if verdict is Verdict.ACCEPTED:
        unable = [check for check in kernel.checks if check.verdict is Verdict.NOT_MEASURED]
        assert {check.message for check in unable} == {
            "no tool watches memory accesses in Formulas",
            "no tool counts memory accesses in Formulas",
        }


@pytest.mark.usefixtures("toy")
def test_the_command_line_knows_a_registered_language(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = spec.parent / "silu.formula"
    file.write_text("x\n", encoding="utf-8")
    monkeypatch.chdir(spec.parents[2])
    command = ["local", str(file), "--language", "formula", "--device", "cpu", "--kernel", "v9"]
    result = CliRunner().invoke(cli, command)
    assert "there is no kernel `v9`" in str(result.exception)  # file and language are known


def test_a_language_that_is_not_registered_is_unknown_everywhere(spec: Path) -> None:
    with pytest.raises(ValueError, match="formula"):
        Language("formula")
    with pytest.raises(SpecError, match="formula"):
        read_assignment(spec.parent)
    result = CliRunner().invoke(cli, ["local", "silu", "--language", "formula"])
    assert "'formula' is not one of cuda, triton" in result.output
