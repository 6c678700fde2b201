"""Kernels as loops over the threads of a block, from barrier to barrier, for the fast build.

A kernel runs once for each thread, and a barrier switches stacks. Where the source shows that all
threads take the same way from barrier to barrier, the kernel is cut there: it runs once for each
block, and each piece is a loop over the threads, which g++ expands and vectorises. The macros are
those of `include/grader_host/thread_loops.h`; in the checked build they leave the kernel as it is.

    float sum = 0;                     GRADER_EACH() float sum = 0; GRADER_EACH_END(keep sum)
    for (int k = 0; k < n; k += 16) {  for (int k = 0; k < n; k += 16) {
        t[threadIdx.x] = x[k];         GRADER_EACH() t[threadIdx.x] = x[k]; GRADER_EACH_END()
        __syncthreads();               GRADER_BARRIER
        sum += t[0];                   GRADER_EACH(get sum) sum += t[0]; GRADER_EACH_END(keep sum)
        __syncthreads();               GRADER_BARRIER
    }                                  }

A local variable that several pieces use is computed again if its value depends on the thread's
index and on constants only, else kept in an array. A loop that each thread begins at another
element, and continues many elements further, has its iterations run for all threads in turn:
neighbouring threads use neighbouring elements.

Only kernels are cut in which every name is known: a type, a parameter, a local, a constant, or a
function without barriers. The order of the threads stays a legal one, and changes for no kernel in
which a barrier seems to be missing: shared variables are not used on both sides of a cut without
one, except at the end of a loop.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.emulation.cuda_cpp.code import Code
from grader.emulation.cuda_cpp.kernel_pieces import (
    KernelReader,
    Piece,
    UnsuitedError,
    Variable,
    all_pieces,
)
from grader.emulation.cuda_cpp.kernel_words import (
    AFTER_TYPE,
    ASSIGNMENTS,
    ATOMICS,
    BARRIER,
    FUNCTIONS,
    INDICES,
    KEYWORDS,
    NAME,
    OPERATORS,
    QUALIFIERS,
    WORDS,
    FileNames,
    directive,
)

_MOST_KERNELS = 64
_MOST_VARIABLES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Text after the token at a place, or in place of it (`where`)."""

    place: int
    where: str
    text: str


def thread_loops(code: Code) -> Iterator[Edit]:
    """Yield the edits that turn the kernels of a file into loops over threads."""
    marks = [place for place in range(len(code.places)) if code.text(place) == "__global__"]
    if not marks:
        return
    file = FileNames(code)
    for place in marks[:_MOST_KERNELS]:
        if not directive(code, place):
            try:
                yield from _Kernel(file, place).edits()
            except (UnsuitedError, RecursionError):
                continue


