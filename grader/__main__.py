"""The command `grade`, also as `python -m grader`.

Reading the grader's own modules takes a moment in which Ctrl-C has no handler
yet; here it ends in a word as well, not in a traceback.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from grader.cli import main as run
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
