# Sum V2, a sum for each program: `tl.sum` adds a block.
#
# Idea      the compiler makes a tree of shuffles and shared memory of `tl.sum`; one number per
#           program is added to the sum.
# Limit     memory, and an atomic for each program.
# Expect    near torch for large n.
# Grade it  grade local reduction --kernel v2_shared --language triton
import triton
import triton.language as tl


@triton.jit
def reduction_kernel(
    x,  # pointer to n float32
    sum,  # pointer to one float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program, a power of two
):
    """Add the sum of this program's elements."""
    # TODO(student): about 3 lines
    # 1. Load this program's elements; past the end there are zeros.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0.0)
    # 2. Add them, and the result to that of all programs.
    tl.atomic_add(sum, tl.sum(values, axis=0))
    # end


def reduction(
    x,  # (n) float32 tensor, to be read
    sum,  # (1) float32 tensor, to be written
    n,  # number of elements
):
    """Launch the kernel; the result goes into `sum`, nothing is returned."""
    # TODO(student): about 3 lines
    # The sum has any value before: it must begin with 0. As many programs as cover n, rounded up.
    sum.zero_()
    BLOCK = 1024
    reduction_kernel[(triton.cdiv(n, BLOCK),)](x, sum, n, BLOCK=BLOCK)
    # end
