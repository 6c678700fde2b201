// The functions that the compiler's instrumentation calls.
//
// -fsanitize=thread inserts __tsan_read4(address) before every 4-byte load, and
// so on; -fsanitize=bounds-strict,alignment call __ubsan_handle_… when a check
// fails. The sanitizers' libraries would find races between operating-system
// threads; this file checks the emulated GPU's threads instead.
//
// Student code's memcpy, memset and memmove are redirected here, too (-fno-builtin).
#if GRADER_CHECKED

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "access.h"
#include "checker.h"
#include "findings.h"

using namespace grader;

namespace {

template <unsigned Bytes, bool Write> GRADER_HOT void hook(const volatile void* address, void* pc) {
    checker::check(checker::Form<Bytes, Write>(), reinterpret_cast<uintptr_t>(address), reinterpret_cast<uintptr_t>(pc));
}

__attribute__((noinline)) void rare_hook(const volatile void* address, checker::AnyForm form, void* pc) {
    checker::check(form, reinterpret_cast<uintptr_t>(address), reinterpret_cast<uintptr_t>(pc));
}

// A range, word by word where it is aligned.
void hook_range(const void* address, size_t bytes, bool write, void* pc) {
    const char* a = static_cast<const char*>(address);
    const char* end = a + bytes;
    while (a < end) {
        unsigned n = reinterpret_cast<uintptr_t>(a) % 4 == 0 && end - a >= 4 ? 4 : 1;
        rare_hook(a, {n, write, !write, false, false}, pc);
        a += n;
    }
}

// Device memory that host code may access, or must not.
bool both_sides(const void* at) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(at);
    if (arena::contains(address)) return true;
    const variables::Variable* v = variables::any_managed ? variables::at(address) : nullptr;
    return v && v->managed;
}

void* moved(void* to, const void* from, size_t bytes, void* pc) {
    if (state.active) {
        hook_range(from, bytes, false, pc);
        hook_range(to, bytes, true, pc);
    } else {
        if (arena::contains(reinterpret_cast<uintptr_t>(to)) || arena::contains(reinterpret_cast<uintptr_t>(from))) arena::settle();
        if (both_sides(from)) checker::host_read(bytes);
        if (both_sides(to)) checker::host_wrote(bytes);
    }
    return memmove(to, from, bytes);
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
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* address, unsigned long bytes) { hook_range(address, bytes, false, __builtin_return_address(0)); }
void __tsan_write_range(void* address, unsigned long bytes) { hook_range(address, bytes, true, __builtin_return_address(0)); }

// ---- library functions that move memory (renamed in cuda_runtime.h) ----

void* grader_memcpy(void* to, const void* from, size_t bytes) { return moved(to, from, bytes, __builtin_return_address(0)); }
void* grader_memmove(void* to, const void* from, size_t bytes) { return moved(to, from, bytes, __builtin_return_address(0)); }

void* grader_memset(void* to, int value, size_t bytes) {
    if (state.active) hook_range(to, bytes, true, __builtin_return_address(0));
    if (!state.active && arena::contains(reinterpret_cast<uintptr_t>(to))) arena::settle();
    return memset(to, value, bytes);
}

}  // extern "C"

// ---- C++ and compiler atomics ----

#define GRADER_ATOMIC(T, bits)                                                                                     \
    static void announce##bits(const volatile void* a, bool write, void* pc) {                                     \
        rare_hook(a, {bits / 8, write, true, true, write}, pc);                                                    \
    }                                                                                                              \
    extern "C" T __tsan_atomic##bits##_load(const volatile T* a, int) {                                            \
        announce##bits(a, false, __builtin_return_address(0));                                                     \
        return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                               \
    }                                                                                                              \
    extern "C" void __tsan_atomic##bits##_store(volatile T* a, T v, int) {                                         \
        announce##bits(a, true, __builtin_return_address(0));                                                      \
        __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                                                  \
    }                                                                                                              \
    GRADER_FETCH(T, bits, exchange, __atomic_exchange_n)                                                           \
    GRADER_FETCH(T, bits, fetch_add, __atomic_fetch_add)                                                           \
    GRADER_FETCH(T, bits, fetch_sub, __atomic_fetch_sub)                                                           \
    GRADER_FETCH(T, bits, fetch_and, __atomic_fetch_and)                                                           \
    GRADER_FETCH(T, bits, fetch_or, __atomic_fetch_or)                                                             \
    GRADER_FETCH(T, bits, fetch_xor, __atomic_fetch_xor)                                                           \
    GRADER_FETCH(T, bits, fetch_nand, __atomic_fetch_nand)                                                         \
    extern "C" bool __tsan_atomic##bits##_compare_exchange_strong(volatile T* a, T* c, T v, int, int) {            \
        announce##bits(a, true, __builtin_return_address(0));                                                      \
        return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
    }                                                                                                              \
    extern "C" bool __tsan_atomic##bits##_compare_exchange_weak(volatile T* a, T* c, T v, int, int) {              \
        announce##bits(a, true, __builtin_return_address(0));                                                      \
        return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
    }
#define GRADER_FETCH(T, bits, name, builtin)                                   \
    extern "C" T __tsan_atomic##bits##_##name(volatile T* a, T v, int) {       \
        announce##bits(a, true, __builtin_return_address(0));                  \
        return builtin(a, v, __ATOMIC_SEQ_CST);                                \
    }
GRADER_ATOMIC(unsigned char, 8)
GRADER_ATOMIC(unsigned short, 16)
GRADER_ATOMIC(unsigned int, 32)
GRADER_ATOMIC(unsigned long, 64)
extern "C" void __tsan_atomic_thread_fence(int) { grader_fence(1); }
extern "C" void __tsan_atomic_signal_fence(int) {}

#endif
