// The device's memory: one large reservation, three zones.
//
//   device     cudaMalloc and writable buffers of the judge
//   read-only  the judge's inputs: sealed files, mapped without write access
//   open       pinned and managed memory, accessible from both sides
//
// Outside kernels and copies, the first two zones are PROT_NONE, so that a host
// loop over device pointers fails as on a GPU. An `Opening` makes them
// accessible during its lifetime.
//
// Every allocation starts on a granule and is followed by a gap of at least its
// size; a table from granule to allocation gives in one step the buffer of an
// address, or the buffer that it has overrun. Freed memory keeps its entry, to
// distinguish a use after free from a wild pointer, and is reused only when the
// zone is full.
#pragma once

#include <cstddef>
#include <cstdint>

namespace grader {

struct ShadowCell;

enum class Zone : uint8_t { device, read_only, open };

// The checker's hot path reads the first fields; the size is a power of two.
struct alignas(128) Allocation {
    enum class Origin : uint8_t { malloc, attached, pinned, managed, heap };

    uintptr_t begin = 0, end = 0;          // the valid bytes
    ShadowCell* shadow = nullptr;          // checked build: one cell per 4 bytes, null once freed
    size_t whole_words = 0;                // checked build: the bytes of whole cells, 0 once freed
    uint32_t must_be_written = 0;          // checked build: 0xf if a read needs a write before it,
                                           // kReadOnly if no write is allowed at all
    uint32_t id = 0;                       // in the order of allocation
    uintptr_t map_begin = 0, map_end = 0;  // whole pages, guard bytes included
    uintptr_t gap_end = 0;                 // where the next allocation may start
    uintptr_t pc = 0;                      // where it was allocated
    Origin origin = Origin::malloc;
    Zone zone = Zone::device;
    bool live = false;
    bool leak_reported = false;
    char name[48] = {};
    static constexpr uint32_t kReadOnly = 0x10;
    size_t bytes() const { return end - begin; }
};
static_assert(sizeof(Allocation) == 128);

namespace arena {

constexpr unsigned kGranuleShift = 16;

// What is in pinned and managed memory that nothing has written. As a float a signalling NaN, which
// arithmetic changes.
constexpr uint32_t kFilling = 0xffa5c3a1;

#pragma GCC visibility push(hidden)
// The reservation's address and bytes; both 0 until the first use.
extern uintptr_t base, reserved;
extern uint32_t* granules;       // allocation index + 1, by granule
extern Allocation* allocations;  // by index; [-1] is an empty one, for granule 0
#pragma GCC visibility pop

void configure(bool protect, size_t device_bytes);

// Returns null with `errno` kept if there is no memory.
Allocation* allocate(size_t bytes, Zone zone, Allocation::Origin origin, const char* name);
Allocation* attach(int fd, size_t map_bytes, size_t data_offset, size_t data_bytes, bool writable, const char* name);
void release(Allocation* allocation);  // cudaFree
void detach_all();                     // every attached buffer goes

inline bool contains(uintptr_t address) { return address - base < reserved; }

// The allocation at or just before the address, live or freed; null in empty space.
inline Allocation* find(uintptr_t address) {
    if (!contains(address)) return nullptr;
    uint32_t index = granules[(address - base) >> kGranuleShift];
    return index ? &allocations[index - 1] : nullptr;
}

uint32_t count();
size_t device_bytes_in_use();
size_t device_bytes_total();

void open();
void close();
// The checked build closes late: the next launch opens again, and changing the access to many pages
// takes longer than a small kernel. Before host code touches the memory, its hooks call this.
void settle();

struct Opening {
    Opening() { open(); }
    ~Opening() { close(); }
    Opening(const Opening&) = delete;
};

// An opening of the pages of a few bytes of one allocation, several times as fast as one of all.
class SmallOpening {
  public:
    SmallOpening(const void* first, size_t bytes);
    ~SmallOpening();
    SmallOpening(const SmallOpening&) = delete;

  private:
    uintptr_t begin, end;  // the pages
    bool whole;            // all is open
};

}  // namespace arena
}  // namespace grader
