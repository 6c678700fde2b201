// The state of every 4-byte word of device and shared memory.
//
// A stamp identifies the last access to the word:
//
//   63        32 31    22 21       10 9       2 1    0
//   | epoch 32 | thread 10 | warp sync 12 | segment 8 | kind 2 |
//
// The epoch counts barriers, blocks and launches: two accesses of one block with
// different epochs are ordered by a barrier. The warp-sync count orders lanes of
// one warp, the segment counts a thread's fences (ordering.h). A strong access is
// volatile, atomic, or atomic within its block only. Counts saturate at their largest value, which means
// "unknown: assume ordered".
//
// Two readers are kept, the latest and another thread of the same epoch that
// has read the same bytes: any writer differs from at least one of them.
#pragma once

#include <cstdint>

namespace grader {

struct ShadowCell {
    uint64_t write;
    uint64_t read;
    uint64_t other_read;
    uint64_t detail;
};
static_assert(sizeof(ShadowCell) == 32);

// The index of a word's cell. Rows of matrices are often a power of two long, and
// the cells of a column would share a few cache sets; one line of padding after
// every 4 KiB of cells (and one more after every 64 of those) spreads them.
// Words of one aligned 16-byte access stay adjacent.
constexpr uint64_t cell_index(uint64_t word) { return word + (word >> 7 << 1) + (word >> 13 << 1); }

// detail, four bits being a mask of the word's bytes:
//   | other read pc 16 | read pc 16 | write pc 16 | valid 4 | read mask 4 | write mask 4 | written 4 |
// `valid` is for shared memory only: the bytes that belong to a variable. A
// program counter is a return address's offset in the shared object in units of
// 4 bytes: calls are further apart, and the byte before the unit's start is still
// inside the call. 0 is unknown (beyond 256 KiB of code).
namespace detail {
constexpr unsigned kWritten = 0, kWriteMask = 4, kReadMask = 8, kValid = 12, kWritePc = 16, kReadPc = 32, kOtherPc = 48;
constexpr uint64_t kPcMask = 0xffff;
constexpr unsigned nibble(uint64_t d, unsigned at) { return d >> at & 15; }
constexpr uint64_t encode_pc(uint64_t offset) { return offset >> 2 <= kPcMask ? offset >> 2 : 0; }
constexpr bool read_by(uint64_t d, unsigned mask, uint64_t pc) {
    return (d & (kPcMask << kReadPc | 15 << kReadMask)) == (pc << kReadPc | mask << kReadMask);
}
constexpr uint64_t decode_pc(uint64_t code) { return code << 2; }
}  // namespace detail

namespace stamp {
constexpr unsigned kThreadShift = 22, kSyncShift = 10, kSegmentShift = 2;
constexpr uint64_t kSyncMax = 4095, kSegmentMax = 255;
enum Kind : uint64_t { kPlain, kVolatile, kAtomic, kBlockAtomic };
constexpr uint64_t kKinds = 3;

constexpr uint64_t make(uint64_t epoch, uint64_t thread, uint64_t sync, uint64_t segment) {
    return epoch << 32 | thread << kThreadShift | (sync < kSyncMax ? sync : kSyncMax) << kSyncShift |
           (segment < kSegmentMax ? segment : kSegmentMax) << kSegmentShift;
}
constexpr uint32_t epoch(uint64_t s) { return static_cast<uint32_t>(s >> 32); }
constexpr unsigned thread(uint64_t s) { return s >> kThreadShift & 1023; }
constexpr unsigned sync(uint64_t s) { return s >> kSyncShift & 4095; }
constexpr unsigned segment(uint64_t s) { return s >> kSegmentShift & 255; }
constexpr bool strong(uint64_t s) { return s & kKinds; }
constexpr uint64_t kind(uint64_t s) { return s & kKinds; }
constexpr bool same_thread_and_epoch(uint64_t a, uint64_t b) { return ((a ^ b) >> kThreadShift) == 0; }
}  // namespace stamp

}  // namespace grader
