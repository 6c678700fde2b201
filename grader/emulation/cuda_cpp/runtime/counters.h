// The cost of a warp's accesses: requests, sectors, wavefronts.
//
// In a counted block, every access is logged per thread. At the end of each
// barrier interval, the logs of a warp's threads are matched: the k-th execution
// of a program counter by all lanes is one request, as if the lanes ran in
// lockstep. Costs are counted as in hardware:
//   global   distinct 32-byte sectors per request
//   shared   per group of 32, 16 or 8 lanes (accesses of up to 4, 8, 16
//            bytes) the largest number of distinct 4-byte words in one bank
// Each thread's log is in program order, so the counts do not depend on timing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace grader {

// The program counter, an offset in the shared object, and the kind of an access in one number.
struct AccessKey {
    uint64_t number;
    AccessKey(uint32_t pc, unsigned bytes, bool write, bool shared, bool atomic)
        : number(uint64_t(pc) << 16 | uint8_t(bytes) << 3 | unsigned(write) << 2 | unsigned(shared) << 1 | unsigned(atomic)) {}
    uint32_t pc() const { return uint32_t(number >> 16); }
    unsigned bytes() const { return uint8_t(number >> 3); }
    bool write() const { return number & 4; }
    bool shared() const { return number & 2; }
    bool atomic() const { return number & 1; }
};

struct AccessRecord {
    uint64_t address;
    AccessKey key;
    AccessRecord(uint64_t address, AccessKey key) : address(address), key(key) {}
};

namespace counters {

// The records of one thread in one interval.
struct Log {
    AccessRecord *begin = nullptr, *next = nullptr, *end = nullptr;
    void add(uint64_t address, AccessKey key) {
        if (__builtin_expect(next == end, false)) return add_to_full(address, key);
        next->address = address;
        asm("" : "+m"(next->address));  // two stores: g++ would join the halves through memory
        next->key = key;
        ++next;
    }
    size_t size() const { return size_t(next - begin); }
    void clear() { next = begin; }

private:
    void add_to_full(uint64_t address, AccessKey key);  // cut if it has as many as are kept
};

Log& log_of(unsigned thread);
void interval_ends(unsigned threads, uintptr_t shared_base);

struct LaunchTotals {
    uint64_t accesses;      // of all blocks
    uint64_t read_bytes;    // distinct bytes read from global memory: the minimum to move
    uint64_t written_bytes;
    uint64_t blocks, counted_blocks;
    uint64_t barriers;      // most that a block has passed
    uint64_t shared_bytes;  // of a block, static and dynamic
};
void launch_ends(const LaunchTotals& totals);
bool wants_block(uint64_t number, uint64_t accesses);  // of the launch until now
void write();      // writes all counters as records and resets them

}  // namespace counters
}  // namespace grader
