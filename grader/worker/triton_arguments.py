"""Numbers that a kernel gets as arguments, as a GPU has them.

The interpreter makes tensors of integers, but hands a float on as Python's own:
`eps.to(tl.float32)` fails, and `1.0 / eps` is computed in double precision. The
compiler makes a float argument a scalar of float32 (unless it is annotated otherwise).
"""

from typing import Any

import numpy as np


def install(interpreter: Any) -> None:
    """Give kernels the scalars that they get on a GPU."""
    import triton.language as tl

    convert = interpreter._implicit_cvt

    def _implicit_cvt(argument: Any) -> Any:
        if isinstance(argument, float):
            value = np.array([argument], np.float32)
            return tl.tensor(interpreter.TensorHandle(value, tl.float32), tl.float32)
        return convert(argument)

    interpreter._implicit_cvt = _implicit_cvt
