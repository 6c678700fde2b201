"""Calls from device code to host functions and the other way round, which nvcc refuses.

g++ knows neither `__device__` nor `__global__`. In the fast build they are attributes without
effect, which the compiler's dump shows (`gimple`). So templates, members, constructors,
operators and lambdas are found as the compiler resolved them.

As in nvcc: a `__host__ __device__` function may call everything. What a class declares implicitly,
and a lambda in a device function, belong to the code that uses them. A constexpr function counts
as a host function, unless the compiler computed the call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from grader.emulation.cuda_cpp.compile_commands import INCLUDE_DIR, SPACE_ATTRIBUTES
from grader.emulation.cuda_cpp.gimple import Function, Statement, functions, spellings


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCall:
    """A call that nvcc refuses, and nvcc's message."""

    file: str
    line: int
    message: str


class _Space(Enum):
    HOST = "__host__"
    DEVICE = "__device__"
    GLOBAL = "__global__"
    BOTH = "__host__ __device__"
    CALLERS = "implicit"  # of the code that uses it
    LAUNCH = "launch"  # the lambda that the rewriter makes of a launch


_WORD = re.compile(r"[^\W\d]\w*")
_CALL = re.compile(r"^(?:.* = )?([^\W\d]\w*) \(")
_NO_ARGUMENTS = re.compile(r"UlDpRT_E\d*_clIJEE")  # [=](auto&...), called with none
_FROM_A_KERNEL = (
    "kernel launch from __device__ or __global__ functions requires separate compilation mode"
)
_LAMBDA = (
    "the closure type of a lambda cannot be used in the template argument type of a __global__ "
    "function without the flag --extended-lambda"
)
# Functions of the C library and builtins for which nvcc has no device code.
_HOST_LIBRARY = re.compile(
    r"mem(?:move|cmp|chr|rchr|ccpy)|mempcpy|b(?:copy|zero|cmp)|str\w+|wcs\w+|wmem\w+|l*div"
    r"|f?put(?:s|c|char)|v?(?:f|d|s|sn|as)printf|f?scanf|sscanf|get(?:c|s|char|env|line)"
    r"|f(?:open|close|read|write|seek|tell|flush|gets|getc)|s?rand(?:om)?|drand48"
    r"|_?exit|quick_exit|abort|atexit|system|ato(?:f|i|l|ll)|qsort|bsearch|calloc|realloc"
    r"|aligned_alloc|posix_memalign|time|mktime|gettimeofday|clock_gettime|u?sleep|nanosleep"
    r"|(?:p?read|p?write|open|close|mmap|munmap)(?:64)?|pthread_\w+"
    r"|__(?:sync|atomic)_\w+|__builtin_(?:ia32_\w+|prefetch|trap|strlen|mem(?:move|cmp|chr))"
)
# Of the C++ library, nvcc accepts the overloads of the mathematical functions, and these.
_DEVICE_NAMES = re.compile(r"std::(?:move|forward|initializer_list|isnan|isinf|isfinite|signbit)\b")
_DEVICE_HEADERS = ("cmath", "math.h", "std_abs.h", "cstdlib", "stdlib.h", "new")


def wrong_calls(dump: str, *, texts: Mapping[str, str]) -> tuple[WrongCall, ...]:
    """Return the wrong calls, by file and line; `texts` are what was compiled, by file.

    `dump` is `DUMP` of the fast build.
    """
    found = tuple(functions(dump))
    return tuple(
        call
        for file, text in texts.items()
        for call in sorted(
            _Program(found, file, text).found(), key=lambda call: (call.line, call.message)
        )
    )


