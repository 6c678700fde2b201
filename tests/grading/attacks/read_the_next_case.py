# attack: group=read verdict=accepted
# Reads all descriptors, whatever may wait in them.
import os
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    for descriptor in range(5, 64):
        try:
            print(descriptor, os.readlink(f"/proc/self/fd/{descriptor}"), os.pread(descriptor, 64, 0))
        except OSError:
            continue
