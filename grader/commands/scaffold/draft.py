"""A draft of a new assignment: name, languages, entries, case sizes and its placeholder."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.assignment.cases import Range
from grader.assignment.expression import Expression
from grader.assignment.launch import Launch
from grader.assignment.names import type_meant
from grader.assignment.signature import Argument, ElementType, Signature
from grader.errors import UsageError
from grader.vocabulary import Language, Role

DRAFTED = (Language.CUDA, Language.TRITON)  # the languages with templates
EXAMPLE = "--argument input:float32[n]:in --argument output:float32[n]:out --argument n:int32"
_FORM = re.compile(
    r"(?P<name>\w+)\s*:\s*(?P<type>\w+)\s*"
    r"(?:\[(?P<shape>[^\]]*)\]\s*(?::\s*(?P<role>\w+))?|(?:=\s*(?P<default>\S+))?)\s*"
)
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z]\w*\.(?:cuh|h)")
_ENTRY = re.compile(r"\s*(?P<name>\w+)\s*\((?P<arguments>.*)\)\s*", re.DOTALL)
_ENTRY_EXAMPLE = '--entry "scale(x:float32[n]:in, y:float32[n]:out, n:int32)"'
# Sizes at the boundaries of warps and blocks, by the number of extents; rotated for each further
# extent.
_BOUNDARY_SIZES = {1: (1, 2, 31, 32, 33, 257, 1000, 1025), 2: (1, 2, 31, 32, 33, 257, 3, 129)}
_SMALL_BOUNDARY_SIZES = (1, 2, 7, 16, 17, 33, 3, 31)
_LARGE = {1: (10007,), 2: (127, 211)}
_LARGEST_HIDDEN = {1: 4096, 2: 200}
_SMALL = 24
_THREADS = 256
_WHOLE = (2, 3, 5, 4)
_FRACTIONS = (0.5, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A new assignment as one of its entries has it; its files are named after it.

    `further` are the drafts of the other entries, `suffix` is that of this entry's functions in the
    oracle, and `taken` are the names of all entries' arguments. In CUDA C++ students write
    `headers` too, and get those that are `given`.
    """

    name: str
    title: str
    languages: tuple[Language, ...]
    signature: Signature
    suffix: str = ""
    taken: frozenset[str] = frozenset()
    further: tuple[Draft, ...] = ()
    headers: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[Draft, ...]:
        """The draft of each entry, this one first."""
        return (self, *self.further)

    @property
    def plain_title(self) -> str:
        """The title without characters that end a comment or a docstring."""
        return self.title.replace("\\", "").replace('"', "'")

    @property
    def files(self) -> Mapping[Language, str]:
        """The kernel's file by language."""
        return {language: self.name + language.suffix for language in self.languages}

    @property
    def inputs(self) -> tuple[Argument, ...]:
        """The arrays with the role `in`."""
        return tuple(a for a in self.signature.arrays if a.role is Role.IN)

    @property
    def tolerance(self) -> tuple[str, ...]:
        """atol and rtol for the least precise output; () if all outputs are exact."""
        kinds = {one.kind(output) for one in self.entries for output in one.signature.outputs}
        return max((kind.tolerance for kind in kinds), key=lambda pair: [*map(float, pair)][::-1])

    @property
    def extents(self) -> tuple[str, ...]:
        """The sizes that shapes depend on, in the order of the arguments."""
        return tuple(a.name for a in self.signature.scalars if a.name in self.signature.extents)

    @property
    def others(self) -> tuple[Argument, ...]:
        """The scalars on which no shape depends."""
        return tuple(a for a in self.signature.scalars if a.name not in self.extents)

    def local(self, name: str) -> str:
        """Return `name` with underscores appended until no argument has the same name."""
        while name in self.taken:
            name += "_"
        return name

    def kind(self, argument: Argument) -> ElementType:
        """Return the argument's type, the first of a type variable; none is bound by language."""
        return self.signature.element_type(argument, Language.CUDA)

    def varies(self, argument: Argument) -> bool:
        """True if each case chooses the argument's type."""
        return argument.type == self.signature.variable

    def c_name(self, argument: Argument) -> str:
        """Return the argument's type in C++: the variable if it varies."""
        return argument.type if self.varies(argument) else self.kind(argument).c_name

    def summands(self, output: Argument) -> tuple[Argument, ...]:
        """Return the summands of an element of `output` in the placeholder.

        They are the element's old value if it is read, one element of each `in` array (at
        the same index, modulo the array's length), and each scalar that is no extent. So
        every argument matters. Without an array to read, the index modulo 7 is a summand too.
        """
        return *([output] if output.role.read else []), *self.inputs, *self.others

    @property
    def adds_index(self) -> bool:
        """True if no array is read: the placeholder's elements differ by their index."""
        return not any(array.role.read for array in self.signature.arrays)

    def sum_type(self, output: Argument) -> ElementType:
        """Return the type of the sum; of floats integers add signs, of scalars quarters."""
        if not self.kind(output).is_float:
            return ElementType.INT64
        kinds = {self.kind(output), *map(self.kind, (*self.inputs, *self.others))}
        kinds |= set(self.signature.dtypes)
        return ElementType.FLOAT64 if ElementType.FLOAT64 in kinds else ElementType.FLOAT32

    def adds_one(self, output: Argument) -> bool:
        """True if `output` is its only summand; adding 1 makes an unchanged output wrong."""
        return self.summands(output) == (output,)

    @property
    def wraps_around(self) -> bool:
        """True if the elements of some input are repeated to fill an output."""
        return any(
            not same_count(array, output)
            for array in self.inputs
            for output in self.signature.outputs
        )

    def small_cases(self) -> dict[str, list[int | float]]:
        """Return the sizes of the small cases: by name, one list element per case."""
        extents = self.extents
        edges = _BOUNDARY_SIZES.get(len(extents), _SMALL_BOUNDARY_SIZES)
        rows = [
            {name: edges[(place + 3 * k) % len(edges)] for k, name in enumerate(extents)}
            for place in range(len(edges))
        ]
        fitting = [row for row in rows if self._fits(row)]
        if len(fitting) < 2:
            raise UsageError(
                f"the shapes do not allow ordinary sizes such as {rows[-1]}",
                tip="use plain shapes, such as [rows, cols], and edit the spec afterwards",
            )
        sizes: dict[str, list[int | float]] = {n: [row[n] for row in fitting] for n in extents}
        for argument in self.others:
            values = _FRACTIONS if self.kind(argument).is_float else _WHOLE
            if self.kind(argument) is ElementType.BOOL:
                values = (1, 0)
            sizes[argument.name] = [values[k % len(values)] for k in range(len(fitting))]
        return sizes

    def large_case(self) -> dict[str, int | float]:
        """Return the sizes of a case that no block size divides."""
        extents = self.extents
        count = len(extents)
        primes = (_LARGE.get(count, (23, 19, 17, 13, 11, 7)) * count)[:count]
        # A shape such as [n - k + 1] needs the largest one first.
        for order in (primes, sorted(primes), sorted(primes, reverse=True)):
            sizes: dict[str, int | float] = dict(zip(extents, order, strict=True))
            if self._fits(sizes):
                break
        return sizes | self._scalars()

    def hidden_case(self) -> dict[str, int | float | Range]:
        """Return the sizes of the hidden cases, drawn from ranges."""
        most = _LARGEST_HIDDEN.get(len(self.extents), _SMALL)
        # Shapes such as [rows - 2] need extents of 3 or more.
        least = next((n for n in range(2, most) if self._fits(dict.fromkeys(self.extents, n))), 2)
        middle = most // 2
        whole, low, high = Range(least, most), Range(least, middle), Range(middle, most)
        first = dict.fromkeys(self.extents, whole)
        # A shape such as [n - k + 1] needs an n that is never below k.
        parted = itertools.product((low, high), repeat=len(self.extents))
        choices = [first, *(dict(zip(self.extents, one, strict=True)) for one in parted)]
        ranges = next((one for one in choices if self._all_fit(one)), first)
        return {**ranges, **self._scalars()}

    def _all_fit(self, ranges: Mapping[str, Range]) -> bool:
        """True if the sizes at all combinations of the ranges' ends fit."""
        ends = itertools.product(*((int(one.min), int(one.max)) for one in ranges.values()))
        return all(self._fits(dict(zip(ranges, corner, strict=True))) for corner in ends)

    def _scalars(self) -> dict[str, int | float]:
        return {
            a.name: 0.25 if self.kind(a).is_float else min(3, self.kind(a).range[1])
            for a in self.others
        }

    def _fits(self, sizes: Mapping[str, int | float]) -> bool:
        try:
            shapes = [self.signature.shape(array, sizes) for array in self.signature.arrays]
        except ValueError:
            return False
        return all(extent >= 1 for shape in shapes for extent in shape)


