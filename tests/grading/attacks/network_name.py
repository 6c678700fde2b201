# attack: group=network verdict=accepted
# Asks for the address of a name, which tells its server something.
import socket
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    try:
        socket.getaddrinfo("secret.example.org", 80)
        output.zero_()
    except OSError as error:
        print(error.strerror)
