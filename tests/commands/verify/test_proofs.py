"""Every proof can fail: an assignment with one error, and the row that reports it."""

from __future__ import annotations

import pytest
from course import ORACLE, Course

from grader.commands.verify.agreement import agreement_rows, parameters
from grader.commands.verify.lints import lint_rows
from grader.commands.verify.oracle_proofs import oracle_rows
from grader.commands.verify.row import Row, State
from grader.vocabulary import Device, Language, Visibility

TOML = "assignments/affine/assignment.toml"
PYTHON = "assignments/affine/oracle.py"


def proofs(course: Course, language: Language = Language.CUDA) -> list[Row]:
    return list(oracle_rows(course.assignment, language, Device.CPU, 0))


def wrong(rows: list[Row]) -> dict[str, str]:
    return {row.check: row.actual for row in rows if row.state is State.DIFFERS}


def test_a_sound_assignment_passes_all(course: Course) -> None:
    for language in course.assignment.languages:
        rows = proofs(course, language)
        assert wrong(rows) == {}
        checks = {row.check for row in rows}
        assert {"depends on input", "depends on weight", "depends on shift"} <= checks
        assert {"mutant: zeros", "mutant: stale", "one step past", "just inside"} <= checks
    assert wrong(list(agreement_rows(course.assignment, course.root))) == {}
    lints = list(lint_rows(course.assignment, course.reference))
    assert wrong(lints) == {}
    # Two and four samples per language, no benchmarks, and no handout.
    warned = {row.check for row in lints if row.state is State.WARNING}
    assert warned == {"samples", "benchmarks", "handout"}
    (few,) = (row.actual for row in lints if row.check == "samples")
    assert few == "in CUDA C++ only 4 samples; in Triton only 2 samples"


def test_a_word_that_the_oracle_does_not_know_is_reported(course: Course) -> None:
    course.edit(TOML, "memory = true", 'memory = true\nvalues = "large"')
    actual = wrong(proofs(course))
    assert actual == {"knows its values": '"large" gives the same inputs as no word'}
    course.edit(PYTHON, "1 + torch.rand", '(9 if case.values == "large" else 1) + torch.rand')
    assert wrong(proofs(course)) == {}


ANSWER = '2 * x * w + inputs["shift"]'


def test_an_oracle_that_prints_is_a_warning(
    course: Course, capfd: pytest.CaptureFixture[str]
) -> None:
    course.edit(PYTHON, "    x, w =", '    print(inputs["n"], "elements", end="")\n    x, w =')
    rows = proofs(course)
    assert wrong(rows) == {}
    (row,) = (row for row in rows if row.check == "prints")
    assert row.state is State.WARNING
    text = (course.root / PYTHON).read_text()
    line = text[: text.index("print(")].count("\n") + 1
    assert row.note == f"line {line}: 1 elements; line {line}: 1 elements; line {line}: 33 elements"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("fault", "old", "new", "check", "phrase"),
    [
        ("constant", ANSWER, "torch.full_like(x, 3.0)", "no constant", "is 3 in all cases"),
        ("divides by 0", ANSWER, f"({ANSWER}) / 0", "no constant", "is a finite number in any"),
        ("ignores an input", "* w +", "+", "depends on weight", "changes no result"),
        (
            "hardly uses an input",
            "* w +",
            "* (1 + 1e-9 * w) +",
            "depends on weight",
            "less than the tolerance",
        ),
        ("ignores the scalar", 'inputs["shift"]}', "0.5}", "depends on shift", "changes no result"),
        (
            "draws without the generator",
            "torch.randn(n, generator=generator)",
            "torch.randn(n)",
            "same seed",
            "`input` differs: use `generator` for all numbers",
        ),
        (
            "remembers",
            'return {"output": 2',
            'calls.append(1)\n    return {"output": len(calls)',
            "same seed",
            "the expected `output` differs",
        ),
        (
            "the same for every seed",
            '    n = case.sizes["n"]',
            '    n = case.sizes["n"]\n    generator.manual_seed(1)',
            "other seed",
            "for all seeds",
        ),
        (
            "changes its input",
            "    x, w =",
            '    inputs["input"] += 1\n    x, w =',
            "inputs kept",
            "expected changes `input`",
        ),
        (
            "the baseline changes its input",
            "    outputs[",
            '    inputs["weight"].zero_()\n    outputs[',
            "inputs kept",
            "baseline changes `weight`",
        ),
        (
            "the baseline forgets the shift",
            '* inputs["weight"] + inputs["shift"])',
            '* inputs["weight"])',
            "baseline",
            "are not right",
        ),
        ("raises", "    x, w =", "    1 / 0\n    x, w =", "gives all cases", "ZeroDivisionError"),
        (
            "single precision",
            ANSWER,
            "(2 * x * w).float()",
            "gives all cases",
            "not torch.float64",
        ),
        ("zeros everywhere", ANSWER, "0 * x", "mutant: zeros", "every case accepts it"),
        (
            "infinite everywhere",
            ANSWER,
            "x * 0 + torch.inf",
            "mutant: infinity",
            "every case accepts it",
        ),
    ],
)
def test_a_faulty_oracle_is_reported(
    course: Course, fault: str, old: str, new: str, check: str, phrase: str
) -> None:
    if fault == "remembers":
        course.edit(PYTHON, "import torch\n", "import torch\n\ncalls = []\n")
    course.edit(PYTHON, old, new)
    rows = proofs(course)
    assert phrase in wrong(rows)[check]
    (failed,) = (row for row in rows if row.check == check)
    if not check.startswith("mutant"):
        assert "oracle.py:" in failed.actual + failed.note


