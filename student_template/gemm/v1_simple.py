# GEMM, straight from memory: C = A B, a piece of one row per program.
#
# Idea      every program owns BN neighbouring elements in one row of C. It walks along that
#           row of A and down the BN columns of B, BK elements at a time.
# Limit     loads: for every element of C it loads a column of B, so all of B m times.
# Expect    less than a hundredth of what torch reaches: no tensor cores, far too many loads.
# Grade it  grade local gemm --kernel v1_simple --language triton
import triton
import triton.language as tl


@triton.jit
def gemm_kernel(
    a,  # pointer to (m, k) float16, row-major
    b,  # pointer to (k, n) float16, row-major
    c,  # pointer to (m, n) float16, row-major
    m,  # rows of a and c
    n,  # columns of b and c
    k,  # columns of a, rows of b
    BN: tl.constexpr,  # columns of c per program, a power of two
    BK: tl.constexpr,  # depth of a step, a power of two
):
    """c[row, cols] = a[row, :] @ b[:, cols] for this program's row and cols."""
    # TODO(student): about 15 lines
    # 1. Where am I: one row of c and BN columns. Offsets into a large matrix exceed int32.
    # float16 has no odd numbers beyond 2048: a long sum needs float32.
        # 2. Load; zero where there is nothing.
        # 3. Compute.
    # 4. Store what there is, rounded once.
    # end


def gemm(
    a,  # (m, k) float16 tensor, to be read
    b,  # (k, n) float16 tensor, to be read
    c,  # (m, n) float16 tensor, to be written
    m,  # rows of a and c
    n,  # columns of b and c
    k,  # columns of a, rows of b
):
    """Launch the kernel; the result goes into `c`, nothing is returned."""
    # TODO(student): about 4 lines
    # As many programs as cover c, rounded up. A grid of none is an error.
    # end
