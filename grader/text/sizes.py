"""The sizes of a case as a person writes them: `31×33`, `m=40 n=31 k=97`."""

from __future__ import annotations

from collections.abc import Mapping

_MATRICES = (("rows", "cols"), ("height", "width"))


def sizes_text(sizes: Mapping[str, object]) -> str:
    """Return the sizes in one short text; "" if there are none."""
    names = list(sizes)
    words = []
    if tuple(names[:2]) in _MATRICES:
        words.append("×".join(str(sizes[name]) for name in names[:2]))
        names = names[2:]
    return " ".join([*words, *(f"{name}={sizes[name]}" for name in names)])


def case_text(name: str, sizes: Mapping[str, object], title: str = "") -> str:
    """Return a case's sizes and what else its name has, such as "n=4099, edges".

    Its title comes first: "one row: 1×33".
    """
    if title:
        return f"{title}: {case_text(name, sizes)}"
    long = ", ".join(f"{size}={value}" for size, value in sizes.items())
    if not sizes or not name.startswith(long):
        return name
    return f"{sizes_text(sizes)}{name.removeprefix(long)}"
