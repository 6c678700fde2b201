# attack: group=network verdict=accepted
# Waits for somebody to connect.
import socket
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    try:
        socket.create_server(("127.0.0.1", 0))
        output.zero_()
    except OSError as error:
        print(error.strerror)
