# attack: group=read verdict=compile_error
# Imports the oracle to let it compute.
import sys

sys.path[:0] = ["@ASSIGNMENT@"]
import oracle


def silu(input, output, n):
    output.copy_(oracle.expected({"input": input})["output"])