class _Program:
    def __init__(self, found: tuple[Function, ...], file: str, text: str) -> None:
        self.functions = found
        self.file = file
        self.lines = text.split("\n")
        self.named: dict[str, Function] = {}
        for function in found:
            for symbol in spellings(function.symbol):
                self.named[symbol] = function
        self.spaces: Mapping[str, _Space] = {f.symbol: self._space(f) for f in found}

    def found(self) -> set[WrongCall]:
        found: set[WrongCall] = set()
        for function, used_in in self._device_code():
            found.update(self._called_by_device(function, used_in))
        for function in self.functions:
            found.update(self._called_by_host(function))
        return found

    # ---- calls ----

    def _device_code(self) -> Iterator[tuple[Function, int | None]]:
        """Yield the functions that run on the device only, and what they use implicitly.

        With the latter, the line that uses it.
        """
        device = (_Space.DEVICE, _Space.GLOBAL)
        waiting: list[tuple[Function, int | None]] = [
            (f, None) for f in self.functions if self.spaces[f.symbol] in device
        ]
        met = {f.symbol for f, _ in waiting}
        while waiting:
            function, used_in = waiting.pop()
            yield function, used_in
            for statement in function.statements:
                for used in self._used(function, statement):
                    if self.spaces[used.symbol] is _Space.CALLERS and used.symbol not in met:
                        met.add(used.symbol)
                        waiting.append((used, used_in or self._line(statement)))

    def _used(self, function: Function, statement: Statement) -> Iterator[Function]:
        """Yield the functions that a statement calls or takes the address of."""
        for word in _WORD.findall(statement.text):
            used = self.named.get(word)
            # A C function may have the name of a variable here.
            if used and (word.startswith("_Z") or word not in function.own_names):
                yield used

    def _called_by_device(self, caller: Function, used_in: int | None) -> Iterator[WrongCall]:
        by = "__global__" if self.spaces[caller.symbol] is _Space.GLOBAL else "__device__"
        for statement in caller.statements:
            line = used_in or self._line(statement)
            if line is None:
                continue
            called = _CALL.match(statement.text)
            for used in self._used(caller, statement):
                if self.spaces[used.symbol] is not _Space.HOST:
                    continue
                if called and self.named.get(called[1]) is used:
                    message = _not_allowed("__host__", used.name, by, caller.name)
                else:
                    message = f'identifier "{_short(used.name)}" is undefined in device code'
                yield WrongCall(file=self.file, line=line, message=message)
            if "grader_named" in statement.text:
                yield WrongCall(file=self.file, line=line, message=_FROM_A_KERNEL)
            name = called[1] if called else ""
            elsewhere = name not in self.named and name not in caller.own_names
            if elsewhere and _HOST_LIBRARY.fullmatch(name):
                message = _not_allowed("__host__", name, by, caller.name)
                yield WrongCall(file=self.file, line=line, message=message)

    def _called_by_host(self, caller: Function) -> Iterator[WrongCall]:
        space = self.spaces[caller.symbol]
        if space not in (_Space.HOST, _Space.LAUNCH):
            return
        for statement in caller.statements:
            called = _CALL.match(statement.text)
            used = self.named.get(called[1]) if called else None
            line = self._line(statement)
            if called and line and space is _Space.LAUNCH and self._takes_lambda(called[1]):
                yield WrongCall(file=self.file, line=line, message=_LAMBDA)
            if used is None or line is None or used not in self._used(caller, statement):
                continue
            callee = self.spaces[used.symbol]
            if space is _Space.LAUNCH:
                if callee in (_Space.HOST, _Space.DEVICE, _Space.BOTH):
                    yield WrongCall(
                        file=self.file,
                        line=line,
                        message="a host function call cannot be configured",
                    )
            elif callee is _Space.DEVICE:
                message = _not_allowed("__device__", used.name, "__host__", caller.name)
                yield WrongCall(file=self.file, line=line, message=message)
            elif callee is _Space.GLOBAL:
                yield WrongCall(
                    file=self.file,
                    line=line,
                    message="a __global__ function call must be configured",
                )

    def _takes_lambda(self, kernel: str) -> bool:
        """True for a kernel with a lambda as a template argument; the dump has its plain name."""
        return any(
            function.name.startswith(f"{kernel}<") and "EUl" in function.symbol
            for function in self.functions
            if self.spaces[function.symbol] is _Space.GLOBAL
        )

    def _line(self, statement: Statement) -> int | None:
        place = statement.place
        return place[1] if place and _base(place[0]) == self.file else None

    # ---- spaces ----

    def _space(self, function: Function) -> _Space:
        marks = {space for space, name in SPACE_ATTRIBUTES.items() if name in function.attributes}
        if "__global__" in marks:
            return _Space.GLOBAL
        if "__device__" in marks:
            return _Space.BOTH if "__host__" in marks else _Space.DEVICE
        if "__host__" in marks:
            return _Space.HOST
        if "grader_argument" in function.signature or self._is_launch(function):
            return _Space.LAUNCH
        if _NO_ARGUMENTS.search(function.symbol):
            return _Space.BOTH  # perhaps a launch without arguments, by a macro
        if function.symbol.startswith("_ZT"):
            return _Space.BOTH  # finds a file-scope __shared__ variable
        if "_FUN" in function.symbol or "cvPF" in function.symbol:
            return _Space.CALLERS  # a lambda as a function pointer
        if "__closure" in function.signature and function.symbol.startswith("_ZZ"):
            around = self._enclosing(function)
            space = self._space(around) if around else _Space.CALLERS
            return _Space.DEVICE if space is _Space.GLOBAL else space
        places = {statement.place for statement in function.statements if statement.place}
        files = {place[0] for place in places}
        if self.file not in map(_base, files):
            return _Space.HOST if _is_host_header(function.name, files) else _Space.BOTH
        if len(places) == 1 and _is_special(function) and not self._is_brace(places):
            return _Space.CALLERS  # declared by the compiler: all of it is at the class's name
        return _Space.HOST

    def _is_launch(self, function: Function) -> bool:
        """True for a lambda without arguments on a line that the rewriter made of a launch."""
        if not _NO_ARGUMENTS.search(function.symbol):
            return False
        lines = {line for s in function.statements if (line := self._line(s)) is not None}
        return any(".grader_named(" in "".join(self.lines[line - 1 : line]) for line in lines)

    def _enclosing(self, function: Function) -> Function | None:
        around = [
            f
            for f in self.functions
            if f is not function
            and f.symbol.startswith("_Z")
            and function.symbol[3:].startswith(f"{f.symbol[2:]}E")
        ]
        return max(around, key=lambda f: len(f.symbol), default=None) or (
            self.named.get(_enclosing_c(function.symbol))
        )

    def _is_brace(self, places: set[tuple[str, int, int]]) -> bool:
        ((_, line, column),) = places
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return text[column - 1 : column] in ("{", "}", "")


def _not_allowed(kind: str, name: str, by: str, caller: str) -> str:
    called = f'calling a {kind} function("{_short(name)}")'
    return f'{called} from a {by} function("{_short(caller)}") is not allowed'


def _short(name: str) -> str:
    """Return a function's name, at most 80 characters."""
    return name if len(name) <= 80 else f"{name[:79]}…"


def _base(file: str) -> str:
    return file.rpartition("/")[2]


def _is_special(function: Function) -> bool:
    return re.search(r"[CD][024]E|aSE", function.symbol) is not None


def _enclosing_c(symbol: str) -> str:
    """Return the C function that contains a lambda: `_ZZ3fooENKUlvE_clEv` → `foo`."""
    match = re.match(r"_ZZ(\d+)", symbol)
    return symbol[match.end() : match.end() + int(match[1])] if match else ""


def _is_host_header(name: str, files: Iterable[str]) -> bool:
    """True for a function of the C++ library that no device code may call."""
    if not files or any(file.startswith(str(INCLUDE_DIR)) for file in files):
        return False
    if not name.startswith(("std::", "_mm")) or _DEVICE_NAMES.match(name):
        return False
    return not any(_base(file) in _DEVICE_HEADERS for file in files)
