// What the GPU can launch: threads, grid, shared memory and registers of a block.
#pragma once

#include <cstddef>

#include "worker.h"

namespace grader::launch_limits {

// The error of a launch that the GPU refuses (a cudaError_t), with a record that says why; else 0.
int error(const LaunchState& launch);

// The bytes that the block's static variables may have.
size_t static_shared(const LaunchState& launch);
void refuse_shared(const LaunchState& launch, size_t bytes);

// Allows kernels this much dynamic shared memory; false if the GPU has less.
bool opt_in(int bytes);

// Each thread of the kernels with this name takes so many registers. `use` is NAME:COUNT.
bool set_registers(const char* use);

}  // namespace grader::launch_limits
