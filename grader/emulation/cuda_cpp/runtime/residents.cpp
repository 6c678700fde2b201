// schedule=interleaved: several blocks are resident at once, as on a GPU.
//
// Each resident runs its blocks with a worker of its own (threads, fibers, shared
// memory), on a fiber of its own, all on one operating-system thread. Threads and
// residents take turns before every write, atomic and volatile access to memory that
// threads share, so what others write comes between a thread's read and its write: an
// update without an atomic is lost. Turns go round, so every run gives the same result.
//
// Nothing is checked meanwhile: the shadow assumes one block after another.
#include "worker.h"

#if GRADER_CHECKED

#include "arena.h"
#include "checker_state.h"
#include "variables.h"

namespace grader {

namespace {

constexpr unsigned kResidents = 4;

struct TurnTaker {
    Worker* worker;       // kept for later launches
    Fiber* at;            // where it continues
    uint3 thread, block;  // its indices while another resident runs
    bool done;
};
TurnTaker residents[kResidents];
unsigned running = 0;
bool taking_turns = false;
Fiber caller, ended;

void resume(unsigned next, Fiber& from) {
    running = next;
    TurnTaker& r = residents[next];
    worker = r.worker;
    grader_shared_base = worker->shared;
    threadIdx = r.thread;
    blockIdx = r.block;
    Fiber::switch_to(from, *r.at);
}

// The next resident in turn that has work; the running one if there is no other.
unsigned next_resident() {
    unsigned next = running;
    do next = (next + 1) % kResidents;
    while (next != running && residents[next].done);
    return next;
}

void resident_main() {
    worker->run_blocks(false);
    residents[running].done = true;
    const unsigned next = next_resident();
    if (next != running && !launch_state.abandoned) resume(next, ended);
    Fiber::switch_to(ended, caller);
    __builtin_unreachable();
}

FiberPool homes(resident_main);

}  // namespace

void take_turns() {
    if (!taking_turns) return;
    const unsigned next = next_resident();
    if (next == running) return;
    TurnTaker& self = residents[running];
    self.at = worker->running_fiber();
    self.thread = threadIdx;
    self.block = blockIdx;
    resume(next, *self.at);
}

void stop_taking_turns() { taking_turns = false; }

void run_interleaved(bool turns) {
    homes.reset();
    for (TurnTaker& r : residents) {
        if (!r.worker) r.worker = new Worker;
        r.at = homes.take();
        r.done = false;
        if (!r.at) {
            launch_state.abandoned = cudaErrorLaunchOutOfResources;
            return;
        }
    }
    watch.interleaved = true;
    taking_turns = turns;
    resume(0, caller);
    watch.interleaved = taking_turns = false;
    for (TurnTaker& r : residents)
        if (!r.done) r.worker->drop_block();
}

namespace checker {

void interleave(const Access& access) {
    const uintptr_t a = access.address;
    if (!access.write && !access.strong) return;
    const bool shared = a - reinterpret_cast<uintptr_t>(worker->shared) < kSharedArena;
    if (shared || arena::contains(a) || (!worker->fibers.in_stacks(a) && variables::at(a))) worker->pause();
}

}  // namespace checker
}  // namespace grader

#else

namespace grader {
void run_interleaved(bool) {}
void take_turns() {}
void stop_taking_turns() {}
}  // namespace grader

#endif
