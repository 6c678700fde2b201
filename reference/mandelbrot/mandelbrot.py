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
    pixels = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = pixels < rows * cols
    # 2. Their points: columns go right, rows go down.
    x = left + step * (pixels % cols).to(tl.float32)
    y = top - step * (pixels // cols).to(tl.float32)
    # 3. The steps that stay within the circle. What has left it is kept outside.
    re = tl.zeros([BLOCK], tl.float32)
    im = tl.zeros([BLOCK], tl.float32)
    inside = tl.zeros([BLOCK], tl.int32)
    for _ in range(iterations):
        following = re * re - im * im + x
        im = 2.0 * re * im + y
        re = following
        within = re * re + im * im < 4.0
        x = tl.where(within, x, 4.0)
        re = tl.where(within, re, 0.0)
        im = tl.where(within, im, 0.0)
        inside += within.to(tl.int32)
    # 4. Store.
    tl.store(count + pixels, inside, mask=mask)
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
    BLOCK = 256
    grid = (triton.cdiv(rows * cols, BLOCK),)
    mandelbrot_kernel[grid](count, rows, cols, left, top, step, iterations, BLOCK=BLOCK)
    # end
