"""Programs that students write around a kernel, named after their faults.

Each consists of HEAD, optional functions, and a `main` whose BODY is between START (device
memory with the input) and END.
"""

from __future__ import annotations

HEAD = """\
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "silu.h"

static bool right(float x, float y)
{
    const double expected = x / (1.0 + std::exp(-double(x)));
    return std::fabs(y - expected) <= 1e-6 + 1e-5 * std::fabs(expected);
}
"""
START = """\
int main()
{
    const int n = 1003;
    std::vector<float> in(n), out(n, NAN);
    for (int i = 0; i < n; ++i) in[i] = -20.0f + 0.04f * i;
    float *d_in, *d_out;
    cudaMalloc(&d_in, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
"""
BACK = "    cudaMemcpy(out.data(), d_out, n * sizeof(float), cudaMemcpyDeviceToHost);\n"
CALL = "    silu(d_in, d_out, n);\n" + BACK
COMPARE = """\
    for (int i = 0; i < n; ++i)
        if (!right(in[i], out[i])) return std::printf("element %d is wrong\\n", i), 1;
"""
END = "    return 0;\n}\n"


def main(body: str, *, before: str = "") -> str:
    """Return a program; `before` is placed before main."""
    return HEAD + before + START + body + END


ACCEPTED = {
    "right": main(CALL + COMPARE),
    "says_three": main(CALL + COMPARE.replace(", 1;", ", 3;")),
    "asserts": main(CALL + "    for (int i = 0; i < n; ++i) assert(right(in[i], out[i]));\n"),
    "never_frees": main(CALL + COMPARE),
    "warms_up": main("    silu(d_in, d_out, n);\n    silu(d_in, d_out, 17);\n" + CALL + COMPARE),
    "frees_and_resets": main(CALL + "    cudaFree(d_in);\n    cudaDeviceReset();\n" + COMPARE),
    "managed_memory": main(
        "    float* m;\n    cudaMallocManaged(&m, n * sizeof(float));\n    silu(d_in, m, n);\n"
        "    cudaDeviceSynchronize();\n    for (int i = 0; i < n; ++i) out[i] = m[i];\n" + COMPARE
    ),
    "in_a_function": HEAD
    + START.replace("int main()", "static int run()")
    + CALL
    + COMPARE
    + END
    + "int main() { return run(); }\n",
    "sums_up_the_error": main(
        CALL + "    double sum = 0;\n    for (int i = 0; i < n; ++i) {\n"
        "        const double e = in[i] / (1.0 + std::exp(-double(in[i])));\n"
        "        sum += (out[i] - e) * (out[i] - e);\n    }\n"
        "    if (!(std::sqrt(sum / n) < 1e-3)) return 1;\n"
    ),
}

