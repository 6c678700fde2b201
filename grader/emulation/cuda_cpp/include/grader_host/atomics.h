// Atomics. Each announces its word to the checker (the fast build only counts
// spinning), then uses the host's atomics, because blocks may run on several cores.
#pragma once

extern "C" void grader_atomic(const volatile void* address, unsigned bytes);
extern "C" void grader_atomic_exchange(const volatile void* address, unsigned bytes);  // needs no old value
extern "C" void grader_atomic_compare(const volatile void* address, unsigned bytes);   // may take a lock

namespace grader {

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
#define GRADER_NATIVE(call, change) grader::atomic_loop(p, [=](auto old) -> decltype(old) { return change; })
#else
// Replaces *address by change(*address) in one step; returns the old value.
template <class T, class Change> GRADER_INLINE T atomic_loop(T* address, Change change) {
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
#define GRADER_NATIVE(call, change) call
#endif

template <class T, class Change> GRADER_INLINE T atomic_update(T* address, Change change) {
    grader_atomic(address, sizeof(T));
    return atomic_loop(address, change);
}
template <class T> GRADER_INLINE T atomic_exchange(T* address, T value) {
    grader_atomic_exchange(address, sizeof(T));
    return atomic_loop(address, [=](T) { return value; });
}
template <class T> GRADER_INLINE T atomic_cas(T* address, T compare, T value) {
    grader_atomic_compare(address, sizeof(T));
#if GRADER_CHECKED
    return atomic_loop(address, [=](T old) { return old == compare ? value : old; });
#else
    __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return compare;
#endif
}

}  // namespace grader

#define GRADER_ATOMIC_INTEGER(T) \
    GRADER_INLINE T atomicAdd(T* p, T v) { grader_atomic(p, sizeof(T)); return GRADER_NATIVE(__atomic_fetch_add(p, v, __ATOMIC_SEQ_CST), old + v); } \
    GRADER_INLINE T atomicSub(T* p, T v) { grader_atomic(p, sizeof(T)); return GRADER_NATIVE(__atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST), old - v); } \
    GRADER_INLINE T atomicAnd(T* p, T v) { grader_atomic(p, sizeof(T)); return GRADER_NATIVE(__atomic_fetch_and(p, v, __ATOMIC_SEQ_CST), old & v); } \
    GRADER_INLINE T atomicOr(T* p, T v) { grader_atomic(p, sizeof(T)); return GRADER_NATIVE(__atomic_fetch_or(p, v, __ATOMIC_SEQ_CST), old | v); } \
    GRADER_INLINE T atomicXor(T* p, T v) { grader_atomic(p, sizeof(T)); return GRADER_NATIVE(__atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST), old ^ v); } \
    GRADER_INLINE T atomicExch(T* p, T v) { grader_atomic_exchange(p, sizeof(T)); return GRADER_NATIVE(__atomic_exchange_n(p, v, __ATOMIC_SEQ_CST), ((void)old, v)); } \
    GRADER_INLINE T atomicCAS(T* p, T compare, T v) { return grader::atomic_cas(p, compare, v); } \
    GRADER_INLINE T atomicMin(T* p, T v) { return grader::atomic_update(p, [=](T old) { return v < old ? v : old; }); } \
    GRADER_INLINE T atomicMax(T* p, T v) { return grader::atomic_update(p, [=](T old) { return v > old ? v : old; }); }

GRADER_ATOMIC_INTEGER(int)
GRADER_ATOMIC_INTEGER(unsigned int)
GRADER_ATOMIC_INTEGER(long long)
GRADER_ATOMIC_INTEGER(unsigned long long)
GRADER_ATOMIC_INTEGER(unsigned long)
#undef GRADER_ATOMIC_INTEGER
#undef GRADER_NATIVE

GRADER_INLINE unsigned atomicInc(unsigned* p, unsigned limit) {
    return grader::atomic_update(p, [=](unsigned old) { return old >= limit ? 0u : old + 1; });
}
GRADER_INLINE unsigned atomicDec(unsigned* p, unsigned limit) {
    return grader::atomic_update(p, [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}
GRADER_INLINE unsigned short atomicCAS(unsigned short* p, unsigned short compare, unsigned short v) {
    return grader::atomic_cas(p, compare, v);
}
GRADER_INLINE float atomicAdd(float* p, float v) { return grader::atomic_update(p, [=](float old) { return old + v; }); }
GRADER_INLINE double atomicAdd(double* p, double v) { return grader::atomic_update(p, [=](double old) { return old + v; }); }
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