class _Kernel(KernelReader):
    """One kernel: what its names are, and its edits."""

    def edits(self) -> list[Edit]:
        for place in range(self.open, self.close):
            self.learn_locals(place)
        pieces = self.cut(self.open + 1, self.close)
        if not any(piece.kind in ("barrier", "loop", "stride") for piece in pieces):
            return []
        self._classify(pieces)
        self._judge_names()
        self._judge_exits(pieces)
        self._judge_order(pieces)
        kept = "".join(
            f" ::grader::PerThread<{variable.kind}> {variable.array};"
            for variable in self.variables
            if variable.kept
        )
        uniform = "".join(map(self._declaration, self._of_headers(pieces)))
        edits = [Edit(place=self.open, where="after", text=f" GRADER_LOOPS({kept}{uniform})")]
        self._edit(pieces, edits)
        return edits

    def _of_headers(self, pieces: list[Piece]) -> list[Variable]:
        """Return the variables that loops with barriers need before the threads begin."""
        loops = [piece for piece in all_pieces(pieces) if piece.kind == "loop"]
        places = [place for loop in loops for place in range(loop.head[0], loop.head[3])]
        wanted = {self.code.text(place) for place in places}
        found = []
        for variable in reversed(self.variables):
            if variable.uniform and variable.name in wanted:
                assert variable.value
                first, last = variable.value
                wanted |= {self.code.text(place) for place in range(first, last + 1)}
                found.append(variable)
        return found[::-1]

    def _judge_names(self) -> None:
        """Every name is known, and no thread waits or spins."""
        code, file = self.code, self.file
        for place in range(self.open, self.close):
            text, before = code.text(place), code.text(place - 1)
            if directive(code, place):
                self._judge_pragma(place)
                continue
            if text in ("<<<", "::", "<:") or (text == "[" and not self._indexes(before)):
                raise UnsuitedError
            if not NAME.fullmatch(text):
                continue
            if text in file.macros and text not in file.constants:
                raise UnsuitedError
            called = code.text(place + 1) == "("
            if before in (".", "->"):
                if called:
                    raise UnsuitedError
            elif text in ATOMICS:
                # Its result is not used: nobody waits for it.
                if not called or before not in ("{", "}", ";", ")", "else"):
                    raise UnsuitedError
            elif called and text not in self.types | KEYWORDS | WORDS | {BARRIER}:
                if text in self.locals or text in self.parameters:
                    raise UnsuitedError
                if text in file.bodies or text in file.ambiguous:
                    if not file.is_safe(text):
                        raise UnsuitedError
                    self.calls = True
                elif text not in FUNCTIONS:
                    raise UnsuitedError
            elif not self._is_known(text):
                raise UnsuitedError

    def _judge_exits(self, pieces: list[Piece]) -> None:
        """No piece leaves a loop that it is in, and only the last one ends its threads."""
        for piece in all_pieces(pieces):
            place = piece.first
            while piece.kind == "each" and place <= piece.last:
                text = self.code.text(place)
                if text in ("break", "continue"):
                    raise UnsuitedError
                place = self.end_of(place) + 1 if text in ("for", "while", "do") else place + 1
        last = pieces[-1]
        for place in range(self.open, self.close):
            if self.code.text(place) == "return" and not (
                last.kind == "each" and last.first <= place and self.code.text(place + 1) == ";"
            ):
                raise UnsuitedError

    def _judge_pragma(self, place: int) -> None:
        if self.code.text(place) == "#" and self.code.text(place + 1) != "pragma":
            raise UnsuitedError

    @staticmethod
    def _indexes(before: str) -> bool:
        return bool(NAME.fullmatch(before)) or before in (")", "]")

    def _is_known(self, text: str) -> bool:
        return (
            text in self.types
            or text in KEYWORDS
            or text in WORDS
            or text in INDICES
            or text in QUALIFIERS
            or text in self.locals
            or text in self.shared
            or text in self.parameters
            or text in self.constants
            or text in ("__shared__", "extern", BARRIER)
        )

    def _classify(self, pieces: list[Piece]) -> None:
        """Find how each piece gets its variables."""
        names = [
            v.name for piece in all_pieces(pieces) if piece.kind == "each" for v in piece.variables
        ]
        if len(set(names)) < len(names) or len(names) > _MOST_VARIABLES:
            raise UnsuitedError
        if (self.locals | set(self.parameters)) & (self.shared | self.constants):
            raise UnsuitedError
        if self.locals & set(self.parameters):
            raise UnsuitedError
        # All threads of the block use one copy of a parameter.
        if any(map(self._changes, self.parameters)):
            raise UnsuitedError
        self._classify_level(pieces, frozenset(), self.close)

    def _classify_level(self, pieces: list[Piece], uniform: frozenset[str], end: int) -> None:
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
                fixed = variable.kind and not self._changes(variable.name)
                if fixed and variable.value and "constexpr" not in variable.qualifiers:
                    variable.again = self._is_fixed(variable, uniform)
                elif variable.value and "constexpr" in variable.qualifiers:
                    variable.again = True
                top = end == self.close
                variable.uniform = variable.again and top and not self.varies(variable)
                used = any(self.code.text(p) == variable.name for p in range(piece.last + 1, end))
                variable.kept = used and not variable.again
                if variable.kept and (not variable.kind or not variable.value):
                    raise UnsuitedError
                variable.last = end
                self.variables.append(variable)

    def _judge_loop(self, loop: Piece, inside: frozenset[str]) -> None:
        """All threads make the same iterations."""
        opened, _, second, close = loop.head
        for variable in loop.variables:
            if "*" in variable.kind or not variable.kind or not variable.value:
                raise UnsuitedError
            if self._modified(variable.name, close, loop.last):
                raise UnsuitedError
        for place in range(opened + 1, close):
            text = self.code.text(place)
            if not self._is_uniform(place, inside) and text not in self.types | ASSIGNMENTS | {";"}:
                raise UnsuitedError
        own = {variable.name for variable in loop.variables}
        for place in range(second + 1, close):
            text, before = self.code.text(place), self.code.text(place - 1)
            assigned = self.code.text(place + 1) in ASSIGNMENTS or before in ("++", "--")
            if NAME.fullmatch(text) and assigned and text not in own:
                raise UnsuitedError

    def _is_uniform(self, place: int, inside: frozenset[str]) -> bool:
        """True for a word of an expression that has the same value in all threads."""
        text = self.code.text(place)
        if text in OPERATORS or text in self.constants or text[0].isdigit() or text in inside:
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
        known = self.types | {"const"} | (AFTER_TYPE if pointers else set())
        plain = set(words) <= known and words.count("*") <= 1
        return plain and not self._changes(name)

    def _is_fixed(self, variable: Variable, uniform: frozenset[str]) -> bool:
        """True if the value comes from the thread's index, constants and fixed variables only."""
        assert variable.value
        pointers = "*" in variable.kind
        known = {v.name: v for v in self.variables if v.again}
        for place in range(variable.value[0], variable.value[1] + 1):
            text = self.code.text(place)
            if text in ("*", "&") and self.code.text(place - 1) in OPERATORS - {")"} | {"="}:
                return False
            if self._is_uniform(place, uniform) or text in INDICES or text == "static_cast":
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

    def _changes(self, name: str) -> bool:
        if name not in self.changed:
            self.changed[name] = self._modified(name, self.open, self.close)
        return self.changed[name]

    def _modified(self, name: str, first: int, last: int) -> bool:
        """True if something between the places may change the variable, after its declaration."""
        code = self.code
        for place in range(first, last):
            if code.text(place) != name or place in self.declarations:
                continue
            before, after = code.text(place - 1), code.text(place + 1)
            if before in (".", "->") or after == "[":  # `&a[i]` and `++a[i]` change no pointer
                continue
            if before == "*" and after in ASSIGNMENTS - {"++", "--"}:  # nor does `*a = 1`
                continue
            if after in ASSIGNMENTS or before in ("++", "--", "&") or after == ".":
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

    def _judge_order(self, pieces: list[Piece]) -> None:
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
                    raise UnsuitedError
                before = set()
                continue
            if before & used:
                raise UnsuitedError
            before |= used

    # ---- writing ----

    def _short_loops(self, first: int, last: int) -> Iterator[int]:
        """Yield the places of loops of plain statements and a constant number of steps.

        g++ expands them first and then vectorises the loop over the threads. A loop with an `if`
        stays: expanded, it makes g++ warn of values that are set and used under one condition.
        """
        code = self.code
        for place in range(first, last + 1):
            if code.text(place) != "for" or directive(code, place):
                continue
            try:
                opened, begin, end, close = self._header(place)
                variables = self.declared(opened + 1, begin)
            except UnsuitedError:  # of a loop over a range
                continue
            body = {code.text(at) for at in range(close + 1, self.end_of(place) + 1)}
            if len(variables) != 1 or body & {"?", *KEYWORDS}:
                continue
            name, value = variables[0].name, variables[0].value
            start = code.text(value[0]) if value and value[0] == value[1] else ""
            test = [code.text(at) for at in range(begin + 1, end)]
            step = {code.text(at) for at in range(end + 1, close)}
            known = len(test) == 3 and (test[2].isdigit() or test[2] in self.constants)
            if start.isdigit() and known and test[:2] == [name, "<"] and step == {"++", name}:
                yield place

    def _edit(self, pieces: list[Piece], edits: list[Edit]) -> None:
        for piece in pieces:
            if piece.kind == "barrier":
                self._replace(piece.first, piece.last, "GRADER_BARRIER", edits)
            elif piece.kind == "loop":
                self._edit(piece.pieces, edits)
            elif piece.kind == "each":
                begin = f" GRADER_EACH({self.calls:d},{self._loads(piece)}) "
                end = f" GRADER_EACH_END({self._stores(piece)}) "
                edits.append(Edit(place=piece.first - 1, where="after", text=begin))
                edits.append(Edit(place=piece.last, where="after", text=end))
            elif piece.kind == "stride":
                self._edit_stride(piece, edits)
            if piece.kind in ("each", "stride"):
                begin_of = piece.first if piece.kind == "each" else piece.head[3] + 1
                for place in self._short_loops(begin_of, piece.last):
                    edits.append(Edit(place=place, where="replace", text="GRADER_UNROLL for"))

    def _edit_stride(self, piece: Piece, edits: list[Edit]) -> None:
        opened, first, second, close = piece.head
        loop = piece.variables[0]
        header = self._spell(opened + 1, close - 1)
        condition, step = self._spell(first + 1, second - 1), self._spell(second + 1, close - 1)
        begin = (
            f"GRADER_STRIDE(for ({header}), {self.calls:d}, {loop.kind}, {loop.name}, {loop.array},"
            f" ({self._value(loop)}), ({condition}),{self._loads(piece)})"
        )
        end = f" GRADER_STRIDE_END({loop.name}, {loop.array}, ({step}),{self._stores(piece)}) "
        self._replace(piece.first, close, begin, edits)
        edits.append(Edit(place=piece.last, where="after", text=end))

    @staticmethod
    def _replace(first: int, last: int, text: str, edits: list[Edit]) -> None:
        edits.append(Edit(place=first, where="replace", text=text))
        edits += [Edit(place=p, where="replace", text="") for p in range(first + 1, last + 1)]

    def _spell(self, first: int, last: int) -> str:
        return " ".join(self.code.text(place) for place in range(first, last + 1))

    def _value(self, variable: Variable) -> str:
        assert variable.value
        return self._spell(*variable.value)

    def _declaration(self, variable: Variable) -> str:
        """Return a declaration with the kept value, or the one that is computed again."""
        value = f"{variable.array}[grader_thread]" if variable.kept else self._value(variable)
        return f" {variable.qualifiers} {variable.kind} {variable.name} = {value};"

    def _earlier(self, piece: Piece) -> list[Variable]:
        return [v for v in self.variables if v.first < piece.first <= v.last]

    def _loads(self, piece: Piece) -> str:
        """Return what a piece begins with: the index, and the variables that it uses."""
        wanted = {self.code.text(place) for place in range(piece.first, piece.last + 1)}
        loads: list[str] = []
        for variable in reversed(self._earlier(piece)):
            if variable.name in wanted and (variable.kept or variable.again):
                if variable.again:
                    wanted |= set(self._value(variable).split())
                loads.append(self._declaration(variable))
        return " GRADER_OWN_INDEX" * ("threadIdx" in wanted) + "".join(reversed(loads))

    def _stores(self, piece: Piece) -> str:
        """Return what a piece ends with: it stores what it declares or changes."""
        kept = [v for v in self._earlier(piece) if v.kept and not v.qualifiers]
        changed = [v for v in kept if self._modified(v.name, piece.first, piece.last + 1)]
        own = [v for v in piece.variables if v.kept and piece.kind == "each"]
        return "".join(f" {v.array}[grader_thread] = {v.name};" for v in (*changed, *own))
