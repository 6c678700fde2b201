"""Tiers and benchmarks in a spec: valid ones, and refusals of invalid ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from bad_specs import GOOD, ORACLE

from grader.assignment.handout import with_tables
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.checks.counters.count import counting_case
from grader.checks.performance.roof import roofline_of, work_of
from grader.errors import SpecError
from grader.gpu.monitor import Peaks
from grader.timing.decision import Scale, Tier
from grader.vocabulary import CheckName, Language

GPU = {"sm_90": "NVIDIA H100 80GB HBM3", "sm_75": "Tesla T4"}
TIERS = """points = { correctness = 40, performance = 20 }

[kernels.tiers]
cuda = [{ speedup = 0.5, share = 0.4 }, { speedup = 1.0, share = 1.0, accepted = true }]
triton = [{ speedup = 0.8, share = 1.0 }]

[kernels.tiers.on.sm_75]
triton = []
"""
BENCHMARKS = """
[[benchmarks]]
sizes = { rows = 8192, cols = 4096 }
bytes = "2 * size * rows * cols"
flops = "rows * cols"

[[benchmarks]]
sizes = { rows = 64, cols = 1048576 }
values = "edges"
bytes = "2 * size * rows * cols"
languages = ["cuda"]
"""
TIMED = GOOD.replace("points = { correctness = 40 }\n", TIERS) + BENCHMARKS

ROOF = TIMED.replace("speedup = 0.8, share", "speedup = 0.8, roof = 0.7, share")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "scale"
    folder.mkdir()
    (folder / "oracle.py").write_text(ORACLE, encoding="utf-8")
    return folder


def read(folder: Path, text: str) -> Assignment:
    (folder / "assignment.toml").write_text(text, encoding="utf-8")
    return read_assignment(folder)


ONLY_ON = TIMED.replace(
    "triton = [{ speedup = 0.8, share = 1.0 }]\n\n[kernels.tiers.on.sm_75]\ntriton = []",
    "\n[kernels.tiers.on.T4]\ntriton = [{ speedup = 0.8, share = 1.0 }]",
)


def test_tiers_may_be_for_one_gpu_alone(folder: Path) -> None:
    assignment = read(folder, ONLY_ON)
    tiers = assignment.kernels[0].tiers
    assert tiers.of(Language.TRITON, GPU["sm_75"], "sm_75") == (Tier(speedup=0.8, share=1.0),)
    assert tiers.of(Language.TRITON, GPU["sm_90"], "sm_90") == ()
    table = with_tables("<!-- tiers: generated -->\n<!-- end -->", assignment)
    assert "| One element per thread | Triton | T4 | 20 at 0.8 |" in table
    assert "| One element per thread | Triton | any other | shown, not scored |" in table


def test_tiers_that_score_on_no_gpu_are_missing(folder: Path) -> None:
    with pytest.raises(SpecError, match="there are points for performance") as caught:
        read(folder, ONLY_ON.replace("triton = [{ speedup = 0.8, share = 1.0 }]", "triton = []"))
    assert caught.value.key == "kernels[0].tiers.triton"


def test_tiers_are_read_by_language_and_by_gpu(folder: Path) -> None:
    first, second = read(folder, TIMED).kernels
    assert first.points[CheckName.PERFORMANCE] == 20
    assert first.tiers.of(Language.CUDA, GPU["sm_90"], "sm_90") == (
        Tier(speedup=0.5, share=0.4, accepted=False),
        Tier(speedup=1.0, share=1.0, accepted=True),
    )
    assert first.tiers.of(Language.TRITON, GPU["sm_90"], "sm_90") == (Tier(speedup=0.8, share=1.0),)
    assert first.tiers.of(Language.TRITON, GPU["sm_75"], "sm_75") == ()
    assert first.tiers.of(Language.CUDA, GPU["sm_75"], "sm_75") == first.tiers.of(
        Language.CUDA, GPU["sm_90"], "sm_90"
    )
    assert second.tiers.of(Language.CUDA, GPU["sm_90"], "sm_90") == ()


def test_lowest_tier_is_accepted_unless_one_is_marked(folder: Path) -> None:
    text = TIMED.replace(", accepted = true", "")
    tiers = read(folder, text).kernels[0].tiers.of(Language.CUDA, GPU["sm_90"], "sm_90")
    assert [tier.accepted for tier in tiers] == [True, True]


def test_benchmarks_are_read(folder: Path) -> None:
    first, second = read(folder, TIMED).benchmarks
    assert first.name == "rows=8192, cols=4096"
    assert first.bytes.evaluate({**first.sizes, "size": 4}) == 8 * 8192 * 4096
    assert first.flops is not None
    assert second.name == "rows=64, cols=1048576, edges"
    assert second.languages == {Language.CUDA}
    assert second.case(3).seed == 3


def test_a_benchmark_runs_in_each_type_that_it_chooses(folder: Path) -> None:
    typed = TIMED.replace(
        '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
        '[signature.types]\nreal = ["float32", "float16"]\n',
    ).replace("triton = { rtol = 1e-3 }", "float16 = { rtol = 2e-3 }")
    chosen = typed.replace('values = "edges"\n', 'dtypes = ["float16", "float32"]\n')
    assignment = read(folder, chosen)
    first, half, single = assignment.benchmarks
    assert (first.name, first.dtype) == ("rows=8192, cols=4096", "float32")
    assert half.name == "rows=64, cols=1048576, float16"
    assert [one.case(0).dtype for one in (half, single)] == ["float16", "float32"]
    found = [
        assignment.tolerance(one.case(0), Language.CUDA, "output").rtol for one in (half, single)
    ]
    assert found == [2e-3, 1e-5]
    of_bytes = [work_of(assignment, Language.CUDA, one).gb_s for one in (half, single)]
    assert of_bytes[1] == 2 * of_bytes[0]
    peaks = Peaks(fp32_tflop_s=10.0, fp16_tflop_s=100.0)
    for benchmarks, peak in (([first], 10.0), ([half], 100.0), ([first, half], None)):
        roofline = roofline_of(assignment, Language.CUDA, benchmarks, 1000.0, peaks)
        assert roofline is not None and roofline.tflop_s == peak
    # A share of the roofline needs one peak.
    mixed = chosen.replace("speedup = 0.5, share", "speedup = 0.5, roof = 0.5, share", 1)
    mixed = mixed.replace('bytes = "2', 'flops = "rows"\nbytes = "2').replace(
        'flops = "rows * cols"\n', ""
    )
    with pytest.raises(SpecError, match="needs a known peak for `flops` of the benchmarks"):
        read(folder, mixed)
    counted = "counters = { sizes = { rows = 64, cols = 32 }, dtype = 'float16', traffic = 3 }\n"
    bounded = read(folder, typed.replace("[kernels.tiers]\n", f"{counted}[kernels.tiers]\n"))
    case = counting_case(bounded, bounded.kernels[0], Language.CUDA, 0, random.Random(1))
    assert case.dtype == "float16"


def test_an_assignment_without_them_has_none(folder: Path) -> None:
    assignment = read(folder, GOOD)
    assert assignment.benchmarks == ()
    assert assignment.kernels[0].tiers.of(Language.CUDA, GPU["sm_90"], "sm_90") == ()


@pytest.mark.parametrize(
    ("old", "new", "key", "phrase"),
    [
        ("speedup = 0.5", "speedup = 1.5", "kernels[0].tiers.cuda[1].speedup", "slow to fast"),
        ("share = 0.4", "share = 1.0", "kernels[0].tiers.cuda[1].share", "no more than"),
        (
            "share = 1.0, accepted = true",
            "share = 0.9",
            "kernels[0].tiers.cuda[1].share",
            "must be 1",
        ),
        (
            "share = 0.4",
            "share = 0.4, accepted = true",
            "kernels[0].tiers.cuda[1].accepted",
            "mark only one",
        ),
        ("on.sm_75", "on.t4", "kernels[0].tiers.on.t4", "no known GPU; did you mean `T4`?"),
        ("on.sm_75", 'on."RTX 409O"', 'kernels[0].tiers.on."RTX 409O"', "did you mean `RTX 4090`?"),
        ("on.sm_75", "on.sm75", "kernels[0].tiers.on.sm75", "its architecture, sm_90"),
        ("on.sm_75", "on.hopper", "kernels[0].tiers.on.hopper", "write a model, as H100"),
        (
            "[kernels.tiers]\n",
            '[kernels.tiers]\nscale = "liner"\n',
            "kernels[0].tiers.scale",
            "`linear`; did you mean `linear`?",
        ),
        ("share = 0.4", "roof = 1.1, share = 0.4", "kernels[0].tiers.cuda[0].roof", "1 or less"),
        (
            "speedup = 0.5, share = 0.4 }, { speedup = 1.0",
            "speedup = 0.5, roof = 0.8, share = 0.4 }, { speedup = 1.0, roof = 0.8",
            "kernels[0].tiers.cuda[1].roof",
            "the tier before it has 0.8: write the tiers from slow to fast",
        ),
        (
            "speedup = 0.5, share = 0.4 }, { speedup = 1.0",
            "speedup = 0.5, roof = 0.8, share = 0.4 }, { speedup = 1.0, roof = 0.7",
            "kernels[0].tiers.cuda[1].roof",
            "is 0.7, but the tier before it has 0.8",
        ),
        (
            'bytes = "2 * size * rows * cols"\nflops',
            "flops",
            "benchmarks[0].bytes",
            "is missing: the fewest bytes that have to move",
        ),
        ("speedup = 0.5", "speedup = 1.0", "kernels[0].tiers.cuda[1].speedup", "slow to fast"),
        ("share = 0.4", "shaer = 0.4", "kernels[0].tiers.cuda[0].shaer", "did you mean `share`?"),
        ("speedup = 0.5", "speedup = 0", "kernels[0].tiers.cuda[0].speedup", "0"),
        (", performance = 20", "", "kernels[0].tiers", "earn nothing"),
        ("triton = [{ speedup = 0.8, share = 1.0 }]\n", "", "kernels[0].tiers.triton", "missing"),
        (', triton = "v1.py" }', " }", "kernels[0].tiers.triton", "no such file"),
        (BENCHMARKS, "", "kernels[0].points.performance", "add [[benchmarks]]"),
        ('flops = "rows * cols"', 'flops = "rows * colls"', "benchmarks[0].flops", "`cols`?"),
        ('flops = "rows * cols"', 'flops = "rows *"', "benchmarks[0].flops", "not an arithmetic"),
        ('flops = "rows * cols"', "flops = 0", "benchmarks[0].flops", "less than 1"),
        ("rows = 8192, cols", "rows = 8192, colls", "benchmarks[0].sizes.colls", "did you mean"),
        ("rows = 64,", "rows = 0,", "benchmarks[1].sizes.rows", "at least 1"),
        ("rows = 64,", "rows = 1048576,", "benchmarks[1].sizes", "GiB"),
        ('role = "out"', 'role = "inout"', "benchmarks", "inout"),
    ],
)  # fmt: skip
def test_bad_tiers_and_benchmarks_are_reported_with_their_key(
    folder: Path, old: str, new: str, key: str, phrase: str
) -> None:
    assert old in TIMED
    with pytest.raises(SpecError) as caught:
        read(folder, TIMED.replace(old, new, 1))
    found = [line for line in caught.value.message.splitlines() if f"`{key}` " in line]
    assert any(phrase in line for line in found), caught.value.message
    assert all(line.startswith(f"{folder / 'assignment.toml'}:") for line in found)


# ---- shares of the roofline, models of GPUs, scales ----


def test_a_tier_may_ask_for_a_share_of_the_roofline_instead(folder: Path) -> None:
    tiers = read(folder, ROOF).kernels[0].tiers
    of_triton = tiers.of(Language.TRITON, "NVIDIA A30", "sm_80")
    assert of_triton == (Tier(speedup=0.8, roof=0.7, share=1.0),)
    assert tiers.scale is Scale.STEPS


def test_a_scale_is_read(folder: Path) -> None:
    text = TIMED.replace("[kernels.tiers]\n", '[kernels.tiers]\nscale = "linear"\n')
    assert read(folder, text).kernels[0].tiers.scale is Scale.LINEAR


@pytest.mark.parametrize(
    ("gpu", "speedup"),
    [
        ("NVIDIA H100 80GB HBM3", 3.0),
        ("NVIDIA H100 PCIe", 4.0),
        ("NVIDIA H200", 2.0),
        ("NVIDIA GH200 480GB", 2.0),
    ],
)
def test_the_most_specific_tiers_count(folder: Path, gpu: str, speedup: float) -> None:
    others = "".join(
        f"""
