# attack: group=forge verdict=wrong_answer
# Replaces the functions of the program that runs it.
import sys

for name, module in list(sys.modules.items()):
    for function in ("tell", "tell_exception", "copy_out", "begin", "end"):
        if "worker" in name and hasattr(module, function):
            setattr(module, function, lambda *_, **__: None)


def silu(input, output, n):
    pass
