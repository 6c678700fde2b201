# attack: group=rules verdict=forbidden
# Lets numpy compute the result.
import numpy as np


def silu(input, output, n):
    x = input.numpy()
    output.numpy()[...] = x / (1.0 + np.exp(-x))