[kernels.tiers.on.{name}]
triton = [{{ speedup = {least}, share = 1 }}]
"""
        for name, least in (("sm_90", 2.0), ("H100", 3.0), ('"H100 PCIe"', 4.0))
    )
    text = TIMED.replace("[kernels.tiers.on.sm_75]", others + "\n[kernels.tiers.on.sm_75]")
    tiers = read(folder, text).kernels[0].tiers
    assert tiers.of(Language.TRITON, gpu, "sm_90") == (Tier(speedup=speedup, share=1.0),)
    # A model without tiers in a language has those of its architecture, and then the general ones.
    assert tiers.of(Language.CUDA, gpu, "sm_90")[0].speedup == 0.5


@pytest.mark.parametrize(
    ("old", "new", "phrase"),
    [
        ('triton = "float16"', 'triton = "float64"', "needs a known peak for `flops`"),
        ('role = "in" }', 'role = "in", memory = "host" }', "one is in host memory: leave it out"),
    ],
)
def test_a_roof_where_there_is_none_is_refused(
    folder: Path, old: str, new: str, phrase: str
) -> None:
    assert old in ROOF
    with pytest.raises(SpecError) as caught:
        read(folder, ROOF.replace(old, new))
    lines = caught.value.message.splitlines()
    number = next(i for i, line in enumerate(ROOF.splitlines(), 1) if "roof = 0.7" in line)
    at = f"{folder / 'assignment.toml'}:{number}: `kernels[0].tiers.triton[0].roof` "
    assert any(line.startswith(at) and phrase in line for line in lines), lines
