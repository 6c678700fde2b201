// Spans of the host's calls, for `grade profile --trace`.
#include "trace.h"

#include <time.h>

#include "report.h"

namespace grader::trace {

namespace {

constexpr unsigned kMostSpans = 20000;
unsigned spans;

// True if this record is wanted, and counts it.
bool wanted() { return settings.trace && !in_kernel() && spans++ < kMostSpans; }

}  // namespace

uint64_t nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void call_begins() {
    if (!wanted()) return;
    const uint64_t now = nanoseconds();
    ReportLine("span").text("kind", "call").text("name", "").number("bytes", 0).number("begin_ns", now)
        .number("end_ns", now).write();
}

Span::Span(const char* kind, const char* name, uint64_t bytes)
    : kind_(kind), name_(name), bytes_(bytes), begin_(settings.trace ? nanoseconds() : 0) {}

LaunchSpan::LaunchSpan(const LaunchState& launch) : launch_(launch), begin_(settings.trace ? nanoseconds() : 0) {}

Span::~Span() {
    if (!wanted()) return;
    ReportLine("span").text("kind", kind_).text("name", name_).number("bytes", bytes_).number("begin_ns", begin_)
        .number("end_ns", nanoseconds()).write();
}

LaunchSpan::~LaunchSpan() {
    if (!wanted()) return;
    ReportLine("span").text("kind", "kernel").text("name", launch_.name).number("bytes", launch_.dynamic_shared)
        .number("begin_ns", begin_).number("end_ns", nanoseconds())
        .triple("grid", launch_.grid.x, launch_.grid.y, launch_.grid.z)
        .triple("block", launch_.block.x, launch_.block.y, launch_.block.z).write();
}

}  // namespace grader::trace
