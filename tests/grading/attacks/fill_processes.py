# attack: group=fill verdict=memory_limit|runtime_error|time_limit
# Forks for ever.
import os
import time


def silu(input, output, n):
    while True:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
