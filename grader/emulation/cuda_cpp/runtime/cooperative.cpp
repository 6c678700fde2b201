// Cooperative launches: every block is resident, and grid.sync() waits for all of them.
//
// Each block has a worker of its own (threads, fibers, shared memory). They run one after
// another, each until all its threads wait at the grid's barrier, or until a thread spins. Between
// two barriers of the grid the checker sees one block after another, as in an ordinary launch; a
// barrier of the grid orders everything before it. A thread that spins may wait for another block by
// means of its own, so accesses before and after a change of blocks there count as ordered.
#include <algorithm>
#include <vector>

#include "checker.h"
#include "report.h"
#include "worker.h"

namespace grader {

namespace {

constexpr unsigned kGuardedResidents = 8;
constexpr unsigned kThreadsEach = 2048, kBlocksEach = 32;
constexpr size_t kSharedEach = 228 * 1024, kReservedShared = 1024;

struct Resident {
    Worker* worker;
    uint64_t number;
    bool begun = false, done = false, log = false;
};

std::vector<Worker*>& workers() {
    static std::vector<Worker*>& all = *new std::vector<Worker*>;  // kept for later launches
    return all;
}

Worker& worker_of(uint64_t number) {
    while (workers().size() <= number) {
        workers().push_back(new Worker);
        if (workers().size() > kGuardedResidents) workers().back()->fibers.leave_out_guards();
    }
    return *workers()[number];
}

void run(Resident& r) {
    worker = r.worker;
    grader_shared_base = worker->shared;
    blockIdx = block_at(r.number);
    if (!r.begun) {
        r.begun = true;
        if (!worker->begin_block(r.number)) return;
    } else {
        checker::block_continues(r.number, r.log);
    }
    worker->continue_block();
    r.done = worker->finished();
    if (r.done) checker::block_ends();
    else r.log = checker::block_pauses();
}

}  // namespace

uint64_t most_cooperative_blocks(unsigned threads, size_t shared_bytes) {
    if (threads == 0) return 0;
    uint64_t each = std::min<uint64_t>(kThreadsEach / ((threads + kWarpSize - 1) / kWarpSize * kWarpSize), kBlocksEach);
    each = std::min<uint64_t>(each, kSharedEach / (shared_bytes + kReservedShared));
    return each * kMultiprocessors;
}

void run_cooperative() {
    std::vector<Resident> residents;
    for (uint64_t n = 0; n < launch_state.blocks; ++n) {
        const uint64_t number = settings.schedule == Schedule::reverse ? launch_state.blocks - 1 - n : n;
        residents.push_back({&worker_of(number), number});
    }
    bool spinning = false;
    while (!launch_state.abandoned) {
        size_t done = 0, at_grid = 0;
        spinning = false;
        for (Resident& r : residents) {
            if (!r.done && !(r.begun && r.worker->waits_for_grid())) run(r);
            if (launch_state.abandoned) break;
            if (r.done) ++done;
            else if (r.worker->waits_for_grid()) ++at_grid;
            else spinning = true;
            if (spinning && &r != &residents.back()) checker::phase_begins();
        }
        if (launch_state.abandoned || done == residents.size()) break;
        if (spinning) {
            checker::phase_begins();
            continue;
        }
        const Resident* waiting = nullptr;
        for (Resident& r : residents)
            if (!r.done && !waiting) waiting = &r;
        if (done > 0) {
            worker = waiting->worker;
            checker::broken_rendezvous("blocks end before a barrier of the grid where others wait", *worker->first_at_grid(), 0, false);
        }
        checker::phase_begins();
        for (Resident& r : residents)
            if (!r.done) r.worker->release_from_grid();
    }
    for (Resident& r : residents)
        if (r.begun && !r.done) r.worker->drop_block();
}

}  // namespace grader

extern "C" {

int grader_blocks_each(int threads, size_t shared_bytes) {
    if (threads < 1 || threads > static_cast<int>(grader::kMaxThreads)) return 0;
    return static_cast<int>(grader::most_cooperative_blocks(static_cast<unsigned>(threads), shared_bytes) /
                            grader::kMultiprocessors);
}

int grader_grid_is_valid() { return grader::in_kernel() && grader::launch_state.cooperative; }

void grader_grid_sync() {
    if (!grader::in_kernel()) return;
    const uintptr_t pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    if (!grader::launch_state.cooperative) {
        grader::Thread& self = grader::worker->running();
        self.pc = pc;
        grader::checker::broken_rendezvous("a barrier of the grid in a launch that is not cooperative", self, 0, false);
        grader::worker->abandon(cudaErrorLaunchFailure);
    }
    grader::worker->wait_for_grid(pc);
}
}
