# Defined only where it is never true.
if len('a') > 1:
    silu = print
