// Atomics. Each announces its word to the checker; the fast build only counts them, because a thread
// may spin. It uses the host's atomics while several cores run blocks: alone, a core needs none.
#pragma once

#if GRADER_CHECKED
extern "C" void grader_atomic(const volatile void* address, unsigned bytes);
extern "C" void grader_atomic_exchange(const volatile void* address, unsigned bytes);  // needs no old value
extern "C" void grader_atomic_compare(const volatile void* address, unsigned bytes);   // may take a lock
#else
namespace grader {
GRADER_INLINE bool atomic_mode(AtomicMode bit) { return unsigned(grader_atomic_mode) & unsigned(bit); }
}  // namespace grader
GRADER_INLINE void grader_atomic(const volatile void*, unsigned) {
    if (grader::atomic_mode(grader::AtomicMode::whole_block)) return;
    if (__builtin_expect(++grader_atomics % 1024 == 0, 0)) grader_many_atomics();
}
GRADER_INLINE void grader_atomic_exchange(const volatile void* p, unsigned bytes) { grader_atomic(p, bytes); }
GRADER_INLINE void grader_atomic_compare(const volatile void* p, unsigned bytes) { grader_atomic(p, bytes); }
#endif

namespace grader {

enum AtomicOperation { kAdd, kSubtract, kAnd, kOr, kXor, kExchange, kMin, kMax, kSignedMin, kSignedMax };

template <class T> struct AtomicWord { typedef T type; };
template <> struct AtomicWord<float> { typedef unsigned type; };
template <> struct AtomicWord<double> { typedef unsigned long long type; };

#if GRADER_CHECKED
// The announcement is the access: the compiler's hooks would count it once more. The checked build
// runs one thread at a time.
extern "C" void grader_quiet_copy(void* to, const volatile void* from, size_t bytes);

template <class T, class Change> GRADER_INLINE T atomic_loop(T* address, Change change) {
    T seen, wanted;
    grader_quiet_copy(&seen, address, sizeof(T));
    wanted = change(seen);
    grader_quiet_copy(address, &wanted, sizeof(T));
    return seen;
}

// The common ones are functions of the runtime, because hooks would see the copies on the stack.
extern "C" unsigned grader_atomic_4(int operation, void* address, unsigned value);
extern "C" unsigned long grader_atomic_8(int operation, void* address, unsigned long value);
extern "C" unsigned grader_atomic_cas_4(void* address, unsigned compare, unsigned value);
extern "C" unsigned long grader_atomic_cas_8(void* address, unsigned long compare, unsigned long value);
extern "C" float grader_atomic_add_float(float* address, float value);
extern "C" double grader_atomic_add_double(double* address, double value);

template <class T> GRADER_INLINE T atomic_function(AtomicOperation operation, T* p, T v) {
    if constexpr (sizeof(T) == 4) return T(grader_atomic_4(operation, p, unsigned(v)));
    else return T(grader_atomic_8(operation, p, (unsigned long)v));
}
template <class T> GRADER_INLINE T atomic_cas(T* p, T compare, T v) {
    if constexpr (sizeof(T) == 4) return T(grader_atomic_cas_4(p, unsigned(compare), unsigned(v)));
    else if constexpr (sizeof(T) == 8) return T(grader_atomic_cas_8(p, (unsigned long)compare, (unsigned long)v));
    grader_atomic_compare(p, sizeof(T));
    return atomic_loop(p, [=](T old) { return old == compare ? v : old; });
}
#else
template <class T, class Change> GRADER_INLINE T plain_update(T* address, Change change) {
    const T old = *address;
    *address = change(old);
    return old;
}
// Replaces *address by change(*address) in one step; returns the old value.
template <class T, class Change> GRADER_INLINE T atomic_loop(T* address, Change change) {
    if (grader::atomic_mode(grader::AtomicMode::alone)) return plain_update(address, change);
    typedef typename AtomicWord<T>::type Word;
    union Both { Word word; T value; };
    Both seen, wanted;
    seen.word = __atomic_load_n(reinterpret_cast<Word*>(address), __ATOMIC_RELAXED);
    do {
        wanted.value = change(seen.value);
    } while (!__atomic_compare_exchange_n(reinterpret_cast<Word*>(address), &seen.word, wanted.word, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return seen.value;
}
template <class T> GRADER_INLINE T atomic_cas(T* p, T compare, T v) {
    grader_atomic_compare(p, sizeof(T));
    if (grader::atomic_mode(grader::AtomicMode::alone)) {
        const T old = *p;
        *p = old == compare ? v : old;
        return old;
    }
    __atomic_compare_exchange_n(p, &compare, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return compare;
}
#endif

template <class T, class Change> GRADER_INLINE T atomic_update(T* address, Change change) {
    grader_atomic(address, sizeof(T));
    return atomic_loop(address, change);
}
template <class T> GRADER_INLINE T atomic_exchange(T* address, T value) {
    grader_atomic_exchange(address, sizeof(T));
    return atomic_loop(address, [=](T) { return value; });
}
}  // namespace grader

#if GRADER_CHECKED
#define GRADER_ATOMIC_FETCH(T, name, operation, builtin, result) \
    GRADER_INLINE T name(T* p, T v) { return grader::atomic_function(grader::operation, p, v); }
#define GRADER_ATOMIC_LEAST(T, name, sign, which, order) GRADER_ATOMIC_FETCH(T, name, sign##which, , )
#else
// Sums wrap around: they are computed without sign.
#define GRADER_ATOMIC_FETCH(T, name, operation, builtin, result)                                   \
    GRADER_INLINE T name(T* p, T v) {                                                              \
        grader_atomic(p, sizeof *p);                                                               \
        if (!grader::atomic_mode(grader::AtomicMode::alone)) return builtin(p, v, __ATOMIC_SEQ_CST); \
        const T before = *p;                                                                       \
        const unsigned long long old = before, n = v;                                              \
        *p = static_cast<T>(result);                                                               \
        return before;                                                                             \
    }
#define GRADER_ATOMIC_LEAST(T, name, sign, which, order)                                           \
    GRADER_INLINE T name(T* p, T v) {                                                              \
        grader_atomic(p, sizeof *p);                                                               \
        if (grader::atomic_mode(grader::AtomicMode::alone)) {                                      \
            const T old = *p;                                                                      \
            *p = v order old ? v : old;                                                            \
            return old;                                                                            \
        }                                                                                          \
        T old = __atomic_load_n(p, __ATOMIC_RELAXED);                                              \
        while (!__atomic_compare_exchange_n(p, &old, v order old ? v : old, true, __ATOMIC_RELAXED, \
                                            __ATOMIC_RELAXED)) {}                                  \
        return old;                                                                                \
    }
#endif
#define GRADER_ATOMIC_INTEGER(T, sign) \
    GRADER_ATOMIC_FETCH(T, atomicAdd, kAdd, __atomic_fetch_add, old + n) \
    GRADER_ATOMIC_FETCH(T, atomicSub, kSubtract, __atomic_fetch_sub, old - n) \
    GRADER_ATOMIC_FETCH(T, atomicAnd, kAnd, __atomic_fetch_and, old & n) \
    GRADER_ATOMIC_FETCH(T, atomicOr, kOr, __atomic_fetch_or, old | n) \
    GRADER_ATOMIC_FETCH(T, atomicXor, kXor, __atomic_fetch_xor, old ^ n) \
    GRADER_ATOMIC_FETCH(T, atomicExch, kExchange, __atomic_exchange_n, n) \
    GRADER_ATOMIC_LEAST(T, atomicMin, sign, Min, <) \
    GRADER_ATOMIC_LEAST(T, atomicMax, sign, Max, >) \
    GRADER_INLINE T atomicCAS(T* p, T compare, T v) { return grader::atomic_cas(p, compare, v); }

GRADER_ATOMIC_INTEGER(int, kSigned)
GRADER_ATOMIC_INTEGER(unsigned int, k)
GRADER_ATOMIC_INTEGER(long long, kSigned)
GRADER_ATOMIC_INTEGER(unsigned long long, k)
GRADER_ATOMIC_INTEGER(unsigned long, k)
#undef GRADER_ATOMIC_INTEGER
#undef GRADER_ATOMIC_LEAST
#undef GRADER_ATOMIC_FETCH

GRADER_INLINE unsigned atomicInc(unsigned* p, unsigned limit) {
    return grader::atomic_update(p, [=](unsigned old) { return old >= limit ? 0u : old + 1; });
}
GRADER_INLINE unsigned atomicDec(unsigned* p, unsigned limit) {
    return grader::atomic_update(p, [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}
GRADER_INLINE unsigned short atomicCAS(unsigned short* p, unsigned short compare, unsigned short v) {
    return grader::atomic_cas(p, compare, v);
}
#if GRADER_CHECKED
GRADER_INLINE float atomicAdd(float* p, float v) { return grader::grader_atomic_add_float(p, v); }
GRADER_INLINE double atomicAdd(double* p, double v) { return grader::grader_atomic_add_double(p, v); }
#else
GRADER_INLINE float atomicAdd(float* p, float v) { return grader::atomic_update(p, [=](float old) { return old + v; }); }
GRADER_INLINE double atomicAdd(double* p, double v) { return grader::atomic_update(p, [=](double old) { return old + v; }); }
#endif
GRADER_INLINE float atomicExch(float* p, float v) { return grader::atomic_exchange(p, v); }

// There is one memory; the checker knows which atomics are for the block only.
#if GRADER_CHECKED
extern "C" void grader_block_scope();
#define GRADER_BLOCK(call) (grader_block_scope(), call)
#else
#define GRADER_BLOCK(call) (call)
#endif
#define atomicAdd_block(...) GRADER_BLOCK(atomicAdd(__VA_ARGS__))
#define atomicAdd_system atomicAdd
#define atomicSub_block(...) GRADER_BLOCK(atomicSub(__VA_ARGS__))
#define atomicSub_system atomicSub
#define atomicMin_block(...) GRADER_BLOCK(atomicMin(__VA_ARGS__))
#define atomicMin_system atomicMin
#define atomicMax_block(...) GRADER_BLOCK(atomicMax(__VA_ARGS__))
#define atomicMax_system atomicMax
#define atomicInc_block(...) GRADER_BLOCK(atomicInc(__VA_ARGS__))
#define atomicInc_system atomicInc
#define atomicDec_block(...) GRADER_BLOCK(atomicDec(__VA_ARGS__))
#define atomicDec_system atomicDec
#define atomicAnd_block(...) GRADER_BLOCK(atomicAnd(__VA_ARGS__))
#define atomicAnd_system atomicAnd
#define atomicOr_block(...) GRADER_BLOCK(atomicOr(__VA_ARGS__))
#define atomicOr_system atomicOr
#define atomicXor_block(...) GRADER_BLOCK(atomicXor(__VA_ARGS__))
#define atomicXor_system atomicXor
#define atomicExch_block(...) GRADER_BLOCK(atomicExch(__VA_ARGS__))
#define atomicExch_system atomicExch
#define atomicCAS_block(...) GRADER_BLOCK(atomicCAS(__VA_ARGS__))
#define atomicCAS_system atomicCAS
