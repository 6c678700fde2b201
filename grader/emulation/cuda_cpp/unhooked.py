"""Accesses of device code for which the compiler calls no hook.

-fsanitize=thread puts a call before each load and store, except where a function's result goes
straight to its place in memory: `new (p) T(f())`, `member(f())` in a constructor. It puts none
around an instruction of the CPU that the source names (`__builtin_ia32_movnti`). The dump of the
checked build, after that pass, shows each access and the hooks before it. Whatever has none is
reported, so that no access escapes the checks in silence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from grader.emulation.cuda_cpp.gimple import Function, Statement, functions, spellings
from grader.emulation.cuda_cpp.tokens import split_at_commas


@dataclass(frozen=True, slots=True, kw_only=True)
class Unhooked:
    """An access without a hook in one of the student's files."""

    file: str
    line: int
    function: str


_WORD = re.compile(r"[^\W\d]\w*")
_HOOK = re.compile(
    r"tsan_(?:unaligned_)?(?:volatile_)?(?:(?:read|write)(?:\d+|_range)|vptr_update) \("
)
_ASSIGNED = re.compile(r"^(?P<to>.+?) =(?:\{\w+\})? (?P<value>.+);(?: \[.*)?$")
# `f (a, b)`, `OBJ_TYPE_REF(_2;(struct Base)b_7(D)->0B) (a)`; not `(float) x`.
_CALL = re.compile(
    r"^(?P<function>[^\W\d(][\w.]*|OBJ_TYPE_REF\(.*?\)|\.[A-Z_]+) \((?P<arguments>.*)\)$"
)
# `*p_1`, `p_1(D)->x`
_POINTED = re.compile(r"\*+[\w.]|[\w.]+(?:\(D\))?->")
_AT = re.compile(r"MEM (?:<.*?> )?\[(.*?)\]|MEM\[(.*?)\]")
_ADDRESS = re.compile(r"&([\w.]+|<retval>)")
_BASE = re.compile(r"[^\W\d][\w.]*")
_VALUE = re.compile(r"(?:[\w.]*_)?\d+(?:\(D\))?$")  # `_4`, `n_5(D)`, `s.0_1`
_INDIRECT = re.compile(r"^(?:.* = )?(?:OBJ_TYPE_REF\(|(?:\w*_)?\d+(?:\(D\))? \()")
_INSTRUCTIONS = ("__builtin_ia32_", "__builtin_aarch64_")
_MORE_THAN_HOOKS = 1 << 30  # accesses: no hook is such an instruction's
_NO_CALLS = frozenset({"if", "switch", "return", "goto"})
_KERNEL = re.compile(r"6grader10Configured.*4_FUN")


def unhooked(dump: str, *, files: Collection[str]) -> tuple[Unhooked, ...]:
    """Return the accesses without a hook in device code of `files`, by file and line.

    `dump` is `DUMP` of the checked build.
    """
    found = {symbol: f for f in functions(dump) for symbol in spellings(f.symbol)}
    missed = {
        Unhooked(file=file, line=statement.place[1], function=function.name)
        for function in _device_code(found)
        if any(f"{file}:" in function.text for file in files)
        for statement in _without_hook(function)
        if statement.place and (file := statement.place[0].rpartition("/")[2]) in files
    }
    order = {file: number for number, file in enumerate(files)}
    return tuple(sorted(missed, key=lambda one: (order[one.file], one.line, one.function)))


def _device_code(found: Mapping[str, Function]) -> Iterable[Function]:
    """Return the functions that kernels reach: all, if one is called through a pointer."""
    reached: dict[str, Function] = {}
    waiting = [f for f in found.values() if _KERNEL.search(f.symbol)]
    while waiting:
        function = waiting.pop()
        if function.symbol in reached:
            continue
        reached[function.symbol] = function
        for statement in function.statements:
            if _INDIRECT.search(statement.text):
                return found.values()
            waiting += [found[word] for word in _WORD.findall(statement.text) if word in found]
    return reached.values()


def _without_hook(function: Function) -> Iterator[Statement]:
    hooks = 0
    for statement in function.statements:
        if _HOOK.search(statement.text):
            hooks += 1
            continue
        accesses, is_call = _accesses(statement.text, function.own_names)
        if accesses > hooks:
            yield statement
        if accesses or is_call:
            hooks = 0


def _accesses(text: str, own: frozenset[str]) -> tuple[int, bool]:
    """Return how many operands of a statement are in shared memory, and if it is a call.

    Variables with a name are compared for calls and stores only: the compiler calls hooks for
    their loads unless they are constant.
    """
    assigned = _ASSIGNED.match(text)
    to = assigned["to"] if assigned else ""
    value = assigned["value"] if assigned else text.rstrip(";")
    if "{CLOBBER" in value:
        return 0, False
    call = _CALL.match(value)
    if call and call["function"] in _NO_CALLS:
        return 0, False
    if call and call["function"].startswith("."):  # .UBSAN_NULL, .DEFERRED_INIT
        return 0, False
    stores = int(_is_shared(to, own, named=True))
    if call and call["function"].startswith(_INSTRUCTIONS):
        return _MORE_THAN_HOOKS, True
    if call:
        arguments = split_at_commas(call["arguments"])
        return stores + sum(_is_shared(part, own, named=True) for part in arguments), True
    return stores + (_is_shared(value, own, named=False) if assigned else 0), False


def _is_shared(operand: str, own: frozenset[str], *, named: bool) -> bool:
    """True if an operand is in memory that other threads may reach."""
    if not operand or operand.startswith("&"):
        return False
    at = _AT.search(operand)
    if at:
        address = _ADDRESS.search(at[1] or at[2])
        return address is None or (address[1] not in own and address[1] != "<retval>")
    if _POINTED.search(operand):
        return True
    base = _BASE.match(operand)
    if not named or base is None or _VALUE.match(operand):
        return False
    # `D.12.v[0]` is a part of `D.12`.
    names = base[0].split(".")
    if any(".".join(names[:count]) in own for count in range(1, len(names) + 1)):
        return False
    return operand != base[0]  # a function's name alone is its address
