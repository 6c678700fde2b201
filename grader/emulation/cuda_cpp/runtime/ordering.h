// Ordering by fences and atomics instead of barriers.
//
// A thread that writes, executes __threadfence() and then an atomic (or a
// volatile store) on a word releases its writes; a thread that later executes
// an atomic (or a volatile load) on that word acquires them. If the atomic may take
// a lock (a CAS, an exchange), a fence or barrier must follow; after others, as in
// "the last block sums up", programs are right in practice without one. Clocks
// exist only after the first fence of a launch, so kernels without fences have no
// cost.
//
// Within a block, a clock maps threads to their last known segment; between
// blocks, it is a set of epoch ranges, because blocks run one after another, less
// what the releasing threads did after their fences.
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

// `may_lock`: what it acquires is acquired at the next fence or barrier only.
void strong_access(unsigned thread, uintptr_t address, bool may_lock);

// `unfenced`: the word was read, but no fence or barrier of the reader follows.
enum class Order { none, unfenced, acquired };
// What `reader` has acquired of the writes of `writer` in that segment of this epoch.
Order between_threads(unsigned reader, unsigned writer, unsigned segment);
// What the running block has acquired of an earlier block's thread in that epoch and segment.
Order between_blocks(uint32_t epoch, unsigned thread, unsigned segment);

}  // namespace grader::ordering
