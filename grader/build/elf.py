"""Read the symbols of an object file or shared library (64-bit little-endian ELF).

The student's text determined the file's content: every offset is checked, and whatever does not
fit is an error. Nothing is executed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
_UNDEFINED = 0
_GLOBAL, _WEAK = 1, 2
_INDIRECT = 10  # STT_GNU_IFUNC
_MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """The names that a file defines, and those that it needs from other files.

    `defined` includes local and hidden names: linking turns a hidden function into a local one.
    `optional` are weak undefined names, which may stay missing but are bound where they exist.
    `indirect` are defined functions that code of the file selects while it is loaded (ifunc),
    before anything else of a program runs.
    """

    defined: frozenset[str]
    needed: frozenset[str]
    optional: frozenset[str]
    indirect: frozenset[str]


def read_symbols(path: Path) -> Symbols:
    """Read both symbol tables of `path`.

    Raises ValueError if no linker writes such a file, OSError if it cannot be read.
    """
    defined: set[str] = set()
    indirect: set[str] = set()
    needed: dict[int, set[str]] = {_GLOBAL: set(), _WEAK: set()}
    with path.open("rb") as file:
        for name, info, section in _symbols(_File(file)):
            if section != _UNDEFINED:
                defined.add(name)
                if info & 0xF == _INDIRECT:
                    indirect.add(name)
            elif info >> 4 in needed:
                needed[info >> 4].add(name)
    return Symbols(
        defined=frozenset(defined),
        needed=frozenset(needed[_GLOBAL]),
        optional=frozenset(needed[_WEAK]),
        indirect=frozenset(indirect),
    )


class _File:
    """The bytes of a file: its tables are a small part of what a library has."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        if self._size > _MOST_BYTES:
            raise ValueError(f"{file.name} is too large for a kernel's library")

    def part(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset` on."""
        if offset + size > self._size:
            raise ValueError("it is cut off")
        return os.pread(self._file.fileno(), size, offset)


def _symbols(file: _File) -> Iterator[tuple[str, int, int]]:
    """Yield (name, info byte, section index) of every named symbol in both tables."""
    identity, *fields = _HEADER.unpack(file.part(0, _HEADER.size))
    if identity[:6] != b"\x7fELF\x02\x01":
        raise ValueError("it is no 64-bit ELF file")
    offset, size, count = fields[5], fields[10], fields[11]
    if size != _SECTION.size:
        raise ValueError("its sections have another size")
    sections = list(_SECTION.iter_unpack(file.part(offset, count * size)))
    for table in sections:
        if table[1] not in _SYMBOL_TABLES:
            continue
        if table[6] >= len(sections):
            raise ValueError("a table of symbols has no names")
        names = sections[table[6]]
        texts = file.part(names[4], names[5])
        whole = table[5] - table[5] % _SYMBOL.size
        for name, info, _, section, _, _ in _SYMBOL.iter_unpack(file.part(table[4], whole)):
            if name == 0:
                continue
            end = texts.find(b"\0", name)
            if end < 0:
                raise ValueError("a symbol's name has no end")
            # Without the version that a library's symbol may carry.
            yield texts[name:end].decode(errors="replace").split("@")[0], info, section
