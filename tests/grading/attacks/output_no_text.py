# attack: group=output verdict=accepted
# Prints bytes that are no text.
import os
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    os.write(1, bytes(range(256)) * 4)
