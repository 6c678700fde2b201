"""Every access of generated device code is hooked with its bytes, or reported as not.

Each kernel copies structs through one function. Types, attributes and the way of passing are
generated; what a kernel reads and writes follows from its shape.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from grader.emulation import cuda_cpp
from grader.emulation.cuda_cpp import Mode
from grader.emulation.cuda_cpp.__main__ import runtime_object
from grader.emulation.cuda_cpp.gimple import functions
from grader.emulation.cuda_cpp.standalone import Program, run

# Bytes and alignment.
FIELDS = {
    "char": (1, 1), "short": (2, 2), "int": (4, 4), "float": (4, 4), "double": (8, 8),
    "float2": (8, 8), "float3": (12, 4), "float4": (16, 16), "int4": (16, 16), "__half": (2, 2),
}  # fmt: skip
MARKS = (
    "__device__",
    "static __device__",
    "__device__ __noinline__",
    "__device__ __forceinline__",
    "inline __device__",
    "__attribute__((cold)) __device__",
)
# Of `T f(T)` as F: the statement, and how many values it reads and writes.
SHAPES = {
    "o[1] = F(i[2]);": (1, 1),
    "*(o + 3) = F(*(i + 1));": (1, 1),
    "o[0] = F(F(i[0]));": (1, 1),
    "T t = F(i[1]); o[2] = t;": (1, 1),
    "T t[2] = {F(i[0]), i[1]}; o[1] = t[1];": (2, 1),
    "const T& r = F(i[1]); o[0] = r;": (1, 1),
    "T&& r = F(i[1]); o[0] = r;": (1, 1),
    "o[1] = blockIdx.x ? F(i[0]) : F(i[1]);": (1, 1),
    "o[1] = F(blockIdx.x ? i[0] : i[1]);": (1, 1),
    "o[1] = (F(i[0]), F(i[1]));": (2, 1),
    "auto l = [=](T v) { return F(v); }; o[1] = l(i[0]);": (1, 1),
    "auto l = [&] { o[1] = F(i[0]); }; l();": (1, 1),
    "o[0] = o[1] = F(i[3]);": (2, 2),
    "two(F(i[0]), o + 1);": (1, 1),
    "o[1] = Call<T>{i[1]}(F(i[0]));": (2, 1),
    "o[1] = referred(F(i[0]));": (1, 1),
    "new (o + 1) T(F(i[0]));": (1, 1),
    "new (o + 1) T(i[0]);": (1, 1),
    "Member<T> m(i + 1); o[0] = m.t;": (1, 1),
    "T (*f)(T) = F; o[1] = f(i[0]);": (1, 1),
    "__shared__ T s[2]; s[1] = F(i[0]); o[1] = F(s[1]);": (1, 1),
}
HELPERS = """\
#include <new>
#include <cuda_fp16.h>
template <class T> __device__ __noinline__ void two(T v, T* to) { *to = v; }
template <class T> __device__ __noinline__ const T& referred(const T& v) { return v; }
template <class T> struct Call {
    T kept;
    __device__ __noinline__ T operator()(T v) const { return v; }
};
template <class T> __device__ __noinline__ T passed(T v) { return v; }
template <class T> struct Member {
    T t;
    __device__ __noinline__ Member(const T* p) : t(passed(*p)) {}
};
"""


@dataclass(frozen=True)
class Copying:
    fields: tuple[tuple[str, int], ...]  # type, and the size of an array of it; 0: none
    mark: str
    is_template: bool
    shape: str

    @property
    def bytes(self) -> tuple[int, int]:
        """The size without and with the padding at the end, which a copy may leave out."""
        size, largest = 0, 1
        for name, length in self.fields:
            field, alignment = FIELDS[name]
            size = -(-size // alignment) * alignment + field * max(length, 1)
            largest = max(largest, alignment)
        return size, -(-size // largest) * largest

    def source(self, n: int) -> str:
        fields = " ".join(
            f"{name} f{i}{f'[{length}]' if length else ''};"
            for i, (name, length) in enumerate(self.fields)
        )
        template, kind = ("template <class A> ", "A") if self.is_template else ("", f"T{n}")
        # g++ does not inline a call through a pointer.
        mark = "__device__" if "(*f)" in self.shape else self.mark
        f = f"f{n}<T{n}>" if self.is_template else f"f{n}"
        body = self.shape.replace("F(", f"{f}(").replace("= F;", f"= {f};")
        return (
            f"struct T{n} {{ {fields} }}; "
            f"{template}{mark} {kind} f{n}({kind} v) {{ return v; }} "
            f"__global__ void k{n}(T{n}* o, const T{n}* i) "
            f"{{ typedef T{n} T; {body} }}\n"
        )


copyings = st.builds(
    Copying,
    fields=st.lists(
        st.tuples(st.sampled_from(sorted(FIELDS)), st.sampled_from([0, 0, 0, 1, 3])),
        min_size=1,
        max_size=4,
    ).map(tuple),
    mark=st.sampled_from(MARKS),
    is_template=st.booleans(),
    shape=st.sampled_from(sorted(SHAPES)),
)


def compiled(generated: list[Copying], folder: Path) -> tuple[Program, set[int]]:
    """Return the program, and the numbers of the functions that have accesses without a hook."""
    lines = [copying.source(n) for n, copying in enumerate(generated)]
    launches = " ".join(f"k{n}<<<1, 1>>>((T{n}*)o, (T{n}*)i);" for n in range(len(lines)))
    allocated = "char *o, *i; cudaMalloc(&o, 4096); cudaMalloc(&i, 4096); cudaMemset(i, 1, 4096);"
    text = (
        f"{HELPERS}{''.join(lines)}int main() {{ {allocated} cudaMemset(o, 1, 4096); {launches} }}"
    )
    first = HELPERS.count("\n") + 1
    rewritten = cuda_cpp.rewrite(text, file="copies.cu")
    assert not rewritten.refused
    (folder / "copies.cu").write_text(rewritten.text)
    runtime = runtime_object(Mode.CHECKED)
    command = cuda_cpp.compile_command(
        compiler="g++",
        mode=Mode.CHECKED,
        source=folder / "copies.cu",
        runtime=runtime,
        output=folder / "program",
        executable=True,
    )
    subprocess.run(command, check=True)
    missed = cuda_cpp.unhooked((folder / cuda_cpp.DUMP).read_text(), files=["copies.cu"])
    numbers = {access.line - first for access in missed if access.line >= first}
    # A member's initialiser is in a line of its own.
    if any(access.line < first for access in missed):
        numbers |= {n for n, copying in enumerate(generated) if "Member" in copying.shape}
    program = Program(
        executable=folder / "program",
        sources={"copies.cu": text},
        paths={},
        diagnostics="",
        unsupported=(),
        refused=(),
    )
    return program, numbers


def check(generated: list[Copying], folder: Path) -> None:
    program, missed = compiled(generated, folder)
    result = run(program, timeout_s=30, capture=True)
    assert result.exit_code == 0, result.stderr
    counted = dict.fromkeys(range(len(generated)), (0, 0))
    for kernel in result.report.kernels:
        load, store = (
            sum(line.bytes for line in kernel.lines if (line.space, line.operation) == wanted)
            for wanted in (("global", "load"), ("global", "store"))
        )
        counted[int(kernel.kernel[1:])] = (load, store)
    for n, copying in enumerate(generated):
        if n in missed:
            assert "new (" in copying.shape or "Member" in copying.shape, copying
            continue
        for copies, touched in zip(SHAPES[copying.shape], counted[n], strict=True):
            data, size = copying.bytes
            padded = range(copies + 1)
            assert touched in {copies * data + k * (size - data) for k in padded}, copying


DUMP = """
;; Function k (_ZN6grader10Configured4_FUN, funcdef_no=1, decl_uid=2, cgraph_uid=3, symbol_order=4)

