// The hot path: checks one access against the shadow of the words it touches.
//
// `check` handles the accesses about which nothing can be said. It saves no registers, because it
// ends in a jump where anything is to be said: to `check_fully`, which begins anew, and calls the
// rules (rules.cpp, checker.cpp). The kind of access is a template parameter.
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
// An atomic that reads and writes.
template <unsigned Bytes> struct AtomicForm {
    static constexpr unsigned bytes = Bytes;
    static constexpr bool write = true, reads = true, strong = true, atomic = true;
};
// All other accesses, and those to be checked fully, share one copy of the code.
struct AnyForm {
    unsigned bytes;
    bool write, reads, strong, atomic;
};
template <class F> AnyForm any_form(F form) { return {form.bytes, form.write, form.reads, form.strong, form.atomic}; }
template <class F> Access access_of(F form, uintptr_t address, uintptr_t pc) {
    return {address, form.bytes, form.write, form.strong, form.atomic, pc};
}

GRADER_HOT uint64_t pc_code(uintptr_t pc) { return detail::encode_pc(pc - state.image); }
inline uint32_t pc_at(uint64_t d, unsigned where) { return uint32_t(detail::decode_pc(d >> where & detail::kPcMask)); }

// True if a word's last access with this stamp may race with the running thread's.
template <Space space> GRADER_HOT bool suspicious(uint64_t other) {
    uint32_t epoch = stamp::epoch(other);
    if (epoch == state.epoch) return !stamp::same_thread_and_epoch(other, state.me);
    return space == Space::global && epoch >= state.unordered_first && epoch < state.block_first;
}

inline uint64_t kind_of(bool atomic) {
    return !atomic ? stamp::kVolatile : state.block_scope ? stamp::kBlockAtomic : stamp::kAtomic;
}

// True if two atomics may meet here.
template <class F> GRADER_HOT bool both_atomic(F form, uint64_t other) {
    return form.atomic && !state.block_scope && (stamp::kind(other) == stamp::kAtomic || stamp::kind(other) == stamp::kVolatile);
}

// True if no rule has anything to say about the access to this word.
template <Space space, class F> GRADER_HOT bool is_quiet(F form, const ShadowCell& cell, unsigned mask, uint32_t must_be_written) {
    const uint64_t d = cell.detail;
    if (!both_atomic(form, cell.write) && GRADER_RARE(suspicious<space>(cell.write)) &&
        (detail::nibble(d, detail::kWriteMask) & mask)) return false;
    if (form.write && (cell.read | cell.other_read)) {
        const unsigned read = detail::nibble(d, detail::kReadMask) & mask;
        if (!both_atomic(form, cell.read) && GRADER_RARE(suspicious<space>(cell.read)) && read) return false;
        if (!both_atomic(form, cell.other_read) && GRADER_RARE(suspicious<space>(cell.other_read)) && read) return false;
    }
    if (!form.reads) return true;
    const bool written = space == Space::global || stamp::epoch(cell.write) >= state.shared_first;
    return !GRADER_RARE((written ? ~detail::nibble(d, detail::kWritten) : 15u) & mask & must_be_written);
}

