"""Reading assignments: valid specs, and refusals of invalid ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from bad_specs import BAD, GOOD, ORACLE, Bad
from paths import REPOSITORY

from grader.assignment.cases import CaseTemplate, Range
from grader.assignment.catalogue import find_assignments
from grader.assignment.counter_bounds import CountBound, CounterBounds
from grader.assignment.model import Course
from grader.assignment.reader import read_assignment, read_course
from grader.assignment.tolerance import Tolerance
from grader.commands.release.visible import visible_spec
from grader.errors import SpecError
from grader.vocabulary import CheckName, Device, Language, Visibility


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an assignment's folder with a valid oracle."""
    folder = tmp_path / "scale"
    folder.mkdir()
    (folder / "oracle.py").write_text(ORACLE, encoding="utf-8")
    return folder


def write(folder: Path, text: str) -> Path:
    file = folder / "assignment.toml"
    file.write_text(text, encoding="utf-8")
    return file


def refusal(folder: Path) -> SpecError:
    with pytest.raises(SpecError) as caught:
        read_assignment(folder)
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.fault)
def test_bad_spec_is_reported_with_file_line_and_key(bad: Bad, folder: Path) -> None:
    file = write(folder, bad.text)
    error = refusal(folder)
    place = f"{file}:{bad.wanted_line}: `{bad.key}` "
    found = [sentence for sentence in error.message.splitlines() if sentence.startswith(place)]
    assert any(bad.phrase in sentence for sentence in found), f"{place}\n{error.message}"


def test_faults_are_named_once() -> None:
    faults = [bad.fault for bad in BAD]
    assert len(faults) == len(set(faults))


def test_good_spec_is_read(folder: Path) -> None:
    write(folder, GOOD)
    assignment = read_assignment(folder)
    assert assignment.folder == folder.resolve()
    assert assignment.max_score == 100
    assert [kernel.name for kernel in assignment.kernels] == ["v1_simple", "v2_vector"]
    assert assignment.kernels[0].files == {Language.CUDA: "v1.cu", Language.TRITON: "v1.py"}
    assert assignment.kernels[1].points == {CheckName.CORRECTNESS: 60}
    assert assignment.limits.call_s == 5
    assert assignment.limits.build_s == 60
    assert assignment.cases[:3] == (
        CaseTemplate(sizes={"rows": 1, "cols": 33}),
        CaseTemplate(sizes={"rows": 7, "cols": 1}),
        CaseTemplate(
            sizes={"rows": 4, "cols": Range(2, 64), "factor": 0.5},
            visibility=Visibility.HIDDEN,
            devices=frozenset({Device.CPU}),
        ),
    )
    assert assignment.cases[2:] == (assignment.cases[2],) * 3


def test_points_and_cases_for_memory_are_read(folder: Path) -> None:
    text = GOOD.replace("correctness = 60 }", "correctness = 45, memory = 15 }")
    write(folder, text.replace("cols = [33, 1] }", "cols = [33, 1] }\nmemory = true"))
    assignment = read_assignment(folder)
    assert [dict(kernel.points) for kernel in assignment.kernels] == [
        {CheckName.CORRECTNESS: 40},
        {CheckName.CORRECTNESS: 45, CheckName.MEMORY: 15},
    ]
    assert assignment.max_score == 100
    drawn = assignment.draw_cases(Device.CPU, Language.CUDA, public_seed=0, secret_seed=0)
    assert [case.memory for case in drawn] == [True, True, False, False, False]


def test_bounds_and_points_for_counters_are_read(folder: Path) -> None:
    table = "counters = { sizes = { rows = 64, cols = 32 }, load_sectors = 1.1, traffic = 3 }"
    text = GOOD.replace("correctness = 60 }", f"correctness = 45, counters = 15 }}\n{table}")
    write(folder, text)
    first, second = read_assignment(folder).kernels
    assert first.counters is None
    assert second.points[CheckName.COUNTERS] == 15
    assert second.counters == CounterBounds(
        sizes={"rows": 64, "cols": 32}, most={"load_sectors": 1.1, "traffic": 3.0}
    )


