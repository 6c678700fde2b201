"""The hint for a wrong answer: what the source shows to be wrong, else what its pattern means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.assignment.signature import Signature
from grader.build.artifact import Built
from grader.checks.common.diagnosis import LOOP_HINT
from grader.checks.common.findings import INPUT_HINT
from grader.checks.source import cpp_code
from grader.checks.source.copies import direction_hint, overwritten_hint, pitch_hint
from grader.checks.source.cuda_grid import (
    block_hint,
    grid_hint,
    partial_sums_hint,
    short_bound_hint,
    shuffle_hint,
    size_of_other_grids_hint,
    tree_hint,
)
from grader.checks.source.cuda_index import narrow_index_hint, whole_sum_hint
from grader.checks.source.formulas import (
    cast_hint,
    exponent_hint,
    float_bits_hint,
    left_out_part_hint,
)
from grader.checks.source.host_arrays import (
    added_to_hint,
    address_hint,
    appended_hint,
    cleared_in_part_hint,
    copied_in_part_hint,
    copied_too_early_hint,
    freed_hint,
    keeps_nothing,
    reallocated_hint,
    reserved_hint,
    unused_output_hint,
)
from grader.checks.source.launch_arguments import launch_hint, wrong_size_hint
from grader.checks.source.triton_errors import (
    added_by_host,
    dropped_product,
    few_bins,
    jitted_bodies,
    never_cleared,
    rebound_name,
    short_tensor,
    stores_nothing,
    unmasked_histogram,
    whole_quotient,
)
from grader.checks.source.triton_grid import (
    block_of_other_size,
    cut_off_hint,
    size_of_other_launches,
    triton_grid_hint,
)
from grader.judge.patterns.error_pattern import NOTHING_WRITTEN, TORN
from grader.report.verdict import Verdict
from grader.text.hints import filled, hints, matching_hint
from grader.vocabulary import Language

KEPT = "right in a process of its own, wrong after other calls"
TRIALS = "wrong in the call in which the kernel is tuned, right in the next one"
_ADDED = "the result is added to what the output held"
_NONDETERMINISTIC_HINT = (
    "a second call with the same inputs gave other results: look for state kept between calls, "
    "uninitialized memory and data races"
)
_LEFT_OUT = re.compile(r"the result is that of `(\w+)` = 0$")
_OF_ANOTHER_ARRAY = re.compile(
    r"of the squares of `|of `\w+` times `|exchanged$|in the place of `\w+`$"
)
_OF_NEGATIVE = re.compile(r"negative|not a number|not finite|^$")
_COUNTED_TOO = re.compile(r"^zeros past the end of |^only the (?:first|last) element$")
_OF_DIGITS = re.compile("times what is allowed, right ones by up to")
_NARROW_TYPE = re.compile(r"half|bfloat|bf16|tf32|fp8|fp16|wmma|mma\.|__\w+f\(|\.approx")
_MOST_SHOWN = 60  # characters of a line
_INVALID_DIRECTION = "gave CUDA error 21"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen of a call with a wrong answer; "" for no pattern.

    `returned` is true if the entry returned a value, `nondeterministic` if a second call had
    another result, and `kernel` is the one that was launched last, None without one.
    """

    pattern: str
    output: str
    returned: bool
    nondeterministic: bool
    kernel: str | None


def answer_hint(seen: Seen, built: Built, signature: Signature) -> str:
    """Return what a student can do about a wrong answer, "" if nothing is known."""
    return next(filter(None, _hints(seen, built, signature)), "")


