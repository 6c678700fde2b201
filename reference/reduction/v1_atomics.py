# Sum V1, atomics: each element is added to the sum by itself.
#
# Idea      all elements meet in one place: only an atomic addition loses none of them.
# Limit     the additions to one address take turns, n of them.
# Expect    many times the time of torch.
# Grade it  grade local reduction --kernel v1_atomics --language triton
import triton
import triton.language as tl


@triton.jit
def reduction_kernel(
    x,  # pointer to n float32
    sum,  # pointer to one float32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program, a power of two
):
    """Add this program's elements to the sum, one by one."""
    # TODO(student): about 4 lines
    # Where am I, and which elements exist? Others add to the sum at the same time.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets, mask=mask)
    tl.atomic_add(sum + 0 * offsets, values, mask=mask)
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
