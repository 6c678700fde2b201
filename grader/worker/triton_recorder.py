"""Records the arguments of launches as plain data, for the compile gate.

The interpreter accepts code that the compiler rejects (types that do not fit, a `break` out of a
loop, a tile that is no power of two). `triton_compile` compiles the recorded launches in a process
without the interpreter.

    { "kernel", "line", "signature": {argument: type, or a list for a tuple},
      "fields": {argument: [name, …]}, "constants": {argument: value},
      "ones": [argument, …], "aligned": [argument, …],
      "options": {"num_warps": 4, …}, "problem": null }

`line` distinguishes kernels with the same name. An item of a tuple is named by its index, as in
`pair.1`; `fields` has the field names of named tuples. `ones` are the integers that are 1,
`aligned` the addresses and integers that are multiples of 16. Triton specializes kernels for both,
unless the kernel forbids it, which only `triton_compile` knows. `problem` says why a launch cannot
be recorded.
"""

import json
import math
from typing import Any

from grader.worker import worker_log

_MOST_RECORDS = 64
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class Recorder:
    """Logs each distinct launch of a worker once."""

    def __init__(self, mangle: Any, dtype: Any, constexpr: Any) -> None:
        self._mangle = mangle
        self._dtype = dtype
        self._constexpr = constexpr
        self._logged: set[str] = set()

    def launch(
        self, kernel: Any, arguments: dict[str, Any], constants: list[str], options: dict[str, Any]
    ) -> None:
        """Record a launch with these arguments; `constants` names the constexpr ones."""
        record: dict[str, Any] = {
            "kernel": kernel.__name__,
            "line": kernel.__code__.co_firstlineno,
            "signature": {},
            "fields": {},
            "constants": {},
            "ones": [],
            "aligned": [],
            "options": {name: options[name] for name in _OPTIONS if options.get(name) is not None},
            "problem": None,
        }
        for name, value in arguments.items():
            try:
                record["signature"][name] = (
                    self._constant(record, name, value)
                    if name in constants
                    else self._argument(record, name, value)
                )
            except Exception:
                record["problem"] = f"`{name}` is of type {type(value).__name__}"
        text = json.dumps(record, sort_keys=True)
        if text not in self._logged and len(self._logged) < _MOST_RECORDS:
            self._logged.add(text)
            worker_log.tell("launch", **record)

    def _constant(self, record: dict[str, Any], path: str, value: Any) -> str:
        record["constants"][path] = self._encode(value)
        return "constexpr"

    def _argument(self, record: dict[str, Any], path: str, value: Any) -> Any:
        """Return the type of an argument, and add its properties to the record."""
        if value is None or isinstance(value, self._constexpr) or _is_function(value):
            return self._constant(record, path, value)
        if isinstance(value, tuple):
            if hasattr(value, "_fields"):
                record["fields"][path] = list(value._fields)
            return [self._argument(record, f"{path}.{i}", item) for i, item in enumerate(value)]
        kind = str(self._mangle(value))
        if not kind.startswith(("*", "i", "u", "fp", "bf")):
            raise TypeError(kind)
        if type(value) is int and value == 1:
            record["ones"].append(path)
            if "." in path:
                return "constexpr"  # an item of a tuple is always specialized
        address = value.data_ptr() if hasattr(value, "data_ptr") else value
        if type(address) is int and address % 16 == 0:
            record["aligned"].append(path)
        return kind

    def _encode(self, value: Any) -> Any:
        """Return a constant as JSON; raise TypeError if that is impossible."""
        if isinstance(value, self._constexpr):
            value = value.value
        if value is None:
            return None
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}  # JSON has no NaN and no infinity
        if isinstance(value, (bool, int, float, str)):
            return {"value": value}
        if isinstance(value, self._dtype):
            return {"dtype": str(value)}
        if isinstance(value, tuple):
            fields = list(value._fields) if hasattr(value, "_fields") else None
            return {"tuple": [self._encode(item) for item in value], "fields": fields}
        if _is_function(value):
            line = value.fn.__code__.co_firstlineno
            return {"function": str(value.__name__), "line": line}
        raise TypeError(type(value).__name__)


def _is_function(value: Any) -> bool:
    """True for a kernel or a device function."""
    return hasattr(value, "fn") and hasattr(value, "__name__")
