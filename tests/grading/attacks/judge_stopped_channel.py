# attack: group=judge verdict=time_limit
# Reads the commands of the judge in its place, and answers none.
import socket

channel = socket.socket(fileno=3)


def silu(input, output, n):
    while True:
        channel.recv(4096)
