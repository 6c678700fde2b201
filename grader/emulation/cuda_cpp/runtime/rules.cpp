// The rules for accesses.
//
// Races. Accesses of one block with a barrier between them have different
// epochs. Two accesses of one epoch by different threads, at least one of them a
// write, race, unless both are atomic, or the threads are lanes of a warp with a
// warp function between the accesses, or fences and atomics order them
// (ordering.h). So do accesses of different blocks of a launch that nothing
// orders. In global memory an atomic or volatile access against a plain one is a
// warning, because correct programs have such flags; racing writes of the same
// value are a warning everywhere.
//
// After a finding the kernel continues if possible: an overrun hits the gap after
// its buffer. Accesses that always kill a kernel on a GPU (a host pointer, a null
// pointer, a write to the caller's input) end the launch with
// cudaErrorIllegalAddress, as on a GPU.
#if GRADER_CHECKED

#include <cstdio>
#include <cstring>
#include <map>

#include "access.h"
#include "async_copies.h"
#include "checker.h"
#include "findings.h"
#include "ordering.h"
#include "pending.h"
#include "places.h"
#include "stream_races.h"
#include "streams.h"

namespace grader::checker {

namespace {

// A write that races. Whether it changes the value is known after the write, at the
// next access or the end of the interval.
struct Pending {
    bool any = false;
    Finding finding;
    uintptr_t address;
    unsigned bytes;
    char before[16];
    int64_t countdown;  // to be restored
};
Pending pending;

Finding about(const Access& access, Kind kind, const char* message) {
    Finding f;
    f.kind = kind;
    f.message = message;
    f.pc = access.pc;
    f.address = access.address;
    f.access_bytes = access.bytes;
    f.write = access.write;
    return f;
}

}  // namespace

void resolve_pending() {
    if (!pending.any) return;
    pending.any = false;
    state.countdown += pending.countdown;
    if (memcmp(pending.before, reinterpret_cast<const void*>(pending.address), pending.bytes) == 0) {
        pending.finding.warning = state.order_decides = true;
        pending.finding.message = pending.finding.other_write
                                      ? "threads write one location without order, all of them the same value"
                                      : "a thread writes the value that is there, and another reads it without order";
    }
    findings::add(pending.finding);
}

bool pending_resolved() {
    if (!pending.any) return false;
    resolve_pending();
    return true;
}

void strong(const Access& access) {
    // A volatile read in a loop may wait for a thread that has yet to run.
    if (!access.atomic && ++worker->current->spins % 256 == 0) worker->pause();
    ordering::strong_access(stamp::thread(state.me), access.address, state.may_lock);
}

void conflict(const Access& access, Space space, uint64_t other, bool other_write, unsigned other_mask, unsigned mask,
              uint32_t other_pc, bool known) {
    if (!(other_mask & mask)) return;
    bool other_strong = stamp::strong(other);
    bool same_block = stamp::epoch(other) == state.epoch;
    const bool other_atomic = stamp::kind(other) >= stamp::kAtomic;
    const bool narrow = !same_block && access.atomic && other_atomic &&
                        (state.block_scope || stamp::kind(other) == stamp::kBlockAtomic);
    if (access.strong && other_strong && !narrow) {
        if (access.atomic || other_atomic) return;
        // A volatile access alone orders nothing between threads; after a fence
        // of the writing thread it is a flag. Between blocks, the fence may be another thread's.
        if (stamp::segment(other_write ? other : state.me) > 0) return;
        if (space == Space::global && ordering::any_fence()) return;
    }
    Finding f = about(access, Kind::race, "");
    bool excused = access.strong || other_strong;
    ordering::Order order = ordering::Order::none;
    if (stamp::epoch(other) < state.launch_first) {
        if (!stream_races::unordered(stamp::epoch(other))) return;
        f.message = stream_races::kMessage;
        // A volatile flag may be set from another stream. Atomics order nothing that is not atomic.
        excused = (access.strong && !access.atomic) || (other_strong && !other_atomic);
    } else if (same_block) {
        unsigned mine = stamp::thread(state.me), theirs = stamp::thread(other);
        if (mine / kWarpSize == theirs / kWarpSize) {
            unsigned sync = stamp::sync(other);
            if (sync != stamp::sync(state.me) || sync == stamp::kSyncMax) return;
            f.message = "threads of one warp access one location without __syncwarp between";
        } else {
            f.message = "threads of one block access one location without a barrier between";
        }
        order = ordering::between_threads(mine, theirs, stamp::segment(other));
        if (order == ordering::Order::acquired) state.order_decides = true;
        if (order == ordering::Order::acquired || stamp::segment(other) == stamp::kSegmentMax) return;
        f.other_thread = theirs;
    } else {
        order = ordering::between_blocks(stamp::epoch(other), stamp::thread(other), stamp::segment(other));
        if (order == ordering::Order::acquired) {
            state.order_decides = true;
            return;
        }
        f.message = narrow ? "different blocks update one location with atomics of block scope"
                           : "different blocks access one location, and nothing orders blocks";
    }
    f.warning = space == Space::global && excused && !narrow;
    if (order == ordering::Order::unfenced) {
        f.message = "an atomic orders these accesses, but no __threadfence() follows it";
        f.warning = true;
    }
    f.other_pc = other_pc ? state.image + other_pc : 0;
    f.other_write = other_write;
    places::name(f);
    if (pending.any && pending.address == access.address && pending.finding.pc == access.pc) {
        // Another word of the access, or another thread: one finding, the more severe.
        if (pending.finding.warning && !f.warning) {
            findings::locate(f);
            pending.finding = f;
        }
        return;
    }
    if (access.write && known && !access.atomic && !other_strong && access.bytes <= sizeof pending.before && !pending.any) {
        pending.any = true;
        findings::locate(f);
        pending.finding = f;
        pending.address = access.address;
        pending.bytes = access.bytes;
        memcpy(pending.before, reinterpret_cast<const void*>(access.address), access.bytes);
        pending.countdown = state.countdown;
        state.countdown = 0;  // the next access calls break_point()
        return;
    }
    findings::add(f);
}

namespace {

// Asked once for each line: there may be a finding for each thread, and a copy for each as well.
bool copy_is_running(const Access& access) {
    static std::map<uintptr_t, bool>& known = *new std::map<uintptr_t, bool>;
    const auto [found, is_new] = known.try_emplace(access.pc);
    if (is_new) found->second = async_copies::any_into(access.address);
    return found->second;
}

}  // namespace

void uninitialized(const Access& access, Space space) {
    const Allocation* a = space == Space::global ? arena::find(access.address) : nullptr;
    if (a && a->zone == Zone::open) {
        // Host code fills the members of a struct, not the padding that a copy of it reads.
        const bool copied = access.address >= state.range_begin && access.address < state.range_end;
        if (!never_written(*a, copied ? state.range_begin : access.address,
                           copied ? state.range_end - state.range_begin : access.bytes)) return;
    }
    Finding f = about(access, Kind::uninitialized,
                      space == Space::global ? "device memory is read before anything was written to it"
                      : copy_is_running(access) ? "shared memory is read before an asynchronous copy into it has ended"
                                                : "shared memory is read before this block has written it");
    places::name(f);
    findings::add(f);
}

// ---- local variables without a value (grader_local) ----

namespace {

using arena::kFilling;  // only the first read of it is found

struct Local {
    const char* name;
    uintptr_t begin, end;
};
constexpr unsigned kLocals = 256;  // the latest; a thread that runs has filled its own just before
Local locals[kLocals];
unsigned filled = 0;

}  // namespace

void local_read(const Access& access) {
    if (access.bytes % sizeof kFilling != 0) return;
    for (unsigned i = 0; i < access.bytes; i += sizeof kFilling)
        if (memcmp(reinterpret_cast<const char*>(access.address) + i, &kFilling, sizeof kFilling) != 0) return;
    for (unsigned i = 1; i <= kLocals; ++i) {
        const Local& v = locals[(filled - i) % kLocals];
        if (access.address < v.begin || access.address >= v.end) continue;
        Finding f = about(access, Kind::uninitialized, "a local variable is read before it has a value");
        f.space = "local";
        snprintf(f.buffer, sizeof f.buffer, "%s", v.name);
        findings::add(f);
        return;
    }
}

void local_of_another(const Access& access) {
    const auto stack = [](uintptr_t address) { return (address - state.stacks_base) / FiberPool::kDistance; };
    if (stack(access.address) == stack(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)))) return;
    Finding f = about(access, Kind::out_of_bounds, "a local variable of another thread is accessed");
    f.space = "local";
    findings::add(f);
}

