# attack: group=rules verdict=forbidden
# Catches what its broken launch raises, and asks torch.
import torch
import triton


@triton.jit
def silu_kernel(output, n):
    pass


def silu(input, output, n):
    try:
        silu_kernel[(1,)](output, n, "one argument too many", nothing=0)
    except Exception:
        pass
    output.copy_(torch.nn.functional.silu(input))
