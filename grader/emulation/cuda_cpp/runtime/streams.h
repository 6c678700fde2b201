// The order of the work that the host gives the device: streams, events and waits.
//
// The emulation performs work in the order of the calls. What a GPU may reorder or overlap is known
// from vector clocks: an operation is the n-th of its stream, and an order says for each stream how
// many of its operations have ended. An operation begins after those before it in its stream, those
// that the host has waited for, and those of the events that its stream waits for. The legacy default
// stream and blocking streams wait for each other; streams made with cudaStreamNonBlocking do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#define GRADER_INDEX
#include "cuda_runtime.h"

struct GraderGraph;

namespace grader::streams {

using Order = std::vector<uint32_t>;  // by the stream's number; what is beyond its end is 0

struct Operation {
    uint32_t stream = 0, count = 0;
};

}  // namespace grader::streams

struct GraderStream {
    uint32_t number;
};
struct GraderEvent {
    double recorded_ms;    // negative: never
    GraderGraph* capture;  // into which its stream was captured when it was recorded
    grader::streams::Order order;
};

namespace grader::streams {

GraderStream* create(bool blocking);
void destroy(GraderStream* stream);

// Begins an operation; the checked build knows it by its first epoch. `before_latest` compares with it.
Operation begin(cudaStream_t stream, uint32_t first_epoch);
bool before_latest(const Operation& earlier);

Order ends(cudaStream_t stream);  // of all operations of the stream until now
void wait_for(cudaStream_t stream, const Order& order);  // the stream's next operations
void host_waits(const Order& order);
void host_waits_for_all();
bool waited(const Operation& operation);  // by the host

// While it lives, host code runs in a stream: a graph's nodes, or a function that the stream calls.
class Inside {
public:
    explicit Inside(cudaStream_t stream);
    ~Inside();
    Inside(const Inside&) = delete;

private:
    bool outer_;
    Order waited_before_;
};

// ---- for the checked build ----

// The operation with this epoch, and its epochs; `count` is 0 if the host has waited for all until then.
struct Found {
    Operation operation;
    uint32_t first = 0, end = UINT32_MAX;
};
Found at(uint32_t epoch);
// The first epoch of an operation that is not before the latest one; `none` if there is none.
uint32_t first_unordered(uint32_t none);
uint32_t first_unwaited();  // 0: none
bool several();             // more than the default stream: else all is in order
bool inside();

}  // namespace grader::streams
