// Ordering by fences and atomics instead of barriers.
//
// A thread that writes, executes __threadfence() and then an atomic (or a
// volatile store) on a word releases its writes; a thread that later executes
// an atomic (or a volatile load) on that word acquires them. Locks, flags and
// "the last block sums up" work this way. Clocks exist only after the first
// fence of a launch, so kernels without fences have no cost.
//
// Within a block, a clock maps threads to their last known segment; between
// blocks, it is a set of epoch ranges, because blocks run one after another.
#pragma once

#include <cstdint>

namespace grader::ordering {

void launch_begins();
void block_begins(uint32_t first_epoch);
void epoch_ends(uint32_t next_epoch);

// `wide`: also for other blocks.
void fence(unsigned thread, uint32_t epoch, bool wide);
// True if a thread has executed a fence in this launch.
bool any_fence();
// How many fences the thread has executed in this epoch.
unsigned segment(unsigned thread);

void strong_access(unsigned thread, uintptr_t address);

// True if `reader` has acquired the writes of `writer` in that segment of this epoch.
bool ordered(unsigned reader, unsigned writer, unsigned segment);
// True if the running block has acquired the writes of an earlier block in that epoch.
bool ordered_between_blocks(uint32_t epoch);

}  // namespace grader::ordering
