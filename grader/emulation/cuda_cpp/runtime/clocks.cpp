// The clocks of a kernel, all on one time: %globaltimer counts nanoseconds, clock() and clock64()
// count cycles of the emulated device (its clockRate).
#include <time.h>

#include "trace.h"
#include "worker.h"

namespace {

uint64_t cycles() { return grader::trace::nanoseconds() / 2 * 3; }  // 1.5 GHz

}  // namespace

extern "C" {

// The student's clock() (cuda_runtime.h renames it).
long grader_clock() { return grader::in_kernel() ? static_cast<long>(cycles()) : clock(); }
long long grader_clock64() { return static_cast<long long>(cycles()); }
unsigned long long grader_globaltimer() { return grader::trace::nanoseconds(); }
}
