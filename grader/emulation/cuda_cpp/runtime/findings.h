// The table of findings: one entry per kind, place and buffer, with a count.
#pragma once

#include <cstdint>

#include "arena.h"

namespace grader {

enum class Kind : uint8_t { out_of_bounds, misaligned, race, uninitialized, barrier, leak, invalid_copy };

struct Finding {
    Kind kind = Kind::out_of_bounds;
    bool warning = false;
    const char* message = "";   // a literal
    const char* space = "";     // "global", "shared", "local", "constant", "host", or ""
    uintptr_t pc = 0;           // return address after the access; 0 if file and line are given
    uintptr_t other_pc = 0;     // the other access of a race
    const char* file = nullptr; // from the compiler, for array indices
    uint32_t line = 0, column = 0;
    uintptr_t address = 0;
    uint32_t access_bytes = 0;
    bool write = false, other_write = false;
    char buffer[48] = {};
    uint64_t buffer_bytes = 0;
    uint32_t element_bytes = 0; // 0: unknown
    int64_t offset = 0;         // from the buffer's start
    // Filled in by `locate`: the first occurrence.
    const char* kernel = nullptr;
    uintptr_t launch_pc = 0;
    uint32_t block[3] = {}, thread[3] = {}, block_size[3] = {};
    uint32_t arrived = 0;        // threads at a barrier that the others never reach
    uint32_t other_thread = ~0u; // number in the block, if the other access is of the same block
    uint64_t count = 0;
};

namespace findings {
void locate(Finding& finding);  // the running kernel, block and thread
void add(const Finding& finding);  // locates the finding if necessary
void name_buffer(Finding& finding, const Allocation& allocation);
void write();  // writes all findings as records and resets them
}  // namespace findings

}  // namespace grader
