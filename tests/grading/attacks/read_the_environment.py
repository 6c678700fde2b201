# attack: group=read verdict=accepted
# Prints its environment, its arguments and those of the judge: no seed and no path may be there.
import os
import sys
from pathlib import Path
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    print(dict(os.environ), sys.argv)
    for process in ("self", "@JUDGE@", str(os.getppid())):
        try:
            print(Path(f"/proc/{process}/environ").read_bytes())
        except OSError as error:
            print(error.strerror)
