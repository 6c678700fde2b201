// The clocks of a kernel, all on one time: %globaltimer counts nanoseconds, clock() and clock64()
// count cycles of the emulated device (its clockRate).
#include <time.h>

#include "worker.h"

namespace {

uint64_t nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t cycles() { return nanoseconds() / 2 * 3; }  // 1.5 GHz

}  // namespace

extern "C" {

// The student's clock() (cuda_runtime.h renames it).
long grader_clock() { return grader::in_kernel() ? static_cast<long>(cycles()) : clock(); }
long long grader_clock64() { return static_cast<long long>(cycles()); }
unsigned long long grader_globaltimer() { return nanoseconds(); }
}