def test_zeros_may_be_right_for_one_case(course: Course) -> None:
    course.edit(TOML, "n = [1, 33, 257]", "n = [2, 33, 257]")
    course.edit(PYTHON, 'inputs["shift"]}', 'inputs["shift"] * (len(x) != 2)}')
    course.edit(PYTHON, "2 * x * w +", "2 * x * w * (len(x) != 2) +")
    rows = {row.check: row for row in proofs(course)}
    assert rows["mutant: zeros"].state is State.AGREES
    assert rows["mutant: zeros"].note == "the right answer to n=2"


@pytest.mark.parametrize(
    ("tolerance", "check"),
    [("{ atol = 100 }", "mutant: zeros"), ("{ atol = 100 }", "mutant: stale")],
)
def test_a_tolerance_that_lets_mutants_pass_is_reported(
    course: Course, tolerance: str, check: str
) -> None:
    course.edit(TOML, "{ atol = 1e-6, rtol = 1e-5 }", tolerance)
    assert "too wide" in wrong(proofs(course))[check]


def test_a_tolerance_that_no_float_can_meet_is_reported(course: Course) -> None:
    course.edit(TOML, "{ atol = 1e-6, rtol = 1e-5 }", "{ rtol = 1e-12 }")
    assert "the closest value to" in wrong(proofs(course))["the right answer"]


def test_exact_and_half_precision_have_bounds_as_well(course: Course) -> None:
    course.edit(TOML, "{ atol = 1e-6, rtol = 1e-5 }", "{ exact = true }")
    course.edit(TOML, 'name = "output", type = "float32"', 'name = "output", type = "float16"')
    course.edit(
        PYTHON, "2 * inputs", "2.0 * inputs"
    )  # without the baseline, which rounds once more
    rows = {row.check: row for row in proofs(course)}
    assert rows["one step past"].state is rows["just inside"].state is State.AGREES
    assert rows["one step past"].note != "0 trials"