// `Quiet`: nothing is to be reported.
template <Space space, bool Quiet, class F>
GRADER_HOT void touch_word(F form, ShadowCell& cell, unsigned mask, uint32_t must_be_written, uintptr_t address, uintptr_t pc) {
    const uint64_t me = state.me | (form.strong ? kind_of(form.atomic) : stamp::kPlain);
    uint64_t d = cell.detail;
    const uint64_t last_write = cell.write, last_read = cell.read;
    if (!Quiet && suspicious<space>(last_write))
        conflict(access_of(form, address, pc), space, last_write, true, detail::nibble(d, detail::kWriteMask), mask,
                 pc_at(d, detail::kWritePc), true);
    unsigned written = detail::nibble(d, detail::kWritten);
    // Values of an earlier block in shared memory are invalid.
    if (space == Space::shared && stamp::epoch(last_write) < state.shared_first) written = 0;
    if (!Quiet && form.reads && (~written & mask & must_be_written)) uninitialized(access_of(form, address, pc), space);
    if (form.write) {
        const bool known = !(~written & mask & must_be_written);
        if (!Quiet && suspicious<space>(last_read))
            conflict(access_of(form, address, pc), space, last_read, false, detail::nibble(d, detail::kReadMask), mask,
                     pc_at(d, detail::kReadPc), known);
        if (!Quiet && suspicious<space>(cell.other_read))
            conflict(access_of(form, address, pc), space, cell.other_read, false, detail::nibble(d, detail::kReadMask), mask,
                     pc_at(d, detail::kOtherPc), known);
        if (space == Space::global && stamp::epoch(last_write) < state.launch_first) ++state.written_words;
        // A later atomic of the same thread does not replace a plain write.
        if (!(form.strong && !stamp::strong(last_write) && stamp::same_thread_and_epoch(last_write, me))) {
            // Bytes that the thread writes one by one are one write; a whole word's mask is set below.
            const bool more = mask == 15 || stamp::same_thread_and_epoch(last_write, me);
            d &= ~(detail::kPcMask << detail::kWritePc | (more ? 0 : uint64_t(0xf0)));
            d |= uint64_t(mask) << detail::kWriteMask | pc_code(pc) << detail::kWritePc;
            cell.write = me;
        }
        d = (d & ~uint64_t(15)) | written | mask;
    } else {
        // The same read again, in a loop, changes nothing.
        if (last_read == me && detail::read_by(d, mask, pc_code(pc))) return;
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
                if (GRADER_RARE(covered && stamp::epoch(last_read) >= state.unordered_first)) {
                    // Work of another stream has read the word: a later write of this launch races with it.
                    cell.other_read = last_read;
                    d = (d & ~(detail::kPcMask << detail::kOtherPc)) | (d >> detail::kReadPc & detail::kPcMask) << detail::kOtherPc;
                }
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

// Checks the words of an access; `offset` is its distance from the cells' start.
template <Space space>
void touch(AnyForm form, ShadowCell* cells, uintptr_t offset, uint32_t must_be_written, uintptr_t address, uintptr_t pc) {
    for (uintptr_t at = offset, end = offset + form.bytes; at < end;) {
        const unsigned skip = at % 4;
        const unsigned n = end - at < 4 - skip ? unsigned(end - at) : 4 - skip;
        touch_word<space, false>(form, cells[cell_index(at / 4)], ((1u << n) - 1) << skip, must_be_written, address, pc);
        at += n;
    }
}

// The same if nothing is to be reported: else returns false, and changes nothing.
template <Space space, class F>
GRADER_HOT bool touch_quietly(F form, ShadowCell* cells, uintptr_t offset, uint32_t must_be_written, uintptr_t address, uintptr_t pc) {
    if (form.bytes < 4) {
        const unsigned skip = offset % 4, mask = ((1u << form.bytes) - 1) << skip;
        ShadowCell& cell = cells[cell_index(offset / 4)];
        if (GRADER_RARE(skip + form.bytes > 4) || !is_quiet<space>(form, cell, mask, must_be_written)) return false;
        touch_word<space, true>(form, cell, mask, must_be_written, address, pc);
        return true;
    }
    if (GRADER_RARE(offset % 4 != 0)) return false;
    for (unsigned i = 0; i < form.bytes / 4; ++i)
        if (!is_quiet<space>(form, cells[cell_index(offset / 4 + i)], 15, must_be_written)) return false;
    for (unsigned i = 0; i < form.bytes / 4; ++i)
        touch_word<space, true>(form, cells[cell_index(offset / 4 + i)], 15, must_be_written, address, pc);
    return true;
}

[[gnu::noinline]] inline void log_access(uintptr_t address, AccessKey key) { state.thread_log->add(address, key); }

template <Space space, class F> AccessKey key_of(F form, uintptr_t pc) {
    return {uint32_t(pc - state.image), form.bytes, form.write, space == Space::shared, form.atomic};
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
    uintptr_t top;
#if defined(__x86_64__)
    asm("mov %%rsp, %0" : "=r"(top));  // __builtin_frame_address would need a frame
#elif defined(__aarch64__)
    asm("mov %0, sp" : "=r"(top));
#else
    top = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
#endif
    return address - top < FiberPool::kGuardBytes - bytes;
}

inline bool any_host_rule() { return host_memory::any_array || variables::any; }

// True if host code's access may be behind the end of a block of the heap.
inline bool near_heap(uintptr_t address, size_t bytes, uintptr_t pc) {
    state.probed_from = pc;  // the address may be invalid
    const bool found = address >= 4096 && host_heap::has_pattern(address, bytes);
    state.probed_from = 0;
    return found;
}

// Host code's access, or one of interleaved blocks.
inline void check_unwatched(AnyForm form, uintptr_t address, uintptr_t pc) {
    if (watch.interleaved) interleave(access_of(form, address, pc));
    else if (arena::contains(address) || any_host_rule()) touched_by_host(access_of(form, address, pc));
    else if (near_heap(address, form.bytes, pc)) touched_past_heap(access_of(form, address, pc));
}

// An access of a kernel.
inline void check_watched(AnyForm form, uintptr_t address, uintptr_t pc) {
    if (arena::contains(address)) {
        const Allocation& a = arena::allocations[int64_t(arena::granules[(address - arena::base) >> arena::kGranuleShift]) - 1];
        if (address < a.begin || address + form.bytes > a.end || !a.shadow) {
            outside(access_of(form, address, pc));
            return;
        }
        if (form.write && a.must_be_written & Allocation::kReadOnly) write_to_input(access_of(form, address, pc));
        if (form.strong) strong(access_of(form, address, pc));
        touch<Space::global>(form, a.shadow, address - a.begin, a.must_be_written, address, pc);
        if (state.log) log_access(address, key_of<Space::global>(form, pc));
    } else if (address - state.shared_base < kSharedArena) {
        uintptr_t offset = address - state.shared_base;
        if (offset + form.bytes > kSharedArena || !valid_shared(offset, form.bytes)) {
            outside_shared(access_of(form, address, pc));
            return;
        }
        if (form.strong) strong(access_of(form, address, pc));
        touch<Space::shared>(form, state.shared_shadow, offset, 15, address, pc);
        if (state.log) log_access(address, key_of<Space::shared>(form, pc));
    } else if (address - state.stacks_base < state.stacks_bytes) {
        ++state.countdown;  // the thread's own local memory: not counted
        if (!near_frame(address, form.bytes)) local_of_another(access_of(form, address, pc));
        if (state.locals && form.reads) local_read(access_of(form, address, pc));
    } else if (elsewhere(access_of(form, address, pc))) {
        const VariableShadow v = variable_shadow(address);
        if (!v.cells) return;
        if (form.strong) strong(access_of(form, address, pc));
        touch<Space::global>(form, v.cells, address - v.begin, 0, address, pc);
        if (state.log) log_access(address, key_of<Space::global>(form, pc));
    }
}

[[gnu::noinline]] void check_fully(AnyForm form, uintptr_t address, uintptr_t pc);  // hooks.cpp

template <class F> GRADER_HOT void check(F form, uintptr_t address, uintptr_t pc) {
    const bool simple = !form.strong || form.atomic;  // a volatile access may pause
    if (GRADER_RARE(!watch.active || state.countdown <= 0 || !simple)) {
        check_fully(any_form(form), address, pc);
    } else if (arena::contains(address)) {
        const Allocation& a = arena::allocations[int64_t(arena::granules[(address - arena::base) >> arena::kGranuleShift]) - 1];
        const uintptr_t offset = address - a.begin;
        // The next line: the next thread's element. A tenth of the time of scattered accesses.
        if (!form.atomic) __builtin_prefetch(&a.shadow[cell_index(offset / 4) + 2]);
        // An access that touch_quietly() takes fits into the words in which it starts and ends.
        const bool allowed = offset < a.whole_words && (form.bytes <= 4 || offset + form.bytes <= a.whole_words) &&
                             !(form.write && a.must_be_written & Allocation::kReadOnly);
        if (GRADER_RARE(!allowed || !touch_quietly<Space::global>(form, a.shadow, offset, a.must_be_written, address, pc))) {
            check_fully(any_form(form), address, pc);
        } else {
            --state.countdown;
            // An atomic without fences in this launch releases and acquires nothing.
            if (form.strong && state.fenced) strong(access_of(form, address, pc));
            if (GRADER_RARE(state.log)) log_access(address, key_of<Space::global>(form, pc));
        }
    } else if (address - state.shared_base < kSharedArena - form.bytes) {
        const uintptr_t offset = address - state.shared_base;
        if (GRADER_RARE(!valid_shared(offset, form.bytes) ||
                        !touch_quietly<Space::shared>(form, state.shared_shadow, offset, 15, address, pc))) {
            check_fully(any_form(form), address, pc);
        } else {
            --state.countdown;
            if (form.strong && state.fenced) strong(access_of(form, address, pc));
            if (GRADER_RARE(state.log)) log_access(address, key_of<Space::shared>(form, pc));
        }
    } else if (GRADER_RARE(address - state.stacks_base >= state.stacks_bytes || state.locals || !near_frame(address, form.bytes))) {
        check_fully(any_form(form), address, pc);
    }
}

}  // namespace grader::checker
