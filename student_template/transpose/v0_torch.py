# Transpose V0, torch: what PyTorch has for it.
#
# Idea      `t()` moves nothing: it only swaps the strides. The copy does the work.
# Limit     torch's copy kernel reads coalesced and writes with a stride, or the reverse.
# Expect    the time that the other rungs are measured by.
# Grade it  grade local transpose --kernel v0_torch


def transpose(
    input,  # (rows, cols) float32 tensor, to be read
    output,  # (cols, rows) float32 tensor, to be written
    rows,  # number of rows of the input
    cols,  # number of columns of the input
):
    """Transpose with PyTorch; the result goes into `output`, nothing is returned."""
    # TODO(student): about 1 line
    # Write into the tensor that is there: `output = ...` would only give its name to another.
    # end
