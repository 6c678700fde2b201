"""CUDA C++ to C++: launches and `__shared__`, and nothing else.

Two constructs of CUDA have no spelling in C++ and are rewritten, by token:

    k<<<grid, block>>>(a, b)     →  ::grader::Launch(grid, block)
                                      .kernel("k", [=](auto&... p) { k(p...); })(a, b)
    __shared__ float t[32], u;   →  typedef float grader_type_t[32], grader_type_u;
                                    … references t and u into the block's shared memory

Three more rewrites serve the reports: a `__device__` or `__constant__`
variable is registered by name, an allocation learns the name of the pointer
it goes to, and `cudaLaunchKernel((void*)k, …)` loses the cast that would hide
the kernel's type. Everything else (`__global__`, `threadIdx`, `atomicAdd` …)
is plain C++ to the header.

No line is added or removed and no text moves to another line, so a
compiler's line numbers are the student's. Columns move on rewritten lines.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.host.declarations import is_function_scope, split_shared, variable_names
from grader.host.features import Refused, Unsupported, refused_features, unsupported_features
from grader.host.tokens import Kind, Token, tokenize


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """C++ for g++, and what stands against compiling it."""

    text: str
    unsupported: tuple[Unsupported, ...]
    refused: tuple[Refused, ...]


def rewrite(text: str, *, file: str) -> Rewritten:
    """Return the C++ of a CUDA C++ file; `file` is the name used in messages.

    Text that is not CUDA C++ comes back as it is, for the compiler to judge.
    """
    return Rewritten(
        text=_Rewriter(text).run(),
        unsupported=unsupported_features(text, file=file),
        refused=refused_features(text, file=file),
    )


_ALLOCATORS = frozenset(
    {
        "cudaMalloc",
        "cudaMallocAsync",
        "cudaMallocManaged",
        "cudaMallocHost",
        "cudaHostAlloc",
        "cudaMallocPitch",
    }
)
_OPENERS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_OPENERS.values())


class _Rewriter:
    """Edits by code token: what goes before a token, after it, or instead."""

    def __init__(self, text: str) -> None:
        self.tokens = tokenize(text)
        self.code = [i for i, token in enumerate(self.tokens) if token.is_code]
        self.before: dict[int, str] = {}
        self.after: dict[int, str] = {}
        self.instead: dict[int, str] = {}
        self.sites = 0
        texts = [self.tokens[index].text for index in self.code]
        self.function_pointers = {
            texts[i + 2]
            for i in range(len(texts) - 3)
            if texts[i : i + 2] == ["(", "*"] and texts[i + 3] in (")", "[")
        }

    def run(self) -> str:
        for at, index in enumerate(self.code):
            token = self.tokens[index]
            if token.text == "<<<":
                self._launch(at)
            elif token.kind is not Kind.NAME:
                continue
            elif token.text == "__shared__":
                self._shared(at)
            elif token.text in ("__device__", "__constant__", "__managed__"):
                self._variable(at)
            elif token.text in _ALLOCATORS:
                self._allocation(at)
            elif token.text == "cudaLaunchKernel":
                self._launch_call(at)
        parts = []
        for i, token in enumerate(self.tokens):
            parts.append(self.before.get(i, ""))
            parts.append(self.instead.get(i, token.text))
            parts.append(self.after.get(i, ""))
        return "".join(parts)

    # ---- places ----

    def _at(self, at: int) -> Token | None:
        return self.tokens[self.code[at]] if 0 <= at < len(self.code) else None

    def _text(self, at: int) -> str:
        token = self._at(at)
        return token.text if token else ""

    def _same_region(self, at: int, other: int) -> bool:
        """True if both stand in the same directive, or both in none."""
        a, b = self._at(at), self._at(other)
        return a is not None and b is not None and a.directive == b.directive

    def _put_before(self, at: int, text: str) -> None:
        index = self.code[at]
        self.before[index] = text + self.before.get(index, "")

    def _put_after(self, at: int, text: str) -> None:
        index = self.code[at]
        self.after[index] = self.after.get(index, "") + text

    def _replace(self, at: int, text: str) -> None:
        self.instead[self.code[at]] = text

    def _closing(self, at: int) -> int | None:
        """Return the place of the bracket that closes the one at `at`."""
        depth = 0
        for place in range(at, len(self.code)):
            if not self._same_region(at, place):
                if self._at(at).directive:  # type: ignore[union-attr]  # `at` is a token
                    return None
                continue  # a directive in the middle of a statement
            text = self._text(place)
            if text in _OPENERS:
                depth += 1
            elif text in _CLOSERS:
                depth -= 1
                if depth == 0:
                    return place
        return None

    def _spelling(self, first: int, last: int) -> str:
        """Return the code of a range on one line, comments and breaks left out."""
        spelling = ""
        for place in range(first, last + 1):
            text = self._text(place)
            if spelling and (spelling[-1].isidentifier() or spelling[-1].isdigit()):
                spelling += " " if text[0].isidentifier() or text[0].isdigit() else ""
            elif spelling.endswith(","):
                spelling += " "
            spelling += text
        return spelling

    # ---- launches ----

    def _launch(self, at: int) -> None:
        first = self._kernel_name(at)
        close = self._config_end(at)
        if first is None or close is None or self._text(close + 1) != "(":
            return
        end = self._closing(close + 1)
        if end is None:
            return
        kernel = self._spelling(first, at - 1)
        for place in range(first, at):
            self._replace(place, "")
        self._replace(at, "(::grader::Launch(")
        # A function's name may be a template's, known only once it is called;
        # a pointer to a function is read now, from where the host keeps it.
        pointer = self._is_function_pointer(first, at)
        capture = f"[grader_kernel = {kernel}]" if pointer else "[=]"
        callee = "grader_kernel" if pointer else kernel
        # The whole launch is one operand: `cond ? k<<<…>>>() : …`, `(k<<<…>>>(), 0)`.
        self._replace(
            close,
            f").kernel(GRADER_NAME({kernel}), "
            f"{capture}(auto&... grader_argument) {{ {callee}(grader_argument...); }})",
        )
        self._put_after(end, ")")
        # NULL is an integer to a template; nullptr converts to every pointer.
        depth = 0
        for place in range(close + 1, end):
            text = self._text(place)
            depth += (text in _OPENERS) - (text in _CLOSERS)
            alone = self._text(place - 1) in "(," and self._text(place + 1) in "),"
            if text == "NULL" and alone and depth == 1:
                self._replace(place, "nullptr")

    def _is_function_pointer(self, first: int, end: int) -> bool:
        """True for `s.f`, `p->f`, `f[1]`, `(*f)` and a name declared as `(*name)(…`."""
        words = [self._text(place) for place in range(first, end)]
        if any(word in (".", "->", "[", "*") for word in words):
            return True
        return len(words) == 1 and words[0] in self.function_pointers

    def _kernel_name(self, at: int) -> int | None:
        """Return where the expression before `<<<` starts: `ns::k<T, 4>`, `(*f)`, `s.f[1]`."""
        place = at - 1
        while True:
            if not self._same_region(at, place):
                return None
            text = self._text(place)
            token = self._at(place)
            if token is None:
                return None
            if text and set(text) == {">"}:
                opened = self._template_start(place)
                if opened is None:
                    return None
                place = opened - 1
                continue
            if text in (")", "]"):
                opened = self._opening(place)
                if opened is None:
                    return None
                if text == "]":
                    place = opened - 1
                    continue
                before = self._at(opened - 1)
                if (
                    before is not None
                    and before.kind is Kind.NAME
                    and before.text not in _STATEMENTS
                ):
                    place = opened - 1
                    continue
                return opened
            if token.kind is not Kind.NAME:
                return None
            previous = self._text(place - 1)
            if previous == "template" and self._same_region(at, place - 1):
                place -= 1
                previous = self._text(place - 1)
            if previous in ("::", ".", "->") and self._same_region(at, place - 1):
                qualifier = self._at(place - 2)
                joined = qualifier is not None and (
                    (qualifier.kind is Kind.NAME and qualifier.text not in _STATEMENTS)
                    or qualifier.text in (")", "]")
                    or set(qualifier.text) == {">"}
                )
                if joined and self._same_region(at, place - 2):
                    place -= 2
                    continue
                return place - 1 if previous == "::" else None
            return place

    def _template_start(self, at: int) -> int | None:
        """Return the place of the name before the `<` that the `>` at `at` closes."""
        depth = 0
        place = at
        while place >= 0 and self._same_region(at, place):
            text = self._text(place)
            if text and set(text) == {">"}:
                depth += len(text)
            elif text in (")", "]", "}"):
                opened = self._opening(place)
                if opened is None:
                    return None
                place = opened
            elif text == "<":
                depth -= 1
                if depth == 0:
                    return place
            elif text in (";", "{"):
                return None
            place -= 1
        return None

    def _opening(self, at: int) -> int | None:
        depth = 0
        for place in range(at, -1, -1):
            if not self._same_region(at, place):
                return None
            text = self._text(place)
            if text in _CLOSERS:
                depth += 1
            elif text in _OPENERS:
                depth -= 1
                if depth == 0:
                    return place
        return None

    def _config_end(self, at: int) -> int | None:
        """Return the place of the `>>>` of a launch, by counting angle brackets.

        A `<` after a name may open a template's arguments or compare. A run of
        three closes the launch unless as many templates are open and another
        such run follows in this statement.
        """
        opened = 0
        place = at + 1
        while place < len(self.code):
            if not self._same_region(at, place):
                if self._at(at).directive:  # type: ignore[union-attr]  # `at` is a token
                    return None
                place += 1
                continue
            text = self._text(place)
            if text in _OPENERS:
                closing = self._closing(place)
                if closing is None:
                    return None
                place = closing
            elif text in _CLOSERS or text in (";", "<<<"):
                return None
            elif text == "<":
                opened += 1
            elif text == ">":
                # `f<2>>>>(x)`: the scanner took the first three for the launch.
                opened = max(0, opened - 1)
            elif text == ">>":
                opened = max(0, opened - 2)
            elif text == ">>>":
                if opened >= 3 and self._another_run(place):
                    opened -= 3
                elif self._text(place + 1) == ">" and opened > 0:
                    # `>>>>`: the first closes a template, the last three the launch.
                    self._replace(place, ">")
                    self._replace(place + 1, ">>>")
                    return place + 1
                elif self._text(place + 1) == ">>" and opened >= 2:
                    self._replace(place, ">>")
                    return place + 1
                else:
                    return place
            place += 1
        return None

    def _another_run(self, at: int) -> bool:
        """True if a later `>>>` in this statement can close the launch."""
        place = at + 1
        while place < len(self.code) and self._same_region(at, place):
            text = self._text(place)
            if text in _OPENERS:
                closing = self._closing(place)
                if closing is None:
                    return False
                place = closing
            elif text in _CLOSERS or text in (";", "<<<"):
                return False
            elif text == ">>>":
                return True
            place += 1
        return False

    def _launch_call(self, at: int) -> None:
        """`cudaLaunchKernel((const void*)k, …)`: drop the cast, keep the type."""
        if self._text(at + 1) != "(":
            return
        place = at + 2
        if self._text(place) == "(":
            close = self._closing(place)
            inside = {self._text(p) for p in range(place + 1, close)} if close else set()
            if close and inside in ({"void", "*"}, {"const", "void", "*"}):
                for p in range(place, close + 1):
                    self._replace(p, "")
        elif self._text(place) in ("reinterpret_cast", "static_cast"):
            opened = place + 1
            while self._text(opened) != "(" and opened < place + 8:
                opened += 1
            if self._text(opened) == "(":
                for p in range(place, opened):
                    self._replace(p, "")

    # ---- variables ----

    def _shared(self, at: int) -> None:
        found = split_shared(self._text, self._same_region, at)
        if found is None:
            return
        self.sites += 1
        for place in found.dropped:
            self._replace(place, "")
        self._put_before(found.first, "typedef ")
        in_function = is_function_scope(self._text, at)
        made = []
        for place in found.names:
            name = self._text(place)
            kind = f"grader_type_{name}"
            self._replace(place, kind)
            made.append(_reference(name, kind, dynamic=found.is_extern, in_function=in_function))
        self._put_after(found.last, "".join(made))

    def _variable(self, at: int) -> None:
        found = variable_names(self._text, self._same_region, at)
        if found is None or is_function_scope(self._text, at):
            return
        names, end = found
        for place in names:
            self.sites += 1
            name = self._text(place)
            self._put_after(
                end,
                f' static ::grader::DeviceVariable grader_variable_{self.sites}({name}, "{name}");',
            )

    def _allocation(self, at: int) -> None:
        """`cudaMalloc(&d_x, n)` becomes `(::grader::name_next("d_x"), cudaMalloc(&d_x, n))`."""
        if self._text(at + 1) != "(" or self._text(at - 1) in ("::", ".", "->"):
            return
        close = self._closing(at + 1)
        if close is None:
            return
        name = ""
        depth = 0
        for place in range(at + 2, close):
            text = self._text(place)
            token = self._at(place)
            if text in _OPENERS:
                depth += 1
            elif text in _CLOSERS:
                depth -= 1
            elif text == "," and depth == 0:
                break
            elif token and token.kind is Kind.NAME and depth == 0:
                name = text
        if name:
            self._put_before(at, f'(::grader::name_next("{name}"), ')
            self._put_after(close, ")")


_STATEMENTS = frozenset({"if", "while", "for", "switch", "return", "else", "do", "case", "throw"})


def _reference(name: str, kind: str, *, dynamic: bool, in_function: bool) -> str:
    """Return the declaration of `name` as a reference into shared memory."""
    storage = "" if in_function else "static thread_local "
    if dynamic:
        return (
            f" {storage}{kind}& {name} = *reinterpret_cast<{kind}*>("
            f'grader_dynamic_shared("{name}", ::grader::ElementSize<{kind}>::value));'
        )
    site = f"grader_site_{name}"
    return (
        f' static ::grader::SharedSite {site} = {{"{name}", sizeof({kind}), '
        f"::grader::ElementSize<{kind}>::value, 0}};"
        f" {storage}{kind}& {name} = *static_cast<{kind}*>(::grader::shared(&{site}));"
    )
