# GEMM with tiles that arrive in time: pipelining, an order for the L2, few masks.
#
# Idea      num_stages loads tiles ahead while tl.dot works. GROUP tile rows of C are taken
#           together, so that programs that run at once share tiles in the L2. Rows and
#           columns past the edge wrap round instead of being masked; k is masked if need be.
# Limit     the tensor cores, where the matrices fill the GPU with tiles of this one size.
# Expect    most of what torch reaches on large matrices, little of it on small ones.
# Grade it  grade local gemm --kernel v3_optimized --language triton
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
    BM: tl.constexpr,  # rows of c per program, a power of two, 16 or more
    BN: tl.constexpr,  # columns of c per program, the same
    BK: tl.constexpr,  # depth of a tile, the same
    GROUP: tl.constexpr,  # tile rows that are taken together
    EVEN_K: tl.constexpr,  # whether BK divides k
):
    """c[rows, cols] = a[rows, :] @ b[:, cols] for this program's rows and cols."""
    # TODO(student): about 31 lines
    # 1. Where am I: the tiles go down GROUP rows, then on to the next column, so that programs
    #    with neighbouring numbers use the same tiles of a and b. The last group may be lower.
    # Past the edge wrap round, to elements that exist; what comes of them is not stored.
    # float16 has no odd numbers beyond 2048: a long sum needs float32.
        # 2. Load; zero where k has ended, which happens only if BK does not divide it.
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
    # TODO(student): about 5 lines
    # As many programs as cover c, rounded up both ways. A grid of none is an error.
    # end
