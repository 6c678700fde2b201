# GEMM that is fast across sizes: the tile is tuned for every shape.
#
# Idea      V3's kernel as it is; triton.autotune times CONFIGS once for every (m, n, k) and
#           keeps the fastest: large tiles load least, small ones give every multiprocessor
#           a program.
# Limit     the tensor cores, and on small matrices the launch.
# Expect    close to torch, also where V3's tile is too large. The first call takes seconds.
# Grade it  grade local gemm --kernel v4_autotuned --language triton
import triton
import triton.language as tl


def config(BM, BN, BK, num_warps, num_stages, GROUP=8):
    """Return one choice for the tuner."""
    tile = {"BM": BM, "BN": BN, "BK": BK, "GROUP": GROUP}
    return triton.Config(tile, num_warps=num_warps, num_stages=num_stages)


# A warp group of 4 warps has tensor cores for 64 rows: 128 x 256 sums take 128 registers of
# each of 256 threads. Those that need too much of a GPU are passed over by the tuner.
CONFIGS = [
    # TODO(student): about 9 lines
    # Large tiles for large matrices, small ones for small, deep ones for a large k.
    config(128, 256, 64, num_warps=8, num_stages=3, GROUP=4),
    config(128, 256, 64, num_warps=8, num_stages=4),
    config(256, 128, 64, num_warps=8, num_stages=3),
    config(128, 128, 64, num_warps=8, num_stages=3),
    config(128, 128, 64, num_warps=4, num_stages=4),
    config(64, 128, 64, num_warps=4, num_stages=4),
    config(64, 64, 64, num_warps=4, num_stages=5),
    config(32, 64, 128, num_warps=4, num_stages=4),
    config(16, 32, 128, num_warps=2, num_stages=5),
    # end
]


# A heuristic is worked out for every launch, with the tile that the tuner has chosen.
@triton.autotune(CONFIGS, key=["m", "n", "k"])
@triton.heuristics({"EVEN_K": lambda arguments: arguments["k"] % arguments["BK"] == 0})
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
    tiles_m, tiles_n = tl.cdiv(m, BM), tl.cdiv(n, BN)
    group = tl.program_id(0) // (GROUP * tiles_n)
    within = tl.program_id(0) % (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    rows = (group * GROUP + within % height) * BM + tl.arange(0, BM)
    cols = within // height * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)

    # Past the edge wrap round, to elements that exist; what comes of them is not stored.
    a_tiles = a + (rows % m)[:, None].to(tl.int64) * k + depth[None, :]
    b_tiles = b + depth[:, None].to(tl.int64) * n + (cols % n)[None, :]
    b_step = tl.full((), BK, tl.int64) * n

    # float16 has no odd numbers beyond 2048: a long sum needs float32.
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, k, BK):
        # 2. Load; zero where k has ended, which happens only if BK does not divide it.
        if EVEN_K:
            a_tile = tl.load(a_tiles)
            b_tile = tl.load(b_tiles)
        else:
            a_tile = tl.load(a_tiles, mask=depth[None, :] < k - first, other=0.0)
            b_tile = tl.load(b_tiles, mask=depth[:, None] < k - first, other=0.0)
        a_tiles += BK
        b_tiles += b_step

        # 3. Compute.
        total = tl.dot(a_tile, b_tile, total)

    # 4. Store what there is, rounded once.
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    c_tile = c + rows[:, None].to(tl.int64) * n + cols[None, :]
    tl.store(c_tile, total.to(tl.float16), mask=mask)
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

    # TODO(student): about 6 lines
    # As many programs as cover c, rounded up both ways. A grid of none is an error.
    # The tile is known only when the tuner has chosen: the grid is a function of it.
    def grid(tile):
        return (triton.cdiv(m, tile["BM"]) * triton.cdiv(n, tile["BN"]),)

    if m > 0 and n > 0:
        gemm_kernel[grid](a, b, c, m, n, k)
    # end