def test_a_language_may_have_bounds_of_its_own(folder: Path) -> None:
    table = "counters = { sizes = { rows = 64, cols = 32 }, traffic = 3, cuda = { traffic = 2 } }"
    write(folder, GOOD.replace("correctness = 60 }", f"correctness = 60 }}\n{table}"))
    bounds = read_assignment(folder).kernels[1].counters
    assert bounds is not None
    assert bounds.of(Language.CUDA) == {"traffic": 2.0}
    assert bounds.of(Language.TRITON) == {"traffic": 3.0}


def test_tolerances_of_all_outputs_need_no_general_one(folder: Path) -> None:
    table = "[tolerance]\natol = 1e-7\nrtol = 1e-5\ntriton = { rtol = 1e-3 }\n"
    assert table in GOOD
    write(folder, GOOD.replace(table, "[tolerance]\noutput = { rtol = 1e-4 }\n"))
    (one, *_) = (assignment := read_assignment(folder)).cases
    assert assignment.tolerance(one, Language.CUDA, "output") == Tolerance(rtol=1e-4)
    write(folder, GOOD.replace(table, "[tolerance]\noutput = { max_wrong_fraction = 0.1 }\n"))
    assert "add `exact = true`, or `atol` and `rtol`" in refusal(folder).message


def test_a_misspelt_table_is_not_missing_as_well(folder: Path) -> None:
    file = write(folder, GOOD.replace("[tolerance]", "[tolerence]"))
    assert refusal(folder).message == (
        f"{file}:31: `tolerence` is no known key of this table; did you mean `tolerance`?"
    )


def test_bounds_without_points_are_allowed(folder: Path) -> None:
    table = "counters = { sizes = { rows = 64, cols = 32 }, traffic = 3 }"
    write(folder, GOOD.replace("correctness = 60 }", f"correctness = 60 }}\n{table}"))
    assert read_assignment(folder).kernels[1].counters is not None


def test_a_students_own_program_is_graded_like_a_kernel(folder: Path) -> None:
    write(folder, GOOD)
    assert read_assignment(folder).program is None
    assert read_assignment(folder).parts == read_assignment(folder).kernels
    write(folder, GOOD.replace("[limits]", "[program]\npoints = 5\n\n[limits]\nprogram_s = 7"))
    assignment = read_assignment(folder)
    program = assignment.program
    assert program is not None
    assert (program.name, program.files) == ("main", {Language.CUDA: "main.cu"})
    assert program.points == {CheckName.PROGRAM: 5}
    assert assignment.parts == (*assignment.kernels, program)
    assert assignment.max_score == 105
    assert assignment.limits.program_s == 7


def test_all_problems_are_reported_in_the_order_of_lines(folder: Path) -> None:
    text = GOOD.replace("count = 3", "count = 0").replace("atol = 1e-7", "atol = -1")
    file = write(folder, text.replace('"Scale a matrix"', "7"))
    error = refusal(folder)
    places = [int(sentence.split(":")[1]) for sentence in error.message.splitlines()]
    assert places == sorted(places)
    assert len(places) == 3
    assert (error.file, error.line, error.key) == (file, 3, "title")


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(folder: Path) -> None:
    (folder / "assignment.toml").write_bytes(("\ufeff" + GOOD.replace("\n", "\r\n")).encode())
    assert read_assignment(folder).title == "Scale a matrix"
    bad = GOOD.replace("count = 3", "count = 0").replace("\n", "\r\n")
    (folder / "assignment.toml").write_bytes(bad.encode())
    assert refusal(folder).line == GOOD.splitlines().index("count = 3") + 1


@pytest.mark.parametrize(
    ("fault", "edit", "line", "phrase", "tip"),
    [
        ("text-without-quotes", ('"Scale a matrix"', "Scale"), 3, "Invalid value", "needs quotes"),
        ("true-of-python", ('["cpu"]', '["cpu"]\nmemory = True'), 47, "Invalid", "writes true"),
        ("key-twice", ("format = 1", "format = 1\nformat = 1"), 2, "Cannot overwrite", "twice"),
        ("table-twice", ("[limits]", "[signature]"), 36, "declare", "double brackets"),
        ("bracket-open", ('devices = ["cpu"]', 'devices = ["cpu"'), 46, "Unclosed array", "comma"),
        ("quote-open", ('"Scale a matrix"', '"Scale'), 3, "Illegal", "is a quote missing?"),
        ("curly-quotes", ('"Scale a matrix"', "\u201cScale\u201d"), 3, "Invalid", "are curly"),
        ("no-value", ("format = 1", "format 1"), 1, "Expected '='", "key = value"),
    ],
)
def test_broken_toml_is_reported_with_its_line(
    fault: str, edit: tuple[str, str], line: int, phrase: str, tip: str, folder: Path
) -> None:
    file = write(folder, GOOD.replace(*edit))
    error = refusal(folder)
    assert error.message.startswith(f"{file}:{line}: is not TOML: "), fault
    assert phrase in error.message
    assert tip in (error.tip or "")


