"""The rewriter: its changes, the text that it keeps, and unchanged line numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.emulation.cuda_cpp import rewrite
from grader.emulation.cuda_cpp.tokens import Kind, tokenize


def rewritten(text: str) -> str:
    return rewrite(text, file="k.cu").text


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def launches(text: str) -> list[str]:
    """Return the kernels that the rewriter launches."""
    return re.findall(r"GRADER_NAME\((.*?)\), \[", rewritten(text))


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("k<<<1, 2>>>(a);", "k"),
        ("k <<< 1, 2 >>> (a);", "k"),
        ("k<<<dim3(1,2), dim3(3)>>>();", "k"),
        ("k<float><<<1, 2>>>(a);", "k<float>"),
        ("k<float, (2 > 1)><<<1, 2>>>(a);", "k<float, (2>1)>"),
        ("k<std::pair<int, A<B>>><<<1, 2>>>(a);", "k<std::pair<int, A<B>>>"),
        ("ns::deep::k<T><<<1, 2>>>(a);", "ns::deep::k<T>"),
        ("::k<<<1, 2>>>(a);", "::k"),
        ("this->k<<<1, 2>>>(a);", "this->k"),
        ("(*f)<<<1, 2>>>(a);", "(*f)"),
        ("table[i + 1]<<<1, 2>>>(a);", "table[i+1]"),
        ("return k<<<1, 2>>>(a);", "k"),
        ("if (x) k<<<1, 2>>>(a);", "k"),
        ("else k<<<1, 2>>>(a);", "k"),
        ("x.template k<int><<<1, 2>>>(a);", "x.template k<int>"),
        ("k<<<g<A<B<int>>>(), 256>>>(x);", "k"),
        ("k<<<f<2>>>>(x);", "k"),
        ("k<<<a < b ? a : b, 256>>>(x);", "k"),
        ("k<<<(n + 255) / 256, 256, n * sizeof(float), stream>>>(x);", "k"),
        ("k\n<<<1,\n2>>>\n(a);", "k"),
        ("k /* why */ <<<1, 2>>>(a); // k<<<3, 4>>>(b);", "k"),
        ("k << <1, 2 >> > (a);", "k"),
        ("k<float> << <n, f<A<B<int>> >(), s>> >(a);", "k<float>"),
    ],
)
def test_launch_is_rewritten(text: str, kernel: str) -> None:
    assert launches(text) == [kernel]
    assert "<<<" not in re.sub(r"//.*", "", rewritten(text))


def test_launch_inside_a_macro() -> None:
    text = "#define GO(k, ...) \\\n    k<<<1, 2>>>(__VA_ARGS__)\nGO(f, a);\n"
    assert launches(text) == ["k"]
    assert rewritten(text).splitlines()[0] == "#define GO(k, ...) \\"
    assert rewritten(text).splitlines()[2] == "GO(f, a);"


def test_kernel_whose_name_a_macro_pastes() -> None:
    text = "#define GO(name, n) { run_##name##_kernel<<<1, n>>>(a); }\n"
    assert launches(text) == ["run_##name##_kernel"]


def test_macro_whose_arguments_follow_its_use() -> None:
    text = "#define GO(k, n) k<<<n, 2>>>\nGO(f, 1)(a);\n"
    assert launches(text) == ["k"]
    assert rewritten(text).splitlines()[1] == "GO(f, 1)(a);"


@pytest.mark.parametrize("macro", ["CONFIG", "CONFIG(n)", "CONFIG(grid, block)"])
def test_macro_that_is_a_configuration_alone(macro: str) -> None:
    text = f"#define {macro} <<<n, 2>>>\nk CONFIG(1) (a);\n"
    first, second = rewritten(text).splitlines()
    assert squeezed(first) == squeezed(f"#define {macro} ->* ::grader::Launch(n, 2)")
    assert second == "k CONFIG(1) (a);"


def test_two_launches_in_one_statement() -> None:
    assert launches("a<<<1, 1>>>(x), b<<<2, 2>>>(y);") == ["a", "b"]


def test_null_becomes_a_pointer() -> None:
    assert rewritten("k<<<1, 1>>>(NULL, f(NULL), 0);").count("nullptr") == 1


@pytest.mark.parametrize(
    "text",
    [
        'const char* s = "k<<<1, 2>>>(a)";',
        "// k<<<1, 2>>>(a)",
        "/* __shared__ float t[3];\n k<<<1, 2>>>(a) */",
        'auto s = R"x(k<<<1, 2>>>(a) __shared__ int y; )")x";',
        "char c = '\"'; int shift = a << b >> c;",
        "int n = 1'000'000; a <<= 2; b >>= 1;",
        "A<B<C<int>>> nested; std::vector<std::vector<std::vector<int>>>();",
        "A<B<C<int>> > nested; friend std::ostream& operator<< <T>(std::ostream&, A<T>);",
        "<<<<<<< HEAD\n",
        "k<<<1, 2",
        "__shared__",
        "<<<>>>()",
    ],
)
def test_left_alone(text: str) -> None:
    assert rewritten(text) == text


@pytest.mark.parametrize(
    ("declaration", "names"),
    [
        ("__shared__ float t[32][33];", ["t"]),
        ("__shared__ float a[N], b, *c;", ["a", "b", "c"]),
        ("static __shared__ volatile int f;", ["f"]),
        ("volatile __shared__ int f;", ["f"]),
        ("__shared__ std::pair<int, float> p[2];", ["p"]),
        ("__shared__ typename T::Storage temp;", ["temp"]),
        ("__shared__ __align__(16) unsigned char raw[64];", ["raw"]),
        ("alignas(16) __shared__ float4 v[8];", ["v"]),
        ("__shared__ struct { int x, y; } s;", ["s"]),
        ("__shared__ float t[A < B ? A : B];", ["t"]),
        ("unsigned __shared__ u[2];", ["u"]),
    ],
)
def test_shared_declaration(declaration: str, names: list[str]) -> None:
    text = rewritten(f"void k() {{ {declaration} }}")
    assert re.findall(r"grader_type_\w+& (\w+) =", text) == names
    assert "__shared__" not in text
    assert text.count("\n") == 0


def test_extern_shared() -> None:
    text = rewritten("void k() { extern __shared__ float s[]; s[0] = 1; }")
    assert 'grader_dynamic_shared("s"' in text
    assert "extern" not in text


def test_device_variables_are_registered_and_functions_are_not() -> None:
    text = rewritten(
        "__device__ int a = 1, b[2] = {1, 2};\n"
        "__constant__ float w[3];\n"
        "__device__ float f(float x) { return x; }\n"
        "static __device__ __forceinline__ int g();\n"
        "extern __constant__ int elsewhere;\n"
        "template <class T> __device__ T zero = T(0);\n"
    )
    found = re.findall(r'DeviceVariable \w+\(\w+, "(\w+)"(, false, true)?\)', text)
    assert found == [("a", ""), ("b", ""), ("w", ", false, true")]


@pytest.mark.parametrize(
    "line",
    ["#include <cstdio>", "#define GREATER a >", "#if A >\\\n B >", "#pragma x <y>"],
)
def test_device_variable_after_a_directive(line: str) -> None:
    text = rewritten(f"{line}\n__device__ int counter;\n")
    assert re.findall(r'DeviceVariable \w+\(\w+, "(\w+)"\)', text) == ["counter"]


@pytest.mark.parametrize("line", ["#include <cstdio>", "#define EMPTY"])
def test_variable_template_around_a_directive(line: str) -> None:
    text = f"template <class T>\n{line}\n__device__ T zero = T(0);\n"
    assert rewritten(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "__noinline__ void f();",
        "__device__ __noinline__ int f(int x) { return x; }",
        "#define SLOW __noinline__ static",
        "void g() {} __noinline__ void f();",
    ],
)
def test_noinline_becomes_an_attribute(text: str) -> None:
    made = rewritten(text)
    assert made == text.replace("__noinline__", "__attribute__((__noinline__))")


@pytest.mark.parametrize(
    "text",
    [
        "__attribute__((__noinline__)) void f();",
        "__attribute__((unused, __noinline__)) void f();",
        "[[gnu::__noinline__]] void f();",
        "#ifndef __noinline__\n#define __noinline__ __attribute__((noinline))\n#endif",
        "#if !defined(__noinline__)\n#endif",
    ],
)
def test_noinline_that_is_no_mark_is_left_alone(text: str) -> None:
    assert rewritten(text) == text


def test_allocations_learn_their_name() -> None:
    text = rewritten("CHECK(cudaMalloc((void**)&d_in, n * sizeof(float))); cudaFree(d_in);")
    assert 'name_next("d_in"), cudaMalloc((void**)&d_in, n * sizeof(float)))' in text


# ---- features ----


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("#include <cub/cub.cuh>", "CUB"),
        ("#include <thrust/device_vector.h>", "Thrust"),
        ("auto c = cg::this_cluster();", "clusters"),
        ('asm volatile("wgmma.fence.sync.aligned;");', "PTX instruction `wgmma.fence"),
        ('asm volatile("bra.uni DONE;");', "PTX instruction `bra.uni`"),
        ('asm volatile("add.u32 %0, %7, 1;" : "=r"(x));', "the operand %7"),
        ('asm volatile("add.u32 %0, %0, " BY ";" : "+r"(x));', "that a macro builds"),
        (
            'asm volatile(".reg .b32 ' + "r<999>, " * 9 + 's; mov.b32 s, 0;");',
            "that many registers",
        ),
        (
            'asm volatile("' + "mov.b32 %0, %0;" * 900 + '" : "+r"(' + "x+" * 4000 + "x));",
            "a template that grows so much",
        ),
        ("cudaSurfaceObject_t t;", "surfaces"),
        ("cublasHandle_t h;", "cuBLAS"),
        ("#include <cuda_fp4.h>", "4-bit floating point"),
        ("double p = std::legendre(2, x);", "the special function std::legendre"),
    ],
)
def test_unsupported_is_one_sentence_with_its_place(text: str, feature: str) -> None:
    found = rewrite(f"\n  {text}\n", file="k.cu").unsupported
    assert feature in found[0].feature
    assert found[0].line == 2
    assert found[0].message.startswith("k.cu:2 uses ")
    assert found[0].message.endswith(".")
    assert not rewrite(text, file="k.cu").refused


@pytest.mark.parametrize(
    "text",
    [
        '__attribute__((no_sanitize("thread"))) void f();',
        '[[gnu::no_sanitize("thread")]] void f();',
        "#define FAST __attribute__((no_sanitize_thread))",
        '__attribute__((optimize("O3"))) void f();',
        '#pragma GCC optimize("O3")',
        '_Pragma("GCC optimize (\\"O3\\")") int x;',
        'extern "C" void __tsan_write4(void*) {}',
        "int grader_attach;",
        "#undef __builtin_memcpy",
        'asm volatile("movl $1, (%rax)");',
    ],
)
def test_switching_the_checker_off_is_refused(text: str) -> None:
    assert rewrite(text, file="k.cu").refused


@pytest.mark.parametrize(
    "text",
    [
        "// thrust::sort, asm, wmma",
        'printf("asm no_sanitize cub:: thrust::");',
        "int optimize = 1; float thrust = 2, cub = 3, beta = 4; auto b = std::begin(beta);",
        "#pragma unroll 4",
        "#include <cuda.h>\n#include <cuda_runtime.h>\n#include <cooperative_groups.h>",
    ],
)
def test_words_that_only_look_like_features(text: str) -> None:
    result = rewrite(text, file="k.cu")
    assert (result.unsupported, result.refused) == ((), ())


# ---- any text at all ----

PIECES = st.sampled_from(
    [
        "k<<<1, 2>>>(a);",
        "k<A<B<int>>><<<g<2>(), (1 > 0)>>>(x, y);",
        "__shared__ float t[4], u;",
        "extern __shared__ int s[];",
        "__device__ int v[2] = {1, 2};",
        "cudaMalloc(&p, 4);",
        "cudaLaunchKernel((void*)k, 1, 1, a);",
        "<<<",
        ">>>",
        ">>",
        "<",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ";",
        ",",
        "__shared__",
        "__constant__",
        "template",
        "::",
        '"string // \\" <<<"',
        'R"d(raw\n<<< " )d"',
        "'c'",
        "'\\''",
        "1'000.5e+3f",
        "/* comment\n <<< */",
        "// comment <<<\\\nstill comment\n",
        "#define M(k) k<<<1, 1>>>(0) \\\n  ;\n",
        "#if 1\n",
        "#endif\n",
        "\r\n",
        "\n",
        "\t",
        " ",
        "\\\n",
        '"unterminated\n',
        "/* unterminated",
        "é",
        "\x00",
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_tokens_are_the_file(text: str) -> None:
    tokens = tokenize(text)
    joined = "".join(token.text for token in tokens)
    assert squeezed(joined) == squeezed(text)  # a blank may change its place, as in `<< <`
    assert len(joined) == len(text)
    assert all(joined.startswith(token.text, token.start) for token in tokens)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_every_line_keeps_its_number(text: str) -> None:
    result = rewritten(text)
    assert result.count("\n") == text.count("\n")
    assert result.count("\r") == text.count("\r")
    # A word that is alone on its line is still on that line.
    marked = rewritten(text + "\n;int grader_mark;")
    assert (
        marked.splitlines()[-1:] == ["int grader_mark;"] or "grader_mark" in marked.split("\n")[-1]
    )


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_comments_and_strings_survive(text: str) -> None:
    def kept(source: str) -> list[str]:
        return [t.text for t in tokenize(source) if t.kind is Kind.COMMENT]

    assert kept(rewritten(text)) == kept(text)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_features_never_fail(text: str) -> None:
    for feature in rewrite(text, file="k.cu").unsupported:
        assert 1 <= feature.line <= text.count("\n") + 1
