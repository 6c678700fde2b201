"""Models of GPUs: which of NVML's names is which model, and what is meant by a misspelt one."""

from __future__ import annotations

import pytest

from grader.gpu.models import MODELS, as_written, common, is_model, most_specific


@pytest.mark.parametrize(
    ("name", "models"),
    [
        ("NVIDIA H100 80GB HBM3", {"H100"}),
        ("NVIDIA H100 PCIe", {"H100", "H100 PCIe"}),
        ("NVIDIA H200", {"H200"}),
        ("NVIDIA GH200 480GB", {"GH200"}),
        ("NVIDIA A100-SXM4-40GB", {"A100", "A100 40GB"}),
        ("NVIDIA A10", {"A10"}),
        ("NVIDIA A10G", {"A10G"}),
        ("Tesla T4", {"T4"}),
        ("NVIDIA L40S", {"L40S"}),
        ("NVIDIA RTX 6000 Ada Generation", {"RTX 6000 Ada"}),
        ("NVIDIA RTX A6000", {"RTX A6000"}),
        (
            "NVIDIA GeForce RTX 4070 Ti SUPER",
            {"RTX 4070", "RTX 4070 SUPER", "RTX 4070 Ti", "RTX 4070 Ti SUPER"},
        ),
        ("NVIDIA GeForce RTX 3060 Laptop GPU", {"RTX 3060"}),
    ],
)
def test_a_model_is_known_by_its_words(name: str, models: set[str]) -> None:
    assert {model for model in MODELS if is_model(name, model)} == models


def test_the_most_specific_key_comes_first() -> None:
    keys = ["sm_90", "H100", "sm_80", "H100 PCIe", "H200"]
    assert most_specific(keys, "NVIDIA H100 PCIe", "sm_90") == ["H100 PCIe", "H100", "sm_90"]
    assert most_specific(keys, "NVIDIA H100 80GB HBM3", "sm_90") == ["H100", "sm_90"]
    assert most_specific(keys, "NVIDIA B200", "sm_100") == []


@pytest.mark.parametrize(
    ("written", "model"),
    [("h100", "H100"), ("RTX4090", "RTX 4090"), ("h100-pcie", "H100 PCIe"), ("H101", "H101")],
)
def test_a_name_in_another_form_is_recognised(written: str, model: str) -> None:
    assert as_written(written) == model


def test_common_models_are_known_ones_or_families() -> None:
    assert common("sm_90") == ("H100", "H200")
    assert set(common("sm_90")) <= set(MODELS)
    assert common("H100") == ("H100",)
