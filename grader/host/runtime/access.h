// The hot path: one access against the shadow of the words it touches.
//
// About 8 ns an access, so: what kind of access it is, is known at compile
// time; branches that are rarely taken leave for a function in checker.cpp,
// and only these need the access as a value.
#pragma once

#include "arena.h"
#include "checker_state.h"

namespace grader::checker {

#define GRADER_RARE(condition) __builtin_expect(!!(condition), 0)
#define GRADER_HOT __attribute__((always_inline)) inline

template <unsigned Bytes, bool Write, bool Strong = false, bool Atomic = false, bool Replaces = false> struct Form {
    static constexpr unsigned bytes = Bytes;
    static constexpr bool write = Write, strong = Strong, atomic = Atomic;
    static constexpr bool reads = !Write || (Atomic && !Replaces);
    static constexpr uint64_t stamp_flags = Strong ? stamp::kStrong : 0;
    static Access at(uintptr_t address, uintptr_t pc) { return {address, Bytes, Write, Strong, Atomic, pc}; }
};

GRADER_HOT uint64_t pc_code(uintptr_t pc) { return detail::encode_pc(pc - state.image); }
inline uint32_t pc_at(uint64_t d, unsigned where) { return uint32_t(detail::decode_pc(d >> where & detail::kPcMask)); }

// True if a word's last access with this stamp may race with the running thread's.
template <Space space> GRADER_HOT bool suspicious(uint64_t other) {
    uint32_t epoch = stamp::epoch(other);
    if (epoch == state.epoch) return !stamp::same_thread_and_epoch(other, state.me);
    return space == Space::global && epoch >= state.launch_first && epoch < state.block_first;
}

template <class F, Space space>
GRADER_HOT void touch_word(ShadowCell& cell, unsigned mask, uint32_t must_be_written, uintptr_t address, uintptr_t pc) {
    const uint64_t me = state.me | F::stamp_flags;
    uint64_t d = cell.detail;
    const uint64_t last_write = cell.write, last_read = cell.read;
    if (GRADER_RARE(suspicious<space>(last_write)))
        conflict(F::at(address, pc), space, last_write, true, detail::nibble(d, detail::kWriteMask), mask,
                 pc_at(d, detail::kWritePc));
    unsigned written = detail::nibble(d, detail::kWritten);
    // What an earlier block left in shared memory is gone.
    if (space == Space::shared && stamp::epoch(last_write) < state.block_first) written = 0;
    if (F::reads && GRADER_RARE(~written & mask & must_be_written)) uninitialized(F::at(address, pc), space);
    if (F::write) {
        if (GRADER_RARE(suspicious<space>(last_read)))
            conflict(F::at(address, pc), space, last_read, false, detail::nibble(d, detail::kReadMask), mask,
                     pc_at(d, detail::kReadPc));
        if (GRADER_RARE(suspicious<space>(cell.other_read)))
            conflict(F::at(address, pc), space, cell.other_read, false, 15, mask, pc_at(d, detail::kOtherPc));
        if (space == Space::global && stamp::epoch(last_write) < state.launch_first) ++state.written_words;
        // A plain write is not made good by the same thread's atomic after it.
        if (!(F::strong && stamp::same_thread_and_epoch(last_write, me) && !stamp::strong(last_write))) {
            d &= ~(detail::kPcMask << detail::kWritePc | uint64_t(0xf0));
            d |= uint64_t(mask) << detail::kWriteMask | pc_code(pc) << detail::kWritePc;
            cell.write = me;
        }
        d = (d & ~uint64_t(15)) | written | mask;
    } else {
        if (!stamp::same_thread_and_epoch(last_read, me)) {
            if (stamp::epoch(last_read) == state.epoch) {
                if (stamp::epoch(cell.other_read) != state.epoch || stamp::same_thread_and_epoch(cell.other_read, me)) {
                    cell.other_read = last_read;
                    d = (d & ~(detail::kPcMask << detail::kOtherPc)) | (d >> detail::kReadPc & detail::kPcMask) << detail::kOtherPc;
                }
            } else if (space == Space::global && stamp::epoch(last_read) < state.launch_first) {
                ++state.read_words;
            }
        }
        d &= ~(detail::kPcMask << detail::kReadPc | uint64_t(0xf00));
        d |= uint64_t(mask) << detail::kReadMask | pc_code(pc) << detail::kReadPc;
        cell.read = me;
    }
    cell.detail = d;
}

// The words of an access that is smaller than a word or not aligned to one.
template <class F, Space space>
__attribute__((noinline)) void touch_parts(ShadowCell* cells, uintptr_t offset, uint32_t must_be_written, uintptr_t address,
                                           uintptr_t pc) {
    for (uintptr_t at = offset, end = offset + F::bytes; at < end;) {
        unsigned skip = at % 4;
        unsigned n = end - at < 4 - skip ? unsigned(end - at) : 4 - skip;
        touch_word<F, space>(cells[cell_index(at / 4)], ((1u << n) - 1) << skip, must_be_written, address, pc);
        at += n;
    }
}

// Touches the words of an access; `offset` is its distance from the cells' start.
template <class F, Space space>
GRADER_HOT void touch(ShadowCell* cells, uintptr_t offset, uint32_t must_be_written, uintptr_t address, uintptr_t pc) {
    if (F::bytes % 4 != 0 || GRADER_RARE(offset % 4 != 0)) {
        touch_parts<F, space>(cells, offset, must_be_written, address, pc);
        return;
    }
    for (unsigned i = 0; i < F::bytes / 4; ++i)
        touch_word<F, space>(cells[cell_index(offset / 4 + i)], 15, must_be_written, address, pc);
}

template <class F, Space space> __attribute__((noinline)) void log_access(uintptr_t address, uintptr_t pc) {
    if (state.thread_log->size() >= counters::kLogLimit) {
        counters::truncated();
        return;
    }
    state.thread_log->push_back({address, uint32_t(pc - state.image), uint8_t(F::bytes), F::write, space == Space::shared, F::atomic});
}

// True if every byte belongs to a variable that the block has declared.
template <unsigned Bytes> GRADER_HOT bool valid_shared(uintptr_t offset) {
    uint64_t first = offset / 4, last = (offset + Bytes - 1) / 4;
    if (Bytes <= 4 && first == last) {
        unsigned mask = ((1u << Bytes % 32) - 1) << offset % 4;
        return (detail::nibble(state.shared_shadow[cell_index(first)].detail, detail::kValid) & mask) == mask;
    }
    for (uint64_t word = first; word <= last; ++word)
        if (detail::nibble(state.shared_shadow[cell_index(word)].detail, detail::kValid) != 15) return false;
    return true;
}

template <class F> GRADER_HOT void check(uintptr_t address, uintptr_t pc) {
    if (GRADER_RARE(!state.active)) {
        if (arena::contains(address)) touched_by_host(F::at(address, pc));
        return;
    }
    if (GRADER_RARE(--state.countdown < 0)) break_point();
    if (arena::contains(address)) {
        const Allocation& a = arena::allocations[int64_t(arena::granules[(address - arena::base) >> arena::kGranuleShift]) - 1];
        if (GRADER_RARE(address < a.begin || address + F::bytes > a.end || !a.shadow)) {
            outside(F::at(address, pc));
            return;
        }
        if (F::write && GRADER_RARE(a.must_be_written & Allocation::kReadOnly)) write_to_input(F::at(address, pc));
        if (F::strong) strong(F::at(address, pc));
        touch<F, Space::global>(a.shadow, address - a.begin, a.must_be_written, address, pc);
        if (GRADER_RARE(state.log)) log_access<F, Space::global>(address, pc);
    } else if (address - state.shared_base < kSharedArena) {
        uintptr_t offset = address - state.shared_base;
        if (GRADER_RARE(offset + F::bytes > kSharedArena || !valid_shared<F::bytes>(offset))) {
            outside_shared(F::at(address, pc));
            return;
        }
        if (F::strong) strong(F::at(address, pc));
        touch<F, Space::shared>(state.shared_shadow, offset, 15, address, pc);
        if (GRADER_RARE(state.log)) log_access<F, Space::shared>(address, pc);
    } else if (address - state.stacks_base < state.stacks_bytes) {
        ++state.countdown;  // the thread's own local memory: not counted
    } else if (elsewhere(F::at(address, pc))) {
        const VariableShadow v = variable_shadow(address);
        if (!v.cells) return;
        if (F::strong) strong(F::at(address, pc));
        touch_parts<F, Space::global>(v.cells, address - v.begin, 0, address, pc);
        if (state.log) log_access<F, Space::global>(address, pc);
    }
}

}  // namespace grader::checker
