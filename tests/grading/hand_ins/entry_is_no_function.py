# `silu` is a number.
silu = 3
