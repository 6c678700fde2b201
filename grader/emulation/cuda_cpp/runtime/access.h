// The hot path: checks one access against the shadow of the words it touches.
//
// Takes about 8 ns per access: the kind of access is a template parameter, and
// rare branches call a function in rules.cpp or checker.cpp.
#pragma once

#include "arena.h"
#include "checker_state.h"
#include "host_heap.h"
#include "host_memory.h"
#include "variables.h"

namespace grader::checker {

#define GRADER_RARE(condition) __builtin_expect(!!(condition), 0)
#define GRADER_HOT __attribute__((always_inline)) inline

// A plain aligned access, known at compile time.
template <unsigned Bytes, bool Write> struct Form {
    static constexpr unsigned bytes = Bytes;
    static constexpr bool write = Write, reads = !Write, strong = false, atomic = false;
};
// All other accesses share one copy of the code.
struct AnyForm {
    unsigned bytes;
    bool write, reads, strong, atomic;
};
template <class F> Access access_of(F form, uintptr_t address, uintptr_t pc) {
    return {address, form.bytes, form.write, form.strong, form.atomic, pc};
}

GRADER_HOT uint64_t pc_code(uintptr_t pc) { return detail::encode_pc(pc - state.image); }
inline uint32_t pc_at(uint64_t d, unsigned where) { return uint32_t(detail::decode_pc(d >> where & detail::kPcMask)); }

// True if a word's last access with this stamp may race with the running thread's.
template <Space space> GRADER_HOT bool suspicious(uint64_t other) {
    uint32_t epoch = stamp::epoch(other);
    if (epoch == state.epoch) return !stamp::same_thread_and_epoch(other, state.me);
    return space == Space::global && epoch >= state.launch_first && epoch < state.block_first;
}

inline uint64_t kind_of(bool atomic) {
    return !atomic ? stamp::kVolatile : state.block_scope ? stamp::kBlockAtomic : stamp::kAtomic;
}

template <Space space, class F>
GRADER_HOT void touch_word(F form, ShadowCell& cell, unsigned mask, uint32_t must_be_written, uintptr_t address, uintptr_t pc) {
    const uint64_t me = state.me | (form.strong ? kind_of(form.atomic) : stamp::kPlain);
    uint64_t d = cell.detail;
    const uint64_t last_write = cell.write, last_read = cell.read;
    if (GRADER_RARE(suspicious<space>(last_write)))
        conflict(access_of(form, address, pc), space, last_write, true, detail::nibble(d, detail::kWriteMask), mask,
                 pc_at(d, detail::kWritePc), true);
    unsigned written = detail::nibble(d, detail::kWritten);
    // Values of an earlier block in shared memory are invalid.
    if (space == Space::shared && stamp::epoch(last_write) < state.shared_first) written = 0;
    if (form.reads && GRADER_RARE(~written & mask & must_be_written)) uninitialized(access_of(form, address, pc), space);
    if (form.write) {
        const bool known = !(~written & mask & must_be_written);
        if (GRADER_RARE(suspicious<space>(last_read)))
            conflict(access_of(form, address, pc), space, last_read, false, detail::nibble(d, detail::kReadMask), mask,
                     pc_at(d, detail::kReadPc), known);
        if (GRADER_RARE(suspicious<space>(cell.other_read)))
            conflict(access_of(form, address, pc), space, cell.other_read, false, detail::nibble(d, detail::kReadMask), mask,
                     pc_at(d, detail::kOtherPc), known);
        if (space == Space::global && stamp::epoch(last_write) < state.launch_first) ++state.written_words;
        // A later atomic of the same thread does not replace a plain write.
        if (!(form.strong && stamp::same_thread_and_epoch(last_write, me) && !stamp::strong(last_write))) {
            // Bytes that the thread writes one by one are one write.
            const bool more = stamp::same_thread_and_epoch(last_write, me);
            d &= ~(detail::kPcMask << detail::kWritePc | (more ? 0 : uint64_t(0xf0)));
            d |= uint64_t(mask) << detail::kWriteMask | pc_code(pc) << detail::kWritePc;
            cell.write = me;
        }
        d = (d & ~uint64_t(15)) | written | mask;
    } else {
        // The other reader has no separate mask: it is kept while it has read the same bytes.
        const bool covered = !(mask & ~detail::nibble(d, detail::kReadMask));
        if (!covered) cell.other_read = 0;
        if (!stamp::same_thread_and_epoch(last_read, me)) {
            if (stamp::epoch(last_read) == state.epoch) {
                if (!covered) {
                    // A reader of other bytes does not conflict.
                } else if (stamp::epoch(cell.other_read) != state.epoch || stamp::same_thread_and_epoch(cell.other_read, me)) {
                    cell.other_read = last_read;
                    d = (d & ~(detail::kPcMask << detail::kOtherPc)) | (d >> detail::kReadPc & detail::kPcMask) << detail::kOtherPc;
                }
            } else if (space == Space::global && stamp::epoch(last_read) < state.launch_first) {
                ++state.read_words;
            } else if (space == Space::global && covered && stamp::epoch(last_read) < state.block_first &&
                       stamp::epoch(cell.other_read) != state.epoch) {
                // An earlier block has read the word: a write of this block races, although it reads first.
                cell.other_read = last_read;
                d = (d & ~(detail::kPcMask << detail::kOtherPc)) | (d >> detail::kReadPc & detail::kPcMask) << detail::kOtherPc;
            }
        }
        d &= ~(detail::kPcMask << detail::kReadPc | uint64_t(0xf00));
        d |= uint64_t(mask) << detail::kReadMask | pc_code(pc) << detail::kReadPc;
        cell.read = me;
    }
    cell.detail = d;
}

// The words of an access that is smaller than a word or not aligned to one.
template <Space space>
__attribute__((noinline)) void touch_parts(AnyForm form, ShadowCell* cells, uintptr_t offset, uint32_t must_be_written,
                                           uintptr_t address, uintptr_t pc) {
    for (uintptr_t at = offset, end = offset + form.bytes; at < end;) {
        unsigned skip = at % 4;
        unsigned n = end - at < 4 - skip ? unsigned(end - at) : 4 - skip;
        touch_word<space>(form, cells[cell_index(at / 4)], ((1u << n) - 1) << skip, must_be_written, address, pc);
        at += n;
    }
}

// Checks the words of an access; `offset` is its distance from the cells' start.
template <Space space, class F>
GRADER_HOT void touch(F form, ShadowCell* cells, uintptr_t offset, uint32_t must_be_written, uintptr_t address, uintptr_t pc) {
    if (form.bytes % 4 != 0 || GRADER_RARE(offset % 4 != 0)) {
        touch_parts<space>(AnyForm{form.bytes, form.write, form.reads, form.strong, form.atomic}, cells, offset,
                           must_be_written, address, pc);
        return;
    }
    for (unsigned i = 0; i < form.bytes / 4; ++i)
        touch_word<space>(form, cells[cell_index(offset / 4 + i)], 15, must_be_written, address, pc);
}

template <Space space>
__attribute__((noinline)) void log_access(unsigned bytes, bool write, bool atomic, uintptr_t address, uintptr_t pc) {
    if (state.thread_log->size() >= counters::kLogLimit) {
        counters::truncated();
        return;
    }
    state.thread_log->push_back({address, uint32_t(pc - state.image), uint8_t(bytes), write, space == Space::shared, atomic});
}

// True if every byte belongs to a declared variable of the block.
GRADER_HOT bool valid_shared(uintptr_t offset, unsigned bytes) {
    uint64_t first = offset / 4, last = (offset + bytes - 1) / 4;
    if (bytes <= 4 && first == last) {
        unsigned mask = ((1u << bytes) - 1) << offset % 4;
        return (detail::nibble(state.shared_shadow[cell_index(first)].detail, detail::kValid) & mask) == mask;
    }
    for (uint64_t word = first; word <= last; ++word)
        if (detail::nibble(state.shared_shadow[cell_index(word)].detail, detail::kValid) != 15) return false;
    return true;
}

// True for an address just above the stack pointer; the next stack is further away.
GRADER_HOT bool near_frame(uintptr_t address, size_t bytes) {
    return address - reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < FiberPool::kGuardBytes - bytes;
}

inline bool any_host_rule() { return host_memory::any_array || variables::any_managed; }

// True if host code's access may be behind the end of a block of the heap.
inline bool near_heap(uintptr_t address, size_t bytes, uintptr_t pc) {
    state.probed_from = pc;  // the address may be invalid
    const bool found = address >= 4096 && host_heap::has_pattern(address, bytes);
    state.probed_from = 0;
    return found;
}

template <class F> GRADER_HOT void check(F form, uintptr_t address, uintptr_t pc) {
    if (GRADER_RARE(!state.active)) {
        if (state.interleaved) interleave(access_of(form, address, pc));
        else if (arena::contains(address) || any_host_rule()) touched_by_host(access_of(form, address, pc));
        else if (near_heap(address, form.bytes, pc)) touched_past_heap(access_of(form, address, pc));
        return;
    }
    if (GRADER_RARE(--state.countdown < 0)) break_point();
    if (arena::contains(address)) {
        const Allocation& a = arena::allocations[int64_t(arena::granules[(address - arena::base) >> arena::kGranuleShift]) - 1];
        if (GRADER_RARE(address < a.begin || address + form.bytes > a.end || !a.shadow)) {
            outside(access_of(form, address, pc));
            return;
        }
        if (form.write && GRADER_RARE(a.must_be_written & Allocation::kReadOnly)) write_to_input(access_of(form, address, pc));
        if (form.strong) strong(access_of(form, address, pc));
        touch<Space::global>(form, a.shadow, address - a.begin, a.must_be_written, address, pc);
        if (GRADER_RARE(state.log)) log_access<Space::global>(form.bytes, form.write, form.atomic, address, pc);
    } else if (address - state.shared_base < kSharedArena) {
        uintptr_t offset = address - state.shared_base;
        if (GRADER_RARE(offset + form.bytes > kSharedArena || !valid_shared(offset, form.bytes))) {
            outside_shared(access_of(form, address, pc));
            return;
        }
        if (form.strong) strong(access_of(form, address, pc));
        touch<Space::shared>(form, state.shared_shadow, offset, 15, address, pc);
        if (GRADER_RARE(state.log)) log_access<Space::shared>(form.bytes, form.write, form.atomic, address, pc);
    } else if (address - state.stacks_base < state.stacks_bytes) {
        ++state.countdown;  // the thread's own local memory: not counted
        if (GRADER_RARE(!near_frame(address, form.bytes))) local_of_another(access_of(form, address, pc));
        if (GRADER_RARE(state.locals) && form.reads) local_read(access_of(form, address, pc));
    } else if (elsewhere(access_of(form, address, pc))) {
        const VariableShadow v = variable_shadow(address);
        if (!v.cells) return;
        if (form.strong) strong(access_of(form, address, pc));
        touch<Space::global>(form, v.cells, address - v.begin, 0, address, pc);
        if (state.log) log_access<Space::global>(form.bytes, form.write, form.atomic, address, pc);
    }
}

}  // namespace grader::checker