def test_number_of_thousands_of_digits_is_refused(folder: Path) -> None:
    write(folder, GOOD.replace("format = 1", f"format = {'9' * 5000}"))
    assert "is not TOML" in refusal(folder).message


def test_nesting_without_end_is_refused(folder: Path) -> None:
    write(folder, "a = " + "[" * 100_000)
    assert "nested too deeply" in refusal(folder).message


def test_spec_not_there(folder: Path) -> None:
    error = refusal(folder)
    assert error.message == f"{folder / 'assignment.toml'}: does not exist"
    assert error.tip


def test_spec_is_a_folder(folder: Path) -> None:
    (folder / "assignment.toml").mkdir()
    assert "cannot be read: Is a directory" in refusal(folder).message


def test_spec_not_utf8(folder: Path) -> None:
    (folder / "assignment.toml").write_bytes(b"format = 1\ntitle = '\xe9'\n")
    error = refusal(folder)
    assert (error.line, "UTF-8" in error.message) == (2, True)


@pytest.mark.parametrize(
    ("fault", "old", "new", "line", "phrase"),
    [
        ("function-missing", "def expected", "def expects", None, "lacks `def expected(inputs)`"),
        ("function-misspelt", "def inputs", "def input", None, "did you mean `input`?"),
        ("parameters-missing", "(case, dtype, generator)", "(case)", 4, "has `inputs` with other"),
        ("parameters-too-many", "expected(inputs)", "expected(inputs, n)", 8, "with other arg"),
        ("keyword-only", "(inputs, outputs)", "(inputs, *, outputs)", 12, "(inputs, outputs)"),
        ("hook-misspelt", "def b", "def acept(a, b): ...\n\n\ndef b", 12, "mean `accept`?"),
        ("hook-with-an-s", "def b", "def mistake(a): ...\n\n\ndef b", 12, "mean `mistakes`?"),
        ("hook-without-an-argument", "def b", "def mistakes(): ...\n\n\ndef b", 12, "(inputs)`"),
        ("syntax-error", "return {}\n\n\ndef expected", "return {\n\n\ndef expected", 5, "not Py"),
        ("zero-byte", "import torch", "import torch\0", None, "oracle.py"),
    ],
)
def test_bad_oracle_is_reported_with_its_line(
    fault: str, old: str, new: str, line: int | None, phrase: str, folder: Path
) -> None:
    write(folder, GOOD)
    oracle = folder / "oracle.py"
    oracle.write_text(ORACLE.replace(old, new), encoding="utf-8")
    error = refusal(folder)
    assert error.file == oracle, fault
    assert phrase in error.message
    assert error.line == line
    assert error.message.startswith(f"{oracle}:{line}: " if line else f"{oracle}: ")


def test_oracle_not_there(folder: Path) -> None:
    write(folder, GOOD)
    (folder / "oracle.py").unlink()
    error = refusal(folder)
    assert error.message.startswith(f"{folder / 'oracle.py'}: does not exist")


def test_oracle_with_defaults_and_a_byte_order_mark_is_fine(folder: Path) -> None:
    write(folder, GOOD)
    text = "\ufeff" + ORACLE.replace("generator)", "generator, scale=1)")
    (folder / "oracle.py").write_text(text, encoding="utf-8")
    assert read_assignment(folder).name == "scale"


def test_language_tolerance_replaces_bounds_one_by_one(folder: Path) -> None:
    write(folder, GOOD)
    assert read_assignment(folder).tolerances == {
        Language.CUDA: Tolerance(atol=1e-7, rtol=1e-5),
        Language.TRITON: Tolerance(atol=1e-7, rtol=1e-3),
        Language.INLINE_CUDA: Tolerance(atol=1e-7, rtol=1e-5),
        Language.NUMBA: Tolerance(atol=1e-7, rtol=1e-5),
    }


