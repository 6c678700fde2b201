# attack: group=fill verdict=accepted|time_limit
# Opens files until it gets no more.
import os
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    opened = []
    try:
        while len(opened) < 10**6:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        print(error.strerror)
    for descriptor in opened:
        os.close(descriptor)
