# SiLU, element by element: y = x * sigmoid(x) = x / (1 + exp(-x)).
#
# Idea      every program owns BLOCK neighbouring elements and nobody else's.
# Limit     memory: 8 bytes move for about 10 operations.
# Expect    close to the time of a copy of n floats.
# Grade it  grade local silu --language triton
import triton
import triton.language as tl


@triton.jit
def silu_kernel(
    input,  # pointer to n float32
    output,  # pointer to n float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program, a power of two
):
    """output[i] = input[i] * sigmoid(input[i]) for this program's i."""
    # TODO(student): about 6 lines
    # 1. Where am I: the BLOCK offsets of this program, and which of them exist.
    first = tl.program_id(0).to(tl.int64) * BLOCK  # int32 would wrap in the last block near 2**31
    offsets = first + tl.arange(0, BLOCK)
    mask = offsets < n

    # 2. Load. No element at n or beyond may be touched.
    x = tl.load(input + offsets, mask=mask)

    # 3. Compute. Below x = -88 exp(-x) is infinite in float32; what is x / (1 + infinity)?
    y = x / (1.0 + tl.exp(-x))

    # 4. Store, guarded like the load.
    tl.store(output + offsets, y, mask=mask)
    # end


def silu(
    input,  # (n) float32 tensor, to be read
    output,  # (n) float32 tensor, to be written
    n,  # number of elements
):
    """Launch the kernel; the result goes into `output`, nothing is returned."""
    # TODO(student): about 3 lines
    # As many programs as cover n, rounded up. A grid of none is an error: n = 0 launches none.
    BLOCK = 1024  # 4 warps of 32 threads with two 16-byte accesses each
    if n > 0:
        silu_kernel[(triton.cdiv(n, BLOCK),)](input, output, n, BLOCK=BLOCK)
    # end
