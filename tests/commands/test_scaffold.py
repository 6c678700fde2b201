"""`grade new`: files that work at once, and messages for invalid options."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from grader.assignment.reader import read_assignment
from grader.cli.main import cli
from grader.commands.scaffold.draft import DRAFTED, make_draft
from grader.commands.scaffold.files import course_folder, gaps, write_files
from grader.commands.verify import lints
from grader.commands.verify.lints import benchmarks
from grader.commands.verify.oracle_proofs import oracle_rows
from grader.commands.verify.patches import patched_files
from grader.commands.verify.row import State
from grader.commands.verify.run import verify
from grader.commands.verify.samples import patches_of
from grader.errors import SpecError, UsageError
from grader.system import toolchain
from grader.vocabulary import Device, Language

ADDITION = ("a:float32[n]:in", "b:float32[n]:in", "c:float32[n]:out", "n:int32")
IN_PLACE = ("x:float16[n]:inout", "n:int64")
FROM_SCALARS = (
    "count:int32[rows, cols]:out",
    "y:float16[cols]:out",
    "rows:int32",
    "cols:int32",
    "left:float32",
    "iterations:int32",
)
OTHER_TYPES = (
    "x:uint8[n]:in",
    "k:uint64[n]:in",
    "e:float8_e5m2[n]:inout",
    "w:bfloat16[n]:out",
    "z:bool[n]:out",
    "y:uint32[n]:out",
    "n:uint16",
    "flag:bool",
)
EVERYTHING = (
    "a:float32[rows, cols]:in",
    "w:float16[cols]:in",
    "i:int32[rows]:in",
    "y:float16[rows, cols]:out",
    "s:int32[rows * 2]:out",
    "result:float64[cols]:inout",
    "rows:int32",
    "cols:int32",
    "mask:float32",
)


TYPED = ("x:T[n]:in", "y:T[n]:out", "n:int32")
ENTRIES = (
    "--entry=forward(x:float32[n]:in, y:float32[n]:out, n:int32)",
    "--entry=backward(x:float32[rows, cols]:in, dy:int32[cols]:in, BLOCK:int32, "
    "dx:float32[rows, cols]:out, rows:int32, cols:int32)",
)


def options(arguments: tuple[str, ...]) -> list[str]:
    plain = [argument for argument in arguments if argument.startswith("--")]
    given = [argument for argument in arguments if not argument.startswith("--")]
    return [*plain, *(word for argument in given for word in ("--argument", argument))]


def run(course: Path, *words: str, answers: str = "") -> Result:
    return CliRunner().invoke(cli, ["new", *words, "--course", str(course)], input=answers)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.usefixtures("one_process", "no_nvcc")
def test_new_assignments_verify_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, arguments, languages in (
        ("everything", EVERYTHING, ("cuda", "triton")),
        ("addition", ADDITION, ("triton",)),
        ("in_place", IN_PLACE, ("cuda",)),
        ("from_scalars", FROM_SCALARS, ("cuda",)),
        # A whole number of a float alone.
        ("picture", (FROM_SCALARS[0], *FROM_SCALARS[2:]), ("cuda", "triton")),
        ("other_types", OTHER_TYPES, ("cuda", "triton")),
        ("bare", (*ADDITION, "--kernel"), ("triton",)),
        ("typed", ("--types=T=float32,float16", *TYPED), ("cuda",)),
        ("two", ENTRIES, ("cuda", "triton")),
    ):
        words = [word for language in languages for word in ("--language", language)]
        result = run(tmp_path, name, *words, *options(arguments))
        assert result.exit_code == 0, result.output
    monkeypatch.chdir(tmp_path)
    exit_code = verify(
        assignments=(), device="cpu", kernels=(), languages=(), samples=(), jobs=1, repeat=1,
        seed=0, json_path=None,
    )  # fmt: skip
    assert exit_code == 0


@pytest.mark.slow
@pytest.mark.skipif(toolchain.find_nvcc() is None, reason="no nvcc here")
@pytest.mark.parametrize("arguments", [EVERYTHING, OTHER_TYPES], ids=["everything", "other types"])
def test_nvcc_accepts_the_solved_file(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert run(tmp_path, "fresh", "--language", "cuda", *options(arguments)).exit_code == 0
    nvcc = toolchain.find_nvcc()
    assert nvcc is not None
    solved, header = tmp_path / "reference/fresh/fresh.cu", tmp_path / "student_template/fresh"
    command = [str(nvcc.path), "-std=c++17", f"-I{header}", "-c", str(solved)]
    subprocess.run([*command, "-o", str(tmp_path / "fresh.o")], check=True)


def test_a_bare_kernel_is_launched_by_the_grader(tmp_path: Path) -> None:
    assert run(tmp_path, "fresh", "--kernel", *options(ADDITION)).exit_code == 0
    assignment = read_assignment(tmp_path / "assignments" / "fresh")
    launch = assignment.signature.launch
    assert launch is not None
    assert launch.numbers({"n": 257}) == (2, 1, 1, 256, 1, 1, 0)
    solved = (tmp_path / "reference" / "fresh" / "fresh.cu").read_text(encoding="utf-8")
    assert "<<<" not in solved
    patch = tmp_path / "reference" / "fresh" / "samples" / "accepted" / "int-index.patch"
    assert "+    const int i = blockIdx.x * blockDim.x + threadIdx.x;" in patch.read_text()


def test_a_file_may_have_several_entries(tmp_path: Path) -> None:
    assert run(tmp_path, "two", *ENTRIES).exit_code == 0
    assignment = read_assignment(tmp_path / "assignments" / "two")
    assert [kernel.entry for kernel in assignment.kernels] == ["forward", "backward"]
    assert {kernel.max_score for kernel in assignment.kernels} == {50}
    oracle = (tmp_path / "assignments/two/oracle.py").read_text(encoding="utf-8")
    assert "\n\n\ndef expected(inputs):" in oracle
    assert "\n\n\ndef expected_backward(inputs):" in oracle
    assert oracle.count("def _repeated(") == 1
    solved = (tmp_path / "reference/two/two.cu").read_text(encoding="utf-8")
    assert '#include "forward.h"\n#include "backward.h"\n\nconstexpr int BLOCK_ = 256;' in solved
    assert "forward_kernel<<<blocks, BLOCK_>>>(x, y, n)" in solved
    assert "backward_kernel<<<blocks, BLOCK_>>>(x, dy, BLOCK, dx, rows, cols)" in solved
    samples = tmp_path / "reference/two/samples"
    fault = samples / "memory_error/write-one-past-the-end-backward/two.py"
    assert fault.read_text().split("\n", 1)[0].endswith(" kernel=backward")
    assert (samples / "accepted/small-blocks.patch").read_text().count("+++") == 2


def test_one_of_several_entries_may_have_types_by_case(tmp_path: Path) -> None:
    typed = "--entry=backward(dy:T[n]:in, dx:T[n]:out, n:int32)"
    words = ("--types", "T=float32,float16", ENTRIES[0], typed)
    assert run(tmp_path, "two", *words).exit_code == 0
    forward, backward = read_assignment(tmp_path / "assignments" / "two").of_entries
    assert not forward.signature.dtypes
    by_type = {one.dtype: one.tolerances[Language.CUDA]["dx"].rtol for one in backward.cases}
    assert by_type == {"float32": 1e-5, "float16": 2e-3}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--entry=forward x:float32[n]:in"], "`forward x:float32[n]:in` is no entry"),
        ([ENTRIES[0], "--entry=b(x:float32[n]:in, n:int32)"], "b: there is no output"),
        ([ENTRIES[0], ENTRIES[0]], '`entries[0].entry` is "forward", which is also another entry'),
        ([ENTRIES[0], "--argument=n:int32"], "--argument and --entry exclude each other"),
        ([*ENTRIES, "--types=T=float32,float16"], "no argument names it"),
    ],
)
def test_wrong_entries_give_a_message(tmp_path: Path, words: list[str], sentence: str) -> None:
    refused = run(tmp_path, "two", *words).exception
    assert isinstance(refused, UsageError)
    assert sentence in refused.message
    assert not list(tmp_path.iterdir())


def test_headers_are_written_and_given(tmp_path: Path) -> None:
    words = ("--header=tile.cuh", "--given=launcher.cuh", *options(ADDITION))
    assert run(tmp_path, "fresh", *words).exit_code == 0
    assignment = read_assignment(tmp_path / "assignments" / "fresh")
    assert assignment.given == ("launcher.cuh",)
    assert assignment.kernels[0].paths_in(Language.CUDA) == ("fresh.cu", "tile.cuh")
    stubs = tmp_path / "student_template" / "fresh"
    assert "TILE" not in (stubs / "tile.cuh").read_text(encoding="utf-8")
    assert "LAUNCHER = 32" in (stubs / "launcher.cuh").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--header=../tile.cuh"], "`../tile.cuh` cannot be a header"),
        (["--header=tile.cuh", "--given=tile.h"], "`tile.cuh` is named twice"),
        (["--header=tile.cuh", "--language=triton"], "`tile.cuh`: headers are of CUDA C++"),
    ],
)
def test_wrong_headers_give_a_message(tmp_path: Path, words: list[str], sentence: str) -> None:
    refused = run(tmp_path, "fresh", *words, *options(ADDITION)).exception
    assert isinstance(refused, UsageError)
    assert sentence in refused.message
    assert not list(tmp_path.iterdir())


def test_arguments_may_have_a_type_that_cases_choose(tmp_path: Path) -> None:
    words = ("--types", "T=float32,float16")
    assert run(tmp_path, "fresh", *words, *options(TYPED)).exit_code == 0
    assignment = read_assignment(tmp_path / "assignments" / "fresh")
    assert {case.dtype for case in assignment.cases} == {"float32", "float16"}
    solved = (tmp_path / "reference" / "fresh" / "fresh.cu").read_text(encoding="utf-8")
    assert "template <class T> void fresh(const T* x, T* y, int n)" in solved
    for types, phrase in (
        ("T=float32,int8", "cannot compute in all of float32, int8"),
        ("T=float31", "did you mean `float32`?"),
        ("S=float32", "`T` is no type"),
    ):
        refused = run(tmp_path, "other", "--types", types, *options(TYPED))
        assert isinstance(refused.exception, UsageError)
        assert phrase in refused.exception.message


def test_a_kernel_that_reads_no_array_is_proven_without_other_data(tmp_path: Path) -> None:
    write_files(make_draft("scalars", None, [], FROM_SCALARS), tmp_path)
    assignment = read_assignment(tmp_path / "assignments" / "scalars")
    rows = list(oracle_rows(assignment, Language.CUDA, Device.CPU, 0))
    assert [row for row in rows if row.state is not State.AGREES] == []
    checks = {row.check for row in rows}
    assert {"depends on left", "depends on iterations", "mutant: zeros"} <= checks
    assert not {"other seed", "mutant: stale"} & checks
    spec = assignment.folder / "assignment.toml"
    timed = "sizes = { rows = 4096, cols = 4096, left = 1.5, iterations = 9 }"
    spec.write_text(f"{spec.read_text()}\n[[benchmarks]]\n{timed}\nbytes = 1\n")
    warned = [text for _, text in benchmarks(read_assignment(assignment.folder), tmp_path)]
    assert warned[0].startswith("the kernel reads no array")


@pytest.mark.parametrize(
    "shape",
    [
        "n",
        "n, 3",
        "n - 1, m",
        "n // 2 + 1, m, k",
        "n, m, k, 2",
        "n % 7 + 1",
        "n - 2, m - 2",
        "n - k + 1",
        "k - n + 1",
        "n - k + 1, m - k + 1",
    ],
)
def test_other_shapes_make_a_valid_spec(tmp_path: Path, shape: str) -> None:
    scalars = [f"{name}:int64" for name in "nmk" if name in shape]
    draft = make_draft("other", None, [], [f"x:int8[{shape}]:in", "y:int8[4]:out", *scalars])
    write_files(draft, tmp_path)
    assignment = read_assignment(tmp_path / "assignments" / "other")
    assert assignment.max_score == 100
    assert all(tolerance.exact for tolerance in assignment.tolerances.values())


def test_an_inout_array_needs_no_other(tmp_path: Path) -> None:
    assert run(tmp_path, "scan", *options(("x:int32[n]:inout", "n:int64"))).exit_code == 0
    assert "(x[i]) + 1" in (tmp_path / "reference/scan/scan.cu").read_text()
    assert 'inputs["x"] + 1' in (tmp_path / "assignments/scan/oracle.py").read_text()


def test_one_language_alone(tmp_path: Path) -> None:
    assert run(tmp_path, "one", "--language", "cuda", *options(ADDITION)).exit_code == 0
    files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert "one.cu" in files
    assert "one.py" not in files


def test_places_to_fill_in_are_listed_with_their_lines(tmp_path: Path) -> None:
    draft = make_draft("fresh", 'Say "hello" \\ twice', [], ADDITION)
    files = write_files(draft, tmp_path)
    assert read_assignment(tmp_path / "assignments/fresh").title == 'Say "hello" \\ twice'
    found = list(gaps(files, tmp_path))
    for file, number, text in found:
        line = (tmp_path / file).read_text().splitlines()[number - 1]
        assert "FILL IN" in line and text == line.strip()
    named = {file.name for file, _, _ in found}
    assert named == {"README.md", "assignment.toml", "oracle.py", "fresh.cu", "fresh.py"}


@pytest.mark.parametrize("kernel", [False, True])
def test_samples_apply_after_all_places_are_filled_in(kernel: bool, tmp_path: Path) -> None:
    files = write_files(make_draft("fresh", None, [], ADDITION, kernel=kernel), tmp_path)
    reference = tmp_path / "reference/fresh"
    for file, _, text in gaps(files, tmp_path):
        path = tmp_path / file
        path.write_text(path.read_text().replace(text, text.replace("FILL IN", "because")))
    (patch,) = patches_of(reference)
    assert set(patched_files(patch, reference)) == {"fresh.cu", "fresh.py"}
    assert "FILL IN" not in "".join(path.read_text() for path in reference.rglob("*.*"))


@pytest.mark.parametrize("tree", ["assignments", "reference", "student_template"])
def test_nothing_is_overwritten(tmp_path: Path, tree: str) -> None:
    (tmp_path / tree / "fresh").mkdir(parents=True)
    (tmp_path / tree / "fresh" / "mine").write_text("work")
    result = run(tmp_path, "fresh", *options(ADDITION))
    assert isinstance(result.exception, UsageError)
    assert f"{tree}/fresh exists" in result.exception.message
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [tmp_path / tree / "fresh" / "mine"]


def test_it_asks_for_missing_options(tmp_path: Path) -> None:
    answers = ["Scaled", "cuda", "x:float33[n]:in", "x:float32[n]:in", "y:float32[n]:out",
               "n:int32", ""]  # fmt: skip
    result = run(tmp_path, "scale", answers="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    assert "`float33` is no type; did you mean `float32`?" in result.output
    assignment = read_assignment(tmp_path / "assignments/scale")
    assert assignment.title == "Scaled"
    assert [argument.name for argument in assignment.signature.arguments] == ["x", "y", "n"]


def test_input_that_ends_early_is_a_usage_error(tmp_path: Path) -> None:
    result = run(tmp_path, "scale", answers="Scaled\n")
    assert isinstance(result.exception, UsageError)
    assert "ended before the last question" in result.exception.message


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["x:float32[n]:in", "n:int32"], "there is no output"),
        (["x:float32[n]:in", "y:float32[n]:out"], "`n` in the shape of `x` is no argument"),
        (["x:float32[4]:in", "y:float32[4]:out"], "every shape is fixed"),
        (["x:float32[n]:into", "y:float32[n]:out", "n:int32"], "`into` is no role"),
        (["x:float32[n]:inout", "y:float32[n]:out", "n:int32"], "leave out the `out`"),
        (["x:float[n]:in", "y:float32[n]:out", "n:int32"], "`float` is no type"),
        (["x:boolean[n]:in", "y:float32[n]:out", "n:int32"], "did you mean `bool`?"),
        (
            ["x:complex64[n]:in", "y:float32[n]:out", "n:int32"],
            "cannot compute the complex numbers",
        ),
        (
            ["x:float32[n]:in", "y:float32[n]:out", "n:float32"],
            "`n` in the shape of `x` is no integer: make it n:int32",
        ),
        (["x float32"], "`x float32` is no argument"),
        (["x:float32[2 +]:in"], "is not an arithmetic expression"),
        (["x:float32[n**2]:in", "y:float32[n]:out", "n:int32"], "too complex for a skeleton"),
        (["x:float32[n]:in", "y:float32[cdiv(n, 4)]:out", "n:int32"], "cdiv.n, 4.` is too complex"),
        (["n:int32=many"], "`many` is no number"),
        (["x:float32[n - 9999]:in", "y:float32[n]:out", "n:int32"], "do not allow ordinary"),
        (["int:float32[n]:in", "y:float32[n]:out", "n:int32"], "keyword of CUDA C++"),
        (["x:float32[n]:in", "x:float32[n]:out", "n:int32"], "choose another"),
    ],
)
def test_invalid_arguments_give_a_message(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence.replace("+", r"\+")) as caught:
        write_files(make_draft("fresh", None, [], arguments), tmp_path)
    assert str(tmp_path) not in caught.value.message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["Fresh", "3d", "a-b", "../up", "int", ""])
def test_an_invalid_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        write_files(make_draft(name, None, [], ADDITION), tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_course_is_the_nearest_folder_with_assignments(tmp_path: Path) -> None:
    inner = tmp_path / "assignments" / "silu"
    inner.mkdir(parents=True)
    assert course_folder(inner) == tmp_path


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    result = run(tmp_path, "fresh", *options(ADDITION))
    assert "cannot write" in str(result.exception)


def test_the_course_says_in_which_languages_and_with_which_handout(tmp_path: Path) -> None:
    (tmp_path / "assignments").mkdir()
    course = tmp_path / "assignments" / "course.toml"
    course.write_text('languages = ["triton"]\nhandout = "page.md"\n', encoding="utf-8")
    refused = run(tmp_path, "fresh", *options(ADDITION))
    assert isinstance(refused.exception, SpecError)
    assert refused.exception.message == (
        f"{tmp_path}/assignments/page.md: does not exist, but is the `handout` of course.toml"
    )
    page = "# {title} ({name})\n\n<!-- points: generated -->\n<!-- end -->\n"
    (course.parent / "page.md").write_text(page, encoding="utf-8")
    made = run(tmp_path, "fresh", "--title", "Add {up}", *options(ADDITION))
    assert made.exit_code == 0, made.output
    handout = (tmp_path / "assignments" / "fresh" / "README.md").read_text(encoding="utf-8")
    assert handout.startswith("# Add {up} (fresh)\n")
    assert "| correctness | memory |" in handout
    assert not (tmp_path / "reference" / "fresh" / "fresh.cu").exists()
    both = run(tmp_path, "other", "--language", "cuda", *options(ADDITION))
    assert both.exit_code == 0, both.output
    assignment = read_assignment(tmp_path / "assignments" / "other")
    findings = [text for _, text in lints.languages(assignment, tmp_path)]
    assert findings == ["other has no file in Triton"]


def test_a_courses_language_without_templates_is_left_out() -> None:
    for spoken, drafted in (("cuda", (Language.CUDA,)), ("inline_cuda", DRAFTED)):
        languages = dict.fromkeys((spoken, "inline_cuda"))
        assert make_draft("fresh", None, languages, ADDITION).languages == drafted
