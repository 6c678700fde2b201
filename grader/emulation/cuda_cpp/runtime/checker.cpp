// The checker's handling of launches, blocks, barriers, allocations and copies.
// The rules for single accesses are in rules.cpp.
#if GRADER_CHECKED

#include "checker.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>

#include "access.h"
#include "findings.h"
#include "host_heap.h"
#include "host_memory.h"
#include "ordering.h"
#include "places.h"
#include "report.h"
#include "stream_races.h"
#include "streams.h"
#include "writers.h"

namespace grader {

CheckerState state;
__thread Watch watch;

namespace {

constexpr int64_t kBreakEvery = int64_t(1) << 22;

uint32_t dynamic_placed_in = 0;  // launch number
uint64_t accesses_before = 0;  // of the launch, before the present countdown
int64_t countdown_start = 0;
uint64_t counted_blocks = 0;
uint64_t intervals = 0, most_intervals = 0;  // of the running block, and of a block of the launch: barriers + 1
uint64_t all_accesses = 0, launches = 0, copied_bytes = 0, host_read_bytes = 0, host_wrote_bytes = 0;

// The caller: the program itself, or a judge that calls twice.
enum class Calls { own, first, repeat };
Calls judged_calls = Calls::own;
// By allocating line. Created on first use and never destroyed: it may be read at program exit.
std::map<uintptr_t, uint32_t>& held() {
    static std::map<uintptr_t, uint32_t>& counts = *new std::map<uintptr_t, uint32_t>;
    return counts;
}

template <class Visit> void for_unfreed(Visit visit) {
    for (uint32_t i = 0; i < arena::count(); ++i) {
        Allocation& a = arena::allocations[i];
        if (a.live && a.origin != Allocation::Origin::attached) visit(a);
    }
}

void drop_shadow(Allocation& a) {
    if (a.shadow) munmap(a.shadow, places::shadow_bytes(a.bytes()));
    a.shadow = nullptr;
    a.whole_words = 0;
}

void prepare_once(Worker& w) {
    if (state.shared_shadow) return;
    places::use_shared(w.shared);
    places::find_program();
}

void stamp_running_thread() {
    unsigned i = worker->current->index;
    state.me = stamp::make(state.epoch, i, worker->warp_syncs[i / kWarpSize], ordering::segment(i));
}

void begin_interval_of_block(uint64_t number) {
    // Stacks are reserved when the first fiber is taken.
    state.stacks_base = worker->fibers.base();
    state.stacks_bytes = worker->fibers.reserved();
    places::use_shared(worker->shared);
    state.block_first = ++state.epoch;
    ordering::block_begins(state.epoch);
    if (settings.writers) writers::block_begins(state.epoch, number);
}

void restart_countdown() {
    accesses_before += uint64_t(countdown_start - state.countdown);
    int64_t next = kBreakEvery;
    if (settings.access_limit && settings.access_limit - accesses_before < uint64_t(next))
        next = int64_t(settings.access_limit - accesses_before) + 1;
    countdown_start = state.countdown = next;
}

}  // namespace

namespace checker {

// ---- launches ----

void launch_begins(Worker& w) {
    prepare_once(w);
    places::forget_shared();
    state.launch_first = ++state.epoch;
    state.unordered_first = streams::first_unordered(state.launch_first);
    if (state.unordered_first != state.launch_first) stream_races::launch_begins();
    state.read_words = state.written_words = 0;
    accesses_before = 0;
    countdown_start = state.countdown = 0;
    restart_countdown();
    counted_blocks = 0;
    ++launches;
    most_intervals = 0;
    ordering::launch_begins();
    if (settings.writers) writers::launch_begins(state.epoch);
}

void block_begins(uint64_t number) {
    begin_interval_of_block(number);
    state.shared_first = state.block_first;
    intervals = 0;
    state.log = !watch.interleaved && counters::wants_block(number, accesses_before + uint64_t(countdown_start - state.countdown));
    if (state.log) ++counted_blocks;
    watch.active = settings.check && !watch.interleaved;
}

void phase_begins() {
    const bool all_ordered = state.unordered_first == state.launch_first;
    state.launch_first = ++state.epoch;
    if (all_ordered) state.unordered_first = state.launch_first;
}

uint32_t next_epoch() { return state.epoch + 1; }
void work_begins() { ++state.epoch; }

bool block_pauses() {
    interval_ends();
    watch.active = false;
    return state.log;
}

void block_continues(uint64_t number, bool log) {
    begin_interval_of_block(number);
    state.shared_first = 0;  // no other block has used this shared memory
    state.log = log;
    watch.active = settings.check;
}

void entered(Thread& thread) {
    resolve_pending();
    stamp_running_thread();
    state.spins = &thread.spins;
    if (state.log) state.thread_log = &counters::log_of(thread.index);
}

void interval_ends() {
    resolve_pending();
    ++intervals;
    if (state.log) counters::interval_ends(launch_state.threads, state.shared_base);
    if (settings.writers) writers::interval_ends(state.epoch);
    ++state.epoch;
    ordering::epoch_ends(state.epoch);
}

void block_ends() {
    interval_ends();
    most_intervals = std::max(most_intervals, intervals);
    watch.active = false;
}

void launch_ends() {
    restart_countdown();
    all_accesses += accesses_before;
    counters::launch_ends({accesses_before, state.read_words * 4, state.written_words * 4, launch_state.blocks,
                           counted_blocks, most_intervals ? most_intervals - 1 : 0,
                           launch_state.static_shared + launch_state.dynamic_shared});
}

void fence(bool wide) {
    if (!watch.active) return;
    ordering::fence(worker->current->index, state.epoch, wide);
    if (wide) stream_races::fenced();
    stamp_running_thread();
}

void break_point() {
    if (pending_resolved()) {
        --state.countdown;
        if (state.countdown >= 0) return;
    }
    restart_countdown();
    if (settings.access_limit && accesses_before >= settings.access_limit) {
        ReportLine("limit").text("kernel", launch_state.name).number("accesses", accesses_before)
            .text("message", "the kernel made more memory accesses than are allowed").write();
        worker->abandon(cudaErrorLaunchTimeout);
    }
}

// ---- accesses ----

void atomic(const volatile void* address, size_t bytes, bool replaces, uintptr_t pc) {
    if (watch.active) check(AnyForm{unsigned(bytes), true, !replaces, true, true}, reinterpret_cast<uintptr_t>(address), pc);
    else if (watch.interleaved) worker->pause();
    state.block_scope = state.may_lock = false;
}

void next_atomic_is_of_the_block() { state.block_scope = true; }
void next_atomic_may_lock() { state.may_lock = true; }

void synchronize(uintptr_t key) {
    if (!watch.active) return;
    const unsigned thread = worker->current->index;
    ordering::fence(thread, state.epoch, true);
    ordering::strong_access(thread, key, false);
    stamp_running_thread();
}

namespace {

// Word by word where it is aligned; the bytes are one access.
void touch_range(const void* at, size_t bytes, bool write, uintptr_t pc) {
    uintptr_t a = reinterpret_cast<uintptr_t>(at);
    for (const uintptr_t end = a + bytes; a < end;) {
        const unsigned n = a % 16 == 0 && end - a >= 16 ? 16 : a % 4 == 0 && end - a >= 4 ? 4 : 1;
        check_fully(AnyForm{n, write, !write, false, false}, a, pc);
        a += n;
    }
}

}  // namespace

void plain_write(const void* to, size_t bytes, uintptr_t pc) {
    if (watch.active) touch_range(to, bytes, true, pc);
}

void copied(const void* to, size_t to_bytes, const void* from, size_t from_bytes, uintptr_t pc) {
    if (!watch.active) return;
    touch_range(from, from_bytes, false, pc);
    touch_range(to, to_bytes, true, pc);
}

// ---- memory ----

void shared_placed(const SharedSite& site, size_t offset) { places::add_shared(site.name, offset, site.bytes, site.element_bytes); }

void dynamic_shared_placed(const char* name, size_t offset, size_t bytes, size_t element_bytes) {
    if (dynamic_placed_in == grader_launch_number) return;
    dynamic_placed_in = grader_launch_number;
    places::add_shared(name, offset, bytes, element_bytes);
}

ShadowCell* shadow_of_variable(size_t bytes) { return places::new_shadow(bytes); }

void allocated(Allocation& a, bool initialized) {
    if (!a.shadow) a.shadow = places::new_shadow(a.bytes());
    a.whole_words = a.shadow ? a.bytes() / 4 * 4 : 0;
    a.must_be_written = a.zone == Zone::read_only ? Allocation::kReadOnly : initialized ? 0 : 15;
}

void released(Allocation& a) { drop_shadow(a); }

namespace {

// Which bytes of a word were written; all if nothing is known of the word.
unsigned written_bytes(const Allocation* a, uintptr_t word) {
    if (!a || a->must_be_written != 15 || !a->shadow || word < a->begin || word >= a->end) return 15;
    // The C library's writes to memory of both sides are not seen, but what they leave.
    if (a->zone == Zone::open && *reinterpret_cast<const uint32_t*>(word) != arena::kFilling) return 15;
    return detail::nibble(a->shadow[cell_index((word - a->begin) / 4)].detail, detail::kWritten);
}

bool all_written(const Allocation* a, uintptr_t begin, size_t bytes) {
    if (!a || a->must_be_written != 15) return true;
    for (uintptr_t word = begin & ~uintptr_t(3); word < begin + bytes; word += 4) {
        const unsigned skipped = word < begin ? unsigned(begin - word) : 0;
        const unsigned end = begin + bytes - word < 4 ? unsigned(begin + bytes - word) : 4;
        const unsigned mask = ((1u << end) - 1) & ~((1u << skipped) - 1);
        if (~written_bytes(a, word) & mask) return false;
    }
    return true;
}

void set_written(Allocation& a, uintptr_t byte, bool written) {
    uint64_t& d = a.shadow[cell_index((byte - a.begin) / 4)].detail;
    const uint64_t bit = uint64_t(1) << (byte - a.begin) % 4;
    d = written ? d | bit : d & ~bit;
}

}  // namespace

// A copy of bytes that nothing has written leaves the copy unwritten, too.
void set_by_host(void* to, const void* from, size_t bytes) {
    copied_bytes += bytes;
    const uintptr_t p = reinterpret_cast<uintptr_t>(to), q = reinterpret_cast<uintptr_t>(from);
    Allocation* a = const_cast<Allocation*>(arena::find(p));
    if (!a || a->zone == Zone::read_only || !a->shadow || p < a->begin || p + bytes > a->end) return;
    const Allocation* source = from ? arena::find(q) : nullptr;
    if (!all_written(source, q, bytes)) {
        if (a->must_be_written != 15) {
            a->must_be_written = 15;
            for (uintptr_t byte = a->begin; byte < a->end; ++byte) set_written(*a, byte, true);
        }
        for (size_t i = 0; i < bytes; ++i)
            set_written(*a, p + i, written_bytes(source, (q + i) & ~uintptr_t(3)) >> (q + i) % 4 & 1);
        return;
    }
    written_by_host(*a, p, bytes);
}

void written_by_host(Allocation& a, uintptr_t begin, size_t bytes) {
    if (a.must_be_written != 15) return;
    if (begin == a.begin && bytes == a.bytes()) {
        a.must_be_written = 0;
        return;
    }
    for (size_t i = 0; i < bytes;) {
        if ((begin + i) % 4 == 0 && i + 4 <= bytes) {
            a.shadow[cell_index((begin + i - a.begin) / 4)].detail |= 15;
            i += 4;
        } else {
            set_written(a, begin + i, true);
            ++i;
        }
    }
}

bool never_written(const Allocation& a, uintptr_t begin, size_t bytes) {
    for (uintptr_t word = begin & ~uintptr_t(3); word < begin + bytes; word += 4)
        if (written_bytes(&a, word)) return false;
    return true;
}

void host_read(size_t bytes) { host_read_bytes += bytes; }
void host_wrote(size_t bytes) { host_wrote_bytes += bytes; }

void refused_copy(void* to, size_t to_bytes, const void* from, size_t from_bytes, uintptr_t pc, const char* why) {
    Finding f;
    f.kind = Kind::invalid_copy;
    f.pc = pc;
    f.message = why ? why : "a copy's direction does not fit its pointers";
    for (const void* side : {const_cast<const void*>(to), from}) {
        if (!side || why) continue;
        const size_t bytes = side == to ? to_bytes : from_bytes;
        f.address = reinterpret_cast<uintptr_t>(side);
        const Allocation* a = arena::find(f.address);
        if (a && !a->live) f.message = "a copy uses freed memory";
        else if (a && (f.address < a->begin || bytes > a->end - f.address)) f.message = "a copy runs past the end of a buffer";
        else if (const variables::Variable* v = variables::at(f.address); v && !v->managed && !v->given_out)
            f.message = "a copy is given the host's address of a device variable";
        else if (v && !v->holds(f.address, bytes)) f.message = "a copy runs past the end of a device variable";
        else if (const host_memory::Array* array = host_memory::find(f.address); array && !array->holds(f.address, bytes))
            f.message = "a copy runs past the end of a buffer";
        else if (const host_heap::Block block = host_heap::find(f.address); !a && host_heap::bytes_inside(side, bytes) < bytes) {
            f.message = "a copy runs past the end of what host code allocated";
            f.space = "host";
            f.buffer_bytes = block.end - block.begin;
            f.offset = int64_t(f.address - block.begin);
        } else if (side == to && (a ? a->zone == Zone::read_only : array && !array->writable))
            f.message = "a copy writes to a read-only input";
        else continue;
        f.write = side == to;
        f.access_bytes = uint32_t(std::min<size_t>(bytes, UINT32_MAX));
        places::name(f);
        break;
    }
    findings::add(f);
}

void broken_rendezvous(const char* message, const Thread& first, uintptr_t other_pc, bool warning, unsigned arrived) {
    if (!settings.check || watch.interleaved) return;
    Finding f;
    f.kind = Kind::barrier;
    f.message = message;
    f.pc = first.pc;
    f.other_pc = other_pc;
    f.warning = warning;
    f.arrived = arrived;
    findings::add(f);
}

// Legal since Volta, where a barrier waits for the threads that still run, unless the threads of a
// warp part at a branch around it and meet again; the source says so (parted_warps.py). What the
// others should have done is missing all the same.
void left_before_barrier(const Thread& waiting, unsigned arrived, bool parted) {
    if (!settings.check || watch.interleaved) return;
    Finding f;
    f.kind = Kind::barrier;
    f.message = "threads end before a barrier where the others wait";
    f.pc = waiting.pc;
    f.arrived = arrived;
    f.warning = true;
    findings::add(f);
    if (!parted) return;
    f.message = "a barrier is in a branch that some threads of a warp do not take";
    findings::add(f);
}

void free_failed(const void* pointer, const char* message, uintptr_t pc) {
    Finding f;
    f.kind = Kind::invalid_copy;
    f.message = message;
    f.pc = pc;
    f.address = reinterpret_cast<uintptr_t>(pointer);
    if (const Allocation* a = arena::find(f.address)) findings::name_buffer(f, *a);
    findings::add(f);
}

// The unfreed memory of each allocating line when the running call began.
void call_begins(bool repeat) {
    judged_calls = repeat ? Calls::repeat : Calls::first;
    writers::call_begins(state.epoch);
    held().clear();
    for_unfreed([](Allocation& a) { ++held()[a.pc]; });
}

void flush(bool after_fault) {
    // On a lost device nothing can be freed.
    if (!after_fault && !device_lost() && judged_calls != Calls::first) {
        std::map<uintptr_t, uint32_t> still = held();
        for_unfreed([&](Allocation& a) {
            // Skip the oldest: a repeated call that frees an old buffer may allocate another.
            uint32_t& before = still[a.pc];
            if (before > 0) {
                --before;
                return;
            }
            if (a.leak_reported) return;
            a.leak_reported = true;
            Finding f;
            f.kind = Kind::leak;
            f.message = a.origin == Allocation::Origin::heap     ? "memory of the device's heap is never freed"
                        : a.origin == Allocation::Origin::pinned ? "pinned memory is never freed"
                                                                 : "device memory is never freed";
            f.pc = a.pc;
            f.address = a.begin;
            f.space = "global";
            findings::name_buffer(f, a);
            findings::add(f);
        });
    }
    findings::write();
    if (!after_fault) counters::write();
    if (!after_fault && settings.writers) writers::write();
    uint64_t unfreed = 0;
    for_unfreed([&](Allocation&) { ++unfreed; });
    ReportLine("summary").number("accesses", all_accesses).number("launches", launches)
        .number("copied_bytes", copied_bytes).number("host_read_bytes", host_read_bytes)
        .number("host_wrote_bytes", host_wrote_bytes).number("unfreed", unfreed)
        .truth("order_decides", state.order_decides).write();
    state.order_decides = false;
    all_accesses = launches = copied_bytes = host_read_bytes = host_wrote_bytes = 0;
}

}  // namespace checker
}  // namespace grader

#endif
