// cg::reduce over a tile or coalesced group: every lane gets the result.
#pragma once
#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class T = void> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T = void> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T = void> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T = void> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T = void> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T = void> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

template <class Group, class T, class Operation>
GRADER_INLINE T reduce(const Group& group, T value, Operation operation) {
    unsigned size = (unsigned)group.size();
    if ((size & (size - 1)) == 0) {
        // A butterfly: the same tree for every lane, so the same rounding.
        for (unsigned d = size / 2; d > 0; d /= 2) value = operation(value, group.shfl_xor(value, d));
        return value;
    }
    T total = group.shfl(value, 0);
    for (unsigned rank = 1; rank < size; ++rank) total = operation(total, group.shfl(value, (int)rank));
    return total;
}

// Every thread's result is added to one atomic.
template <class Group, class Atomic, class T, class Operation>
GRADER_INLINE void reduce_update_async(const Group& group, Atomic& atomic, T value, Operation operation) {
    const T total = reduce(group, value, operation);
    if (group.thread_rank() == 0) {
        T old = atomic.load();
        while (!atomic.compare_exchange_weak(old, operation(old, total))) {}
    }
}
template <class Group, class Atomic, class T, class Operation>
GRADER_INLINE void reduce_store_async(const Group& group, Atomic& atomic, T value, Operation operation) {
    const T total = reduce(group, value, operation);
    if (group.thread_rank() == 0) atomic.store(total);
}

}  // namespace cooperative_groups
