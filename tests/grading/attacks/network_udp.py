# attack: group=network verdict=accepted
# Sends a datagram to the name server.
import socket
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.53", 53))
        output.zero_()
    except OSError as error:
        print(error.strerror)
