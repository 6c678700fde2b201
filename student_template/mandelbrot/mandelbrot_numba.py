# Mandelbrot set: for each pixel, how many steps z = z * z + p stays within |z| < 2.
#
# Idea      a thread for each pixel, in blocks of two dimensions.
# Limit     arithmetic: some 8 operations for each step, and 4 bytes for each pixel.
# Expect    a warp takes as many steps as its longest pixel.
# Grade it  grade local mandelbrot --language numba
from numba import cuda, float32


@cuda.jit(device=True)
def steps(
    x,  # the point's x, float32
    y,  # the point's y, float32
    iterations,  # most steps
):
    """Return how many steps stay within the circle."""
    # TODO(student): about 8 lines
    # Numbers without a type are float64 and int64 in Numba: float32(0) is not 0.0.
    # end


@cuda.jit
def mandelbrot_kernel(
    count,  # (rows, cols) int32, to be written
    rows,  # rows of the picture
    cols,  # columns of the picture
    left,  # x of column 0
    top,  # y of row 0
    step,  # from one pixel to the next
    iterations,  # most steps
):
    """Count the steps of this thread's pixel."""
    # TODO(student): about 5 lines
    # 1. Where am I: column and row; x goes along a row.
    # 2. Threads of the last blocks may be outside of the picture.
        # 3. The pixel's point: columns go right, rows go down.
        # 4. Store.
    # end


def mandelbrot(
    count,  # (rows, cols) int32 device array, to be written
    rows,  # rows
    cols,  # columns
    left,  # x of column 0
    top,  # y of row 0
    step,  # from one pixel to the next
    iterations,  # most steps
):
    """Launch the kernel; the result goes into `count`, nothing is returned."""
    # TODO(student): about 3 lines
    # As many blocks as cover the picture, rounded up in both directions.
    # end
