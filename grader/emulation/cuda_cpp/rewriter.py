"""Rewrites CUDA C++ to C++: launches, `__shared__` and `__noinline__`.

Two constructs of CUDA do not exist in C++ and are rewritten, by token:

    k<<<grid, block>>>(a, b)     →  ::grader::Launch(grid, block)
                                      .grader_named("k", [=](auto&... p) { k(p...); })(a, b)
    __shared__ float t[32], u;   →  typedef float grader_type_t[32], grader_type_u;
                                    … references t and u into the block's shared memory

`__noinline__` becomes an attribute. It cannot be a macro, because the standard library
uses the word in attributes.

Three more rewrites improve the reports: `__device__` and `__constant__` variables are
registered by name, an allocation gets the name of its pointer, and
`cudaLaunchKernel((void*)k, …)` loses the cast that would hide the kernel's type. The
headers implement everything else (`__global__`, `threadIdx`, `atomicAdd` …) in plain C++.

No text moves to another line, so the compiler's line numbers are the student's. Columns
change on rewritten lines.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from grader.emulation.cuda_cpp.code import CLOSERS, MARKS, OPENERS, Code
from grader.emulation.cuda_cpp.declarations import split_shared, variable_names
from grader.emulation.cuda_cpp.features import (
    Refused,
    Unsupported,
    refused_features,
    unsupported_features,
)
from grader.emulation.cuda_cpp.launches import config_end, kernel_start
from grader.emulation.cuda_cpp.locals import uninitialised
from grader.emulation.cuda_cpp.ptx import UnknownPtxError, translate
from grader.emulation.cuda_cpp.ptx_statement import ASSEMBLY, read_assembly
from grader.emulation.cuda_cpp.thread_loops import thread_loops
from grader.emulation.cuda_cpp.tokens import CpuBudget, Kind, Token, tokenize


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """C++ for g++, and the features that forbid compiling it."""

    text: str
    unsupported: tuple[Unsupported, ...]
    refused: tuple[Refused, ...]


_rewriting = threading.Lock()


def rewrite(text: str, *, file: str, mark_locals: bool = False) -> Rewritten:
    """Return the C++ of a CUDA C++ file; `file` is its name in messages.

    With `mark_locals`, the checked build reports reads of local variables without a value. Every
    access to one is then checked, which takes time.

    Text that is no CUDA C++ is returned unchanged, for the compiler to reject. Raises
    TooComplicatedError for a file that takes far more work than real ones.
    """
    with _rewriting:  # the builds of a grading begin together, and rewrite the same files
        return _rewritten(text, file, mark_locals=mark_locals)


@functools.lru_cache(maxsize=16)
def _rewritten(text: str, file: str, *, mark_locals: bool) -> Rewritten:
    cpu_budget = CpuBudget()
    tokens = tokenize(text)
    rewriter = _Rewriter(tokens)
    rewritten = rewriter.run(cpu_budget, mark_locals=mark_locals)
    unknown = {tokens[i].start: why for i, why in rewriter.unknown_ptx.items()}
    return Rewritten(
        text=rewritten,
        unsupported=unsupported_features(text, tokens, cpu_budget, file=file, unknown_ptx=unknown),
        refused=refused_features(text, tokens, cpu_budget, file=file),
    )


_ALLOCATORS = frozenset(
    {
        "cudaMalloc",
        "cudaMallocAsync",
        "cudaMallocFromPoolAsync",
        "cudaMallocManaged",
        "cudaMallocHost",
        "cudaHostAlloc",
        "cudaMallocPitch",
    }
)


_LAUNCH_CALLS = frozenset({"cudaLaunchKernel", "cudaLaunchCooperativeKernel"})
_MOST_OF_A_CAST = 8  # tokens in `(const void*)`, and some more


class _Rewriter:
    """Edits by code token: text before it, after it, or in its place."""

    def __init__(self, tokens: list[Token]) -> None:
        self.source = Code(tokens)
        self.before: dict[int, list[str]] = {}
        self.after: dict[int, list[str]] = {}
        self.replacements: dict[int, str] = {}
        self.sites = 0
        self.unknown_ptx: dict[int, str] = {}  # what cannot be translated, by token
        texts = [self.source.tokens[index].text for index in self.source.places]
        self.function_pointers = {
            texts[i + 2]
            for i in range(len(texts) - 3)
            if texts[i : i + 2] == ["(", "*"] and texts[i + 3] in (")", "[")
        }

    def run(self, cpu_budget: CpuBudget, *, mark_locals: bool) -> str:
        for place, names in uninitialised(self.source) if mark_locals else ():
            calls = (f' ::grader::local("{name}", {name});' for name in names)
            self._put_after(place, "".join(calls))
        for at, index in enumerate(self.source.places):
            cpu_budget.check(at)
            token = self.source.tokens[index]
            if token.text == "<<<":
                self._launch(at)
            elif token.kind is not Kind.NAME:
                continue
            elif token.text == "__shared__":
                self._shared(at)
            elif token.text in MARKS:
                self._variable(at)
            elif token.text == "__noinline__":
                self._noinline(at)
            elif token.text in _ALLOCATORS:
                self._allocation(at)
            elif token.text in ASSEMBLY:
                self._assembly(at)
            elif token.text in _LAUNCH_CALLS:
                self._launch_call(at)
        if not mark_locals:
            self._thread_loops()
        parts: list[str] = []
        for i, token in enumerate(self.source.tokens):
            parts += reversed(self.before.get(i, ()))
            parts.append(self.replacements.get(i, token.text))
            parts += self.after.get(i, ())
        return "".join(parts)

    # ---- places ----

    def _put_before(self, at: int, text: str) -> None:
        self.before.setdefault(self.source.places[at], []).append(text)

    def _put_after(self, at: int, text: str) -> None:
        self.after.setdefault(self.source.places[at], []).append(text)

    def _replace(self, at: int, text: str) -> None:
        self.replacements[self.source.places[at]] = text

    def _thread_loops(self) -> None:
        for edit in thread_loops(self.source):
            if edit.where == "after":
                self._put_after(edit.place, edit.text)
            else:
                self._replace(edit.place, edit.text)

    # ---- launches ----

    def _launch(self, at: int) -> None:
        first = kernel_start(self.source, at)
        config = config_end(self.source, at)
        if first is None or config is None:
            return
        if any(self.source.text(place) == "<<<" for place in range(at - 1, first - 1, -1)):
            return  # the result of a launch is no kernel
        close = config.place
        in_macro = self.source.tokens[self.source.places[at]].directive
        if in_macro and not self.source.same_region(at, close + 1):
            end = close  # `#define GO(k) k<<<1, 2>>>`: the arguments follow where it is used
        elif self.source.text(close + 1) == "(":
            found = self.source.closing(close + 1)
            if found is None:
                return
            end = found
        else:
            return
        for place, text in config.respelled.items():
            self._replace(place, text)
        if end == close and self.source.text(first - 1) == "define":
            # `#define CONFIG(n) <<<n, 256>>>`: the kernel precedes the place where it is used.
            self._replace(at, "->* ::grader::Launch(")
            self._replace(close, ")")
            return
        kernel = self.source.spelling(first, at - 1)
        for place in range(first, at):
            self._replace(place, "")
        self._replace(at, "(::grader::Launch(")
        # Capture a function pointer by value now. A name may be a template, which is known only at
        # the call.
        pointer = self._is_function_pointer(first, at)
        capture = f"[grader_kernel = {kernel}]" if pointer else "[=]"
        callee = "grader_kernel" if pointer else kernel
        call = f"{capture}(auto&... grader_argument) {{ {callee}(grader_argument...); }}"
        if self._has_braced_argument(close + 2, end):
            call = kernel  # by which the argument's type is known
        # Make the launch one operand: `cond ? k<<<…>>>() : …`, `(k<<<…>>>(), 0)`.
        self._replace(
            close,
            f").grader_named(GRADER_NAME({kernel}), {call})",
        )
        self._put_after(end, ")")
        # NULL is an integer to a template; nullptr converts to every pointer.
        for place in self._outside_brackets(close + 2, end):
            alone = self.source.text(place - 1) in "(," and self.source.text(place + 1) in "),"
            if self.source.text(place) == "NULL" and alone:
                self._replace(place, "nullptr")

    def _has_braced_argument(self, place: int, end: int) -> bool:
        """True if one of the arguments begins with a brace: `k<<<…>>>(a, {1, 2})`."""
        while place < end:
            text = self.source.text(place)
            if text == "{" and self.source.text(place - 1) in ("(", ","):
                return True
            place = self.source.closing_anywhere(place) if text in OPENERS else place
            place += 1
        return False

    def _outside_brackets(self, place: int, end: int) -> Iterator[int]:
        """Yield the places up to `end` that are outside inner brackets."""
        while place < end:
            text = self.source.text(place)
            if text in OPENERS:
                place = self.source.closing_anywhere(place)
            elif text not in CLOSERS:
                yield place
            place += 1

    def _is_function_pointer(self, first: int, end: int) -> bool:
        """True for `s.f`, `p->f`, `f[1]`, `(*f)` and a name declared as `(*name)(…`."""
        words = [self.source.text(place) for place in range(first, end)]
        if any(word in (".", "->", "[", "*") for word in words):
            return True
        return len(words) == 1 and words[0] in self.function_pointers

    def _launch_call(self, at: int) -> None:
        """`cudaLaunchKernel((const void*)k, …)`: drop the cast, keep the type."""
        if self.source.text(at + 1) != "(":
            return
        place = at + 2
        end_of_call = self.source.closing(at + 1)
        comma = self.source.separator(place)
        if end_of_call is not None and place < comma < end_of_call:
            # `(const void*)k` → k; a template's name may have a comma, and is cut there.
            words = self.source.spelling(place, comma - 1)
            name = words[words.rfind("*)") + 2 :] if "*)" in words else words
            self._put_before(at, f'(::grader::name_launch("{name.strip("&()")}"), ')
            self._put_after(end_of_call, ")")
        if self.source.text(place) == "(":
            close = self.source.closing(place)
            end = min(close or 0, place + _MOST_OF_A_CAST)
            inside = {self.source.text(p) for p in range(place + 1, end)}
            if close == end and inside in ({"void", "*"}, {"const", "void", "*"}):
                for p in range(place, end + 1):
                    self._replace(p, "")
        elif self.source.text(place) in ("reinterpret_cast", "static_cast"):
            opened = place + 1
            while self.source.text(opened) != "(" and opened < place + 8:
                opened += 1
            if self.source.text(opened) == "(":
                for p in range(place, opened):
                    self._replace(p, "")

    def _assembly(self, at: int) -> None:
        """`asm("…" : "=r"(x) : "r"(y));` becomes C++ if it is PTX (see `ptx`)."""
        statement = read_assembly(self.source, at)
        if statement is None:
            return
        try:
            code = translate(statement.template, statement.operands)
        except UnknownPtxError as error:
            self.unknown_ptx[self.source.places[at]] = str(error)
            return
        for place in range(at, statement.end):
            self._replace(place, "")
        self._replace(at, code)

    # ---- variables ----

    def _shared(self, at: int) -> None:
        found = split_shared(self.source, at)
        if found is None:
            return
        self.sites += 1
        for place in found.dropped:
            self._replace(place, "")
        self._put_before(found.first, "typedef ")
        in_function = self.source.in_function(at)
        made = []
        for place in found.names:
            name = self.source.text(place)
            kind = f"grader_type_{name}"
            self._replace(place, kind)
            made.append(_reference(name, kind, dynamic=found.is_extern, in_function=in_function))
        self._put_after(found.last, "".join(made))

    def _variable(self, at: int) -> None:
        found = None if self.source.in_function(at) else variable_names(self.source, at)
        if found is None:
            return
        names, end = found
        marks = {self.source.text(place) for place in range(at, names[0])}
        kind = ", true" if "__managed__" in marks else ""
        kind = ", false, true" if "__constant__" in marks else kind
        for place in names:
            self.sites += 1
            name = self.source.text(place)
            self._put_after(
                end,
                f" static ::grader::DeviceVariable grader_variable_{self.sites}"
                f'({name}, "{name}"{kind});',
            )

    def _noinline(self, at: int) -> None:
        """Replace the mark by an attribute, unless it is in an attribute or in a directive."""
        before = self.source.text(at - 1)
        if before in ("::", "define", "undef", "ifdef", "ifndef", "defined"):
            return
        depth = 0
        for place in range(at - 1, max(-1, at - 40), -1):
            text = self.source.text(place)
            depth += (text in CLOSERS) - (text in OPENERS)
            if depth < 0:
                if self.source.text(place - 2) in ("__attribute__", "__attribute"):
                    return
                if self.source.text(place - 1) == "defined":
                    return
                break
        self._replace(at, "__attribute__((__noinline__))")

    def _allocation(self, at: int) -> None:
        """`cudaMalloc(&d_x, n)` becomes `(::grader::name_next("d_x"), cudaMalloc(&d_x, n))`."""
        if self.source.text(at + 1) != "(" or self.source.text(at - 1) in ("::", ".", "->"):
            return
        close = self.source.closing(at + 1)
        if close is None:
            return
        name = ""
        for place in self._outside_brackets(at + 2, close):
            token = self.source.at(place)
            if token and token.text == ",":
                break
            if token and token.kind is Kind.NAME:
                name = token.text
        if name:
            self._put_before(at, f'(::grader::name_next("{name}"), ')
            self._put_after(close, ")")


def _reference(name: str, kind: str, *, dynamic: bool, in_function: bool) -> str:
    """Return the declaration of `name` as a reference into shared memory.

    At file scope the reference is initialised once, and the variable never moves.
    """
    storage = "" if in_function else "static thread_local "
    if dynamic:
        place = "grader_dynamic_shared" if in_function else "grader_keep_dynamic_shared"
        return (
            f" {storage}{kind}& {name} = *reinterpret_cast<{kind}*>("
            f'{place}("{name}", ::grader::ElementSize<{kind}>::value));'
        )
    site = f"grader_site_{name}"
    place = "::grader::shared" if in_function else "grader_keep_shared"
    return (
        f' static ::grader::SharedSite {site} = {{"{name}", sizeof({kind}), '
        f"::grader::ElementSize<{kind}>::value, 0}};"
        f" {storage}{kind}& {name} = *static_cast<{kind}*>({place}(&{site}));"
    )