# name: program · verdict · part of the message · part of the hint
REJECTED = {
    "ignores_a_failed_copy": (
        main(CALL.replace("n * sizeof(float), cudaMemcpyDev", "8 * n, cudaMemcpyDev") + COMPARE),
        "wrong_answer",
        "main.cu:25: cudaMemcpy failed (invalid argument); main.cu ended with exit code 1, but "
        "silu.cu is right; its last line of output",
        "what every CUDA call returns",
    ),
    "ignores_a_failed_launch": (
        main(
            "    prepare<<<1, 2048>>>(d_in, n);\n" + CALL + COMPARE,
            before="__global__ void prepare(float* x, int n)\n{\n"
            "    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = -20.0f + 0.04f * i;\n}\n",
        ).replace(
            "    cudaMemcpy(d_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);\n", ""
        ),
        "wrong_answer",
        "main.cu:28: a launch failed (invalid configuration argument); main.cu ended with exit "
        "code 1",
        "cudaGetLastError()",
    ),
    "asks_for_too_much_memory": (
        main(CALL + COMPARE).replace("cudaMalloc(&d_out, n *", "cudaMalloc(&d_out, (1ull << 50) *"),
        "runtime_error",
        "main.cu:23: cudaMalloc failed (out of memory); main.cu crashed",
        "what every CUDA call returns",
    ),
    "always_says_right": (
        main(CALL + '    std::puts("PASS");\n'),
        "wrong_answer",
        "main.cu accepted the output (exit code 0), but `output[",
        "compare every element",
    ),
    "always_says_wrong": (
        main(CALL + '    std::puts("all wrong");\n    return 1;\n'),
        "wrong_answer",
        "main.cu ended with exit code 1, but silu.cu is right; its last line of output: "
        '"all wrong"',
        "allow for rounding",
    ),
    "says_the_opposite": (
        main(CALL + COMPARE.replace("!right", "right")),
        "wrong_answer",
        "but silu.cu is right",
        "",
    ),
    "swallows_the_result": (
        main(
            CALL + "    int wrong = 0;\n    for (int i = 0; i < n; ++i) wrong += "
            '!right(in[i], out[i]);\n    std::printf("%d wrong\\n", wrong);\n'
        ),
        "wrong_answer",
        "accepted the output (exit code 0), but",
        "",
    ),
    "never_copies_back": (
        main(
            "    out = in;\n    for (float& y : out) y = y / (1.0f + std::exp(-y));\n"
            "    silu(d_in, d_out, n);\n" + COMPARE
        ),
        "wrong_answer",
        "accepted the output",
        "copy the output back",
    ),
    "looks_at_the_first_ten": (
        main(CALL + COMPARE.replace("i < n", "i < 10")),
        "wrong_answer",
        "accepted the output",
        "every element",
    ),
    "lets_nan_pass": (
        main(
            CALL + "    for (int i = 0; i < n; ++i) {\n"
            "        const double e = in[i] / (1.0 + std::exp(-double(in[i])));\n"
            "        if (std::fabs(out[i] - e) > 1e-4) return 1;\n    }\n"
        ),
        "wrong_answer",
        "to nan",
        "with a NaN no comparison holds",
    ),
    "has_a_wide_tolerance": (
        main(
            CALL + "    for (int i = 0; i < n; ++i) {\n"
            "        const double e = in[i] / (1.0 + std::exp(-double(in[i])));\n"
            "        if (!(std::fabs(out[i] - e) < 1000)) return 1;\n    }\n"
        ),
        "wrong_answer",
        "accepted the output",
        "",
    ),
    "looks_at_every_other": (
        main(CALL + COMPARE.replace("++i", "i += 2")),
        "wrong_answer",
        "accepted the output",
        "every element",
    ),
    "compares_the_sum": (
        main(
            CALL + "    double sum = 0;\n    for (int i = 0; i < n; ++i)\n"
            "        sum += out[i] - in[i] / (1.0 + std::exp(-double(in[i])));\n"
            "    if (!(std::fabs(sum) < 1e-2)) return 1;\n"
        ),
        "wrong_answer",
        "and another element from that to this",
        "with its own expected value",
    ),
    "leaves_out_the_last": (
        main(CALL + COMPARE.replace("i < n", "i < n - 1")),
        "wrong_answer",
        "`output[1002]` was changed from",
        "including the last",
    ),
    "compares_two_calls": (
        main(
            CALL + "    std::vector<float> other = out;\n" + CALL + "    for (int i = 0; i < n; "
            "++i)\n        if (other[i] != out[i]) return 1;\n"
        ),
        "wrong_answer",
        "accepted the output",
        "",
    ),
    "tosses_a_coin": (
        main(
            CALL + '    FILE* f = std::fopen("/dev/urandom", "rb");\n'
            "    for (int i = 0; i < 64; ++i)\n        if (std::fgetc(f) & 1) return 1;\n"
        ),
        "wrong_answer",
        "but",
        "",
    ),
    "never_calls": (
        main(COMPARE.replace("!right(in[i], out[i])", "false")),
        "wrong_answer",
        "main.cu never calls `silu`, so it tests nothing",
        "call `silu` on device memory",
    ),
    "calls_a_copy_of_the_kernel": (
        main(
            "    own<<<4, 256>>>(d_in, d_out, n);\n" + BACK + COMPARE,
            before="__global__ void own(const float* x, float* y, int n)\n{\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) y[i] = x[i] / (1.0f + expf(-x[i]));\n}\n",
        ),
        "wrong_answer",
        "never calls `silu`",
        "",
    ),
    "calls_with_nothing": (
        main("    silu(d_in, d_out, 0);\n"),
        "wrong_answer",
        "calls `silu` without any element",
        "",
    ),
    "gives_up_before": (
        main('    std::puts("no device");\n    return 2;\n' + CALL),
        "wrong_answer",
        'ended with exit code 2 before it called `silu`; its last line of output: "no device"',
        "",
    ),
    "follows_a_device_pointer": (
        main(CALL + "    if (d_out[0] > 0) return 1;\n"),
        "runtime_error",
        "main.cu crashed: host code accessed device memory (`d_out`) (main.cu:26)",
        "cudaMemcpy",
    ),
    "throws": (
        main('    throw std::runtime_error("not today");\n'),
        "runtime_error",
        "main.cu crashed: an exception was not caught: std::runtime_error: not today",
        "",
    ),
    "asserts_something_wrong": (
        main(CALL + "    assert(out[0] > 1);\n"),
        "runtime_error",
        "the assertion `out[0] > 1` failed (main.cu:26)",
        "",
    ),
    "loops_for_ever": (
        main(CALL + "    for (volatile int i = 0;; ++i) {}\n"),
        "time_limit",
        "main.cu did not end within 2 s",
        "a loop",
    ),
    "prints_for_ever": (
        main('    for (;;) std::puts("PASS");\n'),
        "output_limit",
        "main.cu printed more than 64 KiB",
        "the first few",
    ),
    "uses_gigabytes": (
        main("    for (;;) std::vector<char>(1 << 20, 1).swap(*new std::vector<char>);\n"),
        "memory_limit",
        "used more than 256 MiB",
        "allocation",
    ),
    "does_not_compile": (
        main("    silu(d_in, d_out, n)\n"),
        "compile_error",
        "main.cu:24: expected",
        "semicolon",
    ),
    "has_no_main": (
        HEAD + "int mian() { return 0; }\n",
        "compile_error",
        "main.cu defines no function `main`",
        "int main()",
    ),
    "is_empty": ("", "compile_error", "main.cu defines no function `main`", "int main()"),
    "defines_the_entry": (
        main(
            CALL + COMPARE,
            before='extern "C" void silu(const float* x, float* y, int n) { (void)x, (void)y; }\n',
        ),
        "compile_error",
        "main.cu defines `silu` itself: it must call the one in silu.cu",
        'write #include "silu.h"',
    ),
    "includes_the_kernel": (
        main(CALL + COMPARE).replace('"silu.h"', '"silu.cu"'),
        "compile_error",
        "main.cu:8: silu.cu: No such file",
        'write #include "silu.h": silu.cu is linked by the grader',
    ),
    "declares_the_entry": (
        main(CALL).replace('#include "silu.h"', "void silu(const float*, float*, int);"),
        "compile_error",
        "the declaration of `silu(float const*, float*, int)` does not match",
        'write #include "silu.h"',
    ),
    "uses_what_is_not_there": (
        main("    prepare(n);\n" + CALL + COMPARE, before="void prepare(int);\n"),
        "compile_error",
        "main.cu:25: `prepare(int)` is used but not defined",
        "define it in",
    ),
    "shares_a_name": (
        main(CALL + COMPARE, before="int calls = 0;\n"),
        "compile_error",
        "main.cu and silu.cu both define `calls`",
        "static",
    ),
}
