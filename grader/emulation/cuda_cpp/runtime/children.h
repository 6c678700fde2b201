// Dynamic parallelism: launches by kernels.
//
// A kernel cannot wait for its children, so they run after it, in the order of the launches; the
// grid of the host's launch ends when the last of them has ended.
#pragma once

#include "worker.h"

namespace grader {

void launch(LaunchState wanted);  // launch.cpp

namespace children {

struct Launch {
    const char* name;
    dim3 grid, block;
    size_t shared_bytes;
    uintptr_t pc;
    const void* parameters;  // copied
    size_t parameter_bytes;
    void (*body)(void*);
};
void add(const Launch& child);
void run_all();

}  // namespace children
}  // namespace grader
