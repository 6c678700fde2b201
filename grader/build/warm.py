"""`python -m grader.build.warm`: put into the cache what every CUDA C++ hand-in needs.

For images. A platform starts each submission in a fresh container, which would
compile our runtime again each time: some 15 s of processor time, twice that with
half a core. The cache is the one of the user who runs this.
"""

from __future__ import annotations

import sys

from grader.build.host_compiler import runtime
from grader.emulation.cuda_cpp import Mode
from grader.errors import GraderError
from grader.system.toolchain import find_cxx


def main() -> int:
    """Compile what is not there yet; return the exit code."""
    cxx = find_cxx()
    if cxx is None:
        print("error: there is no g++ that works; see `grade doctor`", file=sys.stderr)
        return GraderError.exit_code
    try:
        for mode in Mode:
            runtime(cxx, mode)
    except GraderError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return error.exit_code
    print(f"the host runtime is ready, compiled by g++ {cxx.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
