# Mandelbrot set: for each pixel, how many steps z = z * z + p stays within |z| < 2.
#
# Idea      a program for each BLOCK of pixels, row by row.
# Limit     arithmetic: some 8 operations for each step, and 4 bytes for each pixel.
# Expect    every pixel takes all steps, though most leave the circle early.
# Grade it  grade local mandelbrot --language triton
import triton
import triton.language as tl


@triton.jit
def mandelbrot_kernel(
    count,  # pointer to (rows, cols) int32, to be written
    rows,  # rows of the picture
    cols,  # columns of the picture
    left,  # x of column 0
    top,  # y of row 0
    step,  # from one pixel to the next
    iterations,  # most steps
    BLOCK: tl.constexpr,  # pixels per program, a power of two
):
    """Count the steps of this program's pixels."""
    # TODO(student): about 16 lines
    # 1. Where am I: this program's pixels, and which of them exist.
    # 2. Their points: columns go right, rows go down.
    # 3. The steps that stay within the circle. What has left it is kept outside.
    # 4. Store.
    # end


def mandelbrot(
    count,  # (rows, cols) int32 tensor, to be written
    rows,  # rows
    cols,  # columns
    left,  # x of column 0
    top,  # y of row 0
    step,  # from one pixel to the next
    iterations,  # most steps
):
    """Launch the kernel; the result goes into `count`, nothing is returned."""
    # TODO(student): about 3 lines
    # As many programs as cover the picture, rounded up.
    # end
