// A worker runs blocks, one after another, on one operating-system thread. (Several workers take
// turns on it if blocks are interleaved: residents.cpp.)
//
// The threads of a block run one at a time in a fixed order, each until it waits.
// A fiber runs threads that have not started, one after another. When a thread
// waits, it keeps the fiber, and a new fiber runs the remaining threads. So a
// kernel without barriers runs as a loop on one stack. A thread that cannot
// continue chooses the next thread and switches to it directly; the worker's own
// stack continues only at the end of a block.
//
// In the fast build, and in the order `forward`, a block begins as one loop in the kernel's own code
// (run_threads in execution.h). Until a thread waits, threadIdx is all that is known of its threads.
// When all live threads wait at the block's barrier, a *round* begins: __syncthreads, expanded in the
// kernel, switches to the next of them, and nothing else is noted. Anything else that a thread does, as
// its end, ends the round: then the state of all threads is known again.
//
// A barrier is complete when every live thread waits at it; a thread that has
// returned counts as arrived, as on Volta and later. Warp functions are
// rendezvous of the mask's live lanes (warp.cpp). If no live thread can run, a
// rendezvous is broken: that is a finding, and the threads continue so that the
// rest of the kernel can be checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#define GRADER_INDEX  // the runtime writes threadIdx and the other indices
#include "cuda_runtime.h"
#include "fiber.h"

namespace grader {

constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kWarpSize = 32;
constexpr unsigned kMaxWarps = kMaxThreads / kWarpSize;
constexpr size_t kSharedDefault = 48 * 1024;  // without opting in, and for static arrays
constexpr size_t kSharedArena = 1024 * 1024;  // room for the gaps between variables

enum class ThreadState : uint8_t { unstarted, ready, at_barrier, at_grid, parked, in_warp, done };

struct Thread {
    Fiber* fiber;
    ThreadState state;
    uint16_t index;  // in the block, x fastest
    uintptr_t pc;    // where it waits
    // For a warp rendezvous (warp.cpp) or a reducing barrier.
    int operation;
    unsigned mask;
    int operand;
    int width;
    uint64_t value;
    uint64_t result;
    int predicate;
    const void* key;        // under which it is parked (barriers.h)
    uint64_t phase;         // of the named barrier at which it has arrived
    const void* published;  // what the others of its group may read
    uint32_t spins;  // fences, pauses and atomics since the last wait

    unsigned warp() const { return index / kWarpSize; }
    unsigned lane() const { return index % kWarpSize; }
};

// One launch, shared by all its workers.
struct LaunchState {
    const char* name;
    dim3 grid, block;
    unsigned threads;
    uint64_t blocks;
    size_t dynamic_shared;
    void* parameters;
    size_t parameter_bytes;
    void (*body)(void*);
    int abandoned;          // a cudaError_t; blocks that have not started are dropped
    uint64_t next_block;    // taken with an atomic increment
    uintptr_t pc;           // of the launch
    size_t static_shared;   // bytes of the shared variables that its blocks have reached
    cudaStream_t stream;
    bool cooperative;       // all blocks are resident, and may wait for each other
};

enum class Schedule : uint8_t { forward, reverse, random, interleaved };

struct Settings {
    Schedule schedule = Schedule::forward;
    uint64_t seed = 0;
    unsigned os_threads = 0;       // fast build; 0: as many as there are cores, up to a limit
    uint64_t access_limit = 0;     // checked build; 0: no limit
    bool count = true;             // access counters
    unsigned counted_blocks = 16;  // per launch; 0: all
    bool check = true;
    bool trace = false;            // report what the host asks for, with its time
    bool writers = false;          // report which thread wrote which word of the caller's arrays
    size_t shared_limit = 227 * 1024;  // of a block that opts in; the default is that of sm_90
};
extern Settings settings;
extern LaunchState launch_state;
extern bool alone;  // one operating-system thread runs all blocks

struct AsyncCopies;
struct NamedBarriers;

class Worker {
public:
    Worker();
    Worker(const Worker&) = delete;

    void run_blocks(bool call_for_help);

    // Of a cooperative launch (cooperative.cpp): runs the block until it is finished, or until
    // its threads wait for other blocks.
    bool begin_block(uint64_t number);
    void continue_block();
    bool finished() const { return live_ == 0; }
    bool waits_for_grid() const { return live_ > 0 && live_ == grid_waiting_; }
    const Thread* first_at_grid() const;
    void release_from_grid();

    // Called by the running thread.
    void wait_for_grid(uintptr_t pc);
    void wait_at_barrier(uintptr_t pc);
    uint64_t meet_warp(int operation, unsigned mask, uint64_t value, int operand, int width, int* predicate,
                       uintptr_t pc);
    bool park(const void* key, uintptr_t pc);  // until woken; false if nothing else can run
    void wake_parked(const void* key);
    void pause();                         // lets the others run
    [[noreturn]] void abandon(int error); // ends the launch, as a fault on a GPU does

