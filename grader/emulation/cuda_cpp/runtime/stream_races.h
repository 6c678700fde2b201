// Races between the work of streams: kernels, and copies of device memory.
//
// A kernel's accesses are in the shadow memory, whose epochs tell the operation. A copy is checked
// against them when it begins, and is put into the shadow only if a launch follows that nothing orders
// after it, so programs whose streams are in order pay nothing.
#pragma once

#include <cstdint>

namespace grader::stream_races {

extern const char* const kMessage;

// True if the work with this epoch may run at the same time as the running launch. Work that shares
// flags, fences on both sides, is taken to be in order.
bool unordered(uint32_t epoch);
void launch_begins();  // there is work that nothing orders before the launch
void fenced();         // a kernel has executed a fence for the device

}  // namespace grader::stream_races
