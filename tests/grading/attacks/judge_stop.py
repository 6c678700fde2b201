# attack: group=judge verdict=accepted
# Pauses the judge.
import os
import signal
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    for signal_number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGALRM):
        try:
            os.kill(@JUDGE@, signal_number)
            output.zero_()
        except OSError:
            continue
