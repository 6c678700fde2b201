"""Kernels as loops over the threads of a block, from barrier to barrier, for the fast build.

A kernel runs once for each thread, and a barrier switches stacks. Where the source shows that all
threads take the same way from barrier to barrier, the kernel is cut there: it runs once for each
block, and each piece is a loop over the threads, which g++ expands and vectorises. The macros are
those of `include/grader_host/thread_loops.h`; in the checked build they leave the kernel as it is.

    float sum = 0;                      GRADER_EACH(0,) float sum = 0; GRADER_EACH_END(keep sum)
    for (int k = 0; k < n; k += 16) {   for (int k = 0; k < n; k += 16) {
        t[threadIdx.x] = x[k];          GRADER_EACH(0,) t[threadIdx.x] = x[k]; GRADER_EACH_END()
        __syncthreads();                GRADER_BARRIER
        sum += t[0];                    GRADER_EACH(0, get sum) sum += t[0]; GRADER_EACH_END(keep sum)
        __syncthreads();                GRADER_BARRIER
    }                                   }

A local variable that several pieces use is computed again if its value depends on the thread's
index and on constants only, else kept in an array. A loop that each thread begins at another
element, and continues many elements further, has its iterations run for all threads in turn:
neighbouring threads use neighbouring elements.

Only kernels are cut in which every name is known: a type, a parameter, a local, a constant, or a
function without barriers. The order of the threads stays a legal one, and changes for no kernel in
which a barrier seems to be missing: shared variables are not used on both sides of a cut without
one, except at the end of a loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.emulation.cuda_cpp.code import Code

_NAME = re.compile(r"[^\W\d]\w*")
_BARRIER = "__syncthreads"
_MOST_TOKENS = 3000  # of a kernel: some queries take quadratic time
_MOST_VARIABLES = 60

_TYPES = frozenset(
    "int unsigned signed long short char float double bool size_t half __half".split()
    + [f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + [f"{kind}{n}" for kind in ("int", "uint", "float", "double") for n in (2, 3, 4)]
)
_QUALIFIERS = frozenset({"const", "constexpr"})
_AFTER_TYPE = frozenset({"const", "__restrict__", "__restrict", "*"})
_KEYWORDS = frozenset({"if", "else", "for", "while", "do", "return", "break", "continue"})
_WORDS = frozenset(
    {"true", "false", "nullptr", "sizeof", "static_cast", "reinterpret_cast", "static_assert"}
)
_INDICES = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"})
_ASSIGNMENTS = frozenset("= += -= *= /= %= &= |= ^= <<= >>= ++ --".split())
_OPERATORS = frozenset("+ - * / % << >> & | ^ ~ ! ? : < > <= >= == != && || ( ) ,".split())
# Functions that no thread waits in, and whose result has no other use than its value.
_FUNCTIONS = frozenset(
    f"{name}{suffix}"
    for name in (
        "sqrt rsqrt exp exp2 exp10 log log2 log10 log1p expm1 pow sin cos tan sinh cosh tanh asin acos"
        " atan atan2 erf erfc fabs fmax fmin floor ceil round trunc rint fma fmod hypot cbrt"
    ).split()
    for suffix in ("", "f")
) | frozenset(
    "min max abs __expf __logf __powf __fdividef __sinf __cosf __ldg __fmaf_rn isnan isinf isfinite"
    " make_int2 make_int4 make_float2 make_float3 make_float4 __popc __clz __ffs".split()
)
_ATOMICS = frozenset(
    f"atomic{name}" for name in ("Add", "Sub", "Min", "Max", "And", "Or", "Xor", "Inc", "Dec")
)


class _UnsuitedError(Exception):
    """The kernel stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Text after the token at a place, or in place of it (`where`)."""

    place: int
    where: str
    text: str


@dataclass(slots=True, kw_only=True)
class _Variable:
    name: str
    kind: str  # as spelled, without the qualifiers in front
    qualifiers: str
    value: tuple[int, int] | None  # places of the initialiser
    first: int  # of the declaration
    last: int = 0  # of the scope
    again: bool = False  # computed again in each piece
    uniform: bool = False  # the same in all threads
    kept: bool = False

    @property
    def array(self) -> str:
        return f"grader_kept_{self.name}_{self.first}"


@dataclass(slots=True, kw_only=True)
class _Piece:
    """Statements between two cuts, or a barrier, a shared declaration, a loop."""

    kind: str  # "each", "barrier", "shared", "loop", "stride"
    first: int
    last: int
    pieces: list[_Piece] = field(default_factory=list)  # of a loop
    variables: list[_Variable] = field(default_factory=list)  # that it declares, or its header
    head: tuple[int, int, int, int] = (0, 0, 0, 0)  # of a loop: `(`, two semicolons, `)`


def thread_loops(code: Code) -> Iterator[Edit]:
    """Yield the edits that turn the kernels of a file into loops over threads."""
    if not any(_text == "__global__" for _text in map(code.text, range(len(code.places)))):
        return
    file = _File(code)
    for place in range(len(code.places)):
        if code.text(place) == "__global__" and not _directive(code, place):
            try:
                yield from _Kernel(file, place).edits()
            except _UnsuitedError:
                continue


def _directive(code: Code, place: int) -> int:
    token = code.at(place)
    return token.directive if token else 0


class _File:
    """What a file defines: macros, constants, functions without barriers."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.macros: set[str] = set()
        self.constants: set[str] = set()
        self.bodies: dict[str, tuple[int, int]] = {}
        self.ambiguous: set[str] = set()
        for place in range(len(code.places)):
            self._learn(place)
        self._safe: dict[str, bool] = {}

    def _learn(self, place: int) -> None:
        code = self.code
        text = code.text(place)
        if text in ("define", "undef") and code.text(place - 1) == "#":
            name = code.text(place + 1)
            self.macros.add(name)
            end = place + 2
            while code.same_region(place, end):
                end += 1
            if text == "define" and self._is_constant(place + 2, end):
                self.constants.add(name)
        elif _directive(code, place):
            return
        elif text in _QUALIFIERS and not code.in_function(place):
            end = place
            while code.text(end) in _QUALIFIERS | _TYPES:
                end += 1
            while _NAME.fullmatch(code.text(end)) and code.text(end + 1) == "=":
                last = code.separator(end)
                if self._is_constant(end + 2, last):
                    self.constants.add(code.text(end))
                end = last + 1
        elif text == "__device__":
            self._learn_function(place)

    def _is_constant(self, first: int, end: int) -> bool:
        """True for an expression of numbers and constants."""
        words = [self.code.text(place) for place in range(first, end)]
        return bool(words) and all(
            word in _OPERATORS - {",", "?"} or word in self.constants or word[0].isdigit()
            for word in words
        )

    def _learn_function(self, place: int) -> None:
        code = self.code
        opened = place + 1
        while code.text(opened) not in ("(", ";", "{", "=", "", "["):
            opened += 1
        close = code.closing(opened) if code.text(opened) == "(" else None
        if close is None or code.text(close + 1) != "{":
            return
        name, end = code.text(opened - 1), code.closing(close + 1)
        if end is None or name in self.bodies:
            self.ambiguous.add(name)
        else:
            self.bodies[name] = (opened, end)

    def is_safe(self, name: str) -> bool:
        """True for a device function of this file in which no thread waits or spins."""
        if name not in self._safe:
            self._safe[name] = False  # for recursion
            body = self.bodies.get(name)
            self._safe[name] = (
                body is not None
                and name not in self.ambiguous
                and name not in self.macros
                and body[1] - body[0] < _MOST_TOKENS
                and all(self._is_harmless(place) for place in range(body[0], body[1]))
            )
        return self._safe[name]

    def _is_harmless(self, place: int) -> bool:
        code = self.code
        text = code.text(place)
        if _directive(code, place):
            return code.text(place) != "if"
        if not _NAME.fullmatch(text):
            return text not in ("<<<", "::")
        if text in self.macros:
            return text in self.constants
        if text in ("while", "do", "goto", "asm", "volatile", "static", "__shared__"):
            return text == "while" and code.text(place + 1) == "("
        if code.text(place + 1) != "(":
            return True
        known = _FUNCTIONS | _TYPES | _KEYWORDS | _WORDS
        return text in known or self.is_safe(text)