    Fiber* running_fiber() const { return running_; }
    void drop_block();  // of an abandoned launch, suspended anywhere

    Thread& running() {  // the thread that runs
        if (takes_block_) refuse_wait();
        settle();
        return *current;
    }
    // A kernel that runs for its whole block (thread_loops.h).
    void take_block();
    bool knows_thread() const { return !takes_block_ && !looping_; }  // else g++ may keep its index in registers
    void* keep(size_t bytes);  // room for a local variable of each thread

    Thread* current = nullptr;  // null outside kernels; see running()
    Thread threads[kMaxThreads];
    uint32_t warp_syncs[kMaxWarps];
    char* shared = nullptr;
    FiberPool fibers;
    AsyncCopies* copies = nullptr;   // async_copies.cpp; made on first use
    NamedBarriers* named = nullptr;  // barriers.cpp; made on first use

private:
    struct Room {
        void* memory;
        size_t bytes;
    };
    static void fiber_main();
    void prepare_launch();
    void prepare_threads();
    void settle() {  // makes `current` and the threads' states known
#if !GRADER_CHECKED
        if (looping_) leave_loop();
        else if (grader_round_at) leave_round();
#endif
    }
    [[noreturn]] void refuse_wait();
    void leave_loop();
    void begin_round();
    void leave_round();
    const Thread* first_in(ThreadState wanted) const;
    unsigned waiting_like(const Thread& first) const;  // threads in its state, at its line
    void run_block(uint64_t number);
    void enter(Thread& next);
    Thread* choose();
    void leave_for(Thread* next);
    void arrive_or_release();
    void release_barrier();
    bool warps_are_parted() const;  // some threads of a warp wait at the barrier, others have ended
    bool warp_ready(const Thread& self, unsigned& present) const;
    void complete_warp(unsigned warp, unsigned present);
    bool complete_broken_rendezvous();
    bool wake_stuck();
    void wake(Thread& thread);

    uint32_t launch_number_ = 0;
    bool loops_ = false;     // blocks begin as loops
    bool looping_ = false;   // in the loop that began the block
    bool takes_block_ = false;
    unsigned kept_used_ = 0;
    std::vector<Room> kept_;
    bool prepared_ = false;  // order_, position_ and indices_ are those of the launch
    unsigned count_ = 0;    // threads in the block
    unsigned live_ = 0;     // not yet returned
    unsigned waiting_ = 0;  // at the block's barrier
    unsigned grid_waiting_ = 0;  // at the grid's barrier
    unsigned runnable_ = 0; // unstarted or ready
    unsigned cursor_ = 0;   // position in order_
    Fiber home_;
    Fiber* running_ = nullptr;
    uint16_t order_[kMaxThreads];
    uint16_t position_[kMaxThreads];
    uint3 indices_[kMaxThreads];
#if !GRADER_CHECKED
    RoundEntry round_[kMaxThreads];
    uint16_t round_threads_[kMaxThreads];
#endif
};

// The worker of this operating-system thread, or null.
extern __thread Worker* worker;
inline bool in_kernel() { return worker && worker->current; }

// One host thread at a time uses the device; a launch keeps it until its kernel has ended.
extern std::recursive_mutex device_lock;
struct DeviceTurn {
    DeviceTurn() { if (host) device_lock.lock(); }
    ~DeviceTurn() { if (host) device_lock.unlock(); }
    DeviceTurn(const DeviceTurn&) = delete;
    const bool host = !in_kernel();  // a kernel runs within its launch's turn
};

// The block that this thread runs, as a number (x fastest).
uint64_t block_number();

// The error of a launch: sticky if the device is lost, else returned once.
void set_error(int error, bool sticky);
inline cudaError_t fail(cudaError_t error) {  // what a function of the API returns
    set_error(error, false);
    return error;
}
bool device_lost();

// The launches of a call are reported, the first few of them.
void call_begins();

// Runs launch_state on this thread and, if it takes long, on helpers.
void run_launch();

constexpr int kMultiprocessors = 16;

// cooperative.cpp: the same with all blocks resident.
void run_cooperative();
uint64_t most_cooperative_blocks(unsigned threads, size_t shared_bytes);  // that fit the device at once
uint3 block_at(uint64_t number);

// residents.cpp: the same with interleaved blocks (checked build; empty in the fast one).
void run_interleaved(bool take_turns);
void take_turns();         // lets the other resident blocks run
void stop_taking_turns();  // for the rest of the launch: blocks share a file-scope variable

}  // namespace grader
