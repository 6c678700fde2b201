# attack: group=fill verdict=accepted
# Makes a file of a terabyte of nothing.
import signal
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open("big", "wb") as file:
        try:
            file.truncate(1 << 40)
            output.zero_()
        except OSError as error:
            print(error.strerror)