class _Kernel:
    """One kernel: its parameters, its pieces, what its names are."""

    def __init__(self, file: _File, mark: int) -> None:
        self.file = file
        self.code = file.code
        self.types = set(_TYPES)
        self.constants = set(file.constants)
        self._template_parameters(mark)
        self.parameters: dict[str, str] = {}  # name: type
        self.open = self._signature(mark)
        close = self.code.closing(self.open)
        if close is None or close - self.open > _MOST_TOKENS:
            raise _UnsuitedError
        self.close = close
        self.shared: set[str] = set()
        self.locals: set[str] = set()
        self.varying: set[str] = set()  # locals that begin with a value of the thread
        self.declarations: set[int] = set()
        self.variables: list[_Variable] = []
        self.calls = False

    # ---- reading ----

    def _template_parameters(self, mark: int) -> None:
        place = mark - 1
        while self.code.text(place) in ("static", "inline", "extern", '"C"'):
            place -= 1
        if self.code.text(place) != ">":
            return
        for at in range(place, max(0, place - 40), -1):
            if self.code.text(at) == "template":
                return
            if _NAME.fullmatch(self.code.text(at)) and self.code.text(at + 1) in (",", ">", "="):
                before = self.code.text(at - 1)
                if before in _TYPES:
                    self.constants.add(self.code.text(at))
                elif before in ("typename", "class"):
                    self.types.add(self.code.text(at))

    def _signature(self, mark: int) -> int:
        """Read the parameters; return the place of the body's brace."""
        code = self.code
        place = mark + 1
        while code.text(place) != "(" or code.text(place - 1) in ("__launch_bounds__", "__attribute__"):
            if code.text(place) == "(":
                place = code.closing_anywhere(place)
            if code.text(place) in ("", ";", "{", "}"):
                raise _UnsuitedError
            place += 1
        close = code.closing(place)
        if close is None or code.text(close + 1) != "{":
            raise _UnsuitedError
        first = place + 1
        while first < close:
            end = first
            while end < close and code.text(end) != ",":
                end = code.closing_anywhere(end) + 1 if code.text(end) in "([{" else end + 1
            words = [code.text(at) for at in range(first, end)]
            if len(words) < 2 or "=" in words or "volatile" in words or "..." in words:
                raise _UnsuitedError
            if not _NAME.fullmatch(words[-1]):
                raise _UnsuitedError
            self.parameters[words[-1]] = " ".join(words[:-1])
            first = end + 1
        return close + 1

    def _end(self, place: int) -> int:
        """Return the last place of the statement that begins at a place."""
        code = self.code
        text = code.text(place)
        if text == "{":
            return self._closed(place)
        if text in ("if", "for", "while"):
            if code.text(place + 1) != "(":
                raise _UnsuitedError
            end = self._end(self._next(self._closed(place + 1) + 1))
            if text == "if" and code.text(self._next(end + 1)) == "else":
                return self._end(self._next(self._next(end + 1) + 1))
            return end
        if text == "do":
            end = self._end(self._next(place + 1))
            if code.text(end + 1) != "while" or code.text(end + 2) != "(":
                raise _UnsuitedError
            return self._closed(end + 2) + 1
        while code.text(place) != ";":
            if code.text(place) in ("", ")", "]", "}") or _directive(code, place):
                raise _UnsuitedError
            place = self._closed(place) + 1 if code.text(place) in ("(", "[", "{") else place + 1
        return place

    def _closed(self, place: int) -> int:
        found = self.code.closing(place)
        if found is None:
            raise _UnsuitedError
        return found

    def _next(self, place: int) -> int:
        """Skip pragmas."""
        while _directive(self.code, place):
            place += 1
        return place

    def _pieces(self, first: int, end: int) -> list[_Piece]:
        """Cut the statements from `first` up to `end`."""
        code = self.code
        pieces: list[_Piece] = []
        place = self._next(first)
        begin = first
        while place < end:
            last = self._end(place)
            text = code.text(place)
            words = {code.text(at) for at in range(place, last + 1)}
            if text == _BARRIER:
                if last != place + 3:
                    raise _UnsuitedError
                pieces.append(_Piece(kind="barrier", first=place, last=last))
            elif "__shared__" in words:
                if text not in ("__shared__", "extern", "static") or "{" in words:
                    raise _UnsuitedError
                pieces.append(_Piece(kind="shared", first=place, last=last))
                self._shared_names(place, last)
            elif _BARRIER in words:
                pieces.append(self._loop(place, last))
            else:
                stride = self._stride(place, last)
                if stride:
                    pieces.append(stride)
                elif pieces and pieces[-1].kind == "each":
                    pieces[-1].last = last
                else:
                    pieces.append(_Piece(kind="each", first=begin, last=last))
                if pieces[-1].kind == "each":
                    pieces[-1].variables += self._declared(place, last)
            begin = last + 1
            place = self._next(begin)
        return pieces

    def _shared_names(self, first: int, last: int) -> None:
        for place in range(first, last):
            if _NAME.fullmatch(self.code.text(place)) and self.code.text(place + 1) in ("[", ",", ";"):
                if self.code.text(place - 1) not in ("[", "+", "-", "*", "/", "("):
                    self.shared.add(self.code.text(place))

    def _header(self, place: int) -> tuple[int, int, int, int]:
        opened, close = place + 1, self._closed(place + 1)
        semicolons = [at for at in range(opened, close) if self.code.text(at) == ";"]
        if len(semicolons) != 2:
            raise _UnsuitedError
        return opened, semicolons[0], semicolons[1], close

    def _loop(self, place: int, last: int) -> _Piece:
        """Return a loop with barriers: `for` with a block."""
        if self.code.text(place) != "for":
            raise _UnsuitedError
        head = self._header(place)
        opened = head[3] + 1
        if self.code.text(opened) != "{" or self._closed(opened) != last:
            raise _UnsuitedError
        loop = _Piece(kind="loop", first=place, last=last, head=head)
        loop.variables = self._declared(head[0] + 1, head[1])
        loop.pieces = self._pieces(opened + 1, last)
        if not loop.variables or not any(
            loop.pieces[at].kind == "barrier" for at in (0, len(loop.pieces) - 1)
        ):
            raise _UnsuitedError
        return loop

    def _stride(self, place: int, last: int) -> _Piece | None:
        """Return a loop whose iterations run for all threads in turn, if this may be one."""
        code = self.code
        if code.text(place) != "for":
            return None
        head = self._header(place)
        words = {code.text(at) for at in range(place, last + 1)}
        newline = any(
            "\n" in token.text for token in code.tokens[code.places[place] : code.places[head[3]]]
        )
        variables = self._declared(head[0] + 1, head[1])
        if newline or len(variables) != 1 or words & {"return", "break", "continue"}:
            return None
        step = [code.text(at) for at in range(head[2] + 1, head[3])]
        if step[:2] != [variables[0].name, "+="] or step[2:] == ["1"]:
            return None
        if variables[0].name not in self.varying or variables[0].qualifiers or not variables[0].kind:
            return None
        return _Piece(kind="stride", first=place, last=last, head=head, variables=variables)

    def _declared(self, first: int, last: int) -> list[_Variable]:
        """Return the variables of a statement; none if it is no declaration of a known type."""
        code = self.code
        place = first
        qualifiers = []
        while code.text(place) in _QUALIFIERS:
            qualifiers.append(code.text(place))
            place += 1
        kind = []
        while code.text(place) in self.types or (kind and code.text(place) in _QUALIFIERS):
            kind.append(code.text(place))
            place += 1
        if not kind:
            if qualifiers or code.text(first) == "auto":
                raise _UnsuitedError
            return []
        found = []
        while place < last:
            stars = []
            while code.text(place) in _AFTER_TYPE:
                stars.append(code.text(place))
                place += 1
            name = code.text(place)
            if not _NAME.fullmatch(name):
                return [] if not found and not qualifiers else self._unsuited()
            spelled = " ".join([*kind, *(star for star in stars if star == "*")])
            if "*" in stars and "const" in qualifiers:
                spelled = f"const {spelled}"
            end = code.separator(place)
            value = (place + 2, end - 1) if code.text(place + 1) == "=" else None
            plain = value is not None or code.text(place + 1) in (",", ";")
            found.append(
                _Variable(
                    name=name,
                    kind=spelled if plain else "",
                    qualifiers=" ".join(qualifiers) if "*" not in stars else "",
                    value=value,
                    first=place,
                )
            )
            place = end + 1
        return found

    def _unsuited(self) -> list[_Variable]:
        raise _UnsuitedError

    # ---- judging ----

    def edits(self) -> list[Edit]:
        code = self.code
        for place in range(self.open, self.close):
            self._learn_locals(place)
        pieces = self._pieces(self.open + 1, self.close)
        if not any(piece.kind in ("barrier", "loop", "stride") for piece in pieces):
            return []
        self._classify(pieces)
        self._judge_names()
        self._judge_order(pieces)
        kept = "".join(
            f" ::grader::PerThread<{variable.kind}> {variable.array};"
            for variable in self.variables
            if variable.kept
        )
        uniform = "".join(self._again(v) for v in self.variables if v.uniform and v.again)
        edits = [Edit(place=self.open, where="after", text=f" GRADER_LOOPS({kept}{uniform})")]
        self._edit(pieces, edits)
        if not any(code.text(p) == "return" for p in range(self.open, self.close)):
            return edits
        last = pieces[-1]
        for place in range(self.open, self.close):
            if code.text(place) == "return" and not (
                last.kind == "each" and last.first <= place <= last.last and code.text(place + 1) == ";"
            ):
                raise _UnsuitedError
        return edits

    def _learn_locals(self, place: int) -> None:
        """Note the names of a declaration in any block."""
        if self.code.text(place) in self.types | _QUALIFIERS and self.code.text(place - 1) in "{;}()":
            if self.code.text(place - 1) in ("(", ")") and self.code.text(place + 1) == ")":
                return
            last = self.code.separator(place)
            while self.code.text(last) == ",":
                last = self.code.separator(last + 1)
            for variable in self._declared(place, last):
                self.locals.add(variable.name)
                self.declarations.add(variable.first)
                if self._varies(variable):
                    self.varying.add(variable.name)

    def _judge_names(self) -> None:
        """Every name is known, and no thread waits or spins."""
        code, file = self.code, self.file
        for place in range(self.open, self.close):
            text, before = code.text(place), code.text(place - 1)
            if _directive(code, place):
                self._judge_pragma(place)
                continue
            if text in ("<<<", "::", "<:") or (text == "[" and not self._indexes(before)):
                raise _UnsuitedError
            if not _NAME.fullmatch(text):
                continue
            if text in file.macros and text not in file.constants:
                raise _UnsuitedError
            called = code.text(place + 1) == "("
            if before in (".", "->"):
                if called:
                    raise _UnsuitedError
            elif text in _ATOMICS:
                # Its result is not used: nobody waits for it.
                if not called or before not in ("{", "}", ";", ")", "else"):
                    raise _UnsuitedError
            elif called and text not in self.types | _KEYWORDS | _WORDS | {_BARRIER}:
                if text in self.locals or text in self.parameters:
                    raise _UnsuitedError
                if text in file.bodies or text in file.ambiguous:
                    if not file.is_safe(text):
                        raise _UnsuitedError
                    self.calls = True
                elif text not in _FUNCTIONS:
                    raise _UnsuitedError
            elif not self._is_known(text):
                raise _UnsuitedError

    def _judge_pragma(self, place: int) -> None:
        if self.code.text(place) == "#" and self.code.text(place + 1) != "pragma":
            raise _UnsuitedError

    @staticmethod
    def _indexes(before: str) -> bool:
        return bool(_NAME.fullmatch(before)) or before in (")", "]")

    def _is_known(self, text: str) -> bool:
        return (
            text in self.types
            or text in _KEYWORDS
            or text in _WORDS
            or text in _INDICES
            or text in _QUALIFIERS
            or text in self.locals
            or text in self.shared
            or text in self.parameters
            or text in self.constants
            or text in ("__shared__", "extern", _BARRIER)
        )

    def _classify(self, pieces: list[_Piece]) -> None:
        """Find how each piece gets its variables."""
        names = [v.name for piece in _all(pieces) if piece.kind == "each" for v in piece.variables]
        if len(set(names)) < len(names) or len(names) > _MOST_VARIABLES:
            raise _UnsuitedError
        if (self.locals | set(self.parameters)) & (self.shared | self.constants):
            raise _UnsuitedError
        if self.locals & set(self.parameters):
            raise _UnsuitedError
        self._classify_level(pieces, frozenset(), self.close)

    def _classify_level(self, pieces: list[_Piece], uniform: frozenset[str], end: int) -> None:
        for piece in pieces:
            if piece.kind == "loop":
                inside = uniform | {v.name for v in piece.variables}
                self._judge_loop(piece, inside)
                self._classify_level(piece.pieces, inside, piece.last)
            elif piece.kind == "stride":
                variable = piece.variables[0]
                variable.kept, variable.last = True, piece.last
                self.variables.append(variable)
            for variable in piece.variables if piece.kind == "each" else ():
                fixed = variable.kind and not self._modified(variable.name, self.open, self.close)
                if fixed and variable.value and "constexpr" not in variable.qualifiers:
                    variable.again = self._is_fixed(variable, uniform)
                elif variable.value and "constexpr" in variable.qualifiers:
                    variable.again = True
                top = end == self.close
                variable.uniform = variable.again and top and not self._varies(variable)
                used = any(self.code.text(p) == variable.name for p in range(piece.last + 1, end))
                variable.kept = used and not variable.again
                if variable.kept and (not variable.kind or not variable.value):
                    raise _UnsuitedError
                variable.last = end
                self.variables.append(variable)

    def _judge_loop(self, loop: _Piece, inside: frozenset[str]) -> None:
        """All threads make the same iterations."""
        opened, _, second, close = loop.head
        for variable in loop.variables:
            if "*" in variable.kind or not variable.kind or not variable.value:
                raise _UnsuitedError
            if self._modified(variable.name, close, loop.last):
                raise _UnsuitedError
        for place in range(opened + 1, close):
            text = self.code.text(place)
            if not self._is_uniform(place, inside) and text not in self.types | _ASSIGNMENTS | {";"}:
                raise _UnsuitedError
        for place in range(second + 1, close):
            assigned = self.code.text(place + 1) in _ASSIGNMENTS or self.code.text(place - 1) in ("++", "--")
            if _NAME.fullmatch(self.code.text(place)) and assigned:
                if self.code.text(place) not in {v.name for v in loop.variables}:
                    raise _UnsuitedError

    def _is_uniform(self, place: int, inside: frozenset[str]) -> bool:
        """True for a word of an expression that has the same value in all threads."""
        text = self.code.text(place)
        if text in _OPERATORS or text in self.constants or text[0].isdigit() or text in inside:
            return True
        if text in ("blockIdx", "blockDim", "gridDim") or self.code.text(place - 1) == ".":
            return True
        if text == ".":
            return self.code.text(place - 1) in ("blockIdx", "blockDim", "gridDim")
        if text in ("min", "max"):
            return self.code.text(place + 1) == "("
        if text in self.parameters:
            return self._is_fixed_parameter(text, pointers=False)
        return any(v.name == text and v.uniform for v in self.variables)

    def _is_fixed_parameter(self, name: str, *, pointers: bool) -> bool:
        words = self.parameters[name].split()
        known = self.types | {"const"} | (_AFTER_TYPE if pointers else set())
        plain = set(words) <= known and words.count("*") <= 1
        return plain and not self._modified(name, self.open, self.close)

    def _is_fixed(self, variable: _Variable, uniform: frozenset[str]) -> bool:
        """True if the value comes from the thread's index, constants and fixed variables only."""
        assert variable.value
        pointers = "*" in variable.kind
        known = {v.name: v for v in self.variables if v.again}
        for place in range(variable.value[0], variable.value[1] + 1):
            text = self.code.text(place)
            if text in ("*", "&") and self.code.text(place - 1) in _OPERATORS - {")"} | {"="}:
                return False
            if self._is_uniform(place, uniform) or text in _INDICES or text == "static_cast":
                continue
            if text in self.types:
                continue
            if text == "." and self.code.text(place - 1) == "threadIdx":
                continue
            if text in known and (pointers or "*" not in known[text].kind):
                continue
            if text in self.parameters and self._is_fixed_parameter(text, pointers=pointers):
                continue
            return False
        return True

    def _varies(self, variable: _Variable) -> bool:
        """True if the initial value may differ between the threads of a block."""
        return variable.value is not None and any(
            self.code.text(place) == "threadIdx" or self.code.text(place) in self.varying
            for place in range(variable.value[0], variable.value[1] + 1)
        )

    def _modified(self, name: str, first: int, last: int) -> bool:
        """True if something between the places may change the variable, after its declaration."""
        code = self.code
        for place in range(first, last):
            if code.text(place) != name or place in self.declarations:
                continue
            before, after = code.text(place - 1), code.text(place + 1)
            if before in (".", "->"):
                continue
            if after in _ASSIGNMENTS or before in ("++", "--", "&") or after == ".":
                return True
            if before in ("(", ",") and after in (",", ")") and self._may_take_references(place):
                return True
        return False

    def _may_take_references(self, place: int) -> bool:
        """True if a place is an argument of a function that this file defines."""
        depth = 0
        for at in range(place - 1, self.open, -1):
            text = self.code.text(at)
            if text in (")", "]"):
                depth += 1
            elif text in ("(", "["):
                if depth == 0:
                    return text == "(" and self.code.text(at - 1) in self.file.bodies
                depth -= 1
            elif text in (";", "{", "}"):
                break
        return False

    def _judge_order(self, pieces: list[_Piece]) -> None:
        """No shared variable is used on both sides of a cut without a barrier."""
        before: set[str] = set()
        for piece in pieces:
            used = {self.code.text(p) for p in range(piece.first, piece.last + 1)} & self.shared
            if piece.kind == "barrier":
                before = set()
                continue
            if piece.kind == "shared":
                continue
            if piece.kind == "loop":
                self._judge_order(piece.pieces)
                if piece.pieces[0].kind != "barrier" and before & used:
                    raise _UnsuitedError
                before = set()
                continue
            if before & used:
                raise _UnsuitedError
            before |= used

    # ---- writing ----

    def _edit(self, pieces: list[_Piece], edits: list[Edit]) -> None:
        for piece in pieces:
            if piece.kind == "barrier":
                edits.append(Edit(place=piece.first, where="replace", text="GRADER_BARRIER"))
                edits += [Edit(place=p, where="replace", text="") for p in range(piece.first + 1, piece.last + 1)]
            elif piece.kind == "loop":
                self._edit(piece.pieces, edits)
            elif piece.kind == "each":
                loads, stores = self._uses(piece)
                edits.append(Edit(place=piece.first - 1, where="after", text=f" GRADER_EACH({int(self.calls)},{loads}) "))
                edits.append(Edit(place=piece.last, where="after", text=f" GRADER_EACH_END({stores}) "))
            elif piece.kind == "stride":
                self._edit_stride(piece, edits)

    def _edit_stride(self, piece: _Piece, edits: list[Edit]) -> None:
        opened, first, second, close = piece.head
        variable = piece.variables[0]
        loads, stores = self._uses(piece)
        assert variable.value
        spell = self._spell
        edits.append(
            Edit(
                place=piece.first,
                where="replace",
                text=f"GRADER_STRIDE(for ({spell(opened + 1, close - 1)}), {int(self.calls)}, {variable.kind}, "
                f"{variable.name}, {variable.array}, ({spell(*variable.value)}), ({spell(first + 1, second - 1)}),{loads})",
            )
        )
        edits += [Edit(place=p, where="replace", text="") for p in range(piece.first + 1, close + 1)]
        end = f" GRADER_STRIDE_END({variable.name}, {variable.array}, ({spell(second + 1, close - 1)}),{stores}) "
        edits.append(Edit(place=piece.last, where="after", text=end))

    def _spell(self, first: int, last: int) -> str:
        return " ".join(self.code.text(place) for place in range(first, last + 1))

    def _again(self, variable: _Variable) -> str:
        assert variable.value
        return f" {variable.qualifiers} {variable.kind} {variable.name} = {self._spell(*variable.value)};"

    def _uses(self, piece: _Piece) -> tuple[str, str]:
        """Return what a piece begins and ends with: its variables are loaded, and stored if it may change them."""
        code = self.code
        wanted = {code.text(place) for place in range(piece.first, piece.last + 1)}
        earlier = [v for v in self.variables if v.first < piece.first <= v.last]
        loads: list[str] = []
        for variable in reversed(earlier):
            if variable.name not in wanted or not (variable.kept or variable.again):
                continue
            if variable.again:
                assert variable.value
                wanted |= {code.text(p) for p in range(variable.value[0], variable.value[1] + 1)}
                loads.append(self._again(variable))
            else:
                loads.append(
                    f" {variable.qualifiers} {variable.kind} {variable.name} = {variable.array}[grader_thread];"
                )
        stores = [
            f" {v.array}[grader_thread] = {v.name};"
            for v in self.variables
            if v.kept
            and piece.kind in ("each", "stride")
            and (
                (piece.kind == "each" and piece.first <= v.first <= piece.last)
                or (v in earlier and v.name in wanted and not v.qualifiers and self._modified(v.name, piece.first, piece.last + 1))
            )
        ]
        index = " GRADER_OWN_INDEX" * ("threadIdx" in wanted)
        return index + "".join(reversed(loads)), "".join(stores)


def _all(pieces: list[_Piece]) -> Iterator[_Piece]:
    for piece in pieces:
        yield piece
        yield from _all(piece.pieces)
