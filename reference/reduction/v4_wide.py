# Sum V4, few programs: each adds many blocks in registers first.
#
# Idea      a program walks through the array in steps of the whole grid; `tl.sum` and the atomic
#           are once for many blocks. The compiler loads four floats at a time.
# Limit     memory: x is read once.
# Expect    near torch, which does the same.
# Grade it  grade local reduction --kernel v4_wide --language triton
import triton
import triton.language as tl


@triton.jit
def reduction_kernel(
    x,  # pointer to n float32
    sum,  # pointer to one float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per step of a program, a power of two
):
    """Add the sum of this program's blocks of elements."""
    # TODO(student): about 6 lines
    # 1. Add this program's blocks, in steps of the grid; past the end there are zeros.
    values = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        values += tl.load(x + offsets, mask=offsets < n, other=0.0)
    # 2. Add the lanes, and the result to that of all programs.
    tl.atomic_add(sum, tl.sum(values, axis=0))
    # end


def reduction(
    x,  # (n) float32 tensor, to be read
    sum,  # (1) float32 tensor, to be written
    n,  # number of elements
):
    """Launch the kernel; the result goes into `sum`, nothing is returned."""
    # TODO(student): about 3 lines
    # The sum must begin with 0. At most 1024 programs, and no more than have an element.
    sum.zero_()
    BLOCK = 1024
    reduction_kernel[(min(1024, triton.cdiv(n, BLOCK)),)](x, sum, n, BLOCK=BLOCK)
    # end
