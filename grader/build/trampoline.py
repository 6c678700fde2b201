"""Generate the C++ file that includes the student's file and calls its entry.

The compiler sees the student's function itself, not a declaration of the grader. So the student may
choose `const` and C or C++ linkage, and a wrong parameter list is a compile error that shows both
lists, rather than garbage at run time.
"""

from __future__ import annotations

from grader.assignment.launch import WORDS
from grader.assignment.signature import Argument, Signature
from grader.vocabulary import Language

# `entry_mismatch` searches the compiler's output for this.
SIGNATURE_MARK = "grader_entry_signature"

_TEMPLATE = """\
// Generated: calls {entry} for the grader.
#include <cuda_runtime.h>
{includes}#include <cstdio>
#include <cstring>
#include <type_traits>

// Code that uses other names than the grader's comes before the student's file, whose macros
// (T, value, cudaDeviceSynchronize …) could change it.
namespace grader_trampoline {{

// The cudaError_t of the launches, else that of the kernels' work.
static int grader_wait_for_all() {{
  const cudaError_t launch = cudaGetLastError();
  const cudaError_t work = cudaDeviceSynchronize();
  std::fflush(nullptr);
  return static_cast<int>(launch != cudaSuccess ? launch : work);
}}

template <class T> T grader_value(unsigned long long bits) {{
  T result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}}

// Ignores const behind a pointer, which the student may choose.
template <class T> struct plain {{ using type = T; }};
template <class T> struct plain<const T*> {{ using type = T*; }};

{marks}
}}  // namespace grader_trampoline

#include "{file}"

namespace grader_trampoline {{

{checks}

void grader_call_once(const unsigned long long* grader_bits) {{
{call}
}}

}}  // namespace grader_trampoline

extern "C" __attribute__((visibility("default"))) int grader_call(
    const unsigned long long* grader_bits) {{
  grader_trampoline::grader_call_once(grader_bits);
  return grader_trampoline::grader_wait_for_all();
}}

// Many calls and one wait, with nothing but launches between two calls.
extern "C" __attribute__((visibility("default"))) int grader_calls(
    const unsigned long long* grader_bits, int grader_per_call, int grader_count) {{
  for (int grader_number = 0; grader_number < grader_count; ++grader_number)
    grader_trampoline::grader_call_once(grader_bits + grader_number * grader_per_call);
  return grader_trampoline::grader_wait_for_all();
}}

// A second call with the same sizes. Memory that is allocated below this frame and never freed has
// leaked, because the first call has allocated all memory that is kept for later calls.
extern "C" __attribute__((visibility("default"))) int grader_call_again(
    const unsigned long long* grader_bits) {{
  volatile int grader_result = grader_call(grader_bits);  // no tail call: it would hide the frame
  return grader_result;
}}
"""


_MARK = """\
template <class Found> struct {mark} {{
  static_assert(sizeof(Found) == 0, "the entry is not a plain function");
}};
template <class R, class... P> struct {mark}<R (*)(P...)> {{
  static_assert(
      std::is_same<void(typename plain<P>::type...), void({plain_types})>::value,
      "the entry has a wrong parameter list");
}};
"""
# A kernel is launched; the emulation of a GPU has no <<< >>> outside of a student's file.
_CALL = """\
  ::{entry}(
{values});"""
# With a type variable, the last number is the position of the case's type.
_CHOICE = """\
  switch (grader_bits[{at}]) {{
{calls}
  }}"""
_LAUNCH = """\
  const unsigned long long* grader_launch = grader_bits + {count};
  const dim3 grader_grid(grader_launch[0], grader_launch[1], grader_launch[2]);
  const dim3 grader_block(grader_launch[3], grader_launch[4], grader_launch[5]);
#ifdef GRADER_INLINE
  ::grader::Launch(grader_grid, grader_block, grader_launch[6]).grader_named(
      "{name}", [](auto&... grader_argument) {{ ::{entry}(grader_argument...); }})(
#else
  ::{entry}<<<grader_grid, grader_block, grader_launch[6]>>>(
#endif
{values});"""


def trampoline(signature: Signature, file: str) -> str:
    """Return the trampoline that includes `file` and calls the entry."""
    words = [kind.word for kind in signature.dtypes] or [""]
    marks, checks, calls = [], [], []
    for number, word in enumerate(words):
        bound, mark = signature.bound(word), f"{SIGNATURE_MARK}{number or ''}"
        entry = signature.entry
        if word:
            entry += f"<{signature.dtypes[number].c_name}>"
        plain_types = [plain_type(bound, argument) for argument in signature.arguments]
        values = ",\n".join(
            f"      grader_trampoline::grader_value<{kind}>(grader_bits[{i}])"
            for i, kind in enumerate(plain_types)
        )
        marks.append(_MARK.format(mark=mark, plain_types=", ".join(plain_types)))
        checks.append(f"template struct {mark}<decltype(&::{entry})>;")
        call = (_LAUNCH if signature.launch else _CALL).format(
            entry=entry, name=signature.entry, values=values, count=len(signature.arguments)
        )
        calls.append(f"  case {number}: {{\n{call}\n    break;\n  }}" if word else call)
    call = calls[0]
    if signature.variable:
        at = len(signature.arguments) + (WORDS if signature.launch else 0)
        call = _CHOICE.format(at=at, calls="\n".join(calls))
    return _TEMPLATE.format(
        entry=signature.entry,
        file=file,
        includes=signature.c_includes,
        marks="".join(marks),
        checks="\n".join(checks),
        call=call,
    )


def plain_type(signature: Signature, argument: Argument) -> str:
    """Return the type of a parameter without const, which the student may choose."""
    c_name = signature.element_type(argument, Language.CUDA).c_name
    return f"{c_name}*" if argument.is_array else c_name
