# Histogram V2, private histograms: each program counts for itself first.
#
# Idea      `tl.histogram` counts a block without global memory; its 256 bins are added to those of
#           all programs once.
# Limit     memory: x is read once; the bins move once per BLOCK elements.
# Expect    traffic near the least, and little that depends on the data.
# Grade it  grade local histogram --kernel v2_private --language triton
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(
    x,  # pointer to n values of 0 to 255
    count,  # pointer to 256 int32
    n,  # number of elements
    BLOCK: tl.constexpr,  # elements per program, a power of two
):
    """Count this program's elements, and add its bins."""
    # TODO(student): about 6 lines
    # 1. Where am I: the BLOCK offsets of this program, and which of them exist.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    # 2. Count them; those past the end must not count as 0.
    values = tl.load(x + offsets, mask=mask, other=0).to(tl.int32)
    own = tl.histogram(values, 256, mask=mask)
    # 3. Add the bins to those of all programs, as far as there is something to add.
    bins = tl.arange(0, 256)
    tl.atomic_add(count + bins, own, mask=own > 0)
    # end


def histogram(
    x,  # (n) int32 or uint8 tensor, to be read
    count,  # (256) int32 tensor, to be added to
    n,  # number of elements
):
    """Launch the kernel; the result goes into `count`, nothing is returned."""
    # TODO(student): about 2 lines
    # As many programs as cover n, rounded up.
    BLOCK = 4096  # enough that the bins are a small part
    histogram_kernel[(triton.cdiv(n, BLOCK),)](x, count, n, BLOCK=BLOCK)
    # end
