"""The hint for a wrong answer, from the source and from the pattern."""

from __future__ import annotations

import time

import pytest
from builds import silu_build
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.build.artifact import Built
from grader.checks.common.diagnosis import LOOP_HINT
from grader.checks.common.source_evidence import with_source
from grader.checks.correctness.answer_hint import Seen, answer_hint, failure_hint, kept_hint
from grader.report.evidence import Finding
from grader.report.verdict import Verdict
from grader.vocabulary import Language

SILU = read_assignment(REPOSITORY / "assignments" / "silu").signature
TEXT = """\
__global__ void k(const float* input, float* output, int n, float epsilon)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) output[i] = input[i] / (2.0f + epsilon);
}
void silu(const float* input, float* output, int n)
{
    k<<<n / 256, 256>>>(input, output, n, 1e-5f);
    // END
}
"""


def built(text: str, language: Language = Language.CUDA) -> Built:
    return silu_build(language=language, text=text)


def seen(pattern: str, *, returned: bool = False) -> Seen:
    return Seen(
        pattern=pattern, output="output", returned=returned, nondeterministic=False, kernel="k"
    )


DIGITS = "wrong elements are off by up to 1.1 times what is allowed, right ones by up to 0.9 times"
NEVER = "only the last element: never written; `k` ran with 1 block of 256 threads: "


@pytest.mark.parametrize(
    ("old", "new", "pattern", "said"),
    [
        ("", "", NEVER + "too few for one each", "`n / 256` in line 8 rounds down"),
        ("n / 256", "n", NEVER + "enough for one each", "look at the index"),
        ("int i", "short i", NEVER + "enough for one each", "`i` in line 3 is `short`"),
        ("", "", DIGITS, "float keeps 7 digits"),
        ("// END", "__half h;", DIGITS, "a type with too few digits"),
        # What is passed is wrong whatever the pattern is.
        (", n, 1e", ", 256, 1e", "every element is 2 times", "line 8 passes `256` for the param"),
        ("// END", "free(output); output[0] = 1;", "every element is 0", "line 9 frees `output`"),
        ("", "", "the result is that of `epsilon` = 0", "changes nothing where line 4 has it"),
        (
            " + epsilon",
            "",
            "the result is that of `epsilon` = 0",
            "no line of the kernel uses `eps",
        ),
        ("epsilon", "eps", "the result is that of `epsilon` = 0", "the argument is left out, or"),
        (
            "(input, output, n, 1e-5f)",
            "(output, input, n, 1)",
            "`a` and `b` are exchanged",
            "check",
        ),
    ],
)
def test_a_hint(old: str, new: str, pattern: str, said: str) -> None:
    assert said in answer_hint(seen(pattern), built(TEXT.replace(old, new) if old else TEXT), SILU)


def test_a_returned_result_comes_first() -> None:
    found = answer_hint(seen("nothing was ever written", returned=True), built(TEXT), SILU)
    assert found == "silu returned a value: write the result into `output` instead"


def test_a_case_that_is_right_alone_without_a_variable_that_is_kept() -> None:
    assert "no variable here is kept from call to call" in kept_hint(built(TEXT))
    assert "a `static`, `__device__` or global" in kept_hint(built("static int calls;\n" + TEXT))


def test_a_grid_that_is_too_large_by_far() -> None:
    text = TEXT.replace("int n)\n{\n    k", "int n, int m)\n{\n    k").replace("n / 256", "m")
    transpose = read_assignment(REPOSITORY / "assignments" / "transpose").signature
    text = text.replace("int n, int m", "int rows, int cols").replace("<<<m", "<<<cols")
    text = text.replace("output, n, 1e", "output, rows, 1e")
    found = failure_hint("", LOOP_HINT, Verdict.TIME_LIMIT, built(text), transpose)
    assert found.startswith("line 8 launches `cols` blocks along x, but in `k` `i`")
    right = built(text.replace("<<<cols", "<<<rows / 256"))
    assert failure_hint("", LOOP_HINT, Verdict.TIME_LIMIT, right, transpose) == ""


def test_a_call_that_failed() -> None:
    copy = TEXT.replace("// END", "cudaMemcpy(output, input, 4, cudaMemcpyHostToDevice);")
    verdict, message = Verdict.RUNTIME_ERROR, "calling silu gave CUDA error 21: invalid"
    assert "line 9: the source `input` is in device memory" in failure_hint(
        message, "", verdict, built(copy), SILU
    )
    assert failure_hint(message, "", Verdict.WRONG_ANSWER, built(copy), SILU) == ""


