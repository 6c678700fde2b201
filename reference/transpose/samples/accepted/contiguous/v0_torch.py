# Makes the transpose contiguous first: one copy more, and right.


def transpose(input, output, rows, cols):
    output.copy_(input.t().contiguous())
