// The rules. See checker.h for what stands around them.
//
// Races. Accesses of one block with a barrier between them have different
// epochs; with the same epoch and different threads, one of them writing, they
// race, unless both are atomic, or the two are lanes of a warp with a warp
// function between, or fences and atomics order them (ordering.h). Accesses of
// different blocks of a launch race too, but honest programs do that with one
// word and one value, and no GPU tool confirms it: a warning. So is the race
// of writes that leave the same value.
//
// After a finding the kernel goes on where it can: an overrun lands in the gap
// after its buffer. What would kill a GPU's kernel for certain (a host
// pointer, a null pointer, a write to the caller's input) ends the launch with
// cudaErrorIllegalAddress, as there.
#if GRADER_CHECKED

#include "checker.h"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "access.h"
#include "findings.h"
#include "ordering.h"
#include "report.h"

extern "C" const char __ehdr_start __attribute__((visibility("hidden")));

namespace grader {

CheckerState state;

namespace {

constexpr int64_t kBreakEvery = int64_t(1) << 22;

struct SharedVariable {
    const char* name;
    size_t offset, bytes, element_bytes;
};
struct Variable {
    uintptr_t begin, end;
    const char* name;
    size_t element_bytes;
    ShadowCell* shadow;
};

std::vector<SharedVariable>& shared_variables = *new std::vector<SharedVariable>;  // of the running launch

// Sorted by begin. Filled while the program's own constructors run, and read
// when it exits, so it is made on first use and never destroyed.
std::vector<Variable>& variables() {
    static std::vector<Variable>& all = *new std::vector<Variable>;
    return all;
}

uint32_t dynamic_placed_in = 0;                // launch number
uintptr_t tls_begin, tls_end;
uintptr_t image_end, data_begin;

uint64_t accesses_before = 0;  // of the launch, before the present countdown
int64_t countdown_start = 0;
uint64_t counted_blocks = 0;
uint64_t all_accesses = 0, launches = 0;
const Thread* running = nullptr;

// A write that races with a write: whether the values are the same is known
// once it has been made, at the next access or the end of the interval.
struct Pending {
    bool any = false;
    Finding finding;
    uintptr_t address;
    unsigned bytes;
    char before[16];
    int64_t countdown;  // to be restored
};
Pending pending;

size_t shadow_bytes(size_t bytes) { return (cell_index((bytes + 3) / 4) + 1) * sizeof(ShadowCell); }

ShadowCell* new_shadow(size_t bytes) {
    size_t size = shadow_bytes(bytes);
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, size, MADV_HUGEPAGE);  // fewer page faults; a refusal does no harm
    return static_cast<ShadowCell*>(memory);
}

void drop_shadow(Allocation& a) {
    if (a.shadow) munmap(a.shadow, shadow_bytes(a.bytes()));
    a.shadow = nullptr;
}

int look_at_image(dl_phdr_info* info, size_t, void*) {
    uintptr_t start = reinterpret_cast<uintptr_t>(&__ehdr_start);
    bool own = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& p = info->dlpi_phdr[i];
        if (p.p_type == PT_LOAD && info->dlpi_addr + p.p_vaddr <= start && start < info->dlpi_addr + p.p_vaddr + p.p_memsz) own = true;
    }
    if (!own) return 0;
    uintptr_t relro_end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& p = info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p.p_vaddr, end = begin + p.p_memsz;
        if (p.p_type == PT_LOAD) image_end = std::max(image_end, end);
        if (p.p_type == PT_LOAD && (p.p_flags & PF_W)) data_begin = begin;
        if (p.p_type == PT_GNU_RELRO) relro_end = end;
        if (p.p_type == PT_TLS) tls_end = p.p_memsz;
    }
    // Tables of pointers are constant once the loader is done.
    data_begin = std::max(data_begin, relro_end);
    if (info->dlpi_tls_data) {
        tls_begin = reinterpret_cast<uintptr_t>(info->dlpi_tls_data);
        tls_end += tls_begin;
    }
    return 1;
}

