import triton
import triton.language as tl

def silu(input, output, n):
    pass