@pytest.mark.parametrize(
    "hostile",
    ["cudaMemcpy(output, p, ", "for (;;)", "(", "k<<<a,b>>>(p,output,n,n);", "float* p = ", "? "],
)
@pytest.mark.parametrize("language", list(Language))
def test_a_hostile_source_is_read_in_time(hostile: str, language: Language) -> None:
    """Twelve hints, each in a fraction of a second; loops in front of loops are no recursion."""
    text = hostile * (19_000 // len(hostile))
    if language is Language.CUDA:
        text = TEXT.replace("    int i", f"{text}\n    int i")
    submission, began = built(text[:20_000], language), time.monotonic()
    for pattern in (NEVER, "nothing was ever written", "every element is 0", "output element i is"):
        answer_hint(seen(pattern), submission, SILU)
    for line in range(1, 9):
        finding = Finding(
            kind="out_of_bounds", severity="error", message="", hint="", file="silu.cu", line=line,
            kernel="k", buffer="input", space="global", element=9, elements=9, block=(1, 0, 0),
            thread=(0, 0, 0), tool="t",
        )  # fmt: skip
        with_source(finding, submission, SILU)
    assert time.monotonic() - began < 6


TILES = """\
@triton.jit
def k(a, b, m, n, B: tl.constexpr):
    row, col = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    mask = (row < m)[:, None] & (col < n)[None, :]
    tile = tl.load(a + row[:, None] * n + col[None, :], mask=mask)
    tl.store(b + col[:, None] * m + row[None, :], tl.trans(tile), mask=mask)
    at = a + row
    for step in range(tl.cdiv(n, B)):
        tile += tl.load(at, mask=row < n)
        tile += tl.load(at, mask=row < n - step * B)
        at += B
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (5, ""),
        (
            6,
            "`row` runs along the columns, [None, :], of the addresses in line 6, but along the ro",
        ),
        (9, "the mask `row < n` in line 9 is the same in every step of the loop, but `at` moves"),
        (10, ""),
    ],
)
def test_a_mask_of_triton_that_does_not_follow_the_address(line: int, words: str) -> None:
    finding = Finding(
        kind="out_of_bounds", severity="error", message="", hint="", file="silu.cu", line=line,
        kernel="k", buffer="a", space="global", element=9, elements=9, access="read",
        block=(0, 0, 0), thread=None, tool="t",
    )  # fmt: skip
    found = with_source(finding, built(TILES, Language.TRITON), SILU).hint
    assert found.startswith(words) and bool(found) == bool(words)


SUM = """\
@triton.jit
def add(x, total, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(total, tl.sum(tl.load(x + i, mask=i < n)))

def silu(input, output, n):
    add[(triton.cdiv(n, 32),)](input, output, n, B=32)
"""
MASKED = (
    "the load in line 4 leaves the lanes that its mask switches off undefined: give it `other=`"
)


@pytest.mark.parametrize(
    ("hint", "words"), [("", "`add` adds to `output` in line 4"), (MASKED, "give it `other=`")]
)
def test_an_output_is_known_by_what_a_launch_of_triton_passes(hint: str, words: str) -> None:
    finding = Finding(
        kind="uninitialized", severity="error", message="", hint=hint, file="silu.cu", line=4,
        kernel="add", buffer="total", space="global", element=0, elements=1, access="atomic",
        block=(0, 0, 0), thread=None, tool="t",
    )  # fmt: skip
    assert words in with_source(finding, built(SUM, Language.TRITON), SILU).hint


@pytest.mark.parametrize("nested", ["n" + " + n" * 3000, "-" * 2000 + "n", "n" + "[0]" * 3000])
def test_an_expression_of_triton_that_is_nested_too_deeply_is_not_read(nested: str) -> None:
    text = (
        "@triton.jit\ndef k(input, output, n, B: tl.constexpr):\n"
        "    i = tl.program_id(0) * B\n    tl.store(output + i, 1.0, mask=i < n)\n\n"
        "def silu(input, output, n):\n    k[(n // 32,)](input, output, SIZE, B=32)\n"
    )
    deep = built(text.replace("SIZE", nested), Language.TRITON)
    assert "rounds down" in answer_hint(seen(NEVER), built(text, Language.TRITON), SILU)
    assert "rounds down" not in answer_hint(seen(NEVER), deep, SILU)
