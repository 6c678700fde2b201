"""`python -m grader.doctor`: the same as `grade doctor`."""

import sys

from grader.doctor import main

if __name__ == "__main__":
    sys.exit(main())
