"""What a spec says of a language holds for those that are translated into it."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from grading_bench import small_silu

from grader.assignment.reader import read_assignment
from grader.errors import SpecError
from grader.timing.decision import Tier
from grader.vocabulary import Device, Language

CUDA, TRITON, INLINE = Language.CUDA, Language.TRITON, Language.INLINE_CUDA
NUMBA = Language.NUMBA
FILES = 'files = { cuda = "silu.cu", triton = "silu.py" }'
OWN = 'files = { cuda = "silu.cu", triton = "silu.py", inline_cuda = "silu_inline.py" }'
TIER = "[{ speedup = 2, share = 1 }]"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = small_silu(tmp_path) / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    assert FILES in text
    path.write_text(text.replace(FILES, OWN), encoding="utf-8")
    return path


def change(spec: Path, old: str, new: str) -> None:
    text = spec.read_text(encoding="utf-8")
    assert old in text
    spec.write_text(text.replace(old, new, 1), encoding="utf-8")


def rtol(spec: Path) -> dict[Language, float]:
    return {one: found.rtol for one, found in read_assignment(spec.parent).tolerances.items()}


def test_tolerances_are_those_of_the_base_or_its_own(spec: Path) -> None:
    change(spec, "rtol = 1e-5", "rtol = 1e-5\ncuda = { rtol = 1e-4 }")
    rtol = {
        one: tolerance.rtol for one, tolerance in read_assignment(spec.parent).tolerances.items()
    }
    assert rtol == {CUDA: 1e-4, TRITON: 1e-5, INLINE: 1e-4, NUMBA: 1e-5}
    change(spec, "cuda = { rtol = 1e-4 }", "inline_cuda = { rtol = 1e-3 }")
    rtol = {
        one: tolerance.rtol for one, tolerance in read_assignment(spec.parent).tolerances.items()
    }
    assert rtol == {CUDA: 1e-5, TRITON: 1e-5, INLINE: 1e-3, NUMBA: 1e-5}


@pytest.mark.parametrize(
    ("tables", "speedups"),
    [
        (f"cuda = {TIER}", [2.0, 2.0]),
        (f"cuda = {TIER}\ninline_cuda = [{{ speedup = 3, share = 1 }}]", [2.0, 3.0]),
    ],
)
def test_tiers_are_those_of_the_base_or_its_own(
    spec: Path, tables: str, speedups: list[float]
) -> None:
    change(
        spec, "points = { correctness = 100 }", "points = { correctness = 60, performance = 40 }"
    )
    change(spec, "[tolerance]", f"[kernels.tiers]\n{tables}\ntriton = {TIER}\n\n[tolerance]")
    bench = '[[benchmarks]]\nsizes = { n = 67108864 }\nbytes = "8 * n"\n'
    spec.write_text(f"{spec.read_text(encoding='utf-8')}\n{bench}", encoding="utf-8")
    (kernel,) = read_assignment(spec.parent).kernels
    found = [kernel.tiers.of(one, "NVIDIA H100", "sm_90") for one in (CUDA, INLINE)]
    assert found == [(Tier(speedup=one, share=1.0),) for one in speedups]


def test_cases_of_the_base_are_its_cases(spec: Path) -> None:
    change(
        spec, "sizes = { n = [33, 1000, 1025] }", 'sizes = { n = [33, 1000] }\nlanguages = ["cuda"]'
    )
    assignment = read_assignment(spec.parent)
    drawn = {
        one: len(assignment.draw_cases(Device.CPU, one, public_seed=0, secret_seed=1))
        for one in (CUDA, TRITON, INLINE)
    }
    assert drawn == {CUDA: 3, TRITON: 1, INLINE: 3}


def test_a_table_without_a_file_is_refused(spec: Path) -> None:
    change(spec, OWN, FILES)
    change(
        spec, "sizes = { n = [33, 1000, 1025] }", 'sizes = { n = 33 }\nlanguages = ["inline_cuda"]'
    )
    with pytest.raises(SpecError, match="names inline_cuda, in which no kernel has a file"):
        read_assignment(spec.parent)


@pytest.mark.parametrize("language", [CUDA, TRITON, INLINE, NUMBA])
def test_a_language_is_one_object_in_every_process(language: Language) -> None:
    assert pickle.loads(pickle.dumps(language)) is language
    assert copy.deepcopy(language) is language
    assert Language(str(language)) is language
