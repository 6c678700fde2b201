"""Timing on a real GPU: torch against torch, one submission twice, attacks, a busy neighbour."""

from __future__ import annotations

from pathlib import Path

import pytest
from doubled import BARE, BARE_TRITON, HALF_ONLY, doubled
from paths import REPOSITORY
from timing_bench import about_time, neighbour, reference, silu, speedups, timed

from grader.commands.verify.samples import Sample, samples_of
from grader.gpu.nvml import Gpu
from grader.report.verdict import Verdict
from grader.timing.decision import NOISE, Tier
from grader.vocabulary import Language

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

ATTACKS = [
    pytest.param(sample, id=sample.title)
    for sample in samples_of(REPOSITORY / "reference" / "silu")
    if about_time(sample)
]
# A thread that disturbs the measurement while torch runs; the work itself is correct.
HOGS = {
    "gpu": "for (;;) { burn<<<64, 256, 0, aside>>>(); cudaStreamSynchronize(aside); }",
    "processor": "for (volatile long long i = 0;; i = i + 1) {}",
    "bus": "for (;;) cudaMemcpyAsync(there, here, 64 << 20, cudaMemcpyDefault, aside), "
    "cudaStreamSynchronize(aside);",
}
HOG = """
#include "silu.h"
#include <thread>

__global__ void burn()
{
    const long long begun = clock64();
    while (clock64() - begun < 1000000) {}
}

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}

static void hog()
{
    cudaStream_t aside;
    cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking);
    void *here = nullptr, *there = nullptr;
    cudaMallocHost(&here, 64 << 20);
    cudaMalloc(&there, 64 << 20);
    WORK
}

extern "C" void silu(const float* input, float* output, int n)
{
    static bool begun = false;
    if (n > 1 << 24 && !begun) {
        begun = true;
        std::thread(hog).detach();
    }
    silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
}
"""


def test_torch_is_as_fast_as_torch(first_gpu: Gpu) -> None:
    """Within what every student is granted; `benchmarks/performance.py --part self` shows more."""
    found = [
        timed(first_gpu, Language.TRITON, None, seed=seed, assignment=silu()) for seed in range(3)
    ]
    assert speedups(found) == pytest.approx([1.0] * 3, abs=NOISE)


@pytest.mark.parametrize("language", [Language.CUDA, Language.TRITON])
def test_a_good_kernel_reaches_a_tier_by_the_copys_bandwidth(
    first_gpu: Gpu, language: Language
) -> None:
    """No kernel is a hundred times as fast as torch here: only the roofline is within reach."""
    tier = Tier(speedup=100.0, roof=0.8, share=1.0)
    outcome, _ = timed(first_gpu, language, reference(language), seed=1, assignment=silu(tier))
    assert outcome.diagnosis.verdict is Verdict.ACCEPTED, outcome.diagnosis
    assert "of the copy's bandwidth" in outcome.diagnosis.message
    evidence = outcome.evidence
    assert evidence is not None and evidence.roof is not None
    assert 0.8 <= evidence.roof <= 1.15
    assert (evidence.reached_by, evidence.roof_kind, evidence.share) == ("roof", "copy", 1.0)


@pytest.mark.parametrize("language", [Language.CUDA, Language.TRITON])
def test_one_submission_gets_one_figure(first_gpu: Gpu, language: Language) -> None:
    text = reference(language)
    found = [timed(first_gpu, language, text, seed=seed, assignment=silu()) for seed in range(3)]
    assert {verdict.diagnosis.verdict for verdict, _ in found} == {Verdict.ACCEPTED}
    ratios = speedups(found)
    assert max(ratios) / min(ratios) <= 1.02


def test_a_benchmark_in_each_type_and_one_of_a_bare_kernel(first_gpu: Gpu, tmp_path: Path) -> None:
    both = HALF_ONLY.replace("sizeof(T) == 2 ? x[i] + x[i] : x[i]", "x[i] + x[i]")
    one = ["n=16777216"]
    for number, (language, text, names) in enumerate(
        (
            (Language.CUDA, both, [f"{one[0]}, float32", f"{one[0]}, float16"]),
            (Language.CUDA, BARE, one),
            (Language.TRITON, BARE_TRITON, one),
        )
    ):
        assignment = doubled(tmp_path / str(number), bare=number > 0, n=1 << 24)
        outcome, _ = timed(first_gpu, language, text, seed=0, assignment=assignment)
        # Nothing is scored: there are no tiers.
        assert outcome.evidence is not None, outcome.diagnosis
        assert [one.name for one in outcome.evidence.benchmarks] == names
        assert outcome.evidence.speedup is not None
        moved = [one.gb_s * one.submission_us for one in outcome.evidence.benchmarks]
        assert moved[0] == pytest.approx(len(names) * moved[-1], rel=0.01)


@pytest.mark.parametrize("sample", ATTACKS)
def test_an_attack_gets_its_verdict(first_gpu: Gpu, sample: Sample) -> None:
    language = Language(sample.language)
    verdict, _ = timed(first_gpu, language, sample.text, seed=0, assignment=silu())
    assert verdict.diagnosis.verdict.value == sample.verdict, verdict.diagnosis


@pytest.mark.parametrize("what", list(HOGS))
def test_hogging_gains_nothing(first_gpu: Gpu, what: str) -> None:
    honest, hogging = (
        timed(first_gpu, Language.CUDA, text, seed=0, assignment=silu())
        for text in (HOG.replace("WORK", "return;"), HOG.replace("WORK", HOGS[what]))
    )
    (ratio,) = speedups([honest])
    # A figure may be shown although it is not scored.
    if hogging[0].diagnosis.verdict is not Verdict.NOT_MEASURED:
        assert max(speedups([hogging])) <= ratio * 1.03


def test_a_busy_neighbour_is_reported(first_gpu: Gpu) -> None:
    with neighbour():
        verdict, _ = timed(
            first_gpu,
            Language.CUDA,
            reference(Language.CUDA),
            seed=0,
            assignment=silu(),
        )
    flags = verdict.evidence.flags if verdict.evidence else ()
    assert verdict.diagnosis.verdict is Verdict.NOT_MEASURED or flags
