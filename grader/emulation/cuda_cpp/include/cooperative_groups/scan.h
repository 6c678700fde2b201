// cg::inclusive_scan and exclusive_scan over a tile or coalesced group, by the ranks of its lanes.
#pragma once
#include "reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Operation>
GRADER_INLINE T inclusive_scan(const Group& group, T value, Operation operation) {
    for (unsigned d = 1; d < group.size(); d *= 2) {
        T before = group.shfl_up(value, d);
        if (group.thread_rank() >= d) value = operation(before, value);
    }
    return value;
}
template <class Group, class T> GRADER_INLINE T inclusive_scan(const Group& group, T value) {
    return inclusive_scan(group, value, plus<T>());
}

// The first lane gets T().
template <class Group, class T, class Operation>
GRADER_INLINE T exclusive_scan(const Group& group, T value, Operation operation) {
    T before = group.shfl_up(inclusive_scan(group, value, operation), 1);
    return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T> GRADER_INLINE T exclusive_scan(const Group& group, T value) {
    return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
