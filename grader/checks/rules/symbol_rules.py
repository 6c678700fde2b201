"""Rules on the symbols that a CUDA C++ submission is linked with, and suspicious words in its text.

`symbols.toml` lists both. The rules look at the symbol tables of the built library, not at the
text: they ignore comments, and names that macros paste together do not escape them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.build.elf import Symbols, read_symbols
from grader.report.evidence import BrokenRule, RuleName
from grader.text.data_file import read_data

NO_BROKEN_RULE = "no broken rule was found"
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """Forbidden symbols (whole names, prefixes, parts of mangled names) and a message."""

    rule: RuleName
    message: str
    whole: Sequence[str] = ()
    begins: Sequence[str] = ()
    contains: Sequence[str] = ()
    cpu_only: bool = False

    def without(self, allowed: Collection[str]) -> _Rule:
        """Return the rule without the symbols of these libraries."""
        return replace(
            self,
            begins=[one for one in self.begins if one not in allowed],
            contains=[one for one in self.contains if not any(name in one for name in allowed)],
        )

    def matches(self, name: str) -> bool:
        return (
            name in self.whole
            or name.startswith(tuple(self.begins))
            or (name.startswith("_Z") and any(part in name for part in self.contains))
        )


_DATA = read_data("checks/rules/symbols.toml")
_RULES = tuple(_Rule(**rule) for rule in _DATA["rule"])
_PASTES = re.compile(r"^[ \t]*#[ \t]*define\b[^\n]*##", re.MULTILINE)


def broken_rules(
    library: Path, *, on_gpu: bool, allowed: Collection[str] = ()
) -> tuple[BrokenRule, ...]:
    """Return the rules that a library's symbols break; `on_gpu` is true if nvcc built it.

    The libraries `allowed` may be used, by their names in a spec.

    Raises ValueError or OSError if the symbols cannot be read.
    """
    symbols = read_symbols(library)
    return tuple(
        BrokenRule(rule=rule.rule, message=rule.message, names=names[:_SHOWN])
        for rule in (one.without(allowed) for one in _RULES)
        if not (on_gpu and rule.cpu_only) and (names := _named(rule, symbols))
    )


def _named(rule: _Rule, symbols: Symbols) -> tuple[str, ...]:
    # Instantiated templates are defined in the library, all other functions in other libraries.
    names = symbols.needed | symbols.optional
    if rule.contains:
        names |= symbols.defined
    return tuple(sorted(filter(rule.matches, names)))


def suspicious_text(
    text: str,
    *,
    all_on_device: bool = False,
    program: bool = False,
    allowed: Collection[str] = (),
) -> tuple[str, ...]:
    """Return flags for staff about suspicious words in a source file; they prove nothing.

    The names of the libraries `allowed` are not suspicious.
    `program` is true for the student's own program, which may copy results to the host.
    """
    words = [word for word in _DATA["suspicious"] if word.removesuffix("::") not in allowed]
    words += _DATA["copies_to_host"] if all_on_device else ()
    words += _DATA["suspicious_in_program"] if program else ()
    flags = [f"the source contains `{word}`" for word in words if word in text]
    pasted = _PASTES.search(text)
    if pasted is not None:
        line = text.count("\n", 0, pasted.start()) + 1
        flags.append(f"line {line}: a macro pastes names together")
    return tuple(flags)
