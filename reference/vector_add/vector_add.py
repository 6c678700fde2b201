# Vector addition: c = a + b.
#
# Idea      a program for each BLOCK of elements, and for no other.
# Limit     memory: 12 bytes move for one addition.
# Expect    one launch, and nothing moves twice.
# Grade it  grade local vector_add --language triton
import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(
    a,  # pointer to n float32
    b,  # pointer to n float32
    c,  # pointer to n float32, to be written
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program, a power of two
):
    """c[i] = a[i] + b[i] for this program's i."""
    # TODO(student): about 5 lines
    # 1. Where am I: the BLOCK offsets of this program, and which of them exist.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    # 2. Load both, and nothing past the end; add; store, guarded like the loads.
    left = tl.load(a + offsets, mask=mask)
    right = tl.load(b + offsets, mask=mask)
    tl.store(c + offsets, left + right, mask=mask)
    # end


def vector_add(
    a,  # (n) float32 tensor, to be read
    b,  # (n) float32 tensor, to be read
    c,  # (n) float32 tensor, to be written
    n,  # number of elements
):
    """Launch the kernel; the result goes into `c`, nothing is returned."""
    # TODO(student): about 2 lines
    # As many programs as cover n, rounded up.
    BLOCK = 1024  # 4 warps of 32 threads with two 16-byte accesses each
    vector_add_kernel[(triton.cdiv(n, BLOCK),)](a, b, c, n, BLOCK=BLOCK)
    # end
