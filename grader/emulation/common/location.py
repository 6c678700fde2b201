"""Where an instruction of a kernel comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """Where an operation comes from: the innermost line of each file, and the variable's name."""

    file: str
    line: int
    column: int
    name: str | None = None
    # The call site, for what was inlined.
    caller: Location | None = None

    @property
    def in_kernels_file(self) -> Location:
        """The innermost place in the file of the kernel, for what a library inlined."""
        chain: list[Location] = [self]
        while chain[-1].caller is not None:
            chain.append(chain[-1].caller)
        return next(place for place in chain if place.file == chain[-1].file)