def test_language_tolerance_may_be_exact_or_leave_exactness(folder: Path) -> None:
    write(folder, GOOD.replace("{ rtol = 1e-3 }", "{ exact = true }"))
    assert read_assignment(folder).tolerances[Language.TRITON] == Tolerance(exact=True)
    write(folder, GOOD.replace("atol = 1e-7\nrtol = 1e-5", "exact = true"))
    assert read_assignment(folder).tolerances == {
        Language.CUDA: Tolerance(exact=True),
        Language.TRITON: Tolerance(rtol=1e-3),
        Language.INLINE_CUDA: Tolerance(exact=True),
        Language.NUMBA: Tolerance(exact=True),
    }


def test_case_may_be_exact_by_itself(folder: Path) -> None:
    write(folder, GOOD.replace("cols = [33, 1] }", "cols = [33, 1] }\nexact = true"))
    assignment = read_assignment(folder)
    drawn = assignment.draw_cases(Device.CPU, Language.TRITON, public_seed=0, secret_seed=0)
    exact = [assignment.tolerance(case, Language.TRITON, "output").exact for case in drawn]
    assert exact == [True, True, False, False, False]


def test_later_tables_of_a_tolerance_replace_earlier_ones(folder: Path) -> None:
    text = GOOD.replace(
        "triton = { rtol = 1e-3 }",
        "max_wrong_fraction = 0.01\ntriton = { rtol = 1e-3 }\n"
        "output = { atol = 1e-2, triton = { max_wrong_fraction = 0 } }",
    )
    own = "tolerance = { rtol = 0.5, triton = { exact = true } }"
    write(folder, text.replace("cols = [33, 1] }", f"cols = [33, 1] }}\n{own}"))
    assignment = read_assignment(folder)

    def found(language: Language) -> list[Tolerance]:
        drawn = assignment.draw_cases(Device.CPU, language, public_seed=0, secret_seed=0)
        return [assignment.tolerance(case, language, "output") for case in (drawn[0], drawn[-1])]

    cuda = Tolerance(atol=1e-2, rtol=1e-5, max_wrong_fraction=0.01)
    assert found(Language.CUDA) == [replace(cuda, rtol=0.5), cuda]
    assert found(Language.TRITON) == [Tolerance(exact=True), Tolerance(atol=1e-2, rtol=1e-3)]


def test_a_case_runs_in_each_type_of_the_list_and_has_its_tolerance(folder: Path) -> None:
    text = GOOD.replace(
        '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
        '[signature.types]\nreal = ["float32", "float16"]\n',
    ).replace("triton = { rtol = 1e-3 }", "float16 = { rtol = 2e-3, triton = { rtol = 3e-3 } }")
    write(folder, text.replace("count = 3\n", 'count = 3\ndtypes = ["float16"]\n'))
    assignment = read_assignment(folder)
    assert [case.name for case in assignment.cases[:4]] == [
        "rows=1, cols=33, float32",
        "rows=1, cols=33, float16",
        "rows=7, cols=1, float32",
        "rows=7, cols=1, float16",
    ]
    assert [case.dtype for case in assignment.cases[4:]] == ["float16"] * 3
    single, half = (
        [assignment.tolerance(case, language, "output").rtol for language in Language]
        for case in assignment.cases[:2]
    )
    assert (single, half) == ([1e-5] * 4, [2e-3, 3e-3, 2e-3, 2e-3])


def test_counts_have_bounds_at_either_end(folder: Path) -> None:
    table = (
        "counters = { sizes = { rows = 64, cols = 32 }, launches = 2, barriers = { min = 1 }, "
        "triton = { launches = { min = 1, max = 1 } } }"
    )
    text = GOOD.replace("correctness = 40 }", f"correctness = 30, counters = 10 }}\n{table}")
    write(folder, text)
    bounds = read_assignment(folder).kernels[0].counters
    assert bounds is not None
    assert bounds.counts_of(Language.CUDA) == {
        "launches": CountBound(most=2), "barriers": CountBound(least=1),
    }  # fmt: skip
    assert bounds.counts_of(Language.TRITON) == {"launches": CountBound(least=1, most=1)}


