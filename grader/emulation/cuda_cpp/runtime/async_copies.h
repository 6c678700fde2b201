// Asynchronous copies of a thread: cp.async, __pipeline_memcpy_async, memcpy_async.
//
// A GPU performs such a copy some time before the thread waits for it. Here it happens at the wait,
// as late as possible: a thread that reads too early finds what was there before, and in shared
// memory that nothing has written this is a finding.
#pragma once

#include <cstdint>

namespace grader::async_copies {

void finish_all();      // of the running thread
void finish_before(unsigned groups);  // all but the last committed groups
bool any_into(uintptr_t address);     // a copy that the block has not waited for

}  // namespace grader::async_copies
