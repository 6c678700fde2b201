"""`python -m grader.build.warm`: compile the grader's own C++ into the cache.

For container images: a platform starts each submission in a fresh container, which would otherwise
compile the emulation's runtime and the replay of launches each time. That takes some 15 s on one
core. The cache is that of the user who runs this.
"""

from __future__ import annotations

import sys

from grader.build.host_compiler import runtime
from grader.build.replay_program import replay_program
from grader.emulation.cuda_cpp import Mode
from grader.errors import GraderError
from grader.system.toolchain import find_cxx


def main() -> int:
    """Compile what is not cached yet; return the exit code."""
    cxx = find_cxx()
    if cxx is None:
        print("error: there is no g++ that works; see `grade doctor`", file=sys.stderr)
        return GraderError.exit_code
    try:
        for mode in Mode:
            runtime(cxx, mode)
        replay_program(cxx)
    except GraderError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return error.exit_code
    print(f"the host runtime is ready, compiled by g++ {cxx.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