def _hints(seen: Seen, built: Built, signature: Signature) -> Iterator[str]:
    """Yield hints, the one that is nearest to the mistake first; "" where there is none."""
    pattern, text, language = seen.pattern, built.text, built.language.base
    triton, cuda = language is Language.TRITON, language is Language.CUDA
    known = bool(matching_hint(pattern, "pattern")) or pattern.startswith(TORN)
    if pattern.startswith(NOTHING_WRITTEN):
        yield from _of_nothing_written(seen, built)
    if triton:
        yield from _of_triton_values(seen, built)
    if seen.nondeterministic and pattern.startswith("every element is"):
        yield _NONDETERMINISTIC_HINT  # what is added or multiplied is no constant
    if cuda:
        yield freed_hint(text)
    yield wrong_size_hint(text, language, signature)
    if cuda and seen.kernel and " of each " in pattern:
        yield block_hint(text, seen.kernel)
    if _OF_ANOTHER_ARRAY.search(pattern):
        words = _launched_wrong(built, signature)
        yield words if any(one in words for one in re.findall(r"`\w+`", pattern)) else ""
    if cuda and _OF_NEGATIVE.search(pattern):
        yield float_bits_hint(text)
    if cuda and _OF_DIGITS.search(pattern) and not _NARROW_TYPE.search(text):
        yield hints("symptom_of_floats")["digits"]
    if not known:
        outputs = [one for one in signature.arrays if one.name == seen.output and one.shape]
        yield few_bins(text, [one.shape[0].text for one in outputs if one.shape]) if triton else ""
        yield _launched_wrong(built, signature)
    if cuda:
        yield short_bound_hint(text) if pattern.startswith(("only the last", "the last ")) else ""
        yield _of_host_code(seen, text, signature)
    if cuda and (not known or pattern.startswith(("wrong exactly", "every element is"))):
        yield cast_hint(text)
    if not known and "written" not in pattern:
        yield _of_formula(built)
        yield _unused_array(built, signature)
    if zero := _LEFT_OUT.match(pattern):
        yield _use_of(zero[1], built)
    if not known:
        yield from _of_sizes(seen, built, signature)
    if seen.kernel and triton and "never written" in pattern:
        yield triton_grid_hint(text, signature, seen.kernel)
        yield "" if "row" in pattern.partition(":")[0] else cut_off_hint(text, seen.kernel)
    own = (("launched",) if built.launched else ()) + (("pattern_triton",) if triton else ())
    yield matching_hint(pattern, *own, "pattern", "symptom")
    yield _NONDETERMINISTIC_HINT if seen.nondeterministic else ""


def _of_nothing_written(seen: Seen, built: Built) -> Iterator[str]:
    """Yield why an output holds what it held before the call."""
    if seen.returned:
        yield f"{built.entry} returned a value: write the result into `{seen.output}` instead"
    if built.language.base is Language.TRITON:
        line = rebound_name(built.text, built.entry, seen.output)
        if line is not None:
            yield filled("kernel_source", "rebound", line=line, name=seen.output)
        yield stores_nothing(built.text, seen.kernel) if seen.kernel else ""
        yield added_by_host(built.text, built.entry, seen.output)


def _of_triton_values(seen: Seen, built: Built) -> Iterator[str]:
    """Yield what a Triton file shows about values, whatever else they have in common."""
    if seen.pattern.startswith(_ADDED):
        yield never_cleared(built.text, built.entry, seen.output)
    if "float16" in seen.pattern:
        yield short_tensor(built.text)
    yield dropped_product(built.text)
    if _COUNTED_TOO.search(seen.pattern):
        yield unmasked_histogram(built.text)


def _of_sizes(seen: Seen, built: Built, signature: Signature) -> Iterator[str]:
    """Yield which size of a block or a grid differs from what the kernel is written for."""
    only = seen.pattern.startswith("only ")
    if built.language.base is Language.TRITON:
        yield block_of_other_size(built.text, signature)
        yield whole_quotient(built.text)
        yield size_of_other_launches(built.text, signature) if only else ""
    elif built.language.base is Language.CUDA and seen.kernel:
        yield block_hint(built.text, seen.kernel)
        yield size_of_other_grids_hint(built.text, signature) if only else ""


def _of_formula(built: Built) -> str:
    """Return what the source shows about a formula, "" if nothing."""
    language = built.language.base
    words = exponent_hint(built.text, language)
    return words or (left_out_part_hint(built.text) if language is Language.CUDA else "")


def failure_hint(message: str, hint: str, verdict: Verdict, built: Built, sign: Signature) -> str:
    """Return what the source shows about a call that failed, "" if nothing."""
    if hint == INPUT_HINT:
        return launch_hint(built.text, built.language.base, sign)
    if verdict is Verdict.TIME_LIMIT and hint == LOOP_HINT:
        if words := _unused_parameter(built):
            return words
        return _other_sizes(built, sign)  # a grid of cols × cols blocks may be too large by far
    if verdict is Verdict.MEMORY_ERROR and built.language.base is Language.TRITON:
        return _other_sizes(built, sign)  # a store outside that a mask let through
    if verdict is not Verdict.RUNTIME_ERROR or built.language.base is not Language.CUDA:
        return ""
    if _INVALID_DIRECTION in message:
        return direction_hint(built.text, sign)
    return freed_hint(built.text) or address_hint(built.text)


def kept_hint(built: Built) -> str:
    """Return what to do about a case that is right only in a process of its own."""
    if built.language.base is Language.CUDA and keeps_nothing(built.text):
        return hints("kept")["nothing"]
    return matching_hint(KEPT, "pattern")


