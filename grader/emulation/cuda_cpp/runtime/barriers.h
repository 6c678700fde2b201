// Barriers of some of a block's threads: named ones (PTX's `barrier.sync`, tiles of several warps),
// and those in memory (`cuda::barrier`, an mbarrier).
//
// A thread that waits is parked under a key until another thread wakes the key. If no thread of the
// block can run, the parked ones wait for nothing that can come: a finding, and they go on.
#pragma once

#include <cstdint>

namespace grader::barriers {

// Both are called by a thread of a kernel.
void arrive_at_named(unsigned id, unsigned threads);
void await_named(unsigned id, uintptr_t pc);  // the phase of the thread's arrival

}  // namespace grader::barriers