void k (struct Pair * p, struct Float4 * q)
{
  __builtin___tsan_read16 (q_2(D));
  [k.cu:3:5] _Z1f6Float4S_ (OPERANDS);
}
"""


def test_a_place_may_have_a_discriminator() -> None:
    """g++ 13 and later write one where a line has several blocks."""
    dump = DUMP.replace("k.cu:3:5", "k.cu:3:5 discrim 1").replace("OPERANDS", "*q_2(D), p_1(D)->x")
    assert [access.line for access in cuda_cpp.unhooked(dump, files=["k.cu"])] == [3]


def test_notes_before_a_function_are_no_part_of_it() -> None:
    """g++ writes what a pass has changed between a function's header and its signature."""
    notes = (
        "\nSymbols to be put in SSA form\n{ D.1 }\nIncremental SSA update started at block: 0\n\n"
    )
    (function,) = functions(DUMP.replace("\n\nvoid k", f"\n\n{notes}\nvoid k"))
    assert function.signature == "void k (struct Pair * p, struct Float4 * q)"
    assert function.own_names >= {"p", "q"}
    assert [statement.place for statement in function.statements] == [None, ("k.cu", 3, 5)]
    assert not list(functions(""))


@pytest.mark.parametrize(
    ("operands", "missed"),
    [
        ("p_1(D)->x, *q_2(D)", (3,)),
        ("*q_2(D), p_1(D)->x", (3,)),
        ("MEM[(const struct Two<int, float> &)q_2(D)], 1", ()),
        ("*q_2(D), 1", ()),
    ],
)
def test_members_of_pointers_are_operands_of_their_own(
    operands: str, missed: tuple[int, ...]
) -> None:
    dump = DUMP.replace("OPERANDS", operands)
    assert tuple(a.line for a in cuda_cpp.unhooked(dump, files=["k.cu"])) == missed


