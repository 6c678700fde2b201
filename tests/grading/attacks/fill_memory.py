# attack: group=fill verdict=memory_limit
# Takes and touches all memory.
import torch

kept = []


def silu(input, output, n):
    while True:
        kept.append(torch.ones(1 << 22))
