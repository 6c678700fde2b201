# attack: group=forge verdict=runtime_error
# Ends with exit code 0 before anything was compared.
import os


def silu(input, output, n):
    os._exit(0)
