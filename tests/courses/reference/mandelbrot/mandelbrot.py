import triton
import triton.language as tl


@triton.jit
def mandelbrot_kernel(count, rows, cols, left, iterations, BLOCK: tl.constexpr):
    """One program."""
    # TODO(student): about 14 lines
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = left + 3.0 * (i % cols).to(tl.float32) / cols
    y = -1.0 + 2.0 * (i // cols).to(tl.float32) / rows
    re = tl.zeros([BLOCK], dtype=tl.float32)
    im = tl.zeros([BLOCK], dtype=tl.float32)
    inside = tl.zeros([BLOCK], dtype=tl.int32)
    for _ in range(iterations):
        following = re * re - im * im + x
        im = 2.0 * re * im + y
        re = following
        still = re * re + im * im < 4.0
        re = tl.where(still, re, 3.0)
        im = tl.where(still, im, 0.0)
        inside += still.to(tl.int32)
    tl.store(count + i, inside, mask=i < rows * cols)
    # end


def mandelbrot(count, rows, cols, left, iterations):
    """Launch the kernel."""
    # TODO(student): 1 line
    mandelbrot_kernel[(triton.cdiv(rows * cols, 256),)](
        count, rows, cols, left, iterations, BLOCK=256
    )
    # end
