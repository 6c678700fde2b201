// What the host has not waited for: asynchronous copies, and launches.
//
// A GPU performs an asynchronous copy to or from pinned memory some time before
// the next call that waits for it. The emulation performs it at that call, as late
// as possible: a program that reuses its pinned memory without waiting gets wrong
// data, as it might on a GPU. Copies of pageable memory are immediate, because the
// real runtime has read the data when such a call returns.
//
// Until a call waits for the copy's stream, host code must not use the memory.
#pragma once

#include <cstdint>

#include "streams.h"

namespace grader {

// Performs the copies: every call that gives the device work calls this first.
void finish_copies();
// For calls that wait for the device, or for some operations.
void wait_for_device();
void wait_for(const streams::Order& order);

namespace unwaited {

struct Copy {
    uintptr_t begin, end;  // one side's pinned memory
    bool writes;           // to that memory
    uintptr_t pc;
    streams::Operation operation;
};
// The copy that a host access would race with, or null.
const Copy* find(uintptr_t address, uint64_t bytes, bool write);

}  // namespace unwaited
}  // namespace grader
