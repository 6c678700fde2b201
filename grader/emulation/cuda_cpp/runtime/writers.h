// Which thread wrote which word of the caller's small arrays, for a picture.
//
// The shadow knows the last writer of a word: a thread's number and an epoch. The
// epoch tells the block, so that all that is kept are the first epochs of blocks. A
// word that several threads of a launch write is noticed at the next barrier, or when
// the block ends.
#pragma once

#include <cstdint>

namespace grader::writers {

constexpr uint64_t kMostWords = 2304;  // 1152 elements of 8 bytes

void call_begins(uint32_t epoch);
void launch_begins(uint32_t epoch);
void block_begins(uint32_t epoch, uint64_t number);
void interval_ends(uint32_t epoch);  // all threads of a block are at a barrier, or have ended
void write();  // a record for each array that kernels wrote since the call began

}  // namespace grader::writers
