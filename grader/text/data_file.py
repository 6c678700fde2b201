"""The data files of the package, in TOML."""

from __future__ import annotations

import functools
import sys
from importlib import resources
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@functools.cache
def read_data(path: str) -> dict[str, Any]:
    """Return the contents of a file of the package, such as "text/hints.toml"."""
    return tomllib.loads(resources.files("grader").joinpath(path).read_text("utf-8"))
