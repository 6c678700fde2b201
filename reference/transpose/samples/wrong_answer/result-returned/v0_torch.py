# expect: check=correctness message="nothing was ever written"
# Returns the result, although it belongs into `output`.


def transpose(input, output, rows, cols):
    return input.t().contiguous()