void outside(const Access& access) {
    Finding f = about(access, Kind::out_of_bounds, "");
    f.space = "global";
    const Allocation* a = arena::find(access.address);
    if (a) findings::name_buffer(f, *a);
    bool fatal = false;
    if (!a) {
        f.message = "an address that belongs to no buffer is accessed";
        fatal = true;
    } else if (!a->live) {
        f.message = "freed memory is accessed";
        fatal = a->zone == Zone::open || a->zone == Zone::read_only;
    } else if (access.address + access.bytes > a->begin && access.address < a->begin) {
        f.message = "the access begins before its buffer";
    } else if (access.address < a->begin || (access.address > a->end && a->gap_end - access.address < access.address - a->end)) {
        f.message = "the address is outside every buffer";
    } else {
        f.message = "the access is past the end of its buffer";
    }
    f.other_pc = overflow_behind(access.address, access.bytes);
    if (a && a->live && a->zone == Zone::read_only) fatal = access.write || access.address >= a->map_end;
    findings::add(f);
    if (fatal) worker->abandon(cudaErrorIllegalAddress);
}

void write_to_input(const Access& access) {
    Finding f = about(access, Kind::out_of_bounds, "a read-only input is written");
    places::name(f);
    findings::add(f);
    worker->abandon(cudaErrorIllegalAddress);
}

