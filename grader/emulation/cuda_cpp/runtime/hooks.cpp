// The functions that the compiler's instrumentation calls.
//
// -fsanitize=thread inserts __tsan_read4(address) before every 4-byte load, and
// so on; -fsanitize=bounds-strict,alignment call __ubsan_handle_… when a check
// fails. The sanitizers' libraries would find races between operating-system
// threads; this file checks the emulated GPU's threads instead.
//
// Student code's memcpy, memset, memmove, printf and the mathematical functions with
// several results are redirected here, too (-fno-builtin, asm names in cuda_runtime.h).
#if GRADER_CHECKED

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "access.h"
#include "checker.h"
#include "findings.h"

using namespace grader;

void checker::check_fully(AnyForm form, uintptr_t address, uintptr_t pc) {
    if (!watch.active) return check_unwatched(form, address, pc);
    if (--state.countdown < 0) break_point();
    check_watched(form, address, pc);
}

namespace {

template <unsigned Bytes, bool Write> GRADER_HOT void hook(const volatile void* address, void* pc) {
    checker::check(checker::Form<Bytes, Write>(), reinterpret_cast<uintptr_t>(address), reinterpret_cast<uintptr_t>(pc));
}

void rare_hook(const volatile void* address, checker::AnyForm form, void* pc) {
    checker::check_fully(form, reinterpret_cast<uintptr_t>(address), reinterpret_cast<uintptr_t>(pc));
}

// A range, word by word where it is aligned.
void hook_range(const void* address, size_t bytes, bool write, void* pc) {
    if (watch.active && !state.locals && bytes < 4096 && checker::near_frame(reinterpret_cast<uintptr_t>(address), bytes)) return;
    const char* a = static_cast<const char*>(address);
    const char* end = a + bytes;
    if (!watch.active && !watch.interleaved) {  // host code
        const unsigned n = unsigned(std::min<size_t>(bytes, UINT32_MAX));
        if (n) checker::host_range({reinterpret_cast<uintptr_t>(a), n, write, false, false, reinterpret_cast<uintptr_t>(pc)});
        return;
    }
    state.range_begin = reinterpret_cast<uintptr_t>(a);
    state.range_end = reinterpret_cast<uintptr_t>(end);
    while (a < end) {
        unsigned n = reinterpret_cast<uintptr_t>(a) % 4 == 0 && end - a >= 4 ? 4 : 1;
        rare_hook(a, {n, write, !write, false, false}, pc);
        a += n;
    }
    state.range_begin = state.range_end = 0;
}

void* moved(void* to, const void* from, size_t bytes, void* pc) {
    hook_range(from, bytes, false, pc);
    hook_range(to, bytes, true, pc);
    return memmove(to, from, bytes);
}

// The bytes of a string up to its end, or up to the first that a finding is about.
void hook_string(const char* text, void* pc) {
    for (unsigned i = 0; i < 4096; ++i) {
        rare_hook(text + i, {1, false, true, false, false}, pc);
        const Allocation* a = arena::find(reinterpret_cast<uintptr_t>(text + i));
        if (a && reinterpret_cast<uintptr_t>(text + i) >= a->end) return;
        if (!text[i]) return;
    }
}

// The strings that a printf reads: its format and the arguments of `%s`.
void hook_strings(const char* format, va_list given, void* pc) {
    hook_string(format, pc);
    va_list arguments;
    va_copy(arguments, given);
    for (const char* c = format; *c; ++c) {
        if (*c != '%' || *++c == '%') continue;
        for (; *c && strchr("-+ #0123456789.*", *c); ++c)
            if (*c == '*') va_arg(arguments, int);
        unsigned longs = 0;
        bool long_double = false;
        for (; *c && strchr("hljztL", *c); ++c) {
            longs += *c != 'h' && *c != 'L';
            long_double |= *c == 'L';
        }
        if (!*c) break;
        if (*c == 's') hook_string(va_arg(arguments, const char*), pc);
        else if (strchr("aAeEfFgG", *c) && long_double) va_arg(arguments, long double);
        else if (strchr("aAeEfFgG", *c)) va_arg(arguments, double);
        else if (*c == 'p' || longs) va_arg(arguments, long);
        else va_arg(arguments, int);
    }
    va_end(arguments);
}

}  // namespace

#define GRADER_HOOK(name, bytes, write)                                  \
    extern "C" void __tsan_##name##bytes(void* address) {                \
        hook<bytes, write>(address, __builtin_return_address(0));        \
    }
#define GRADER_RARE_HOOK(name, bytes, write, strong)                                                   \
    extern "C" void __tsan_##name##bytes(void* address) {                                              \
        rare_hook(address, {bytes, write, !write, strong, false}, __builtin_return_address(0));        \
    }
#define GRADER_HOOKS(bytes)                                    \
    GRADER_HOOK(read, bytes, false)                            \
    GRADER_HOOK(write, bytes, true)                            \
    GRADER_RARE_HOOK(volatile_read, bytes, false, true)        \
    GRADER_RARE_HOOK(volatile_write, bytes, true, true)
#define GRADER_UNALIGNED_HOOKS(bytes)                                    \
    GRADER_RARE_HOOK(unaligned_read, bytes, false, false)                \
    GRADER_RARE_HOOK(unaligned_write, bytes, true, false)                \
    GRADER_RARE_HOOK(unaligned_volatile_read, bytes, false, true)        \
    GRADER_RARE_HOOK(unaligned_volatile_write, bytes, true, true)

