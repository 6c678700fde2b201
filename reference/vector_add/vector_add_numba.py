# Vector addition: c = a + b.
#
# Idea      a thread for each element.
# Limit     memory: 12 bytes move for one addition.
# Expect    one launch, and nothing moves twice.
# Grade it  grade local vector_add --language numba
from numba import cuda


@cuda.jit
def vector_add_kernel(
    a,  # n float32
    b,  # n float32
    c,  # n float32, to be written
    n,  # number of elements
):
    """c[i] = a[i] + b[i] for this thread's i."""
    # TODO(student): about 3 lines
    # 1. Where am I: this thread's element.
    i = cuda.grid(1)
    # 2. The last block has threads past the end: load, add and store where there is an element.
    if i < n:
        c[i] = a[i] + b[i]
    # end


def vector_add(
    a,  # (n) float32 device array, to be read
    b,  # (n) float32 device array, to be read
    c,  # (n) float32 device array, to be written
    n,  # number of elements
):
    """Launch the kernel; the result goes into `c`, nothing is returned."""
    # TODO(student): about 3 lines
    # As many blocks as cover n, rounded up.
    threads = 256
    blocks = (n + threads - 1) // threads
    vector_add_kernel[blocks, threads](a, b, c, n)
    # end
