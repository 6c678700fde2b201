# attack: group=rules verdict=forbidden
# Lets torch compute the result.
import torch


def silu(input, output, n):
    torch.mul(input, torch.sigmoid(input), out=output)
