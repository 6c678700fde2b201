# Grid-stride loop: y = factor * x under any launch.
#
# Idea      a program begins at its own block and moves on by the blocks of all programs.
# Limit     memory: 8 bytes move for one product.
# Expect    nothing moves twice, however many programs there are.
# Grade it  grade local grid_stride --language triton
import triton
import triton.language as tl


# Launched by the grader, with several numbers of programs and sizes of BLOCK.
@triton.jit
def grid_stride(
    x,  # pointer to n float32
    y,  # pointer to n float32, to be written
    n,  # number of elements
    factor,  # a number
    BLOCK: tl.constexpr,  # elements per program and step, a power of two
):
    """y[i] = factor * x[i] for this program's i."""
    # TODO(student): about 7 lines
    # 1. Where am I: the first block of this program, and the way to its next one.
    # 2. Each of this program's blocks; the last one may be past the end in part.
    # end
