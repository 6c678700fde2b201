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
    re = float32(0)
    im = float32(0)
    for count in range(iterations):
        re, im = re * re - im * im + x, re * im + re * im + y
        if re * re + im * im >= float32(4):
            return count
    return iterations
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
    column, row = cuda.grid(2)
    # 2. Threads of the last blocks may be outside of the picture.
    if row < rows and column < cols:
        # 3. The pixel's point: columns go right, rows go down.
        x = float32(left) + float32(step) * float32(column)
        y = float32(top) - float32(step) * float32(row)
        # 4. Store.
        count[row, column] = steps(x, y, iterations)
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
    threads = (32, 8)
    blocks = ((cols + threads[0] - 1) // threads[0], (rows + threads[1] - 1) // threads[1])
    mandelbrot_kernel[blocks, threads](count, rows, cols, left, top, step, iterations)
    # end
