# attack: group=survive verdict=accepted
# Leaves a daemon in a session of its own.
import os
import time
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