void outside_shared(const Access& access) {
    Finding f = about(access, Kind::out_of_bounds, "the access is outside its shared variable");
    places::name_shared(f);
    findings::add(f);
}

// Accesses to parameters, variables of the program, host memory, unmapped memory.
// True if the access is to a registered variable and needs further checks.
bool elsewhere(const Access& access) {
    uintptr_t p = reinterpret_cast<uintptr_t>(launch_state.parameters);
    if (access.address - p < launch_state.parameter_bytes) {
        ++state.countdown;  // no access to memory: not counted
        return false;
    }
    if (const variables::Variable* v = variables::near(access.address)) {
        const bool written = access.write && v->constant;
        if (access.address + access.bytes <= v->end && !written) return true;
        Finding f = about(access, Kind::out_of_bounds, written ? "a kernel writes to a __constant__ variable"
                                                               : "the access is past the end of a device variable");
        f.space = "global";
        places::name_variable(f, *v);
        findings::add(f);
        // What lies behind it may be the checker's own: there are no guards between variables.
        if (access.write && !written) worker->abandon(cudaErrorIllegalAddress);
        return false;
    }
    // Literals and constant tables of the program, and this runtime's thread variables.
    if (places::in_constants(access.address) && !access.write) return false;
    if (places::in_thread_storage(access.address)) return false;
    const host_memory::Array* array = host_memory::find(access.address);
    if (host_memory::registered(access.address, access.bytes)) {
        // The host's own accesses to it are not seen.
        if (access.write) host_read(access.bytes);
        else host_wrote(access.bytes);
        if (!access.write || !array || array->writable) return false;
        write_to_input(access);
    }
    Finding f = about(access, Kind::out_of_bounds, "host memory is accessed in a kernel");
    f.space = "host";
    const host_heap::Block block = host_heap::find(access.address);
    if (array ? host_memory::any_registered(array->begin, array->end) : host_memory::any_registered(block.begin, block.end))
        f.message = "host memory outside its registered part is accessed in a kernel";
    if (array) {
        places::name(f);
        findings::add(f);
        worker->abandon(cudaErrorIllegalAddress);
    }
    if (places::in_program(access.address)) {
        f.message = "a host variable is accessed in a kernel";
        f.warning = !access.write;  // nvcc refuses most of these; a static of a device function is legal
        findings::add(f);
        return false;
    }
    f.other_pc = overflow_behind(access.address, access.bytes);
    if (access.address < 4096) f.message = "a null pointer is dereferenced";
    else if (access.address - state.shared_base + (kSharedArena * 4) < kSharedArena * 8) f.message = "the address is far outside shared memory";
    else if (!places::is_mapped(access.address)) f.message = "an address that belongs to nothing is accessed";
    findings::add(f);
    worker->abandon(cudaErrorIllegalAddress);
}