void prepare_once(Worker& w) {
    if (state.shared_shadow) return;
    state.image = reinterpret_cast<uintptr_t>(&__ehdr_start);
    state.shared_base = reinterpret_cast<uintptr_t>(w.shared);
    state.shared_shadow = new_shadow(kSharedArena);
    dl_iterate_phdr(look_at_image, nullptr);
}

void stamp_running_thread() {
    unsigned i = running->index;
    state.me = stamp::make(state.epoch, i, worker->warp_syncs[i / kWarpSize], ordering::segment(i));
}

void restart_countdown() {
    accesses_before += uint64_t(countdown_start - state.countdown);
    int64_t next = kBreakEvery;
    if (settings.access_limit && settings.access_limit - accesses_before < uint64_t(next))
        next = int64_t(settings.access_limit - accesses_before) + 1;
    countdown_start = state.countdown = next;
}

void resolve() {
    if (!pending.any) return;
    pending.any = false;
    state.countdown += pending.countdown;
    if (memcmp(pending.before, reinterpret_cast<const void*>(pending.address), pending.bytes) == 0) {
        pending.finding.warning = true;
        pending.finding.message = "threads write one location without order, all of them the same value";
    }
    findings::add(pending.finding);
}

// Names the shared variable that an address is in, or the one it has left.
const SharedVariable* shared_variable(uintptr_t address) {
    size_t offset = address - state.shared_base;
    const SharedVariable* best = nullptr;
    size_t best_distance = ~size_t(0);
    for (const SharedVariable& v : shared_variables) {
        size_t distance = offset < v.offset ? v.offset - offset : offset >= v.offset + v.bytes ? offset - v.offset - v.bytes + 1 : 0;
        if (distance < best_distance) best = &v, best_distance = distance;
    }
    return best;
}

const Variable* variable_near(uintptr_t address) {
    const std::vector<Variable>& all = variables();
    auto after = std::upper_bound(all.begin(), all.end(), address,
                                  [](uintptr_t a, const Variable& v) { return a < v.begin; });
    if (after == all.begin()) return nullptr;
    const Variable& v = *std::prev(after);
    // A little beyond the end still names the variable.
    return address < v.end + 64 ? &v : nullptr;
}

void name_variable(Finding& f, const Variable& v) {
    snprintf(f.buffer, sizeof f.buffer, "%s", v.name);
    f.buffer_bytes = v.end - v.begin;
    f.offset = int64_t(f.address - v.begin);
    f.element_bytes = uint32_t(v.element_bytes);
}

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

void name_place(Finding& f) {
    if (const Allocation* a = arena::find(f.address)) {
        f.space = "global";
        findings::name_buffer(f, *a);
    } else if (f.address - state.shared_base < kSharedArena) {
        checker::name_shared(f);
    } else if (const Variable* v = variable_near(f.address)) {
        f.space = "global";
        name_variable(f, *v);
    }
}

bool mapped(uintptr_t address) {
    unsigned char present;
    uintptr_t page = address & ~uintptr_t(4095);
    return mincore(reinterpret_cast<void*>(page), 1, &present) == 0;
}

}  // namespace

