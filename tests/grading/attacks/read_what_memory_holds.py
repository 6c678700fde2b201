# attack: group=read verdict=wrong_answer
# Copies what uninitialised memory holds.
import torch


def silu(input, output, n):
    output.copy_(torch.empty_like(output))