def test_hidden_groups_count_for_their_weight_in_the_students_copy(folder: Path) -> None:
    hidden = 'visibility = "hidden"'
    write(folder, GOOD.replace(hidden, f'{hidden}\nname = "tall"\nweight = 5'))
    assignment = read_assignment(folder)
    assert assignment.weights == {"tall": 5}
    assert (assignment.hidden_cases, assignment.weight_of_hidden) == (3, 5)
    file = folder / "assignment.toml"
    shown = visible_spec(file.read_text(), file, hidden=3, weight=5)
    write(folder, shown)
    copy = read_assignment(folder)
    assert (copy.hidden_cases, copy.weight_of_hidden, copy.weights) == (3, 5, {})
    assert "hidden_weight" not in visible_spec(GOOD, file, hidden=3, weight=3)


def test_torch_is_forbidden_unless_a_kernel_allows_it(folder: Path) -> None:
    rules = 'points = { correctness = 40 }\nrules = { torch = "allowed" }'
    write(folder, GOOD.replace("points = { correctness = 40 }", rules))
    kernels = read_assignment(folder).kernels
    assert [kernel.rules.torch_allowed for kernel in kernels] == [True, False]


def test_same_seeds_draw_the_same_cases(folder: Path) -> None:
    write(folder, GOOD)
    assignment = read_assignment(folder)
    seeds = {"public_seed": 0, "secret_seed": 7}
    drawn = assignment.draw_cases(Device.CPU, Language.CUDA, **seeds)
    assert drawn == assignment.draw_cases(Device.CPU, Language.CUDA, **seeds)
    assert len(drawn) == 5
    assert len({case.seed for case in drawn}) == 5


def test_secret_seed_changes_hidden_cases_only(folder: Path) -> None:
    write(folder, GOOD)
    assignment = read_assignment(folder)
    one, other = (
        assignment.draw_cases(Device.CPU, Language.CUDA, public_seed=0, secret_seed=secret)
        for secret in (1, 2)
    )
    assert one[:2] == other[:2]
    assert all(a.seed != b.seed for a, b in zip(one[2:], other[2:], strict=True))
    assert [case.sizes["cols"] for case in one[2:]] != [case.sizes["cols"] for case in other[2:]]
    for case in (*one[2:], *other[2:]):
        assert 2 <= case.sizes["cols"] <= 64


def test_filters_take_cases_away_and_change_no_other(folder: Path) -> None:
    write(folder, GOOD + "\n[[cases]]\nsizes = { rows = 2, cols = { min = 1, max = 4096 } }\n")
    assignment = read_assignment(folder)
    on_cpu, on_gpu = (
        assignment.draw_cases(device, Language.CUDA, public_seed=3, secret_seed=4)
        for device in (Device.CPU, Device.CUDA)
    )
    assert on_gpu == (*on_cpu[:2], on_cpu[-1])


def test_case_names_are_distinct(folder: Path) -> None:
    text = GOOD.replace("cols = { min = 2, max = 64 }", "cols = 9")
    write(folder, text.replace('visibility = "hidden"', 'values = "edges"'))
    drawn = read_assignment(folder).draw_cases(
        Device.CPU, Language.CUDA, public_seed=0, secret_seed=0
    )
    assert [case.name for case in drawn[1:]] == [
        "rows=7, cols=1",
        "rows=4, cols=9, factor=0.5, edges",
        "rows=4, cols=9, factor=0.5, edges #2",
        "rows=4, cols=9, factor=0.5, edges #3",
    ]


@pytest.mark.parametrize(
    "folder_name",
    [folder.name for folder in find_assignments(REPOSITORY / "assignments")],
)
def test_assignment_of_this_repository_is_sound(folder_name: str) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / folder_name)
    for device in Device:
        for language in {word for kernel in assignment.kernels for word in kernel.files}:
            drawn = assignment.draw_cases(device, language, public_seed=0, secret_seed=1)
            assert {case.visibility for case in drawn} > {Visibility.VISIBLE}
            watched = {case.visibility for case in drawn if case.memory}
            # Hidden sizes as well, so that no submission knows all that are checked.
            assert watched == {Visibility.VISIBLE, Visibility.HIDDEN} or all(
                CheckName.MEMORY not in k.points for k in assignment.kernels
            )