namespace checker {

// ---- the life of a launch ----

void launch_begins(Worker& w) {
    prepare_once(w);
    for (const SharedVariable& v : shared_variables)
        for (size_t i = 0; i < (v.bytes + 3) / 4; ++i) state.shared_shadow[cell_index(v.offset / 4 + i)].detail = 0;
    shared_variables.clear();
    state.launch_first = ++state.epoch;
    state.read_words = state.written_words = 0;
    accesses_before = 0;
    countdown_start = state.countdown = 0;
    restart_countdown();
    counted_blocks = 0;
    ++launches;
    ordering::launch_begins();
}

void block_begins(uint64_t number) {
    // Stacks are reserved when the first fiber is taken.
    state.stacks_base = worker->fibers.base();
    state.stacks_bytes = worker->fibers.reserved();
    state.block_first = ++state.epoch;
    ordering::block_begins(state.epoch);
    state.log = counters::wants_block(number);
    if (state.log) ++counted_blocks;
    state.active = settings.check;
}

void entered(const Thread& thread) {
    resolve();
    running = &thread;
    stamp_running_thread();
    if (state.log) state.thread_log = &counters::log_of(thread.index);
}

void interval_ends() {
    resolve();
    if (state.log) counters::interval_ends(launch_state.threads, state.shared_base);
    ++state.epoch;
    ordering::epoch_ends(state.epoch);
}

void block_ends() {
    interval_ends();
    state.active = false;
}

void launch_ends() {
    restart_countdown();
    all_accesses += accesses_before;
    counters::launch_ends({accesses_before, state.read_words * 4, state.written_words * 4, launch_state.blocks, counted_blocks});
}

void fence() {
    if (!state.active) return;
    ordering::fence(running->index, state.epoch);
    stamp_running_thread();
}

void break_point() {
    if (pending.any) {
        resolve();
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

void strong(const Access& access) {
    // A volatile read in a loop may wait for a thread that has yet to run.
    if (!access.atomic && ++worker->current->spins % 256 == 0) worker->pause();
    ordering::strong_access(running->index, access.address);
}

void atomic(const volatile void* address, size_t bytes, bool replaces, uintptr_t pc) {
    if (!state.active) return;
    check(AnyForm{unsigned(bytes), true, !replaces, true, true}, reinterpret_cast<uintptr_t>(address), pc);
}

void conflict(const Access& access, Space space, uint64_t other, bool other_write, unsigned other_mask, unsigned mask,
              uint32_t other_pc) {
    if (!(other_mask & mask)) return;
    bool other_strong = stamp::strong(other);
    bool same_block = stamp::epoch(other) == state.epoch;
    if (access.strong && other_strong) {
        if (access.atomic || space == Space::global) return;
        // Volatile alone orders nothing among threads that share a tile; after
        // a fence of the one who writes it is a flag.
        if (stamp::segment(other_write ? other : state.me) > 0) return;
    }
    Finding f = about(access, Kind::race, "");
    if (same_block) {
        unsigned mine = running->index, theirs = stamp::thread(other);
        if (mine / kWarpSize == theirs / kWarpSize) {
            unsigned sync = stamp::sync(other);
            if (sync != stamp::sync(state.me) || sync == stamp::kSyncMax) return;
            f.message = "threads of one warp access one location without __syncwarp between";
        } else {
            f.message = "threads of one block access one location without a barrier between";
        }
        if (ordering::ordered(mine, theirs, stamp::segment(other)) || stamp::segment(other) == stamp::kSegmentMax) return;
        f.other_thread = theirs;
        f.warning = space == Space::global && (access.strong || other_strong);
    } else {
        if (ordering::ordered_between_blocks(stamp::epoch(other))) return;
        f.message = "different blocks access one location, and nothing orders blocks";
        f.warning = true;
    }
    f.other_pc = other_pc ? state.image + other_pc : 0;
    f.other_write = other_write;
    name_place(f);
    if (other_write && access.write && !access.atomic && !other_strong && access.bytes <= sizeof pending.before &&
        !pending.any) {
        pending.any = true;
        pending.finding = f;
        pending.address = access.address;
        pending.bytes = access.bytes;
        memcpy(pending.before, reinterpret_cast<const void*>(access.address), access.bytes);
        pending.countdown = state.countdown;
        state.countdown = 0;  // the next access comes to break_point()
        return;
    }
    findings::add(f);
}

void uninitialized(const Access& access, Space space) {
    Finding f = about(access, Kind::uninitialized,
                      space == Space::shared ? "shared memory is read before this block has written it"
                                             : "device memory is read before anything was written to it");
    name_place(f);
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
    if (a && a->live && a->zone == Zone::read_only) fatal = access.write || access.address >= a->map_end;
    findings::add(f);
    if (fatal) worker->abandon(cudaErrorIllegalAddress);
}

void write_to_input(const Access& access) {
    Finding f = about(access, Kind::out_of_bounds, "a read-only input is written");
    name_place(f);
    findings::add(f);
    worker->abandon(cudaErrorIllegalAddress);
}

void outside_shared(const Access& access) {
    Finding f = about(access, Kind::out_of_bounds, "the access is outside its shared variable");
    name_shared(f);
    findings::add(f);
}

// Parameters, variables of the program, host memory, nothing at all. True if
// the access is to a registered variable and is to be looked at further.
bool elsewhere(const Access& access) {
    uintptr_t p = reinterpret_cast<uintptr_t>(launch_state.parameters);
    if (access.address - p < launch_state.parameter_bytes) {
        ++state.countdown;  // not an access to memory, so it is not counted as one
        return false;
    }
    if (const Variable* v = variable_near(access.address)) {
        if (access.address + access.bytes <= v->end) return true;
        Finding f = about(access, Kind::out_of_bounds, "the access is past the end of a device variable");
        f.space = "global";
        name_variable(f, *v);
        findings::add(f);
        return false;
    }
    // Literals and constant tables of the program, and this runtime's own thread variables.
    if (access.address >= state.image && access.address < image_end && (access.address < data_begin && !access.write)) return false;
    if (access.address - tls_begin < tls_end - tls_begin) return false;
    Finding f = about(access, Kind::out_of_bounds, "host memory is accessed in a kernel");
    f.space = "host";
    bool own_image = access.address >= state.image && access.address < image_end;
    if (own_image) {
        f.message = "a host variable is accessed in a kernel";
        f.warning = !access.write;  // nvcc refuses most of these; a static of a device function is legal
        findings::add(f);
        return false;
    }
    if (access.address < 4096) f.message = "a null pointer is dereferenced";
    else if (access.address - state.shared_base + (kSharedArena * 4) < kSharedArena * 8) f.message = "the address is far outside shared memory";
    else if (!mapped(access.address)) f.message = "an address that belongs to nothing is accessed";
    findings::add(f);
    worker->abandon(cudaErrorIllegalAddress);
}

void touched_by_host(const Access& access) {
    const Allocation* a = arena::find(access.address);
    if (a && a->zone == Zone::open && a->live) return;
    Finding f = about(access, Kind::out_of_bounds, a && !a->live ? "host code accesses freed memory" : "host code accesses device memory");
    f.space = "global";
    if (a) findings::name_buffer(f, *a);
    findings::add(f);  // and now it faults
}

VariableShadow variable_shadow(uintptr_t address) {
    const Variable* v = variable_near(address);
    return v ? VariableShadow{v->shadow, v->begin} : VariableShadow{nullptr, 0};
}

void name_shared(Finding& f) {
    f.space = "shared";
    const SharedVariable* v = shared_variable(f.address);
    if (!v) return;
    snprintf(f.buffer, sizeof f.buffer, "%s", v->name);
    f.buffer_bytes = v->bytes;
    f.element_bytes = uint32_t(v->element_bytes);
    f.offset = int64_t(f.address - state.shared_base) - int64_t(v->offset);
}

// ---- memory ----

static void place(const char* name, size_t offset, size_t bytes, size_t element_bytes) {
    shared_variables.push_back({name, offset, bytes, element_bytes});
    for (size_t i = 0; i < bytes; ++i)
        state.shared_shadow[cell_index((offset + i) / 4)].detail |= uint64_t(1) << (detail::kValid + (offset + i) % 4);
}

void shared_placed(const SharedSite& site, size_t offset) { place(site.name, offset, site.bytes, site.element_bytes); }

void dynamic_shared_placed(const char* name, size_t offset, size_t bytes, size_t element_bytes) {
    if (dynamic_placed_in == grader_launch_number) return;
    dynamic_placed_in = grader_launch_number;
    place(name, offset, bytes, element_bytes);
}

void allocated(Allocation& a, bool initialized) {
    if (!a.shadow) a.shadow = new_shadow(a.bytes());
    a.must_be_written = a.zone == Zone::read_only ? Allocation::kReadOnly : initialized ? 0 : 15;
}

void released(Allocation& a) { drop_shadow(a); }

void variable(void* address, size_t bytes, size_t element_bytes, const char* name) {
    uintptr_t begin = reinterpret_cast<uintptr_t>(address);
    Variable v{begin, begin + bytes, name, element_bytes, new_shadow(bytes)};
    std::vector<Variable>& all = variables();
    all.insert(std::upper_bound(all.begin(), all.end(), v,
                                [](const Variable& a, const Variable& b) { return a.begin < b.begin; }), v);
}

void set_by_host(void* to, size_t bytes) {
    uintptr_t p = reinterpret_cast<uintptr_t>(to);
    Allocation* a = const_cast<Allocation*>(arena::find(p));
    if (!a || a->must_be_written != 15 || !a->shadow || p < a->begin || p + bytes > a->end) return;
    if (p == a->begin && bytes == a->bytes()) {
        a->must_be_written = 0;
        return;
    }
    for (size_t i = p - a->begin; i < p - a->begin + bytes;) {
        if (i % 4 == 0 && i + 4 <= p - a->begin + bytes) {
            a->shadow[cell_index(i / 4)].detail |= 15;
            i += 4;
        } else {
            a->shadow[cell_index(i / 4)].detail |= uint64_t(1) << i % 4;
            ++i;
        }
    }
}

void refused_copy(void* to, const void* from, size_t bytes, uintptr_t pc) {
    Finding f;
    f.kind = Kind::invalid_copy;
    f.pc = pc;
    f.message = "a copy's direction does not fit its pointers";
    for (const void* side : {const_cast<const void*>(to), from}) {
        if (!side) continue;
        f.address = reinterpret_cast<uintptr_t>(side);
        const Allocation* a = arena::find(f.address);
        if (a && !a->live) f.message = "a copy uses freed memory";
        else if (a && (f.address < a->begin || bytes > a->end - f.address)) f.message = "a copy runs past the end of a buffer";
        else if (variable_near(f.address)) f.message = "a copy runs past the end of a device variable";
        else continue;
        f.write = side == to;
        f.access_bytes = uint32_t(std::min<size_t>(bytes, UINT32_MAX));
        name_place(f);
        break;
    }
    findings::add(f);
}

void broken_meeting(const char* message, const Thread& first, uintptr_t other_pc, bool warning) {
    if (!settings.check) return;
    Finding f;
    f.kind = Kind::barrier;
    f.message = message;
    f.pc = first.pc;
    f.other_pc = other_pc;
    f.warning = warning;
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

void flush(bool after_fault) {
    // On a lost device nothing can be freed.
    if (!after_fault && !device_lost()) {
        for (uint32_t i = 0; i < arena::count(); ++i) {
            Allocation& a = arena::allocations[i];
            if (!a.live || a.leak_reported || a.origin != Allocation::Origin::malloc) continue;
            a.leak_reported = true;
            Finding f;
            f.kind = Kind::leak;
            f.message = "device memory is never freed";
            f.pc = a.pc;
            f.address = a.begin;
            f.space = "global";
            findings::name_buffer(f, a);
            findings::add(f);
        }
    }
    findings::write();
    if (!after_fault) counters::write();
    ReportLine("summary").number("accesses", all_accesses).number("launches", launches).write();
    all_accesses = launches = 0;
}

}  // namespace checker
}  // namespace grader

#endif