def test_a_comparison_that_accepts_too_much_is_reported(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants go through the real comparison: a broken comparison is found."""
    from grader.judge import compare

    bound = compare.allowed
    monkeypatch.setattr(compare, "allowed", lambda e, t: 2 * bound(e, t))
    assert "accepted" in wrong(proofs(course))["one step past"]
    monkeypatch.setattr(compare, "allowed", lambda e, t: 0.5 * bound(e, t))
    assert "refused" in wrong(proofs(course))["just inside"]


# ---- agreement of files ----


def test_outdated_stubs_are_reported(course: Course) -> None:
    course.edit("student_template/affine/v1_simple.cu", "TODO", "TO DO")
    actual = wrong(list(agreement_rows(course.assignment, course.root)))
    assert "student_template/affine/v1_simple.cu" in actual["current"]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("v1_simple.cu", "affine(const float* input,", "affine(const float* values,"),
        (
            "v1_simple.cu",
            "int n, float shift)\n{\n    affine",
            "long n, float shift)\n{\n    affine",
        ),
        ("v0_torch.py", "n, shift)", "n, shift=0.5)"),
        ("v0_torch.py", "def affine", "def other"),
    ],
)
def test_another_signature_in_the_reference_is_reported(
    course: Course, path: str, old: str, new: str
) -> None:
    course.edit(f"reference/affine/{path}", old, new)
    course.generate()
    assert (
        "the reference" in wrong(list(agreement_rows(course.assignment, course.root)))["signature"]
    )


_INLINE = '''\
from torch.utils.cpp_extension import load_inline

CUDA = r"""
HOST
{
    // TODO(student): 1 line
    return;
    // end
}
"""

load_inline(name="affine", cpp_sources="", cuda_sources=CUDA, functions=["affine"])
'''
_TENSORS = "torch::Tensor input, torch::Tensor weight"


@pytest.mark.parametrize(
    "host",
    [
        f"void affine({_TENSORS}, torch::Tensor output, int n, float shift)",
        f"torch::Tensor affine({_TENSORS}, int n, float shift)",
        "torch::Tensor affine(torch::Tensor x, const torch::Tensor& factors, float shift)",
        'extern "C" void affine(const float* input, const float* weight, float* output, int n, '
        "float shift)",
        "torch::Tensor affine(torch::Tensor input)",
    ],
)  # fmt: skip
def test_inline_cuda_has_the_signature_in_any_of_its_forms(course: Course, host: str) -> None:
    course.edit(TOML, '"v1_simple.cu" }', '"v1_simple.cu", inline_cuda = "inline.py" }')
    (course.reference / "inline.py").write_text(_INLINE.replace("HOST", host))
    course.generate()
    rows = agreement_rows(course.assignment, course.root)
    actual = wrong(list(rows)).get("signature", "")
    if host.endswith("(torch::Tensor input)"):
        assert "the stub: inline.py:4: `affine` has a wrong parameter list" in actual
    else:
        assert not actual


def test_a_missing_reference_and_header_are_reported(course: Course) -> None:
    (course.reference / "v0_torch.py").unlink()
    (course.root / "student_template/affine/affine.h").unlink()
    actual = wrong(list(agreement_rows(course.assignment, course.root)))
    assert actual["is there"] == "none"
    assert "affine.h" in actual["current"]


def test_a_missing_solved_program_is_reported(course: Course) -> None:
    course.edit(TOML, '[[kernels]]\nname = "v1', '[program]\npoints = 5\n\n[[kernels]]\nname = "v1')
    (row,) = (r for r in agreement_rows(course.assignment, course.root) if r.check == "is there")
    assert (row.subject, row.state) == ("reference main.cu", State.DIFFERS)


def test_a_definition_is_read_whatever_its_layout(course: Course) -> None:
    signature = course.assignment.signature
    text = (
        "void affine(int other);  // void affine(float)\n"
        'extern "C" void affine ( const float *input, /* (n) */ const float * weight,\n'
        "    float* __restrict__ output, int n, float shift)\n{\n}\n"
    )
    assert parameters(text, signature, Language.CUDA) == signature.c_declaration
    assert parameters("int main() {}", signature, Language.CUDA) is None
    assert parameters("def (", signature, Language.TRITON) is None


def test_a_byte_order_mark_hides_no_definition(course: Course) -> None:
    file = course.reference / "v0_torch.py"
    file.write_text(file.read_text(), encoding="utf-8-sig")
    course.generate()
    assert wrong(list(agreement_rows(course.assignment, course.root))) == {}


# ---- lints ----


@pytest.mark.parametrize(
    ("old", "new", "check", "state", "phrase"),
    [
        (
            "n = [1, 33, 257]",
            "n = [1, 33, 33]",
            "visible cases",
            State.DIFFERS,
            "n=33 occurs twice",
        ),
        (
            "{ n = { min = 300, max = 900 } }",
            "{ n = 33 }",
            "hidden cases",
            State.DIFFERS,
            "n=33 is a visible case as well",
        ),
        ("max = 900", "max = 302", "hidden cases", State.WARNING, "only 3 sizes"),
        ('visibility = "hidden"', 'values = "more"', "hidden cases", State.WARNING, "no hidden"),
        ("memory = 20", "memory = 10", "points", State.WARNING, "90 points"),
        (", memory = 20", "", "points", State.WARNING, "v1_simple has no points for memory"),
        (
            "n = [1, 33, 257]",
            "n = [1, 33, 2000000]",
            "memory cases",
            State.DIFFERS,
            "6000000 elements",
        ),
        ("rtol = 1e-5", "rtol = 1e-3", "tolerance", State.WARNING, "half precision"),
    ],
)
def test_a_weak_spec_is_reported(
    course: Course, old: str, new: str, check: str, state: State, phrase: str
) -> None:
    course.edit(TOML, old, new)
    rows = [row for row in lint_rows(course.assignment, course.reference) if row.state is state]
    found = [row for row in rows if row.check == check and phrase in row.actual]
    assert found, rows
    if state is State.DIFFERS:
        assert found[0].note == str(course.root / TOML)


def test_a_size_that_never_varies_is_reported(course: Course) -> None:
    course.edit(TOML, "n = [1, 33, 257]", "n = 33")
    course.edit(TOML, "{ n = { min = 300, max = 900 } }", "{ n = 33 }")
    rows = lint_rows(course.assignment, course.reference)
    actual = [row.actual for row in rows if row.check == "sizes" and row.state is State.DIFFERS]
    assert "n is 33 in all cases for CUDA C++ on cpu: a hard-coded size would pass" in actual
    assert len(actual) == 4  # two languages, two devices


def test_a_hidden_case_for_the_memory_tools_is_no_finding(course: Course) -> None:
    """The course's run checks memory in it, too."""
    course.edit(TOML, 'visibility = "hidden"', 'visibility = "hidden"\nmemory = true')
    assert any(
        case.memory and case.visibility is Visibility.HIDDEN for case in course.assignment.cases
    )
    rows = [r for r in lint_rows(course.assignment, course.reference) if r.check == "memory cases"]
    assert [row.state for row in rows] == [State.AGREES]


def test_a_language_without_samples_is_reported(course: Course) -> None:
    for path in course.reference.glob("samples/*/*/*.py"):
        path.unlink()
    actual = wrong(list(lint_rows(course.assignment, course.reference)))
    assert actual["samples"] == "no sample in Triton"


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        (None, "README.md: students need to know what the kernel computes"),
        ("`affine` in v1_simple.cu", "README.md does not name v0_torch.py"),
        ("v0_torch.py, v1_simple.cu", "README.md does not name affine"),
    ],
)
def test_an_incomplete_handout_is_reported(course: Course, text: str | None, phrase: str) -> None:
    handout = course.assignment.folder / "README.md"
    handout.unlink(missing_ok=True)
    if text is not None:
        handout.write_text(text)
    rows = [row for row in lint_rows(course.assignment, course.reference) if row.check == "handout"]
    assert [row.state for row in rows] == [State.WARNING]
    assert phrase in rows[0].actual


def test_a_stub_whose_kernel_was_renamed_is_reported(course: Course) -> None:
    old = course.root / "student_template/affine/v1_old.cu"
    old.write_text("// TODO(student)\n")
    rows = [row for row in lint_rows(course.assignment, course.reference) if row.check == "stubs"]
    assert [(row.state, row.actual) for row in rows] == [
        (State.WARNING, f"{old} belongs to no kernel: delete it")
    ]


def test_the_course_of_these_tests_is_valid() -> None:
    assert ANSWER in ORACLE


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        ('{"output": 3.0 * inputs["input"].double()}', ""),
        ("expected(inputs)", "it is so: right in every case"),
        ("{}", "returned no `output`"),
    ],
)
def test_mistakes_that_an_oracle_knows(course: Course, made: str, problem: str) -> None:
    text = f'\n\ndef mistakes(inputs):\n    return {{"it is so": {made}}}\n'
    course.edit(PYTHON, "import torch\n", f"import torch\n{text}")
    rows = {row.check: row for row in proofs(course)}
    assert (rows["mistakes"].state is State.AGREES) == (not problem)
    assert problem in wrong(list(rows.values())).get("mistakes", "")
