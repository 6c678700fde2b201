# attack: group=judge verdict=accepted
# Kills the judge, the server and the parent by signal and by descriptor.
import os
import signal
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    for pid in {@JUDGE@, os.getppid()} - {1}:
        for way in (
            lambda pid=pid: os.kill(pid, signal.SIGKILL),
            lambda pid=pid: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL),
        ):
            try:
                way()
                output.zero_()
            except OSError:
                continue
