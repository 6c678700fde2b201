# `silu` is a class.
class silu:
    pass