def element_count(array: Argument) -> str:
    """Return an array's number of elements as a Python expression: `rows * cols`."""
    extents = [extent.text.replace(" ", "") for extent in array.shape or ()]
    plain = (e if e.isidentifier() or e.isdecimal() else f"({e})" for e in extents)
    return " * ".join(plain)


def same_count(one: Argument, other: Argument) -> bool:
    """True if both arrays have the same expression for the number of elements."""
    return element_count(one) == element_count(other)


def make_draft(
    name: str,
    title: str | None,
    languages: Iterable[str],
    arguments: Iterable[str] = (),
    *,
    entries: Iterable[str] = (),
    types: str | None = None,
    kernel: bool = False,
    headers: Sequence[str] = (),
    given: Sequence[str] = (),
) -> Draft:
    """Return the draft. Raises UsageError if no assignment can have these arguments.

    Languages without templates, which a course may have, are left out; without one it has all.
    `arguments` are those of one entry, named after the assignment. Or `entries` are several:
    scale(x:float32[n]:in, y:float32[n]:out, n:int32).
    `types`, such as T=float32,float16, is a type variable of the arguments. With `kernel`, students
    write the bare kernel, which the grader launches. `headers` are files of CUDA C++ that students
    write as well, `given` those that they get.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` cannot be the name of an assignment",
            tip="use lower-case letters, digits and _, with a letter first: row_softmax",
        )
    functions = [_entry(text) for text in entries] or [(name, tuple(arguments))]
    # An entry may do without the type that another's arguments name.
    several = len(functions) > 1
    named = [_names(texts, types) or not several for _, texts in functions]
    if types and not any(named):
        raise UsageError(f"--types {types}: no argument names it", tip="write x:T[n]:in")
    signatures = [
        _signature(entry, texts, types if uses else None, kernel=kernel)
        for (entry, texts), uses in zip(functions, named, strict=True)
    ]
    wanted = frozenset(map(Language, languages)) & frozenset(DRAFTED) or frozenset(DRAFTED)
    _judge_headers((*headers, *given), Language.CUDA in wanted)
    first, *others = (
        Draft(
            name=name,
            title=title or name.replace("_", " ").capitalize(),
            languages=tuple(language for language in Language if language in wanted),
            signature=signature,
            suffix=f"_{signature.entry}" if number else "",
            taken=frozenset(one.name for each in signatures for one in each.arguments),
            headers=tuple(headers),
            given=tuple(given),
        )
        for number, signature in enumerate(signatures)
    )
    return replace(first, further=tuple(others))


def _judge_headers(names: Sequence[str], with_cuda: bool) -> None:
    """Raise UsageError if these cannot be headers of the assignment."""
    stems = [name.partition(".")[0].lower() for name in names]
    for name, stem in zip(names, stems, strict=True):
        if not _HEADER.fullmatch(name) or stems.count(stem) > 1:
            what = "is named twice" if _HEADER.fullmatch(name) else "cannot be a header"
            raise UsageError(f"`{name}` {what}", tip="for example: --header tile.cuh")
        if not with_cuda:
            raise UsageError(f"`{name}`: headers are of CUDA C++", tip="add --language cuda")


def _signature(
    entry: str, arguments: Sequence[str], types: str | None, *, kernel: bool
) -> Signature:
    variable, dtypes = _variable(types) if types else ("", ())
    known = [variable] if variable else []
    signature = Signature(
        entry=entry,
        arguments=tuple(parse_argument(text, known) for text in arguments),
        types={},
        variable=variable,
        dtypes=dtypes,
    ).bound(dtypes[0].word if dtypes else "")
    for problem in _problems(signature):
        raise UsageError(f"{entry}: {problem}", tip=f"for example: {EXAMPLE}")
    return replace(signature, launch=_launch(signature)) if kernel else signature


def _names(arguments: Iterable[str], types: str | None) -> bool:
    """True if an argument has the type that `types`, such as T=float32,float16, makes known."""
    name = (types or "").partition("=")[0].strip()
    return any((match := _FORM.fullmatch(one)) and match["type"] == name for one in arguments)


def _entry(text: str) -> tuple[str, tuple[str, ...]]:
    """Read `scale(x:float32[rows, cols]:in, rows:int32)`: the name and the arguments."""
    match = _ENTRY.fullmatch(text)
    if match is None:
        raise UsageError(f"`{text}` is no entry", tip=f"for example: {_ENTRY_EXAMPLE}")
    # Commas in brackets separate extents.
    arguments = re.split(r",(?![^\[]*\])", match["arguments"])
    return match["name"], tuple(one.strip() for one in arguments if one.strip())


def _launch(signature: Signature) -> Launch:
    """Return a launch with a thread, or an element of a block, for each element of the outputs."""
    counts = list(dict.fromkeys(map(element_count, signature.outputs)))
    largest = counts[0] if len(counts) == 1 else f"max({', '.join(counts)})"
    return Launch.of({"grid": [f"cdiv({largest}, {_THREADS})"], "block": [_THREADS]})


def _variable(text: str) -> tuple[str, tuple[ElementType, ...]]:
    """Read `T=float32,float16`: the name of a type, and the types that cases choose of."""
    name, _, listed = (part.strip() for part in text.partition("="))
    words = [word.strip() for word in listed.split(",")]
    kinds = {kind.word: kind for kind in ElementType}
    for word in words:
        if not name.isidentifier() or word not in kinds:
            tip = "for example: --types T=float32,float16"
            raise UsageError(f"`{text}` names no types{type_meant(word, kinds)}", tip=tip)
    found = tuple(kinds[word] for word in dict.fromkeys(words))
    if len({kind.is_float for kind in found}) > 1 or not all(kind.computes for kind in found):
        raise UsageError(
            f"a skeleton cannot compute in all of {', '.join(words)}",
            tip="name float types or signed integers, and edit the spec afterwards",
        )
    return name, found


def parse_argument(text: str, others: Sequence[str] = ()) -> Argument:
    """Read `input:float32[rows, cols]:in`, `n:int32` or `epsilon:float32=1e-5`.

    `others` are names of types besides the element types. Raises UsageError.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"`{text}` is no argument",
            tip="an array is NAME:TYPE[EXTENTS]:ROLE, such as input:float32[rows, cols]:in; "
            "a scalar is NAME:TYPE, such as n:int32",
        )
    kinds = [*others, *(kind.word for kind in ElementType)]
    if match["type"] not in kinds:
        raise UsageError(
            f"`{text}`: `{match['type']}` is no type{type_meant(match['type'], kinds)}",
            tip=f"known: {', '.join(kinds)}",
        )
    roles = [role.value for role in Role]
    role = match["role"] or Role.IN.value
    if role not in roles:
        raise UsageError(f"`{text}`: `{role}` is no role", tip=f"known: {', '.join(roles)}")
    shape = None
    if match["shape"] is not None:
        try:
            # A comma in brackets, as in cdiv(n, 4), separates no extents.
            extents = re.split(r",(?![^(]*\))", match["shape"])
            shape = tuple(map(Expression.parse, extents))
        except ValueError as error:
            raise UsageError(f"`{text}`: {error}") from None
    return Argument(
        name=match["name"],
        type=match["type"],
        shape=shape,
        role=Role(role),
        default=_number(text, match["default"]),
    )


