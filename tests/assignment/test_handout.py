"""The handout's generated tables follow the spec and the calibrations."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from paths import REPOSITORY, timed_assignments

from grader.assignment.calibration import BenchmarkFigure, Calibration, SourceFigure, calibrations
from grader.assignment.generated import generated_for
from grader.assignment.handout import HANDOUT, with_tables
from grader.assignment.model import Assignment, Kernel, Tiers
from grader.assignment.reader import read_assignment
from grader.errors import GraderError, SpecError
from grader.timing.decision import Scale, Tier
from grader.vocabulary import CheckName, Device, Language, Visibility

SILU = read_assignment(REPOSITORY / "assignments" / "silu")
BEGIN, END = "<!-- tiers: generated -->", "<!-- end -->"
SLOW, FAST = Tier(speedup=0.5, share=0.4), Tier(speedup=2.0, share=1.0)
BARE = f"before\n{BEGIN}\nanything\n{END}\nafter\n"
FILES = {Language.CUDA: "a.cu", Language.TRITON: "a.py"}


def course(*kernels: Kernel) -> Assignment:
    return replace(SILU, kernels=kernels)


def timed(tiers: Tiers, name: str = "a") -> Kernel:
    points = {CheckName.CORRECTNESS: 10.0, CheckName.PERFORMANCE: 9.0}
    return Kernel(name=name, title=name.upper(), files=FILES, points=points, tiers=tiers)


def rows(*kernels: Kernel) -> list[str]:
    """Return the rows of the table between the markers, without its head."""
    text = with_tables(BARE, course(*kernels))
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"\n{END}\nafter\n")
    return text.splitlines()[4:-2]


def test_languages_with_the_same_tiers_share_a_row() -> None:
    same = Tiers(default=dict.fromkeys(Language, (SLOW, FAST)))
    assert rows(timed(same)) == ["| CUDA C++, Triton | any | 3.6 at 0.5, 9 at 2 |"]


def test_a_gpu_with_its_own_tiers_has_a_row_and_a_gpu_without_tiers_says_so() -> None:
    tiers = Tiers(
        default={Language.CUDA: (FAST,), Language.TRITON: (SLOW, FAST)},
        on={"sm_90": {Language.TRITON: (FAST,)}, "sm_75": {Language.TRITON: ()}},
    )
    assert rows(timed(tiers)) == [
        "| CUDA C++ | any | 9 at 2 |",
        "| Triton | any other | 3.6 at 0.5, 9 at 2 |",
        "| Triton | H100, H200 | 9 at 2 |",
        "| Triton | T4, RTX 20 | shown, not scored |",
    ]


def test_in_a_ladder_only_timed_rungs_are_named() -> None:
    same = Tiers(default=dict.fromkeys(Language, (FAST,)))
    plain = replace(timed(Tiers(), "v1"), points={CheckName.CORRECTNESS: 1.0})
    assert rows(plain, timed(same, "v2")) == ["| V2 | CUDA C++, Triton | any | 9 at 2 |"]


def test_a_tier_that_earns_points_and_is_too_slow_is_reported() -> None:
    below = replace(SLOW, accepted=False)
    tiers = Tiers(default=dict.fromkeys(Language, (below, FAST)))
    assert rows(timed(tiers)) == [
        "| CUDA C++, Triton | any | 3.6 at 0.5, 9 at 2; accepted from 2 |"
    ]


def test_an_architecture_without_known_cards_keeps_its_name() -> None:
    tiers = Tiers(default=dict.fromkeys(Language, (FAST,)), on={"sm_999": {Language.CUDA: ()}})
    assert "| CUDA C++ | sm_999 | shown, not scored |" in rows(timed(tiers))


def test_a_share_of_the_roofline_is_in_the_row_and_named_in_the_head() -> None:
    tiers = Tiers(default=dict.fromkeys(Language, (SLOW, replace(FAST, roof=0.85))))
    assert rows(timed(tiers)) == ["| CUDA C++, Triton | any | 3.6 at 0.5, 9 at 2 or 85 % |"]
    head = "at how many times torch's speed, or which share of a copy's bandwidth |"
    assert head in with_tables(BARE, course(timed(tiers)))
    gemm = read_assignment(SILU.folder.parent / "gemm")
    assert "share of the GPU's arithmetic peak |" in with_tables(
        BARE, replace(gemm, kernels=(timed(tiers),))
    )


def test_a_model_with_its_own_tiers_leaves_its_architectures_row() -> None:
    tiers = Tiers(
        default=dict.fromkeys(Language, (SLOW,)),
        on={
            "sm_90": dict.fromkeys(Language, (FAST,)),
            "H100": dict.fromkeys(Language, (SLOW, FAST)),
        },
    )
    assert rows(timed(tiers)) == [
        "| CUDA C++, Triton | any other | 3.6 at 0.5 |",
        "| CUDA C++, Triton | H200 | 9 at 2 |",
        "| CUDA C++, Triton | H100 | 3.6 at 0.5, 9 at 2 |",
    ]


def test_a_linear_scale_is_reported() -> None:
    tiers = Tiers(default=dict.fromkeys(Language, (SLOW, FAST)), scale=Scale.LINEAR)
    assert rows(timed(tiers)) == [
        "| CUDA C++, Triton | any | 3.6 at 0.5, 9 at 2; in between, points in proportion |"
    ]


def test_a_case_of_one_device_says_which() -> None:
    cases = tuple(replace(case, devices=frozenset({Device.CUDA})) for case in SILU.cases)
    table = with_tables("<!-- cases: generated --><!-- end -->", replace(SILU, cases=cases))
    assert "| n=257 | yes | on a GPU |" in table


def test_without_markers_the_handout_is_unchanged() -> None:
    text = "# A handout\n| tiers | generated |\n<!-- end -->\n"
    assert with_tables(text, SILU) == text


def generated(name: str, assignment: Assignment) -> list[str]:
    text = with_tables(f"<!-- {name}: generated -->\n{END}\n", assignment)
    return text.splitlines()[1:-1]


def test_the_signature_is_that_of_each_language() -> None:
    assert generated("signature", SILU)[2:] == [
        "| CUDA C++ | `silu.cu` | `void silu(const float* input, float* output, int n)` |",
        "| Triton | `silu.py` | `def silu(input, output, n)` |",
    ]


def test_the_points_add_up() -> None:
    table = generated("points", course(timed(Tiers()), timed(Tiers(), "b")))
    assert table == [
        "| kernel | correctness | performance | program | all |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| A | 10 | 9 |  | 19 |",
        "| B | 10 | 9 |  | 19 |",
        "| Your own program |  |  | 10 | 10 |",
        "| all | 20 | 18 | 10 | 48 |",
    ]


def test_groups_of_cases_have_their_weight_and_a_launch_of_their_own(tmp_path: Path) -> None:
    folder = shutil.copytree(REPOSITORY / "assignments" / "grid_stride", tmp_path / "grid_stride")
    spec = folder / "assignment.toml"
    case = """
