"""A kernel's statements, cut where threads wait for each other (`thread_loops`), by token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.emulation.cuda_cpp.kernel_words import (
    AFTER_TYPE,
    BARRIER,
    MOST_TOKENS,
    NAME,
    QUALIFIERS,
    TYPES,
    FileNames,
    directive,
)


class UnsuitedError(Exception):
    """The kernel stays as it is."""


@dataclass(slots=True, kw_only=True)
class Variable:
    """A local variable at the level of the pieces, and how they get it."""

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
        """Return the name of the array that keeps it."""
        return f"grader_kept_{self.name}_{self.first}"


@dataclass(slots=True, kw_only=True)
class Piece:
    """Statements between two cuts, or a barrier, a shared declaration, a loop."""

    kind: str  # "each", "barrier", "shared", "loop", "stride"
    first: int
    last: int
    pieces: list[Piece] = field(default_factory=list)  # of a loop
    variables: list[Variable] = field(default_factory=list)  # that it declares, or its header
    head: tuple[int, int, int, int] = (0, 0, 0, 0)  # of a loop: `(`, two semicolons, `)`


def all_pieces(pieces: list[Piece]) -> Iterator[Piece]:
    """Yield the pieces, and those in loops."""
    for piece in pieces:
        yield piece
        yield from all_pieces(piece.pieces)


class KernelReader:
    """The parameters, pieces and variables of a kernel."""

    def __init__(self, file: FileNames, mark: int) -> None:
        self.file = file
        self.code = file.code
        self.types = set(TYPES)
        self.constants = set(file.constants)
        self._template_parameters(mark)
        self.parameters: dict[str, str] = {}  # name: type
        self.open = self._signature(mark)
        close = self.code.closing(self.open)
        if close is None or close - self.open > MOST_TOKENS:
            raise UnsuitedError
        self.close = close
        self.shared: set[str] = set()
        self.locals: set[str] = set()
        self.varying: set[str] = set()  # locals that begin with a value of the thread
        self.declarations: set[int] = set()
        self.changed: dict[str, bool] = {}  # does the kernel change the variable?
        self.variables: list[Variable] = []
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
            if NAME.fullmatch(self.code.text(at)) and self.code.text(at + 1) in (",", ">", "="):
                before = self.code.text(at - 1)
                if before in TYPES:
                    self.constants.add(self.code.text(at))
                elif before in ("typename", "class"):
                    self.types.add(self.code.text(at))

    def _signature(self, mark: int) -> int:
        """Read the parameters; return the place of the body's brace."""
        code = self.code
        place = mark + 1
        attributes = ("__launch_bounds__", "__attribute__")
        while code.text(place) != "(" or code.text(place - 1) in attributes:
            if code.text(place) == "(":
                place = code.closing_anywhere(place)
            if code.text(place) in ("", ";", "{", "}") or place > mark + MOST_TOKENS:
                raise UnsuitedError
            place += 1
        close = code.closing(place)
        if close is None or code.text(close + 1) != "{":
            raise UnsuitedError
        first = place + 1
        while first < close:
            end = first
            while end < close and code.text(end) != ",":
                end = code.closing_anywhere(end) + 1 if code.text(end) in "([{" else end + 1
            words = [code.text(at) for at in range(first, end)]
            if len(words) < 2 or "=" in words or "volatile" in words or "..." in words:
                raise UnsuitedError
            if not NAME.fullmatch(words[-1]):
                raise UnsuitedError
            self.parameters[words[-1]] = " ".join(words[:-1])
            first = end + 1
        return close + 1

    def end_of(self, place: int) -> int:
        """Return the last place of the statement that begins at a place."""
        code = self.code
        text = code.text(place)
        if text == "{":
            return self.closed(place)
        if text in ("if", "for", "while"):
            if code.text(place + 1) != "(":
                raise UnsuitedError
            end = self.end_of(self.skip_pragmas(self.closed(place + 1) + 1))
            if text == "if" and code.text(self.skip_pragmas(end + 1)) == "else":
                return self.end_of(self.skip_pragmas(self.skip_pragmas(end + 1) + 1))
            return end
        if text == "do":
            end = self.end_of(self.skip_pragmas(place + 1))
            if code.text(end + 1) != "while" or code.text(end + 2) != "(":
                raise UnsuitedError
            return self.closed(end + 2) + 1
        while code.text(place) != ";":
            if code.text(place) in ("", ")", "]", "}") or directive(code, place):
                raise UnsuitedError
            place = self.closed(place) + 1 if code.text(place) in ("(", "[", "{") else place + 1
        return place

    def closed(self, place: int) -> int:
        """Return the place of the bracket that closes the one at a place."""
        found = self.code.closing(place)
        if found is None:
            raise UnsuitedError
        return found

    def skip_pragmas(self, place: int) -> int:
        """Skip pragmas."""
        while directive(self.code, place):
            place += 1
        return place

    def cut(self, first: int, end: int) -> list[Piece]:
        """Cut the statements from `first` up to `end`."""
        code = self.code
        pieces: list[Piece] = []
        place = self.skip_pragmas(first)
        begin = first
        while place < end:
            last = self.end_of(place)
            text = code.text(place)
            words = {code.text(at) for at in range(place, last + 1)}
            if text == BARRIER:
                if last != place + 3:
                    raise UnsuitedError
                pieces.append(Piece(kind="barrier", first=place, last=last))
            elif "__shared__" in words:
                if text not in ("__shared__", "extern", "static") or "{" in words:
                    raise UnsuitedError
                pieces.append(Piece(kind="shared", first=place, last=last))
                self._shared_names(place, last)
            elif BARRIER in words:
                pieces.append(self._loop(place, last))
            else:
                stride = self._stride(place, last)
                if stride:
                    pieces.append(stride)
                elif pieces and pieces[-1].kind == "each":
                    pieces[-1].last = last
                else:
                    pieces.append(Piece(kind="each", first=begin, last=last))
                if pieces[-1].kind == "each":
                    pieces[-1].variables += self.declared(place, last)
            begin = last + 1
            place = self.skip_pragmas(begin)
        return pieces

    def _shared_names(self, first: int, last: int) -> None:
        for place in range(first, last):
            before, after = self.code.text(place - 1), self.code.text(place + 1)
            declared = after in ("[", ",", ";") and before not in ("[", "+", "-", "*", "/", "(")
            if declared and NAME.fullmatch(self.code.text(place)):
                self.shared.add(self.code.text(place))

    def _header(self, place: int) -> tuple[int, int, int, int]:
        opened, close = place + 1, self.closed(place + 1)
        semicolons = [at for at in range(opened, close) if self.code.text(at) == ";"]
        if len(semicolons) != 2:
            raise UnsuitedError
        return opened, semicolons[0], semicolons[1], close

    def _loop(self, place: int, last: int) -> Piece:
        """Return a loop with barriers: `for` with a block."""
        if self.code.text(place) != "for":
            raise UnsuitedError
        head = self._header(place)
        opened = head[3] + 1
        if self.code.text(opened) != "{" or self.closed(opened) != last:
            raise UnsuitedError
        loop = Piece(kind="loop", first=place, last=last, head=head)
        loop.variables = self.declared(head[0] + 1, head[1])
        loop.pieces = self.cut(opened + 1, last)
        ends = {piece.kind for piece in (*loop.pieces[:1], *loop.pieces[-1:])}
        if not loop.variables or "barrier" not in ends:
            raise UnsuitedError
        return loop

    def _stride(self, place: int, last: int) -> Piece | None:
        """Return a loop whose iterations run for all threads in turn, if this may be one."""
        code = self.code
        if code.text(place) != "for":
            return None
        head = self._header(place)
        words = {code.text(at) for at in range(place, last + 1)}
        newline = any(
            "\n" in token.text for token in code.tokens[code.places[place] : code.places[head[3]]]
        )
        variables = self.declared(head[0] + 1, head[1])
        if newline or len(variables) != 1 or words & {"return", "break", "continue"}:
            return None
        loop = variables[0]
        step = [code.text(at) for at in range(head[2] + 1, head[3])]
        if step[:2] != [loop.name, "+="] or step[2:] == ["1"]:
            return None
        if loop.name not in self.varying or loop.qualifiers or not loop.kind:
            return None
        return Piece(kind="stride", first=place, last=last, head=head, variables=variables)

    def declared(self, first: int, last: int) -> list[Variable]:
        """Return the variables of a statement; none if it is no declaration of a known type."""
        code = self.code
        place = first
        qualifiers = []
        while code.text(place) in QUALIFIERS:
            qualifiers.append(code.text(place))
            place += 1
        kind: list[str] = []
        while code.text(place) in self.types or (kind and code.text(place) in QUALIFIERS):
            kind.append(code.text(place))
            place += 1
        if not kind:
            if qualifiers or code.text(first) == "auto":
                raise UnsuitedError
            return []
        found: list[Variable] = []
        while place < last:
            stars = []
            while code.text(place) in AFTER_TYPE:
                stars.append(code.text(place))
                place += 1
            name = code.text(place)
            if not NAME.fullmatch(name):
                return self._unsuited() if found or qualifiers or name == "&" else []
            spelled = " ".join([*kind, *(star for star in stars if star == "*")])
            if "*" in stars and "const" in qualifiers:
                spelled = f"const {spelled}"
            end = code.separator(place)
            value = (place + 2, end - 1) if code.text(place + 1) == "=" else None
            plain = (value or code.text(place + 1) in (",", ";")) and not QUALIFIERS & set(kind)
            found.append(
                Variable(
                    name=name,
                    kind=spelled if plain else "",
                    qualifiers=" ".join(qualifiers) if "*" not in stars else "",
                    value=value,
                    first=place,
                )
            )
            place = end + 1
        return found

    def _unsuited(self) -> list[Variable]:
        raise UnsuitedError

    def learn_locals(self, place: int) -> None:
        """Note the names of a declaration in any block."""
        text, before = self.code.text(place), self.code.text(place - 1)
        if text not in self.types | QUALIFIERS or before not in ("{", ";", "}", "(", ")"):
            return
        if before in ("(", ")") and self.code.text(place + 1) == ")":
            return  # a conversion
        last = self.code.separator(place)
        while self.code.text(last) == ",":
            last = self.code.separator(last + 1)
        for variable in self.declared(place, last):
            self.locals.add(variable.name)
            self.declarations.add(variable.first)
            if self.varies(variable):
                self.varying.add(variable.name)

    def varies(self, variable: Variable) -> bool:
        """True if the initial value may differ between the threads of a block."""
        return variable.value is not None and any(
            self.code.text(place) == "threadIdx" or self.code.text(place) in self.varying
            for place in range(variable.value[0], variable.value[1] + 1)
        )