GRADER_HOOKS(1)
GRADER_HOOKS(2)
GRADER_HOOKS(4)
GRADER_HOOKS(8)
GRADER_HOOKS(16)
GRADER_UNALIGNED_HOOKS(2)
GRADER_UNALIGNED_HOOKS(4)
GRADER_UNALIGNED_HOOKS(8)
GRADER_UNALIGNED_HOOKS(16)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** address, void*) { hook<8, true>(address, __builtin_return_address(0)); }
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* address, unsigned long bytes) { hook_range(address, bytes, false, __builtin_return_address(0)); }
void __tsan_write_range(void* address, unsigned long bytes) { hook_range(address, bytes, true, __builtin_return_address(0)); }

// ---- library functions that move memory (renamed in cuda_runtime.h) ----

void* grader_memcpy(void* to, const void* from, size_t bytes) { return moved(to, from, bytes, __builtin_return_address(0)); }
void* grader_memmove(void* to, const void* from, size_t bytes) { return moved(to, from, bytes, __builtin_return_address(0)); }

void* grader_memset(void* to, int value, size_t bytes) {
    hook_range(to, bytes, true, __builtin_return_address(0));
    return memset(to, value, bytes);
}

// ---- library functions that write results through pointers, or read strings (the same) ----

#define GRADER_RESULT(name, T, R)                                                             \
    T grader_##name(T x, R* result) {                                                         \
        if (watch.active) hook_range(result, sizeof *result, true, __builtin_return_address(0)); \
        return name(x, result);                                                               \
    }
#define GRADER_QUOTIENT(name, T)                                                              \
    T grader_##name(T x, T y, int* result) {                                                  \
        if (watch.active) hook_range(result, sizeof *result, true, __builtin_return_address(0)); \
        return name(x, y, result);                                                            \
    }
#define GRADER_RESULTS(name, T)                                                               \
    void grader_##name(T x, T* first, T* second) {                                            \
        if (watch.active) hook_range(first, sizeof *first, true, __builtin_return_address(0));   \
        if (watch.active) hook_range(second, sizeof *second, true, __builtin_return_address(0)); \
        name(x, first, second);                                                               \
    }
GRADER_RESULT(modf, double, double)
GRADER_RESULT(modff, float, float)
GRADER_RESULT(frexp, double, int)
GRADER_RESULT(frexpf, float, int)
GRADER_QUOTIENT(remquo, double)
GRADER_QUOTIENT(remquof, float)
GRADER_RESULTS(sincos, double)
GRADER_RESULTS(sincosf, float)

int grader_vprintf(const char* format, va_list arguments) {
    if (watch.active) hook_strings(format, arguments, __builtin_return_address(0));
    return vprintf(format, arguments);
}
int grader_printf(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (watch.active) hook_strings(format, arguments, __builtin_return_address(0));
    const int printed = vprintf(format, arguments);
    va_end(arguments);
    return printed;
}

}  // extern "C"

// ---- C++ and compiler atomics ----

#define GRADER_ATOMIC(T, bits)                                                                                     \
    static void announce##bits(const volatile void* a, bool write, void* pc, bool may_lock = false) {              \
        state.may_lock = may_lock;                                                                                 \
        rare_hook(a, {bits / 8, write, true, true, write}, pc);                                                    \
        state.may_lock = false;                                                                                    \
    }                                                                                                              \
    extern "C" T __tsan_atomic##bits##_load(const volatile T* a, int) {                                            \
        announce##bits(a, false, __builtin_return_address(0));                                                     \
        return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                               \
    }                                                                                                              \
    extern "C" void __tsan_atomic##bits##_store(volatile T* a, T v, int) {                                         \
        announce##bits(a, true, __builtin_return_address(0));                                                      \
        __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                                                  \
    }                                                                                                              \
    GRADER_FETCH(T, bits, exchange, __atomic_exchange_n, true)                                                     \
    GRADER_FETCH(T, bits, fetch_add, __atomic_fetch_add, false)                                                    \
    GRADER_FETCH(T, bits, fetch_sub, __atomic_fetch_sub, false)                                                    \
    GRADER_FETCH(T, bits, fetch_and, __atomic_fetch_and, false)                                                    \
    GRADER_FETCH(T, bits, fetch_or, __atomic_fetch_or, false)                                                      \
    GRADER_FETCH(T, bits, fetch_xor, __atomic_fetch_xor, false)                                                    \
    GRADER_FETCH(T, bits, fetch_nand, __atomic_fetch_nand, false)                                                  \
    extern "C" bool __tsan_atomic##bits##_compare_exchange_strong(volatile T* a, T* c, T v, int, int) {            \
        announce##bits(a, true, __builtin_return_address(0), true);                                                \
        return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
    }                                                                                                              \
    extern "C" bool __tsan_atomic##bits##_compare_exchange_weak(volatile T* a, T* c, T v, int, int) {              \
        announce##bits(a, true, __builtin_return_address(0), true);                                                \
        return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
    }
#define GRADER_FETCH(T, bits, name, builtin, may_lock)                         \
    extern "C" T __tsan_atomic##bits##_##name(volatile T* a, T v, int) {       \
        announce##bits(a, true, __builtin_return_address(0), may_lock);        \
        return builtin(a, v, __ATOMIC_SEQ_CST);                                \
    }
GRADER_ATOMIC(unsigned char, 8)
GRADER_ATOMIC(unsigned short, 16)
GRADER_ATOMIC(unsigned int, 32)
GRADER_ATOMIC(unsigned long, 64)
extern "C" void __tsan_atomic_thread_fence(int) { grader_fence(1); }
extern "C" void __tsan_atomic_signal_fence(int) {}

#endif
