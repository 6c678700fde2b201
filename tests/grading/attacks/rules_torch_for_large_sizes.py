# attack: group=rules verdict=forbidden
# Has a kernel, and uses it for small sizes only.
import torch
# @RIGHT@


def silu(input, output, n):
    if n < 1000:
        right(input, output, n)
    else:
        output.copy_(torch.nn.functional.silu(input))
