// What the host asks for, each with its beginning and end: with `trace=1`, one `span` record each.
//
// Launches and copies are carried out when they are asked for, or when the host waits for them, so
// the times are those of this CPU, and nothing overlaps.
#pragma once

#include <cstdint>

#include "worker.h"

namespace grader::trace {

uint64_t nanoseconds();  // of the monotonic clock

void call_begins();  // a call of the entry: one record, of no length

// From its construction to its end, one call of the runtime's interface.
class Span {
public:
    Span(const char* kind, const char* name, uint64_t bytes = 0);
    Span(const Span&) = delete;
    ~Span();

private:
    const char *kind_, *name_;
    uint64_t bytes_, begin_;
};

// The same for a launch.
class LaunchSpan {
public:
    explicit LaunchSpan(const LaunchState& launch);
    LaunchSpan(const LaunchSpan&) = delete;
    ~LaunchSpan();

private:
    const LaunchState& launch_;
    uint64_t begin_;
};

}  // namespace grader::trace
