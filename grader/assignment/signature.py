"""The signature of an assignment's entry, its element types and its C and Python forms.

The C declaration in the header, the C++ trampoline (`build`), the Python call (`worker`)
and the buffers (`judge`) follow from the name and the ordered arguments. Outputs are
arguments, so that the grader owns them in every language.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from grader.assignment.expression import Expression
from grader.assignment.launch import Launch
from grader.gpu.models import Arithmetic
from grader.vocabulary import Language, Memory, Role


class ElementType(Enum):
    """The types of array elements and scalars: one row each.

    word       the name in a spec, in the wire format, in torch and in triton.language
    c_name     the type in C++
    size       bytes
    header     declares the C++ type; "" if the type is built in
    tolerance  atol and rtol in the spec that `grade new` writes; () for exact results
    synonyms   other names that staff may write, answered with "did you mean"
    """

    FLOAT16 = "float16", "__half", 2, "cuda_fp16.h", ("1e-3", "2e-3"), "half __half fp16 f16"
    BFLOAT16 = "bfloat16", "__nv_bfloat16", 2, "cuda_bf16.h", ("1e-2", "2e-2"), ""
    FLOAT32 = "float32", "float", 4, "", ("1e-6", "1e-5"), "float fp32 f32 float2 float4"
    FLOAT64 = "float64", "double", 8, "", ("1e-13", "1e-12"), "double fp64 f64"
    FLOAT8_E4M3 = "float8_e4m3fn", "__nv_fp8_e4m3", 1, "cuda_fp8.h", ("2e-3", "7e-2"), "fp8 float8"
    FLOAT8_E5M2 = "float8_e5m2", "__nv_fp8_e5m2", 1, "cuda_fp8.h", ("1e-4", "1.3e-1"), ""
    COMPLEX64 = "complex64", "cuFloatComplex", 8, "cuComplex.h", ("1e-6", "1e-5"), "complex"
    BOOL = "bool", "bool", 1, "", (), "boolean int1"
    INT8 = "int8", "signed char", 1, "", (), "char"
    INT16 = "int16", "short", 2, "", (), "short"
    INT32 = "int32", "int", 4, "", (), "int integer int4"
    INT64 = "int64", "long long", 8, "", (), "long"
    UINT8 = "uint8", "unsigned char", 1, "", (), "byte uchar"
    UINT16 = "uint16", "unsigned short", 2, "", (), "ushort"
    UINT32 = "uint32", "unsigned int", 4, "", (), "uint unsigned"
    UINT64 = "uint64", "unsigned long long", 8, "", (), "size_t ulong"

    def __init__(
        self,
        word: str,
        c_name: str,
        size: int,
        header: str,
        tolerance: tuple[str, ...],
        synonyms: str,
    ) -> None:
        self.word = word
        self.c_name = c_name
        self.size = size
        self.header = header
        self.tolerance = tolerance
        self.synonyms = synonyms.split()

    @property
    def is_float(self) -> bool:
        """True if values are floating point, or pairs of such."""
        return "float" in self.word or self is ElementType.COMPLEX64

    @property
    def computes(self) -> bool:
        """True if torch computes in this type, False if it only holds its numbers."""
        return not self.word.startswith(("uint", "bool", "float8"))

    @property
    def range(self) -> tuple[int, int]:
        """The least and the largest value of an integer type or bool."""
        bits = 1 if self is ElementType.BOOL else 8 * self.size
        unsigned = self.word.startswith(("uint", "bool"))
        return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    @classmethod
    def named(cls, word: str) -> ElementType:
        """Return the type called `word` in a spec; KeyError if there is none."""
        return _ELEMENT_TYPES[word]


_ELEMENT_TYPES = {member.word: member for member in ElementType}


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument as in the spec; `type` may be a name that is bound per language.

    `shape` is None for a scalar. A scalar's value is the case's size with the same name,
    else `default`.
    """

    name: str
    type: str
    shape: tuple[Expression, ...] | None = None
    role: Role = Role.IN
    memory: Memory = Memory.DEVICE
    default: int | float | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Argument:
        """Return the argument of a spec that its schema accepts; ValueError for a wrong extent."""
        return cls(
            name=data["name"],
            type=data["type"],
            shape=tuple(map(Expression.parse, data["shape"])) if "shape" in data else None,
            role=Role(data.get("role", "in")),
            memory=Memory(data.get("memory", "device")),
            default=data.get("default"),
        )

    @property
    def is_array(self) -> bool:
        """True for a pointer (CUDA C++) or tensor (Triton)."""
        return self.shape is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The entry's name, its arguments in order, and the types bound by language.

    With a `launch` the entry is a kernel, which the grader launches: so, if the case has no launch
    of its own. `variable` is the name of a type that each case chooses of `dtypes`, "" without one:
    in CUDA C++ the entry is then a template. Until `bound` chooses, it is the first of them.
    """

    entry: str
    arguments: tuple[Argument, ...]
    types: Mapping[str, Mapping[Language, ElementType]]
    launch: Launch | None = None
    variable: str = ""
    dtypes: tuple[ElementType, ...] = ()

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Signature:
        """Return the signature of a spec that its schema accepts; ValueError for wrong extents."""
        types = data.get("types", {})
        variable = next((name for name, bound in types.items() if isinstance(bound, list)), "")
        signature = cls(
            entry=data["entry"],
            arguments=tuple(map(Argument.of, data["arguments"])),
            types={
                name: {Language(word): ElementType.named(kind) for word, kind in bound.items()}
                for name, bound in types.items()
                if name != variable
            },
            launch=Launch.of(data["launch"]) if "launch" in data else None,
            variable=variable,
            dtypes=tuple(map(ElementType.named, types[variable] if variable else ())),
        )
        return signature.bound(types[variable][0]) if variable else signature

    def bound(self, dtype: str) -> Signature:
        """Return the signature of a case of this type; "" for a case that chooses none."""
        if not dtype:
            return self
        chosen = dict.fromkeys(Language, ElementType.named(dtype))
        return replace(self, types={**self.types, self.variable: chosen})

    @property
    def arrays(self) -> tuple[Argument, ...]:
        """The array arguments, in order."""
        return tuple(argument for argument in self.arguments if argument.is_array)

    @property
    def scalars(self) -> tuple[Argument, ...]:
        """The scalar arguments, in order."""
        return tuple(argument for argument in self.arguments if not argument.is_array)

    @property
    def in_host_memory(self) -> bool:
        """True if an array lies in host memory."""
        return any(array.memory is Memory.HOST for array in self.arrays)

    def arithmetic(self, language: Language) -> Arithmetic | None:
        """Return the type in which a kernel computes, if it has a peak on GPUs that is known.

        That is "float32" if all arrays are, and "float16" if all are float16 or bfloat16.
        """
        words = {self.element_type(array, language).word for array in self.arrays}
        if words == {"float32"}:
            return "float32"
        return "float16" if words <= {"float16", "bfloat16"} else None

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arrays that the kernel writes, in order."""
        return tuple(argument for argument in self.arrays if argument.role.written)

    @property
    def extents(self) -> frozenset[str]:
        """The sizes on which shapes depend."""
        return frozenset(n for a in self.arrays for e in a.shape or () for n in e.names)

    def element_type(self, argument: Argument, language: Language) -> ElementType:
        """Return the type of `argument` in `language`."""
        if argument.type in self.types:
            return self.types[argument.type][language.base]
        return ElementType.named(argument.type)

    def element_types(self, argument: Argument) -> list[ElementType]:
        """Return the types of `argument` in all languages, by name."""
        bound = set(self.types.get(argument.type, {}).values())
        if argument.type == self.variable:
            bound = set(self.dtypes)
        return sorted(bound or {ElementType.named(argument.type)}, key=lambda kind: kind.word)

    def shape(self, argument: Argument, sizes: Mapping[str, int | float]) -> tuple[int, ...]:
        """Return the shape of an array for a case's sizes."""
        assert argument.shape is not None
        return tuple(extent.evaluate(sizes) for extent in argument.shape)

    def array_bytes(
        self, array: Argument, sizes: Mapping[str, int | float], language: Language
    ) -> int:
        """Return the bytes of an array for a case's sizes."""
        return self.element_type(array, language).size * math.prod(self.shape(array, sizes))

    def read_and_written_bytes(
        self, sizes: Mapping[str, int | float], language: Language
    ) -> tuple[int, int]:
        """Return the bytes of the device arrays that a kernel reads, and of those it writes."""
        read = written = 0
        for array in self.arrays:
            if array.memory is Memory.DEVICE:
                size = self.array_bytes(array, sizes, language)
                read += size * array.role.read
                written += size * array.role.written
        return read, written

    def scalar(self, argument: Argument, sizes: Mapping[str, int | float]) -> int | float:
        """Return the value of a scalar for a case's sizes."""
        value = sizes.get(argument.name, argument.default)
        assert value is not None, argument.name  # ensured by the validation
        return value

    def c_parameter(self, argument: Argument) -> str:
        """Return the argument's parameter in the C declaration."""
        c_name = self.element_type(argument, Language.CUDA).c_name
        c_name = self.variable if argument.type == self.variable else c_name
        if not argument.is_array:
            return f"{c_name} {argument.name}"
        const = "const " if argument.role is Role.IN else ""
        return f"{const}{c_name}* {argument.name}"

    @property
    def c_declaration(self) -> str:
        """`void silu(const float* input, float* output, int n)`, `__global__` if it is a kernel.

        With a type variable it begins with `template <class T> `.
        """
        mark = f"template <class {self.variable}> " if self.variable else ""
        mark += "__global__ " if self.launch else ""
        return f"{mark}void {self.entry}({', '.join(map(self.c_parameter, self.arguments))})"

    @property
    def python_declaration(self) -> str:
        """`def silu(input, output, n)`, with `BLOCK: tl.constexpr` if it is a kernel."""
        names = [argument.name for argument in self.arguments]
        if self.launch:
            names += [f"{name}: tl.constexpr" for name in self.launch.constexprs]
        return f"def {self.entry}({', '.join(names)})"

    @property
    def numba_declaration(self) -> str:
        """`def silu(input, output, n)`: of a kernel too, whose block is given at the launch."""
        return f"def {self.entry}({', '.join(argument.name for argument in self.arguments)})"

    @property
    def tensor_declaration(self) -> str:
        """`void silu(torch::Tensor input, torch::Tensor output, int n)`; "" if there is none.

        A kernel and a template take no tensors, and there are none in host memory.
        """
        if self.launch or self.variable or self.in_host_memory:
            return ""
        parameters = (
            f"torch::Tensor {one.name}" if one.is_array else self.c_parameter(one)
            for one in self.arguments
        )
        return f"void {self.entry}({', '.join(parameters)})"

    @property
    def returning_declaration(self) -> str:
        """`torch::Tensor silu(torch::Tensor input, int n)`, which returns the outputs in order."""
        outputs = [one for one in self.outputs if one.role is Role.OUT]
        kind = "std::vector<torch::Tensor>" if len(outputs) > 1 else "torch::Tensor"
        parameters = (
            f"torch::Tensor {one.name}" if one.is_array else self.c_parameter(one)
            for one in self.arguments
            if one not in outputs
        )
        return f"{kind} {self.entry}({', '.join(parameters)})"

    @property
    def header_name(self) -> str:
        """`silu.h`."""
        return f"{self.entry}.h"

    @property
    def c_includes(self) -> str:
        """The #include lines that the declaration needs for types that are not built in."""
        wanted = {self.element_type(argument, Language.CUDA) for argument in self.arguments}
        wanted |= set(self.dtypes)
        return "".join(
            f"#include <{kind.header}>\n" for kind in ElementType if kind in wanted and kind.header
        )

    def header(self) -> str:
        """Return the C++ header that a student's kernel and `main.cu` include."""
        comments = "".join(f"//   {line}\n" for line in self._describe())
        what = "kernel" if self.launch else "function"
        linkage = "" if self.launch or self.variable else 'extern "C" '
        return (
            f"// {self.header_name}: the {what} to implement (generated from assignment.toml).\n"
            f"{comments}#pragma once\n{self.c_includes}\n"
            f"{linkage}{self.c_declaration};\n"
        )

    def _describe(self) -> list[str]:
        width = max(len(argument.name) for argument in self.arguments)
        lines = []
        for argument in self.arguments:
            if argument.shape is None:
                what = "scalar"
            else:
                extents = ", ".join(extent.text for extent in argument.shape)
                layout = " row-major" if len(argument.shape) > 1 else ""
                what = f"({extents}){layout}, {argument.role}, {argument.memory} memory"
            lines.append(f"{argument.name:<{width}}  {what}")
        if self.variable:
            kinds = " or ".join(kind.c_name for kind in self.dtypes)
            lines.append(f"{self.variable:<{width}}  {kinds}, by case")
        return lines
