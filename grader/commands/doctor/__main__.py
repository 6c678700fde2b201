"""`python -m grader.commands.doctor`: the same as `grade doctor`."""

import sys

from grader.commands.doctor import main

if __name__ == "__main__":
    sys.exit(main())
