"""The command `grade`, also as `python -m grader`.

Reading the grader's own modules takes a moment in which Ctrl-C has no handler
yet; here it ends in a word as well, not in a traceback. What a signal ends is
ended by then, and the process goes without the interpreter's own farewell: half
an import of torch, cut short, may abort in it.
"""

from __future__ import annotations

import contextlib
import os
import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from grader.cli.main import main as run
        from grader.system.signals import received
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)  # ExitCode.INTERRUPTED, which may not be loaded
    try:
        run()
    except SystemExit as leaving:
        if received() and isinstance(leaving.code, int):
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):  # it may be closed
                    stream.flush()
            os._exit(leaving.code)
        raise


if __name__ == "__main__":
    main()
