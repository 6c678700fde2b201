// Launches: validation of configurations, workers for the blocks, placement of
// shared memory.
//
// A launch is synchronous. Its configuration is checked against the limits of a
// GPU (launch_limits.cpp); an invalid one sets the error for cudaGetLastError, as on a GPU. In
// the fast build, a long launch is shared with helper threads, one worker each; the
// checked build has one worker, because its findings must not depend on timing.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "arena.h"
#include "checker.h"
#include "children.h"
#include "graphs.h"
#include "launch_limits.h"
#include "pending.h"
#include "report.h"
#include "streams.h"
#include "trace.h"
#include "variables.h"
#include "worker.h"

unsigned grader_launch_number;

namespace grader {

std::recursive_mutex device_lock;

namespace {

constexpr size_t kSharedGap = 4096;  // after each variable, to catch overruns

int last_error, sticky_error;
int last_launch_error;
size_t placed_end;        // of the running launch: next free offset
bool next_is_cooperative;
std::mutex place_lock;

// Shared variables at file scope. The program gets their addresses once, so they keep them in later
// launches: static ones from the end of shared memory down, a dynamic one at its usual place.
struct Kept {
    const SharedSite* site;  // null: the dynamic one
    const char* name;
    size_t offset, element_bytes;
};
size_t kept_begin = kSharedArena;
std::vector<Kept>& kept() {
    static std::vector<Kept>& all = *new std::vector<Kept>;  // never destroyed: may be read at exit
    return all;
}

void tell_of_kept(const Kept& k) {
    if (k.site) checker::shared_placed(*k.site, k.offset);
    else checker::dynamic_shared_placed(k.name, k.offset, launch_state.dynamic_shared, k.element_bytes);
}

void refuse_shared(size_t bytes) {
    launch_limits::refuse_shared(launch_state, bytes);
    if (in_kernel()) worker->abandon(cudaErrorInvalidValue);
}

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// ---- helper threads (fast build) ----

struct Helpers {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t wake = PTHREAD_COND_INITIALIZER, rest = PTHREAD_COND_INITIALIZER;
    pid_t process = 0;  // helpers do not survive a fork
    unsigned started = 0, busy = 0;
    uint64_t call = 0;  // counts calls for help
};
Helpers helpers;

// The stacks of a thread with their guards are 2,050 mappings; Linux allows a process 65,530.
constexpr unsigned kMostThreads = 16;
constexpr unsigned kMostTold = 4;
unsigned told;  // launches of this call

void tell(const LaunchState& l) {
    if (told++ >= kMostTold) return;
    ReportLine("launched").text("kernel", l.name).triple("grid", l.grid.x, l.grid.y, l.grid.z)
        .triple("block", l.block.x, l.block.y, l.block.z).write();
}

unsigned wanted_threads() {
#if GRADER_CHECKED
    return 1;
#else
    unsigned wanted = settings.os_threads;
    cpu_set_t set;
    if (!wanted) wanted = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return wanted < kMostThreads ? wanted : kMostThreads;
#endif
}

Worker& own_worker() {
    static __thread Worker* mine;
    if (!mine) mine = new Worker;
    return *mine;
}

void* help(void*) {
    uint64_t answered = 0;
    pthread_mutex_lock(&helpers.lock);
    for (;;) {
        while (helpers.call == answered) pthread_cond_wait(&helpers.wake, &helpers.lock);
        answered = helpers.call;
        pthread_mutex_unlock(&helpers.lock);
        worker = &own_worker();
        worker->run_blocks(false);
        pthread_mutex_lock(&helpers.lock);
        if (--helpers.busy == 0) pthread_cond_signal(&helpers.rest);
    }
}

void wait_for_helpers() {
    pthread_mutex_lock(&helpers.lock);
    while (helpers.busy > 0) pthread_cond_wait(&helpers.rest, &helpers.lock);
    pthread_mutex_unlock(&helpers.lock);
}

}  // namespace

void call_helpers() {
    if (helpers.process != getpid()) {
        helpers = Helpers{};
        helpers.process = getpid();
    }
    pthread_mutex_lock(&helpers.lock);
    unsigned wanted = wanted_threads() - 1;
    while (helpers.started < wanted) {
        pthread_t thread;
        // A sandbox may forbid threads; then fewer helpers run.
        if (pthread_create(&thread, nullptr, help, nullptr) != 0) break;
        pthread_detach(thread);
        ++helpers.started;
    }
    if (helpers.started > 0) {
        alone = false;  // no block of this thread runs now
        helpers.busy = helpers.started;
        ++helpers.call;
        pthread_cond_broadcast(&helpers.wake);
    }
    pthread_mutex_unlock(&helpers.lock);
}

void set_error(int error, bool sticky) {
    if (error == cudaSuccess) return;
    last_error = error;
    if (sticky) sticky_error = error;
}

bool device_lost() { return sticky_error != 0; }

void call_begins() {
    told = 0;
    trace::call_begins();
}

void run_launch() {
    arena::Opening opening;
    worker = &own_worker();
    alone = true;
    checker::launch_begins(*worker);
    for (const Kept& k : kept()) tell_of_kept(k);
    // File-scope shared variables have one address for all blocks.
    if (launch_state.cooperative) run_cooperative();
    else if (GRADER_CHECKED && settings.schedule == Schedule::interleaved) run_interleaved(kept().empty());
    else worker->run_blocks(wanted_threads() > 1);
    wait_for_helpers();
    worker = nullptr;
}

// Runs a launch of the host or of a kernel.
void launch(LaunchState wanted) {
    last_launch_error = sticky_error ? sticky_error : launch_limits::error(wanted);
    if (last_launch_error) {
        set_error(last_launch_error, false);
        return;
    }
    tell(wanted);
    streams::begin(wanted.stream, checker::next_epoch());
    ++grader_launch_number;
    blockDim = wanted.block;
    gridDim = wanted.grid;
    wanted.threads = wanted.block.x * wanted.block.y * wanted.block.z;
    wanted.blocks = static_cast<uint64_t>(wanted.grid.x) * wanted.grid.y * wanted.grid.z;
    launch_state = wanted;
    placed_end = kSharedGap + round_up(wanted.dynamic_shared, 128) + kSharedGap;
    {
        const trace::LaunchSpan span(launch_state);
        run_launch();
    }
    for (const Kept& k : kept())
        if (k.site) launch_state.static_shared += k.site->bytes;
    checker::launch_ends();
    // Too much shared memory is noticed inside the kernel, but a GPU refuses the launch.
    if (launch_state.abandoned == cudaErrorInvalidValue) last_launch_error = cudaErrorInvalidValue;
    if (launch_state.abandoned) set_error(launch_state.abandoned, launch_state.abandoned != cudaErrorInvalidValue);
}

}  // namespace grader

