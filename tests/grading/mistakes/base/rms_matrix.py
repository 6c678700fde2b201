import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(input, weight, output, cols, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = row.to(tl.int64) * cols
    total = 0.0
    for first in range(0, cols, BLOCK):
        col = first + tl.arange(0, BLOCK)
        x = tl.load(input + start + col, mask=col < cols, other=0.0)
        total += tl.sum(x * x, axis=0)
    scale = 1.0 / tl.sqrt(total / cols + epsilon)
    for first in range(0, cols, BLOCK):
        col = first + tl.arange(0, BLOCK)
        mask = col < cols
        x = tl.load(input + start + col, mask=mask)
        w = tl.load(weight + col, mask=mask)
        tl.store(output + start + col, x * scale * w, mask=mask)


def rms_norm_matrix(input, weight, output, rows, cols, epsilon):
    rms_norm_kernel[(rows,)](input, weight, output, cols, epsilon, BLOCK=1024)