[[cases]]
name = "one warp"
weight = 3
launch = { grid = ["cdiv(n, 64)"], block = [32] }
sizes = { n = [99, 65], factor = 2.0 }
"""
    spec.write_text(f"{spec.read_text()}{case}")
    assignment = read_assignment(folder)
    table = generated("cases", assignment)
    assert "| one warp: n=65 factor=2.0, grid=cdiv(n, 64), block=32 |  |  |" in table
    assert table[-1] == (
        "Points for correctness are divided by weight: `one warp` counts 3, every other visible "
        f"case 1, the hidden cases {assignment.hidden_cases} in all."
    )
    assert "weight" not in "".join(generated("cases", SILU))


def test_given_headers_are_beside_the_files() -> None:
    table = generated("signature", replace(SILU, given=("launcher.cuh",)))
    assert "| CUDA C++ | `silu.cu`, `launcher.cuh` (given) |" in table[2]
    assert "given" not in table[3]


def test_hidden_cases_are_only_counted() -> None:
    table = "\n".join(generated("cases", SILU))
    visible = [one for one in SILU.cases if one.visibility is Visibility.VISIBLE]
    assert table.count("\n|") == len(visible) + 1
    assert f"There are {SILU.hidden_cases} hidden cases" in table


@pytest.mark.parametrize(
    ("text", "line", "phrase"),
    [
        ("<!-- point: generated -->\n<!-- end -->\n", 1, "did you mean `points`?"),
        ("\n<!-- points: generated -->\nno end\n", 2, "has no `<!-- end -->`"),
        (f"{BEGIN}\n<!-- points: generated -->\n{END}\n", 1, "points: generated -->` in line 2"),
    ],
)
def test_a_wrong_comment_is_reported_with_its_line(text: str, line: int, phrase: str) -> None:
    with pytest.raises(SpecError, match=re.escape(phrase)) as caught:
        with_tables(text, SILU, file=Path("README.md"))
    assert f"README.md:{line}: " in caught.value.message


# ---- measurements ----


def test_figures_of_the_reference_are_in_the_handout() -> None:
    one = BenchmarkFigure(
        name=SILU.benchmarks[0].name,
        baseline_us=20.4,
        submission_us=10.2,
        speedup=2.0,
        gb_s=1234.5,
        tflop_s=None,
        low=1.9,
        high=2.1,
    )
    many = replace(one, baseline_us=200.0, submission_us=2000.0, speedup=0.1, tflop_s=0.51234)
    figures = [
        SourceFigure(kernel="a", language=language, hand_in=name, speedup=1.5, benchmarks=(figure,))
        for language, figure in ((Language.CUDA, one), (Language.TRITON, many))
        for name in ("reference", "too_slow/x")
    ]
    environment = {"gpu": "NVIDIA X", "compute_capability": "9.0"}
    measured = Calibration(assignment="silu", environment=environment, figures=tuple(figures))
    begin = "<!-- performance: generated -->"
    plain = course(timed(Tiers()))
    text = with_tables(f"{begin}\n{END}\n", plain, [measured])
    assert text.splitlines() == [
        begin,
        f"Our own solutions on an NVIDIA X, at {SILU.benchmarks[0].name}.",
        "",
        "| language | torch | solution | rate | times torch |",
        "| --- | --- | --- | --- | --- |",
        "| CUDA C++ | 20 µs | 10 µs | 1234 GB/s | 1.50 |",
        "| Triton | 200 µs | 2000 µs | 0.512 TFLOP/s | 1.50 |",
        END,
    ]


def test_figures_of_sizes_that_the_spec_no_longer_has_are_left_out() -> None:
    begin = "<!-- performance: generated -->"
    measured, *_ = calibrations(REPOSITORY / "assignments" / "silu")
    for other in (replace(SILU, benchmarks=()), read_assignment(SILU.folder.parent / "gemm")):
        text = with_tables(f"{begin}\n{END}\n", other, [measured])
        assert "No GPU has been measured yet" in text


def test_without_figures_the_handout_says_how_to_get_some() -> None:
    begin = "<!-- performance: generated -->"
    text = with_tables(f"{begin}\n{END}\n", SILU, ())
    assert "No GPU has been measured yet: `grade calibrate silu` does." in text


@pytest.mark.parametrize("folder", timed_assignments(), ids=lambda folder: folder.name)
def test_the_figures_are_those_of_the_calibration(folder: Path) -> None:
    assignment = read_assignment(folder)
    text = (folder / HANDOUT).read_text(encoding="utf-8")
    assert text.count("<!-- performance: generated -->") == 1
    again = with_tables(text, assignment, calibrations(folder))
    assert again == text, "run `python -m grader.assignment.generated`"
    assert "Our own solutions on an NVIDIA H" in text


@pytest.mark.parametrize("folder", timed_assignments(), ids=lambda folder: folder.name)
def test_every_kernel_with_points_for_speed_has_its_tiers_in_the_handout(folder: Path) -> None:
    assignment = read_assignment(folder)
    text = (folder / HANDOUT).read_text(encoding="utf-8")
    assert text.count(BEGIN) == 1
    assert with_tables(text, assignment, calibrations(folder)) == text, (
        "run `python -m grader.assignment.generated`"
    )
    table = text.split(BEGIN)[1].split(END)[0]
    for kernel in assignment.kernels:
        if CheckName.PERFORMANCE in kernel.points:
            assert len(assignment.kernels) == 1 or f"| {kernel.title} |" in table
            for tiers in (kernel.tiers.default, *kernel.tiers.on.values()):
                assert all(f"{t.speedup:g}" in table for group in tiers.values() for t in group)


def test_a_handout_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / HANDOUT).write_bytes(b"\xff")
    odd = replace(SILU, folder=tmp_path)
    with pytest.raises(GraderError, match=r"README\.md:1: is not UTF-8"):
        list(generated_for(odd, tmp_path))
