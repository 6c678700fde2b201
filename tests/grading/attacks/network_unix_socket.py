# attack: group=network verdict=accepted
# Connects to another program on this machine.
import socket
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    try:
        socket.socket(socket.AF_UNIX).connect("@SOCKET@")
        output.zero_()
    except OSError as error:
        print(error.strerror)
