#include "barriers.h"

#include <cstring>

#include "async_copies.h"
#include "checker.h"
#include "worker.h"

namespace grader {

// Named barriers are the block's, and a worker runs one block at a time.
struct NamedBarriers {
    struct Barrier {
        uint64_t block = ~uint64_t(0);
        uint32_t launch = 0;
        unsigned arrived = 0;
        uint64_t completed = 0;
    };
    // One for each identifier of the hardware and for each tile of several warps.
    static constexpr unsigned kAll = 16 + kMaxWarps;
    Barrier all[kAll];
};

namespace barriers {

namespace {

using Named = NamedBarriers::Barrier;

Named& current(unsigned id) {
    if (!worker->named) worker->named = new NamedBarriers;
    Named& barrier = worker->named->all[id % NamedBarriers::kAll];
    if (barrier.block != block_number() || barrier.launch != grader_launch_number) {
        barrier = Named{};
        barrier.block = block_number();
        barrier.launch = grader_launch_number;
    }
    return barrier;
}

// Orders this thread after all that have passed the key, and later ones after this thread.
void pass(const void* key) { checker::synchronize(reinterpret_cast<uintptr_t>(key)); }

void arrive(Named& barrier, unsigned threads) {
    pass(&barrier);
    if (++barrier.arrived < threads) return;
    barrier.arrived = 0;
    ++barrier.completed;
    worker->wake_parked(&barrier);
}

// An mbarrier in 8 bytes, as on a GPU: expected arrivals, those still missing, the phase.
struct Memory {
    uint32_t expected : 20, spare : 12;
    uint32_t missing : 20, phase : 12;
};
static_assert(sizeof(Memory) == 8);

void arrive(Memory& barrier, unsigned count) {
    barrier.missing -= count < barrier.missing ? count : barrier.missing;
    if (barrier.missing > 0) return;
    barrier.missing = barrier.expected;
    ++barrier.phase;
    worker->wake_parked(&barrier);
}

Memory& checked(void* at, uintptr_t pc) {
    checker::atomic(at, sizeof(Memory), false, pc);
    return *static_cast<Memory*>(at);
}

}  // namespace

void arrive_at_named(unsigned id, unsigned threads) {
    Named& barrier = current(id);
    worker->running().phase = barrier.completed;
    arrive(barrier, threads);
}

void await_named(unsigned id, uintptr_t pc) {
    Named& barrier = current(id);
    const uint64_t phase = worker->running().phase;
    while (barrier.completed == phase)
        if (!worker->park(&barrier, pc)) break;
    pass(&barrier);
}

}  // namespace barriers
}  // namespace grader

using namespace grader;

#define GRADER_HERE reinterpret_cast<uintptr_t>(__builtin_return_address(0))

extern "C" {

// A barrier of `threads` threads of the block: of the hardware's sixteen, or of a tile of warps.
void grader_named_barrier(unsigned id, unsigned threads, int wait) {
    if (!in_kernel()) return;
    if (threads == 0) threads = launch_state.threads;
    barriers::arrive_at_named(id, threads);
    if (wait) barriers::await_named(id, GRADER_HERE);
}

// Waits for the phase at which this thread has arrived.
void grader_named_barrier_await(unsigned id) {
    if (in_kernel()) barriers::await_named(id, GRADER_HERE);
}

void grader_mbarrier_init(void* at, unsigned count) {
    if (in_kernel()) checker::plain_write(at, 8, GRADER_HERE);
    barriers::Memory barrier = {};
    barrier.expected = barrier.missing = count;
    memcpy(at, &barrier, sizeof barrier);
}

// Returns the phase that this arrival helps to complete.
unsigned grader_mbarrier_arrive(void* at, unsigned count, int drop) {
    if (!in_kernel()) return 0;
    async_copies::finish_all();  // the phase ends after the copies of those that arrive
    auto& barrier = barriers::checked(at, GRADER_HERE);
    barriers::pass(at);
    const unsigned phase = barrier.phase;
    if (drop && barrier.expected > 0) --barrier.expected;
    barriers::arrive(barrier, count);
    return phase;
}

int grader_mbarrier_test(void* at, unsigned phase, int parity_only) {
    if (!in_kernel()) return 1;
    auto& barrier = barriers::checked(at, GRADER_HERE);
    const bool passed = parity_only ? (barrier.phase & 1) != (phase & 1) : barrier.phase != (phase & 0xfff);
    if (passed) barriers::pass(at);
    else if (++worker->running().spins % 16 == 0) worker->pause();
    return passed;
}

void grader_mbarrier_wait(void* at, unsigned phase, int parity_only) {
    if (!in_kernel()) return;
    auto& barrier = barriers::checked(at, GRADER_HERE);
    while (parity_only ? (barrier.phase & 1) == (phase & 1) : barrier.phase == (phase & 0xfff))
        if (!worker->park(at, GRADER_HERE)) break;
    barriers::pass(at);
}

// Threads of a group read what the others published, between two barriers of the group.
void grader_publish(const void* value) {
    if (in_kernel()) worker->running().published = value;
}
void grader_read_published(unsigned thread, void* to, size_t bytes) {
    if (!in_kernel() || thread >= launch_state.threads) return;
    const void* from = worker->threads[thread].published;
    if (from && worker->threads[thread].state != ThreadState::done) memcpy(to, from, bytes);
}
void grader_read_published_of_warp(void* to, size_t bytes) {
    if (!in_kernel()) return;
    const unsigned first = worker->running().warp() * kWarpSize;
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
        grader_read_published(first + lane, static_cast<char*>(to) + lane * bytes, bytes);
}
}
