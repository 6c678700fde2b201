# attack: group=network verdict=accepted
# Connects over IPv6.
import socket
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    try:
        socket.create_connection(("::1", @PORT@), 1).send(b"x")
        output.zero_()
    except OSError as error:
        print(error.strerror)
