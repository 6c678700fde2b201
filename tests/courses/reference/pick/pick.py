import triton
import triton.language as tl


@triton.jit
def pick_kernel(mask, x, code, y, seen, hash, n, factor, BLOCK: tl.constexpr):
    """One program."""
    # TODO(student): about 8 lines
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = i < n
    value = tl.load(x + i, mask=here, other=0.0).to(tl.float32)
    chosen = tl.load(mask + i, mask=here, other=0)
    c = tl.load(code + i, mask=here, other=0).to(tl.int64) + 1
    tl.store(y + i, tl.where(chosen, value * factor, 0.0).to(tl.float8e5), mask=here)
    tl.store(seen + i, value > 0, mask=here)
    tl.store(hash + i, c * c * c * c, mask=here)
    # end


def pick(mask, x, code, y, seen, hash, n, factor):
    """Launch the kernel."""
    # TODO(student): 1 line
    pick_kernel[(triton.cdiv(n, 256),)](mask, x, code, y, seen, hash, n, factor, BLOCK=256)
    # end