using namespace grader;

extern "C" {

void grader_launch(const char* name, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, void* parameters,
                   size_t parameter_bytes, void (*body)(void*)) {
    const uintptr_t pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    GraderGraph* const graph = stream ? graphs::capturing(stream) : nullptr;
    if (in_kernel()) {
        children::add({name, grid, block, shared_bytes, pc, parameters, parameter_bytes, body});
        return;
    }
    const DeviceTurn turn;
    finish_copies();
    LaunchState wanted = {name, grid, block, 0, 0, shared_bytes, nullptr, 0, nullptr, 0, 0, pc, 0, stream, next_is_cooperative};
    next_is_cooperative = false;
    wanted.parameters = parameters;
    wanted.parameter_bytes = parameter_bytes;
    wanted.body = body;
    if (graph) {
        graphs::add_launch(graph, wanted);
        last_launch_error = cudaSuccess;
        return;
    }
    checker::host_wrote(parameter_bytes);
    launch(wanted);
    children::run_all();
}

// Offsets are the same for all blocks of a launch, so all workers share them.
void* grader_place_shared(SharedSite* site) {
    unsigned long long placed = __atomic_load_n(&site->placed, __ATOMIC_RELAXED);
    if ((placed >> 32) == grader_launch_number) return grader_shared_base + static_cast<unsigned>(placed);
    // Unlocked before a refusal, which does not return.
    const size_t refused = [&]() -> size_t {
        std::lock_guard<std::mutex> guard(place_lock);
        placed = __atomic_load_n(&site->placed, __ATOMIC_RELAXED);
        if ((placed >> 32) == grader_launch_number) return 0;
        launch_state.static_shared += site->bytes;
        size_t end = placed_end + round_up(site->bytes, 128) + kSharedGap;
        const size_t reached = launch_state.static_shared;
        if (reached > launch_limits::static_shared(launch_state) || end > kept_begin) return reached;
        placed = static_cast<unsigned long long>(grader_launch_number) << 32 | placed_end;
        checker::shared_placed(*site, placed_end);
        placed_end = end;
        __atomic_store_n(&site->placed, placed, __ATOMIC_RELEASE);
        return 0;
    }();
    if (refused) refuse_shared(refused);
    return grader_shared_base + static_cast<unsigned>(placed);
}

void* grader_dynamic_shared(const char* name, size_t element_bytes) {
    checker::dynamic_shared_placed(name, kSharedGap, launch_state.dynamic_shared, element_bytes);
    return grader_shared_base + kSharedGap;
}

// The same at file scope, called once by each operating-system thread that runs blocks.
void* grader_keep_shared(SharedSite* site) {
    std::unique_lock<std::mutex> guard(place_lock);
    for (const Kept& k : kept())
        if (k.site == site) return grader_shared_base + k.offset;
    const size_t room = round_up(site->bytes, 128) + kSharedGap;
    if (site->bytes > launch_limits::static_shared(launch_state) || placed_end + room > kept_begin) {
        guard.unlock();
        refuse_shared(site->bytes);
        return grader_shared_base;
    }
    kept_begin -= room;
    stop_taking_turns();
    kept().push_back({site, site->name, kept_begin, site->element_bytes});
    tell_of_kept(kept().back());
    return grader_shared_base + kept_begin;
}

void* grader_keep_dynamic_shared(const char* name, size_t element_bytes) {
    std::lock_guard<std::mutex> guard(place_lock);
    bool known = false;
    for (const Kept& k : kept()) known = known || !k.site;
    if (!known) kept().push_back({nullptr, name, kSharedGap, element_bytes});
    stop_taking_turns();
    return grader_dynamic_shared(name, element_bytes);
}

cudaError_t cudaGetLastError() {
    int error = last_error;
    last_error = sticky_error;
    return static_cast<cudaError_t>(error);
}
cudaError_t cudaPeekAtLastError() { return static_cast<cudaError_t>(last_error); }
cudaError_t cudaDeviceSynchronize() {
    if (in_kernel()) {
        grader_refuse("cudaDeviceSynchronize in a kernel", "a kernel waits for its children, which nvcc 12 and later refuse");
        worker->abandon(cudaErrorNotSupported);
    }
    const trace::Span span("wait", "cudaDeviceSynchronize");
    if (!device_lost()) wait_for_device();
    arena::settle();
    return static_cast<cudaError_t>(sticky_error);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    const trace::Span span("wait", "cudaStreamSynchronize");
    if (!device_lost()) wait_for(streams::ends(stream));
    arena::settle();
    return static_cast<cudaError_t>(sticky_error);
}
cudaError_t grader_last_launch() { return static_cast<cudaError_t>(last_launch_error); }

void grader_next_launch_is_cooperative() { next_is_cooperative = true; }

cudaError_t grader_refuse(const char* feature, const char* message) {
    ReportLine("unsupported").text("feature", feature).text("message", message)
        .number("pc", program_offset(reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1)).write();
    set_error(cudaErrorNotSupported, true);
    return cudaErrorNotSupported;
}

cudaError_t grader_launch_untyped() {
    ReportLine("unsupported").text("feature", "cudaLaunchKernel through void*")
        .number("pc", program_offset(reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - 1))
        .text("message", "cudaLaunchKernel was given a pointer whose kernel type is unknown here").write();
    set_error(cudaErrorNotSupported, true);
    return cudaErrorNotSupported;
}

cudaError_t grader_set_dynamic_limit(int bytes) {
    if (!launch_limits::opt_in(bytes)) {
        set_error(cudaErrorInvalidValue, false);
        return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

void grader_register_variable(void* address, size_t bytes, size_t element_bytes, const char* name, int managed, int constant) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(address);
    variables::add({begin, begin + bytes, name, element_bytes, checker::shadow_of_variable(bytes), managed != 0,
                    constant != 0, false});
}

// <cassert> calls this. In a kernel, a GPU prints the message and the launch fails.
__attribute__((noreturn)) void __assert_fail(const char* expression, const char* file, unsigned line, const char* function) {
    if (in_kernel()) {
        fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file, line, function,
                blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, expression);
        ReportLine("assertion").text("file", file).number("line", line).text("kernel", launch_state.name)
            .text("expression", expression).triple("block", blockIdx.x, blockIdx.y, blockIdx.z)
            .triple("thread", threadIdx.x, threadIdx.y, threadIdx.z).write();
        worker->abandon(cudaErrorAssert);
    }
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
    abort();
}
}
