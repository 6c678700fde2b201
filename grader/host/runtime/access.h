// The hot path: one access against the shadow of the words it touches.
//
// About 8 ns an access, so: branches that are rarely taken leave for a
// function in checker.cpp, and nothing is computed before it is needed.
#pragma once

#include "arena.h"
#include "checker_state.h"

namespace grader::checker {

#define GRADER_RARE(condition) __builtin_expect(!!(condition), 0)

inline uint64_t pc_code(uintptr_t pc) { return detail::encode_pc(pc - state.image); }
inline uint32_t pc_at(uint64_t d, unsigned where) { return uint32_t(detail::decode_pc(d >> where & detail::kPcMask)); }

// True if a word's last access with this stamp may race with the running thread's.
template <Space space> inline bool suspicious(uint64_t other) {
    uint32_t epoch = stamp::epoch(other);
    if (epoch == state.epoch) return !stamp::same_thread_and_epoch(other, state.me);
    return space == Space::global && epoch >= state.launch_first && epoch < state.block_first;
}

template <Space space> inline void touch_word(ShadowCell& cell, unsigned mask, uint32_t must_be_written, const Access& access) {
    const uint64_t me = state.me | (access.strong ? stamp::kStrong : 0);
    uint64_t d = cell.detail;
    if (GRADER_RARE(suspicious<space>(cell.write)))
        conflict(access, space, cell.write, true, detail::nibble(d, detail::kWriteMask), mask, pc_at(d, detail::kWritePc));
    unsigned written = detail::nibble(d, detail::kWritten);
    // What an earlier block left in shared memory is gone.
    if (space == Space::shared && stamp::epoch(cell.write) < state.block_first) written = 0;
    if (access.reads() && GRADER_RARE(~written & mask & must_be_written)) uninitialized(access, space);
    if (access.write) {
        if (GRADER_RARE(suspicious<space>(cell.read)))
            conflict(access, space, cell.read, false, detail::nibble(d, detail::kReadMask), mask, pc_at(d, detail::kReadPc));
        if (GRADER_RARE(suspicious<space>(cell.other_read)))
            conflict(access, space, cell.other_read, false, 15, mask, pc_at(d, detail::kOtherPc));
        if (space == Space::global && stamp::epoch(cell.write) < state.launch_first) ++state.written_words;
        // A plain write is not made good by the same thread's atomic after it.
        if (!(access.strong && stamp::same_thread_and_epoch(cell.write, me) && !stamp::strong(cell.write))) {
            d &= ~(detail::kPcMask << detail::kWritePc | uint64_t(0xf0));
            d |= uint64_t(mask) << detail::kWriteMask | pc_code(access.pc) << detail::kWritePc;
            cell.write = me;
        }
        d = (d & ~uint64_t(15)) | written | mask;
    } else {
        if (!stamp::same_thread_and_epoch(cell.read, me)) {
            if (stamp::epoch(cell.read) == state.epoch) {
                if (stamp::epoch(cell.other_read) != state.epoch || stamp::same_thread_and_epoch(cell.other_read, me)) {
                    cell.other_read = cell.read;
                    d = (d & ~(detail::kPcMask << detail::kOtherPc)) | (d >> detail::kReadPc & detail::kPcMask) << detail::kOtherPc;
                }
            } else if (space == Space::global && stamp::epoch(cell.read) < state.launch_first) {
                ++state.read_words;
            }
        }
        d &= ~(detail::kPcMask << detail::kReadPc | uint64_t(0xf00));
        d |= uint64_t(mask) << detail::kReadMask | pc_code(access.pc) << detail::kReadPc;
        cell.read = me;
    }
    cell.detail = d;
}

// `first` is the cell of the word that `address` is in.
template <Space space> inline void touch(ShadowCell* first, uint32_t must_be_written, const Access& access) {
    unsigned skip = access.address & 3;
    if (skip == 0 && access.bytes % 4 == 0) {
        for (unsigned i = 0; i < access.bytes / 4; ++i) touch_word<space>(first[i], 15, must_be_written, access);
        return;
    }
    for (unsigned done = 0; done < access.bytes; ++first, skip = 0) {
        unsigned n = access.bytes - done < 4 - skip ? access.bytes - done : 4 - skip;
        touch_word<space>(*first, ((1u << n) - 1) << skip, must_be_written, access);
        done += n;
    }
}

inline void log_access(const Access& access, Space space) {
    if (state.thread_log->size() >= counters::kLogLimit) {
        counters::truncated();
        return;
    }
    state.thread_log->push_back({access.address, uint32_t(access.pc - state.image), uint8_t(access.bytes), access.write,
                                 space == Space::shared, access.atomic});
}

inline bool valid_shared(const ShadowCell* cell, const Access& access) {
    const ShadowCell* last = cell + ((access.address & 3) + access.bytes - 1) / 4;
    if (cell == last) {
        unsigned mask = ((1u << access.bytes) - 1) << (access.address & 3);
        return (detail::nibble(cell->detail, detail::kValid) & mask) == mask;
    }
    for (; cell <= last; ++cell)
        if (detail::nibble(cell->detail, detail::kValid) != 15) return false;
    return true;
}

__attribute__((always_inline)) inline void check(const Access& access) {
    if (GRADER_RARE(!state.active)) {
        if (arena::contains(access.address)) touched_by_host(access);
        return;
    }
    if (GRADER_RARE(--state.countdown < 0)) break_point();
    if (arena::contains(access.address)) {
        const Allocation& a = arena::allocations[int64_t(arena::granules[(access.address - arena::base) >> arena::kGranuleShift]) - 1];
        if (GRADER_RARE(access.address < a.begin || access.address + access.bytes > a.end || !a.shadow)) {
            outside(access);
            return;
        }
        if (access.strong) strong(access);
        touch<Space::global>(a.shadow + ((access.address - a.begin) >> 2), a.must_be_written, access);
        if (state.log) log_access(access, Space::global);
    } else if (access.address - state.shared_base < kSharedArena) {
        ShadowCell* cell = state.shared_shadow + ((access.address - state.shared_base) >> 2);
        if (GRADER_RARE(!valid_shared(cell, access))) {
            outside_shared(access);
            return;
        }
        if (access.strong) strong(access);
        touch<Space::shared>(cell, 15, access);
        if (state.log) log_access(access, Space::shared);
    } else if (access.address - state.stacks_base < state.stacks_bytes) {
        ++state.countdown;  // the thread's own local memory: not counted
    } else if (elsewhere(access)) {
        if (ShadowCell* cell = variable_cell(access.address, access.bytes)) {
            if (access.strong) strong(access);
            touch<Space::global>(cell, 0, access);
            if (state.log) log_access(access, Space::global);
        }
    }
}

}  // namespace grader::checker
