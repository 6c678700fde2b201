#include "arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <mutex>

#include "worker.h"

namespace grader::arena {

uintptr_t base = 0, reserved = 0;
uint32_t* granules = nullptr;
Allocation* allocations = nullptr;

namespace {

constexpr size_t kGranule = size_t(1) << kGranuleShift;
constexpr size_t kMinimumGap = size_t(1) << 20;
constexpr size_t kHugePage = size_t(2) << 20;
constexpr uint32_t kMaxAllocations = 1 << 16;
constexpr size_t kLargestReservation = size_t(64) << 30;
constexpr size_t kSmallestReservation = size_t(1) << 30;
// Only a hint: the same addresses in every run make reports easy to compare.
constexpr uintptr_t kPreferredBase = 0x700000000000;
// New device memory is filled with NaNs, to reveal code that expects zeros.
constexpr size_t kPoisonAtMost = size_t(256) << 20;

struct ZoneState {
    uintptr_t begin, end, next;
};
ZoneState zones[3];

uint32_t allocation_count = 0;
uint32_t next_id = 1;
size_t in_use = 0;
size_t total = size_t(8) << 30;
bool protect = true;
int openings = 0;
bool closes_late = false;  // closed, but still accessible

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

bool reserve() {
    if (base) return true;
    const char* wish = getenv("GRADER_HOST_ARENA");  // "open": this environment forbids protection
    if (wish && strcmp(wish, "open") == 0) protect = false;
    for (size_t bytes = kLargestReservation; bytes >= kSmallestReservation; bytes /= 2) {
        void* memory = mmap(reinterpret_cast<void*>(kPreferredBase), bytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) continue;
        size_t table_bytes = (bytes >> kGranuleShift) * sizeof(uint32_t);
        void* table = mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        void* entries = mmap(nullptr, (kMaxAllocations + 1) * sizeof(Allocation), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (table == MAP_FAILED || entries == MAP_FAILED) return false;
        uintptr_t start = round_up(reinterpret_cast<uintptr_t>(memory), kGranule);
        size_t usable = (bytes - kGranule) / kGranule * kGranule;
        granules = static_cast<uint32_t*>(table);
        allocations = static_cast<Allocation*>(entries) + 1;
        base = start;
        reserved = usable;
        size_t quarter = usable / 4 / kGranule * kGranule;
        // A gap before the first buffer, too: an index of -1 must hit a gap.
        zones[int(Zone::device)] = {start, start + 2 * quarter, start + kMinimumGap};
        zones[int(Zone::read_only)] = {start + 2 * quarter, start + 3 * quarter, start + 2 * quarter + kMinimumGap};
        zones[int(Zone::open)] = {start + 3 * quarter, start + usable, start + 3 * quarter + kMinimumGap};
        return true;
    }
    return false;
}

int access_of(Zone zone, bool accessible) {
    if (!accessible) return PROT_NONE;
    return zone == Zone::read_only ? PROT_READ : PROT_READ | PROT_WRITE;
}

bool accessible_now(Zone zone) { return zone == Zone::open || !protect || openings > 0; }

void write_granules(const Allocation& a, uint32_t value) {
    size_t first = (a.map_begin - base) >> kGranuleShift, last = (a.gap_end - base) >> kGranuleShift;
    for (size_t g = first; g < last; ++g) granules[g] = value;
}

// Large buffers start on a huge page: changing the access to 512 small ones takes 50 times longer.
void align_next(ZoneState& z) {
    const uintptr_t aligned = round_up(z.next, kHugePage);
    if (aligned >= z.end) return;
    for (uint32_t i = allocation_count; i-- > 0;) {
        if (allocations[i].gap_end != z.next) continue;
        allocations[i].gap_end = aligned;
        write_granules(allocations[i], i + 1);
        break;
    }
    z.next = aligned;
}

// Returns a freed range that is large enough; used when the zone is full.
Allocation* recycle(size_t span, Zone zone) {
    static uint32_t next = 0;  // where the last search ended: a heap frees in the order of its allocations
    for (uint32_t n = 0; n < allocation_count; ++n, ++next) {
        if (next >= allocation_count) next = 0;
        Allocation& a = allocations[next];
        if (!a.live && a.zone == zone && a.gap_end - a.map_begin >= span) return &a;
    }
    return nullptr;
}

// Changes the access to both zones that host code must not touch.
void give_access(bool accessible) {
    for (Zone zone : {Zone::device, Zone::read_only}) {
        const ZoneState& z = zones[int(zone)];
        if (z.next > z.begin + kMinimumGap)
            mprotect(reinterpret_cast<void*>(z.begin), z.next - z.begin, access_of(zone, accessible));
    }
}

Allocation* claim(size_t map_bytes, Zone zone, size_t least_gap = kMinimumGap) {
    settle();
    if (!reserve()) {
        errno = ENOMEM;
        return nullptr;
    }
    size_t map_span = round_up(map_bytes, kGranule);
    size_t span = map_span + round_up(map_bytes > least_gap ? map_bytes : least_gap, kGranule);
    ZoneState& z = zones[int(zone)];
    if (map_bytes >= kHugePage) align_next(z);
    Allocation* a;
    if (allocation_count < kMaxAllocations && z.end - z.next >= span) {
        a = &allocations[allocation_count++];
        a->map_begin = z.next;
        a->gap_end = z.next + span;
        z.next += span;
    } else if (!(a = recycle(span, zone))) {
        errno = ENOMEM;
        return nullptr;
    }
    a->map_end = a->map_begin + map_span;
    a->zone = zone;
    return a;
}

Allocation* publish(Allocation* a, Allocation::Origin origin, const char* name) {
    a->origin = origin;
    a->live = true;
    a->leak_reported = false;
    a->pc = 0;
    a->id = next_id++;
    snprintf(a->name, sizeof a->name, "%s", name && *name ? name : "");
    // The granules before the data belong to the buffer, too: so an index of -1 is assigned to it.
    write_granules(*a, uint32_t(a - allocations) + 1);
    if (origin == Allocation::Origin::malloc) in_use += a->bytes();
    return a;
}

}  // namespace

void configure(bool want_protection, size_t device_bytes) {
    protect = want_protection;
    if (device_bytes) total = device_bytes;
}

Allocation* allocate(size_t bytes, Zone zone, Allocation::Origin origin, const char* name) {
    if (zone == Zone::device && in_use + bytes > total) {
        errno = ENOMEM;
        return nullptr;
    }
    // A kernel may allocate thousands of small pieces.
    Allocation* a = claim(bytes, zone, origin == Allocation::Origin::heap ? kGranule : kMinimumGap);
    if (!a) return nullptr;
    void* memory = mmap(reinterpret_cast<void*>(a->map_begin), a->map_end - a->map_begin, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (bytes >= kHugePage) madvise(memory, a->map_end - a->map_begin, MADV_HUGEPAGE);  // may fail
    a->begin = a->map_begin;
    a->end = a->begin + bytes;
    if (bytes <= kPoisonAtMost && zone != Zone::open) memset(memory, 0xff, bytes);
    else if (bytes <= kPoisonAtMost) std::fill_n(static_cast<uint32_t*>(memory), round_up(bytes, 4) / 4, kFilling);
    if (!accessible_now(zone)) mprotect(memory, a->map_end - a->map_begin, PROT_NONE);
    return publish(a, origin, name);
}

Allocation* attach(int fd, size_t map_bytes, size_t data_offset, size_t data_bytes, bool writable, const char* name) {
    // The checker counts in words of 4 bytes from the data's start.
    if (data_offset > map_bytes || data_bytes > map_bytes - data_offset || data_offset % 16 != 0) {
        errno = EINVAL;
        return nullptr;
    }
    Zone zone = writable ? Zone::device : Zone::read_only;
    Allocation* a = claim(map_bytes, zone);
    if (!a) return nullptr;
    void* memory = mmap(reinterpret_cast<void*>(a->map_begin), map_bytes, access_of(zone, accessible_now(zone)),
                        MAP_SHARED | MAP_FIXED, fd, 0);
    if (memory == MAP_FAILED) return nullptr;
    a->begin = a->map_begin + data_offset;
    a->end = a->begin + data_bytes;
    return publish(a, Allocation::Origin::attached, name);
}

void release(Allocation* a) {
    settle();
    a->live = false;
    if (a->origin == Allocation::Origin::malloc) in_use -= a->bytes();
    // Gives the memory back and makes any later access by the host fault.
    int access = access_of(a->zone, accessible_now(a->zone) && a->zone != Zone::open);
    mmap(reinterpret_cast<void*>(a->map_begin), a->map_end - a->map_begin, access,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void detach_all() {
    for (uint32_t i = 0; i < allocation_count; ++i) {
        Allocation& a = allocations[i];
        if (a.live && a.origin == Allocation::Origin::attached) release(&a);
    }
    // Reuse the range at the end of a zone, so that a worker maps the buffers of
    // all cases at the same addresses.
    while (allocation_count > 0) {
        Allocation& a = allocations[allocation_count - 1];
        if (a.live || a.origin != Allocation::Origin::attached || zones[int(a.zone)].next != a.gap_end) break;
        write_granules(a, 0);
        zones[int(a.zone)].next = a.map_begin;
        --allocation_count;
    }
}

uint32_t count() { return allocation_count; }
size_t device_bytes_in_use() { return in_use; }
size_t device_bytes_total() { return total; }

void open() {
    if (openings++ > 0 || !protect || !base) return;
    if (closes_late) closes_late = false;
    else give_access(true);
}

void close() {
    if (--openings > 0 || !protect || !base) return;
    if (GRADER_CHECKED) closes_late = true;
    else give_access(false);
}

SmallOpening::SmallOpening(const void* first, size_t bytes) : whole(GRADER_CHECKED) {
    static const size_t page = size_t(sysconf(_SC_PAGESIZE));
    const uintptr_t at = reinterpret_cast<uintptr_t>(first);
    const Allocation* a = find(at);
    begin = at / page * page;
    end = round_up(at + bytes, page);
    if (whole) open();
    else if (a && !accessible_now(a->zone)) mprotect(reinterpret_cast<void*>(begin), end - begin, access_of(a->zone, true));
    else begin = end;
}

SmallOpening::~SmallOpening() {
    if (whole) close();
    else if (begin != end) mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_NONE);
}

void settle() {
    if (!closes_late) return;
    const std::unique_lock<std::recursive_mutex> turn(device_lock, std::try_to_lock);
    if (!turn || !closes_late) return;  // another host thread uses the memory
    closes_late = false;
    give_access(false);
}

}  // namespace grader::arena