def _number(text: str, value: str | None) -> int | float | None:
    if value is None:
        return None
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    raise UsageError(f"`{text}`: `{value}` is no number")


def _problems(signature: Signature) -> Iterator[str]:
    """Yield the reasons why no skeleton can be made; the spec's reader finds other errors."""
    if not signature.arguments:
        yield "the function needs arguments"
    if not signature.outputs:
        yield "there is no output: one array needs the role `out`"
    if signature.variable and all(a.type != signature.variable for a in signature.arrays):
        yield f"`{signature.variable}` is the type of no array: write x:{signature.variable}[n]:in"
    kinds = {a.name: signature.element_type(a, Language.CUDA) for a in signature.arguments}
    for argument in signature.arguments:
        if ElementType.COMPLEX64 in (kinds[argument.name], *signature.dtypes):
            yield (
                f"a skeleton cannot compute the complex numbers of `{argument.name}`: write "
                "float32, and edit the spec afterwards"
            )
    if {array.role for array in signature.arrays} == {Role.INOUT, Role.OUT}:
        # Threads that write the `inout` would race with threads that read it for the `out`.
        yield (
            "a skeleton cannot compute an `out` from an `inout` alone: leave out the `out`, or add "
            "an `in`, and edit the spec afterwards"
        )
    scalars = {a.name for a in signature.scalars if not kinds[a.name].is_float}
    extents = [(a, extent) for a in signature.arrays for extent in a.shape or ()]
    for array, extent in extents:
        for name in sorted(extent.names - scalars):
            given = any(a.name == name for a in signature.scalars)
            wrong = "is no integer: make it" if given else "is no argument: add"
            yield f"`{name}` in the shape of `{array.name}` {wrong} {name}:int32"
        if "**" in extent.text or "(" in extent.text:
            yield (
                f"`{extent.text}` is too complex for a skeleton: use sizes, numbers, + - * // %, "
                "and edit the spec afterwards"
            )
    if not any(extent.names for _, extent in extents):
        yield "every shape is fixed, but kernels are judged on several sizes"