@pytest.mark.parametrize(
    ("statement", "missed"),
    [("s.v[i_5] = _3;", ()), ("D.12.v[0] = _3;", ()), ("tile.v[0] = _3;", (3,))],
)
def test_an_array_in_a_local_struct_needs_no_hook(statement: str, missed: tuple[int, ...]) -> None:
    local = "{\n  struct Values D.12;\n  struct Scratch s;\n  static struct Values tile;"
    dump = DUMP.replace("{\n  __builtin___tsan_read16 (q_2(D));", local)
    dump = dump.replace("_Z1f6Float4S_ (OPERANDS);", statement)
    assert tuple(a.line for a in cuda_cpp.unhooked(dump, files=["k.cu"])) == missed


def test_an_instruction_of_the_cpu_has_no_hook() -> None:
    dump = DUMP.replace("_Z1f6Float4S_ (OPERANDS);", "__builtin_ia32_movnti (_5, 7);")
    assert [access.line for access in cuda_cpp.unhooked(dump, files=["k.cu"])] == [3]


def test_each_way_of_passing_a_struct(tmp_path: Path) -> None:
    types = [(("float", 0),), (("float4", 0),), (("double", 3), ("char", 0)), (("__half", 0),) * 3]
    generated = [
        Copying(fields=types[n % 4], mark=MARKS[n % 5], is_template=n % 2 == 1, shape=shape)
        for n, shape in enumerate(sorted(SHAPES) * 2)
    ]
    check(generated, tmp_path)


@pytest.mark.slow
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],  # a message names the function that failed
    suppress_health_check=list(HealthCheck),
)
@given(generated=st.lists(copyings, min_size=40, max_size=60))
def test_generated_functions(
    generated: list[Copying], tmp_path_factory: pytest.TempPathFactory
) -> None:
    check(generated, tmp_path_factory.mktemp("generated"))
