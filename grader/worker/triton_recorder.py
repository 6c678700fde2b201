"""What a launch was made with, as plain data: enough to compile the kernel elsewhere.

The interpreter accepts what the compiler rejects (types that do not fit, a
`break` out of a loop, a tile that is no power of two). `triton_compile` takes these
records into a process without the interpreter and compiles them.

    { "kernel", "signature": {argument: type}, "constants": {argument: value},
      "aligned": [argument, …], "options": {"num_warps": 4, …}, "problem": null }

As triton does, an integer 1 is a constant, and addresses and integers that are
multiples of 16 are promised to be so. `problem` says why a launch cannot be
recorded.
"""

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.worker import telling
else:
    import telling

_TOLD = 64
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class Recorder:
    """The launches of one worker, each kind told once."""

    def __init__(self, mangle: Any, dtype: Any, constexpr: Any) -> None:
        self._mangle = mangle
        self._dtype = dtype
        self._constexpr = constexpr
        self._told: set[str] = set()

    def launch(
        self, kernel: str, arguments: dict[str, Any], constants: list[str], options: dict[str, Any]
    ) -> None:
        """Record a launch with these arguments; `constants` names the constexpr ones."""
        record = self._record(kernel, arguments, constants, options)
        text = json.dumps(record, sort_keys=True)
        if text not in self._told and len(self._told) < _TOLD:
            self._told.add(text)
            telling.tell("launch", **record)

    def _record(
        self, kernel: str, arguments: dict[str, Any], constants: list[str], options: dict[str, Any]
    ) -> dict[str, Any]:
        signature: dict[str, str] = {}
        values: dict[str, Any] = {}
        aligned: list[str] = []
        problem = None
        for name, value in arguments.items():
            constant = name in constants or value is None
            if constant or (type(value) is int and value == 1):
                encoded = self._encode(value)
                signature[name] = "constexpr"
                values[name] = encoded
                if encoded is None and value is not None:
                    problem = f"`{name}` is a {type(value).__name__}"
                continue
            try:
                signature[name] = str(self._mangle(value))
            except Exception:
                problem = f"`{name}` is a {type(value).__name__}"
                continue
            if not signature[name].startswith(("*", "i", "u", "fp", "bf")):
                problem = f"`{name}` is a {type(value).__name__}"
            address = value.data_ptr() if hasattr(value, "data_ptr") else value
            if type(address) is int and address % 16 == 0:
                aligned.append(name)
        return {
            "kernel": kernel,
            "signature": signature,
            "constants": values,
            "aligned": aligned,
            "options": {name: options[name] for name in _OPTIONS if options.get(name) is not None},
            "problem": problem,
        }

    def _encode(self, value: Any) -> Any:
        """Return a constant as JSON has it; None if it cannot (or is None)."""
        if isinstance(value, self._constexpr):
            value = value.value
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}  # JSON has no such number
        if isinstance(value, (bool, int, float, str)):
            return {"value": value}
        if isinstance(value, self._dtype):
            return {"dtype": str(value)}
        if hasattr(value, "fn") and hasattr(value, "__name__"):
            return {"function": str(value.__name__)}
        return None
