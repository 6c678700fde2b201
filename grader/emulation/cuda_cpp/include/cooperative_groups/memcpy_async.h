// cg::memcpy_async: the threads of a group share a copy, which is done at cg::wait.
#pragma once
#include "../cooperative_groups.h"

namespace cooperative_groups {

// Each thread copies every size-th piece of 16 bytes; the last piece may be shorter.
template <class Group, class To, class From>
GRADER_INLINE void memcpy_async(const Group& group, To* to, const From* from, size_t bytes) {
    for (size_t at = (size_t)group.thread_rank() * 16; at < bytes; at += (size_t)group.size() * 16)
        grader_copy_async((char*)to + at, (const char*)from + at, bytes - at < 16 ? bytes - at : 16, 0);
    grader_copies_commit();
}
// Sizes of both sides, in elements.
template <class Group, class To, class From>
GRADER_INLINE void memcpy_async(const Group& group, To* to, size_t room, const From* from, size_t count) {
    const size_t elements = room < count ? room : count;
    memcpy_async(group, to, from, elements * sizeof(From));
}
template <class Group> GRADER_INLINE void wait(const Group& group) {
    grader_copies_wait_all();
    group.sync();
}
template <unsigned Stages, class Group> GRADER_INLINE void wait_prior(const Group& group) {
    grader_copies_wait(Stages);
    group.sync();
}

}  // namespace cooperative_groups
