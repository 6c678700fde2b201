"""Transpose of a matrix."""

import torch


def inputs(case, dtype, generator):
    rows, cols = case.sizes["rows"], case.sizes["cols"]
    return {"input": torch.randn(rows, cols, dtype=torch.float32, generator=generator).to(dtype)}


def expected(inputs):
    return {"output": inputs["input"].double().t().contiguous()}


def baseline(inputs, outputs):
    outputs["output"].copy_(inputs["input"].t())