namespace {

// The device's last access of these bytes that the host has not waited for, as its program counter.
bool still_used(const Allocation& a, const Access& access, uintptr_t& pc, bool& write) {
    const uint32_t since = streams::first_unwaited();
    const auto unwaited = [since](uint64_t stamp) {
        return stamp::epoch(stamp) >= since && !streams::waited(streams::at(stamp::epoch(stamp)).operation);
    };
    if (!since || !a.shadow) return false;
    for (uintptr_t word = access.address & ~uintptr_t(3); word < access.address + access.bytes; word += 4) {
        const ShadowCell& cell = a.shadow[cell_index((word - a.begin) / 4)];
        write = unwaited(cell.write);
        if (!write && !(access.write && unwaited(cell.read))) continue;
        const uintptr_t at = detail::decode_pc(cell.detail >> (write ? detail::kWritePc : detail::kReadPc) & detail::kPcMask);
        pc = at ? state.image + at : 0;
        return true;
    }
    return false;
}

// Host code accesses pinned or managed memory.
void touched_open(const Access& access, Allocation& a) {
    if (device_lost()) return;  // nothing waits any more
    if (access.strong) {  // it may wait for a flag
        wait_for_device();
    } else if (const unwaited::Copy* copy = unwaited::find(access.address, access.bytes, access.write)) {
        Finding f = about(access, Kind::race, "host code uses memory before an asynchronous copy has ended");
        f.space = "global";
        f.other_pc = copy->pc;
        f.other_write = copy->writes;
        findings::name_buffer(f, a);
        findings::add(f);
        if (!access.write) return;
    } else if (Finding f = about(access, Kind::race, "host code uses memory before a kernel has ended");
               still_used(a, access, f.other_pc, f.other_write)) {
        f.space = "global";
        findings::name_buffer(f, a);
        findings::add(f);
    }
    if (access.write) {
        written_by_host(a, access.address, access.bytes);
    } else if (a.must_be_written == 15 && never_written(a, access.address, access.bytes)) {
        Finding f = about(access, Kind::uninitialized, "host code reads memory before anything was written to it");
        f.space = "global";
        findings::name_buffer(f, a);
        findings::add(f);
    }
}

}  // namespace

namespace {

void past_heap(const Access& access, const host_heap::Block& block) {
    Finding f = about(access, Kind::out_of_bounds, "host code accesses memory past the end of what it allocated");
    f.space = "host";
    f.buffer_bytes = block.end - block.begin;
    f.offset = int64_t(access.address - block.begin);
    findings::add(f);
}

}  // namespace

void touched_past_heap(const Access& access) {
    const host_heap::Block block = host_heap::find(access.address);
    if (!block.begin || access.address < block.end || (block.may_be_text && access.bytes == 1)) return;
    past_heap(access, block);
}

void host_range(const Access& access) {
    if (arena::contains(access.address) || any_host_rule()) touched_by_host(access);
    const host_heap::Block block = host_heap::find(access.address);
    if (block.begin && !block.may_be_text && access.address + access.bytes > block.end) past_heap(access, block);
}

void touched_by_host(const Access& access) {
    if (in_kernel()) return;  // without checks
    if (arena::contains(access.address)) arena::settle();
    if (const host_memory::Array* array = host_memory::find(access.address)) {
        if (array->holds(access.address, access.bytes)) return;
        Finding f = about(access, Kind::out_of_bounds, "host code accesses memory outside an array");
        places::name(f);
        findings::add(f);
        return;
    }
    const variables::Variable* v = variables::any ? variables::at(access.address) : nullptr;
    if (v && !v->managed && (access.write || !v->constant)) {
        Finding f = about(access, Kind::out_of_bounds, "host code uses a device variable, of which it has a copy of its own");
        places::name(f);
        findings::add(f);
        return;
    }
    if (!arena::contains(access.address) && !(v && v->managed)) {
        if (near_heap(access.address, access.bytes, access.pc)) touched_past_heap(access);
        return;
    }
    const Allocation* a = arena::find(access.address);
    const bool open = a && a->zone == Zone::open && a->live;
    if (open && (access.address < a->begin || access.address + access.bytes > a->end)) {
        Finding f = about(access, Kind::out_of_bounds, "host code accesses memory outside an allocation");
        f.space = "global";
        findings::name_buffer(f, *a);
        findings::add(f);
        return;
    }
    if (open) touched_open(access, *const_cast<Allocation*>(a));
    if (v || open) {
        if (access.write) host_wrote(access.bytes);
        else host_read(access.bytes);
        return;
    }
    Finding f = about(access, Kind::out_of_bounds, a && !a->live ? "host code accesses freed memory" : "host code accesses device memory");
    f.space = "global";
    if (a) findings::name_buffer(f, *a);
    findings::add(f);  // the access faults next
}

VariableShadow variable_shadow(uintptr_t address) {
    const variables::Variable* v = variables::near(address);
    return v ? VariableShadow{v->shadow, v->begin} : VariableShadow{nullptr, 0};
}

}  // namespace grader::checker

extern "C" void grader_local(const char* name, void* variable, size_t bytes) {
    using namespace grader;
    using namespace grader::checker;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(variable);
    if (!watch.active || begin - state.stacks_base >= state.stacks_bytes) return;
    state.locals = true;
    for (size_t i = 0; i + sizeof kFilling <= bytes; i += sizeof kFilling)
        memcpy(static_cast<char*>(variable) + i, &kFilling, sizeof kFilling);
    locals[filled++ % kLocals] = {name, begin, begin + bytes};
}

#endif