def _use_of(name: str, built: Built) -> str:
    """Return where the kernels use an argument that changes nothing, "" if in many lines."""
    kernels = cpp_code.kernels(built.text).values()
    bodies = [(one.line, one.body) for one in kernels]
    parameters = {name for one in kernels for name in one.parameters}
    if built.language.base is Language.TRITON:
        jitted = list(jitted_bodies(built.text))
        bodies = [(one.body[0].lineno, text) for one, text in jitted]
        parameters = {given.arg for one, _ in jitted for given in one.args.args}
    used = [
        (first + at, line.strip())
        for first, body in bodies
        for at, line in enumerate(body.split("\n"))
        if re.search(rf"(?<![\w.]){re.escape(name)}\b", line)
    ]
    if not used and name in parameters:
        return f"no line of the kernel uses `{name}`, which it gets: it belongs into the formula"
    if len(used) != 1 or len(used[0][1]) > _MOST_SHOWN:
        return ""
    ((line, code),) = used
    return (
        f"`{name}` changes nothing where line {line} has it, `{code}`: is that its place in the "
        "formula of the assignment, in the same bracket?"
    )


def _unused_array(built: Built, signature: Signature) -> str:
    """Return which input's name no kernel uses that gets it, "" if all are used."""
    inputs = {one.name for one in signature.arrays if one.role.read}
    if built.language.base is Language.TRITON:
        found = [
            (one.name, [given.arg for given in one.args.args], text)
            for one, text in jitted_bodies(built.text)
        ]
    else:
        kernels = cpp_code.kernels(built.text).values()
        found = [(one.name, list(one.parameters), one.body) for one in kernels]
    for name in sorted(inputs):
        given = [(kernel, body) for kernel, parameters, body in found if name in parameters]
        used = any(re.search(rf"(?<![\w.]){re.escape(name)}\b", body) for _, body in given)
        if given and not used:
            return (
                f"no line of `{given[0][0]}` uses the input `{name}`, which it gets: the result "
                "must come from its elements"
            )
    return ""


def _unused_parameter(built: Built) -> str:
    """Return which number a kernel gets and does not use, "" if there is none or several."""
    unused = [
        (kernel.name, name)
        for kernel in cpp_code.kernels(built.text).values()
        for name in kernel.parameters
        if name and not re.search(rf"(?<![\w.]){re.escape(name)}\b", kernel.body)
    ]
    if len(unused) != 1:
        return ""
    ((kernel, name),) = unused
    return f"no line of `{kernel}` uses `{name}`, which it gets: should a loop end there?"


def _other_sizes(built: Built, signature: Signature) -> str:
    """Return which grid is computed from another size than its kernel runs to, "" if none is."""
    if built.language.base is Language.TRITON:
        names = [one.name for one, _ in jitted_bodies(built.text)]
        found = (triton_grid_hint(built.text, signature, name, sizes_only=True) for name in names)
    else:
        names = list(cpp_code.kernels(built.text))
        found = (grid_hint(built.text, signature, name, sizes_only=True) for name in names)
    return next(filter(None, found), "")


def _launched_wrong(built: Built, signature: Signature) -> str:
    words = launch_hint(built.text, built.language.base, signature)
    if words or built.language.base is not Language.CUDA:
        return words
    return address_hint(built.text)


def _of_host_code(seen: Seen, text: str, signature: Signature) -> str:
    """Return which copy, cudaMemset or launch of host code gives this pattern, "" if none does."""
    pattern, output = seen.pattern, seen.output
    if "never written" in pattern and (words := narrow_index_hint(text)):
        return words
    if words := appended_hint(text) or reserved_hint(text):
        return words
    if words := copied_too_early_hint(text) or overwritten_hint(text, output, signature):
        return words
    of_sum = not pattern or re.search(
        "elements of the row|in the result|off by a factor of its own", pattern
    )
    if of_sum and (words := tree_hint(text) or shuffle_hint(text) or partial_sums_hint(text)):
        return words
    if pattern.startswith("output element i is"):
        return pitch_hint(text, output, signature)
    if pattern.startswith("every element is 0") or "whole number" in pattern:
        return whole_sum_hint(text)
    if pattern.startswith(_ADDED):
        return added_to_hint(text, output) or cleared_in_part_hint(text, output, signature)
    words = ""
    if pattern.startswith(NOTHING_WRITTEN):
        words = reallocated_hint(text, signature) or unused_output_hint(text, output)
    if not words and seen.kernel is not None and re.search("never written", pattern):
        words = grid_hint(text, signature, seen.kernel, few="too few" in pattern)
    return words or (copied_in_part_hint(text, output, signature) if not pattern else "")
