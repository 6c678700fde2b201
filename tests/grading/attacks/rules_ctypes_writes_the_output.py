# attack: group=rules verdict=forbidden
# Writes the result through addresses.
import ctypes
import math


def silu(input, output, n):
    to = (ctypes.c_float * n).from_address(output.data_ptr())
    for i, x in enumerate(input.tolist()):
        to[i] = x / (1.0 + math.exp(-x))
