// Atomics of kernels (grader_host/atomics.h).
//
// An atomic in a loop may be a lock or a flag whose owner has not run yet. The others run before the
// access is checked, so that it sees their writes. The checked build runs one thread at a time: there
// an atomic is its check, and then a plain read and write.
#include "worker.h"

#if GRADER_CHECKED

#include "access.h"
#include "checker.h"

using namespace grader;

namespace {

constexpr unsigned kSpins = 1024;

void announce(const volatile void* address, unsigned bytes, bool replaces, uintptr_t pc) {
    if (!in_kernel()) return;
    if (++worker->current->spins % kSpins == 0) worker->pause();
    checker::atomic(address, bytes, replaces, pc);
}

uintptr_t pc_of(void* return_address) { return reinterpret_cast<uintptr_t>(return_address); }

}  // namespace

extern "C" {

void grader_atomic(const volatile void* address, unsigned bytes) {
    announce(address, bytes, false, pc_of(__builtin_return_address(0)));
}
void grader_atomic_compare(const volatile void* address, unsigned bytes) {
    checker::next_atomic_may_lock();
    announce(address, bytes, false, pc_of(__builtin_return_address(0)));
}
void grader_atomic_exchange(const volatile void* address, unsigned bytes) {
    checker::next_atomic_may_lock();
    announce(address, bytes, true, pc_of(__builtin_return_address(0)));
}
void grader_quiet_copy(void* to, const volatile void* from, size_t bytes) {
    __builtin_memcpy(to, const_cast<const void*>(from), bytes);
}
void grader_block_scope() { checker::next_atomic_is_of_the_block(); }

}  // extern "C"

namespace {

template <class T> GRADER_HOT void announce_update(T* address, void* pc) {
    if (!watch.active) return announce(address, sizeof(T), false, pc_of(pc));
    if (GRADER_RARE(++*state.spins % kSpins == 0)) worker->pause();
    checker::check(checker::AtomicForm<sizeof(T)>(), reinterpret_cast<uintptr_t>(address), pc_of(pc));
    state.block_scope = false;
}

template <class T, class Signed> T changed(int operation, T old, T value) {
    switch (operation) {
    case kAdd: return old + value;
    case kSubtract: return old - value;
    case kAnd: return old & value;
    case kOr: return old | value;
    case kXor: return old ^ value;
    case kMin: return value < old ? value : old;
    case kMax: return value > old ? value : old;
    case kSignedMin: return Signed(value) < Signed(old) ? value : old;
    case kSignedMax: return Signed(value) > Signed(old) ? value : old;
    default: return value;
    }
}

template <class T, class Signed> GRADER_HOT T update(int operation, void* at, T value, void* pc) {
    T* const address = static_cast<T*>(at);
    if (operation == kExchange) {
        checker::next_atomic_may_lock();
        announce(address, sizeof(T), true, pc_of(pc));
    } else {
        announce_update(address, pc);
    }
    const T old = *address;
    *address = operation == kAdd ? old + value : changed<T, Signed>(operation, old, value);  // most of them
    return old;
}

template <class T> T add(T* address, T value, void* pc) {
    announce_update(address, pc);
    const T old = *address;
    *address = old + value;
    return old;
}

template <class T> T compare_and_swap(void* at, T compare, T value, void* pc) {
    T* const address = static_cast<T*>(at);
    checker::next_atomic_may_lock();
    announce(address, sizeof(T), false, pc_of(pc));
    const T old = *address;
    if (old == compare) *address = value;
    return old;
}

}  // namespace

extern "C" {

unsigned grader_atomic_4(int operation, void* address, unsigned value) {
    return update<unsigned, int>(operation, address, value, __builtin_return_address(0));
}
unsigned long grader_atomic_8(int operation, void* address, unsigned long value) {
    return update<unsigned long, long>(operation, address, value, __builtin_return_address(0));
}
unsigned grader_atomic_cas_4(void* address, unsigned compare, unsigned value) {
    return compare_and_swap(address, compare, value, __builtin_return_address(0));
}
unsigned long grader_atomic_cas_8(void* address, unsigned long compare, unsigned long value) {
    return compare_and_swap(address, compare, value, __builtin_return_address(0));
}
float grader_atomic_add_float(float* address, float value) { return add(address, value, __builtin_return_address(0)); }
double grader_atomic_add_double(double* address, double value) { return add(address, value, __builtin_return_address(0)); }

}  // extern "C"

#else

__thread unsigned long grader_atomics;
__thread AtomicMode grader_atomic_mode;

// Atomics are counted for all threads. A thread that is there for the second time may spin.
extern "C" void grader_many_atomics() {
    if (!in_kernel()) return;
    const uint64_t block = block_number();
    static __thread uint3 last;
    static __thread uint64_t last_block;
    const bool again = block == last_block && last.x == threadIdx.x && last.y == threadIdx.y && last.z == threadIdx.z;
    last = threadIdx;
    last_block = block;
    if (again) worker->pause();
}

#endif
