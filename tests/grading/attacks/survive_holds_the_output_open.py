# attack: group=survive verdict=accepted
# A child keeps the pipe open, for which a judge might wait.
import os
import signal
import time
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(60)
        os._exit(0)
