#include "launch_limits.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>

#include "report.h"

namespace grader::launch_limits {

namespace {

constexpr uint64_t kRegisters = 65536;  // of a block

size_t allowed = kSharedDefault;  // dynamic shared memory

// Created on first use and never destroyed: a program may launch at exit.
std::unordered_map<std::string, uint64_t>& registers() {
    static auto& all = *new std::unordered_map<std::string, uint64_t>;
    return all;
}

// The kernel's own name: `tile` of `ns::tile<float, 4>`.
std::string own_name(const char* spelling) {
    const char* end = spelling + strcspn(spelling, "<");
    const char* begin = end;
    while (begin > spelling && (isalnum(static_cast<unsigned char>(begin[-1])) || begin[-1] == '_')) --begin;
    return std::string(begin, end);
}

ReportLine refusal(const LaunchState& launch, const char* what, uint64_t value, uint64_t limit) {
    ReportLine line("refused_launch");
    line.text("kernel", launch.name).number("pc", program_offset(launch.pc - 1));
    line.text("what", what).number("value", value).number("limit", limit);
    return line;
}

int refuse(const LaunchState& launch, int error, const char* what, uint64_t value, uint64_t limit) {
    refusal(launch, what, value, limit).number("error", static_cast<uint64_t>(error)).write();
    return error;
}

}  // namespace

int error(const LaunchState& launch) {
    const dim3 &grid = launch.grid, &block = launch.block;
    const uint64_t threads = static_cast<uint64_t>(block.x) * block.y * block.z;
    const struct {
        const char* what;
        uint64_t value, least, most;
    } figures[] = {
        {"block.x", block.x, 1, ~0u}, {"block.y", block.y, 1, ~0u}, {"block.z", block.z, 1, ~0u},
        {"grid.x", grid.x, 1, 2147483647}, {"grid.y", grid.y, 1, 65535}, {"grid.z", grid.z, 1, 65535},
        {"threads", threads, 1, kMaxThreads}, {"block.z", block.z, 1, 64},
    };
    for (const auto& f : figures)
        if (f.value < f.least || f.value > f.most)
            return refuse(launch, cudaErrorInvalidConfiguration, f.what, f.value, f.value < f.least ? f.least : f.most);
    if (launch.dynamic_shared > allowed) {
        const size_t limit = launch.dynamic_shared > settings.shared_limit ? settings.shared_limit : allowed;
        return refuse(launch, cudaErrorInvalidValue, "dynamic_shared", launch.dynamic_shared, limit);
    }
    if (launch.cooperative) {
        const uint64_t blocks = static_cast<uint64_t>(grid.x) * grid.y * grid.z;
        const uint64_t most = most_cooperative_blocks(static_cast<unsigned>(threads), launch.dynamic_shared);
        if (blocks > most) return refuse(launch, cudaErrorCooperativeLaunchTooLarge, "cooperative_blocks", blocks, most);
    }
    const auto use = registers().find(own_name(launch.name));
    if (use == registers().end()) return cudaSuccess;
    const uint64_t held = (threads + kWarpSize - 1) / kWarpSize * kWarpSize * use->second;
    if (held <= kRegisters) return cudaSuccess;
    refusal(launch, "registers", held, kRegisters).number("threads", threads).number("each", use->second)
        .number("error", cudaErrorLaunchOutOfResources).write();
    return cudaErrorLaunchOutOfResources;
}

size_t static_shared(const LaunchState& launch) {
    // All of a block's shared memory is within the limit that it has without opting in, or with.
    const size_t total = launch.dynamic_shared > kSharedDefault || allowed > kSharedDefault ? settings.shared_limit : kSharedDefault;
    const size_t left = total > launch.dynamic_shared ? total - launch.dynamic_shared : 0;
    return left < kSharedDefault ? left : kSharedDefault;
}

void refuse_shared(const LaunchState& launch, size_t bytes) {
    if (bytes > kSharedDefault)
        fprintf(stderr, "kernel %s: its __shared__ variables need more than 48 KiB, which nvcc refuses\n", launch.name);
    refuse(launch, cudaErrorInvalidValue, "shared", bytes + launch.dynamic_shared, static_shared(launch) + launch.dynamic_shared);
}

bool opt_in(int bytes) {
    if (bytes < 0 || static_cast<size_t>(bytes) > settings.shared_limit) return false;
    if (static_cast<size_t>(bytes) > allowed) allowed = static_cast<size_t>(bytes);
    return true;
}

bool set_registers(const char* use) {
    const char* colon = strchr(use, ':');
    if (!colon) return false;
    registers()[std::string(use, colon)] = strtoull(colon + 1, nullptr, 10);
    return true;
}

}  // namespace grader::launch_limits