def keys_without_description(node: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    """Yield the keys of a table and of its inner tables that have no description for editors."""
    if "$ref" in node:
        node = {**schema["$defs"][node["$ref"].rpartition("/")[2]], **node}
    for key, inner in node.get("properties", {}).items():
        own = schema["$defs"].get(inner.get("$ref", "").rpartition("/")[2], {})
        if not (inner.get("description") or own.get("description")):
            yield key
        yield from keys_without_description(inner, schema)
    below = [node.get("items"), node.get("additionalProperties"), *node.get("anyOf", ())]
    for inner in below:
        if isinstance(inner, dict):
            yield from keys_without_description(inner, schema)


def test_each_key_has_a_description() -> None:
    file = resources.files("grader").joinpath("schemas/assignment.schema.json")
    schema = json.loads(file.read_text("utf-8"))
    assert not list(keys_without_description(schema, schema))
    del schema["properties"]["limits"]["properties"]["call_s"]["description"]
    assert list(keys_without_description(schema, schema)) == ["call_s"]


def test_a_name_of_one_language_is_free_where_it_is_not_used(folder: Path) -> None:
    only_cuda = GOOD.replace(', triton = "v1.py"', "").replace("triton = ", "# triton = ")
    write(folder, only_cuda.replace('"factor"', '"tl"').replace("factor =", "tl ="))
    assert read_assignment(folder).signature.arguments[-1].name == "tl"


COURSE = "[late]\nperiod_h = 24\nlose = 0.1\n\n[limits]\ncall_s = 7\nbuild_s = 30\n"


def test_what_the_course_shares_holds_where_a_spec_says_nothing(folder: Path) -> None:
    write(folder, GOOD)
    alone = read_assignment(folder)
    (folder.parent / "course.toml").write_text(COURSE, encoding="utf-8")
    assignment = read_assignment(folder)
    assert (assignment.limits.call_s, assignment.limits.build_s) == (5, 30)
    assert assignment.late is not None
    assert assignment.late.lose == 0.1
    assert alone.late is None
    own = "[late]\nperiod_h = 1\nlose = 0.5\n"
    write(folder, f"{GOOD}\n{own}")
    late = read_assignment(folder).late
    assert late is not None
    assert late.lose == 0.5


def test_a_course_has_a_gpu_languages_and_a_handout(folder: Path) -> None:
    write(folder, GOOD)
    assert read_course(folder.parent) == Course()
    text = 'target = "T4"\nlanguages = ["triton"]\nhandout = "page.md"\n'
    (folder.parent / "course.toml").write_text(text, encoding="utf-8")
    page = folder.parent / "page.md"
    course = Course(target="T4", languages=(Language.TRITON,), handout=page)
    assert read_course(folder.parent) == course
    assert read_assignment(folder).late is None


@pytest.mark.parametrize(
    ("text", "line", "phrase"),
    [
        ("[lat]\nperiod_h = 1\n", 1, "did you mean `late`?"),
        ("[late]\nperiod_h = 1\nlose = 2\n", 3, "`late.lose` is 2, must be 1 or less"),
        ("[limits]\ncall = 2\n", 2, "`limits.call` is no known key of this table"),
        ("name = 'x'\n", 1, "`name` is no known key of this table; known: `format`, `late`"),
        ("late = \n", 1, "is not TOML"),
        ('\ntarget = "A1000"\n', 2, "did you mean `A100`?"),
        ('languages = ["cudas"]\n', 1, "did you mean `cuda`?"),
        ('handout = "../handout.md"\n', 1, "must be a file name of letters, digits and _ . -"),
    ],
)
def test_a_bad_course_file_is_reported_with_its_line(
    folder: Path, text: str, line: int, phrase: str
) -> None:
    write(folder, GOOD)
    (folder.parent / "course.toml").write_text(text, encoding="utf-8")
    message = refusal(folder).message
    assert f"course.toml:{line}: " in message
    assert phrase in message


def test_helpers_of_an_oracle_may_have_any_name(folder: Path) -> None:
    helpers = "def accepts(x):\n    return x\n\n\ndef _mistake(x):\n    return accepts(x)\n"
    write(folder, GOOD)
    (folder / "oracle.py").write_text(f"{ORACLE}\n\n{helpers}\n\nX = _mistake(1)\n")
    assert read_assignment(folder)
