# attack: group=build verdict=accepted
# Has the compiler compute a constant without end.

HUGE = "a" * 10**6 if False else 2 ** (2**4)
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
