// Order that comes from fences and atomics instead of barriers.
//
// A thread that has written, executed __threadfence() and then done an atomic
// (or a volatile store) on a word has released its writes; a thread that
// later does an atomic (or a volatile load) on that word has acquired it. This
// is how locks, flags and "the last block sums up" work. Clocks exist only
// after the first fence of a launch, so kernels without fences pay nothing.
//
// Within a block a clock maps threads to the last of their segments that is
// known; between blocks it is a set of epoch ranges, since blocks run one
// after another.
#pragma once

#include <cstdint>

namespace grader::ordering {

void launch_begins();
void block_begins(uint32_t first_epoch);
void epoch_ends(uint32_t next_epoch);

void fence(unsigned thread, uint32_t epoch);
// How many fences the thread has executed in this epoch.
unsigned segment(unsigned thread);

void strong_access(unsigned thread, uintptr_t address);

// True if `reader` has acquired what `writer` did in that segment of this epoch.
bool ordered(unsigned reader, unsigned writer, unsigned segment);
// True if the running block has acquired what an earlier block did in that epoch.
bool ordered_between_blocks(uint32_t epoch);

}  // namespace grader::ordering
