"""`python -m grader.build.warm`: compile the grader's own C++ into the cache.

For `make setup`, so that the first `grade local` does not wait for it, and for container images: a
platform starts each submission in a fresh container, which would otherwise compile the emulation's
runtime and the replay of launches each time. That takes some 40 s on one core. The cache is that of
the user who runs this.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial

from grader.build.host_compiler import runtime
from grader.build.replay_program import replay_program
from grader.emulation.cuda_cpp import Mode
from grader.errors import GraderError
from grader.system.toolchain import find_cxx


def main() -> int:
    """Compile what is not cached yet, with a line for each part; return the exit code."""
    cxx = find_cxx()
    if cxx is None:
        print("error: there is no g++ that works; see `grade doctor`", file=sys.stderr)
        return GraderError.exit_code
    parts: dict[str, Callable[[], object]] = {
        **{f"the emulation's runtime, {mode}": partial(runtime, cxx, mode) for mode in Mode},
        "the replay of launches": partial(replay_program, cxx),
    }
    begun_s = time.monotonic()
    try:
        with ThreadPoolExecutor() as threads:
            running = {threads.submit(make): name for name, make in parts.items()}
            for number, done in enumerate(as_completed(running), start=1):
                done.result()
                took_s = time.monotonic() - begun_s
                print(f"  {number} of {len(parts)}: {running[done]} ({took_s:.0f} s)", flush=True)
    except GraderError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return error.exit_code
    print(f"the host runtime is ready, compiled by g++ {cxx.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
