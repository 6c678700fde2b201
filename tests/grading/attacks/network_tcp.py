# attack: group=network verdict=accepted
# Connects to a server on this machine.
import socket
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    try:
        socket.create_connection(("127.0.0.1", @PORT@), 1).send(b"x")
        output.zero_()
    except OSError as error:
        print(error.strerror)
