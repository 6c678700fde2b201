"""Numbers that a kernel gets as arguments, as a GPU has them.

The interpreter makes tensors of integers, but hands a float on as Python's own:
`eps.to(tl.float32)` fails, and `1.0 / eps` is computed in double precision. The
compiler makes a float argument a scalar of float32 (unless it is annotated otherwise).
And it makes a bool one of int1, which triton 3.6 and 3.7 do not take here, and
older ones keep in 32 bits.
"""

from typing import Any

import numpy as np


def install(interpreter: Any) -> None:
    """Give kernels the scalars that they get on a GPU."""
    import triton.language as tl

    convert = interpreter._implicit_cvt

    def _implicit_cvt(argument: Any) -> Any:
        if isinstance(argument, bool):
            return scalar(np.bool_(argument), tl.int1)
        if isinstance(argument, float):
            return scalar(np.float32(argument), tl.float32)
        return convert(argument)

    def scalar(value: Any, kind: Any) -> Any:
        return tl.tensor(interpreter.TensorHandle(np.array([value]), kind), kind)

    interpreter._implicit_cvt = _implicit_cvt
