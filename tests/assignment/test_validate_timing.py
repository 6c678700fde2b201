"""Tiers and benchmarks in a spec: valid ones, and refusals of invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_specs import GOOD, ORACLE

from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.errors import SpecError
from grader.timing.decision import Tier
from grader.vocabulary import CheckName, Language

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "scale"
    folder.mkdir()
    (folder / "oracle.py").write_text(ORACLE, encoding="utf-8")
    return folder


def read(folder: Path, text: str) -> Assignment:
    (folder / "assignment.toml").write_text(text, encoding="utf-8")
    return read_assignment(folder)


def test_tiers_are_read_by_language_and_by_gpu(folder: Path) -> None:
    first, second = read(folder, TIMED).kernels
    assert first.points[CheckName.PERFORMANCE] == 20
    assert first.tiers.of(Language.CUDA, "sm_90") == (
        Tier(speedup=0.5, share=0.4, accepted=False),
        Tier(speedup=1.0, share=1.0, accepted=True),
    )
    assert first.tiers.of(Language.TRITON, "sm_90") == (Tier(speedup=0.8, share=1.0),)
    assert first.tiers.of(Language.TRITON, "sm_75") == ()
    assert first.tiers.of(Language.CUDA, "sm_75") == first.tiers.of(Language.CUDA, "sm_90")
    assert second.tiers.of(Language.CUDA, "sm_90") == ()


def test_lowest_tier_is_accepted_unless_one_is_marked(folder: Path) -> None:
    text = TIMED.replace(", accepted = true", "")
    tiers = read(folder, text).kernels[0].tiers.of(Language.CUDA, "sm_90")
    assert [tier.accepted for tier in tiers] == [True, True]


def test_benchmarks_are_read(folder: Path) -> None:
    first, second = read(folder, TIMED).benchmarks
    assert first.name == "rows=8192, cols=4096"
    assert first.bytes.evaluate({**first.sizes, "size": 4}) == 8 * 8192 * 4096
    assert first.flops is not None
    assert second.name == "rows=64, cols=1048576, edges"
    assert second.languages == {Language.CUDA}
    assert second.case(3).seed == 3


def test_an_assignment_without_them_has_none(folder: Path) -> None:
    assignment = read(folder, GOOD)
    assert assignment.benchmarks == ()
    assert assignment.kernels[0].tiers.of(Language.CUDA, "sm_90") == ()


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
        ("on.sm_75", "on.t4", "kernels[0].tiers.on.t4", "sm_75"),
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
