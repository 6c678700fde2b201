#include "streams.h"

#include <algorithm>
#include <mutex>
#include <set>

namespace grader::streams {

namespace {

constexpr uint32_t kLegacy = 0, kPerThread = 1;

struct Stream {
    bool blocking = true;
    Order order;                   // of its next operation
    uint32_t forgotten = 0;        // operations that the host has waited for
    std::vector<uint32_t> epochs;  // the first ones of those after them
};

std::recursive_mutex lock;
using Guard = std::lock_guard<std::recursive_mutex>;

// Never destroyed: programs end streams at their exit.
struct Table {
    std::vector<Stream> all = std::vector<Stream>(2);
    std::set<const GraderStream*> live;
    std::vector<uint32_t> free;
    Order host;    // what the host has waited for
    Order latest;  // of the latest operation, when it began
    cudaStream_t inside = nullptr;
    bool is_inside = false;
};
Table& table() {
    static Table& one = *new Table;
    return one;
}

uint32_t count_in(const Order& order, uint32_t stream) { return stream < order.size() ? order[stream] : 0; }

void join(Order& into, const Order& from) {
    if (into.size() < from.size()) into.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

uint32_t number_of(cudaStream_t stream) {
    if (table().is_inside) stream = table().inside;
    if (stream == cudaStreamPerThread) return kPerThread;
    return table().live.count(stream) ? stream->number : kLegacy;
}

// What the next operation of the stream waits for.
Order next(uint32_t number) {
    std::vector<Stream>& all = table().all;
    Order order = all[number].order;
    join(order, table().host);
    if (number == kLegacy) {
        for (const Stream& other : all)
            if (other.blocking) join(order, other.order);
    } else if (all[number].blocking) {
        join(order, all[kLegacy].order);
    }
    return order;
}

void forget_waited() {
    for (uint32_t number = 0; number < table().all.size(); ++number) {
        Stream& stream = table().all[number];
        const uint32_t waited = count_in(table().host, number);
        if (waited <= stream.forgotten) continue;
        const size_t gone = std::min<size_t>(waited - stream.forgotten, stream.epochs.size());
        stream.epochs.erase(stream.epochs.begin(), stream.epochs.begin() + std::ptrdiff_t(gone));
        stream.forgotten = waited;
    }
}

// The first epoch of an operation that is not in the order; `none` if all are.
uint32_t first_outside(const Order& order, uint32_t none) {
    uint32_t first = none;
    for (uint32_t number = 0; number < table().all.size(); ++number) {
        const Stream& stream = table().all[number];
        const uint32_t known = std::max(count_in(order, number), stream.forgotten) - stream.forgotten;
        if (known < stream.epochs.size()) first = std::min(first, stream.epochs[known]);
    }
    return first;
}

}  // namespace

GraderStream* create(bool blocking) {
    Guard guard(lock);
    Table& t = table();
    uint32_t number = uint32_t(t.all.size());
    if (t.free.empty()) {
        t.all.emplace_back();
    } else {
        number = t.free.back();
        t.free.pop_back();
    }
    t.all[number].blocking = blocking;
    GraderStream* const stream = new GraderStream{number};
    t.live.insert(stream);
    return stream;
}

void destroy(GraderStream* stream) {
    Guard guard(lock);
    if (!table().live.erase(stream)) return;
    // Its operations may still run.
    if (table().all[stream->number].epochs.empty()) table().free.push_back(stream->number);
    delete stream;
}

Operation begin(cudaStream_t stream, uint32_t first_epoch) {
    Guard guard(lock);
    const uint32_t number = number_of(stream);
    Order order = next(number);
    if (order.size() <= number) order.resize(number + 1);
    Stream& own = table().all[number];
    const uint32_t count = ++order[number];
    own.order = order;
    own.epochs.push_back(first_epoch);
    table().latest = std::move(order);
    return {number, count};
}

bool before_latest(const Operation& earlier) { return count_in(table().latest, earlier.stream) >= earlier.count; }

Order ends(cudaStream_t stream) {
    Guard guard(lock);
    return next(number_of(stream));
}

void wait_for(cudaStream_t stream, const Order& order) {
    Guard guard(lock);
    join(table().all[number_of(stream)].order, order);
}

void host_waits(const Order& order) {
    Guard guard(lock);
    join(table().host, order);
    if (!table().is_inside) forget_waited();
}

void host_waits_for_all() {
    Guard guard(lock);
    if (table().is_inside) return;
    for (const Stream& stream : table().all) join(table().host, stream.order);
    forget_waited();
}

bool waited(const Operation& operation) {
    Guard guard(lock);
    return count_in(table().host, operation.stream) >= operation.count;
}

bool several() { return table().all.size() > 2 || !table().all[kPerThread].order.empty(); }
bool inside() { return table().is_inside; }

Inside::Inside(cudaStream_t stream) : outer_(!table().is_inside) {
    Guard guard(lock);
    waited_before_ = table().host;
    if (outer_) table().inside = stream;
    join(table().host, next(number_of(stream)));
    table().is_inside = true;
}

Inside::~Inside() {
    Guard guard(lock);
    table().host = std::move(waited_before_);
    if (outer_) table().is_inside = false;
}

Found at(uint32_t epoch) {
    Guard guard(lock);
    Found found;
    for (uint32_t number = 0; number < table().all.size(); ++number) {
        const Stream& stream = table().all[number];
        const auto after = std::upper_bound(stream.epochs.begin(), stream.epochs.end(), epoch);
        if (after != stream.epochs.end()) found.end = std::min(found.end, *after);
        if (after == stream.epochs.begin() || *std::prev(after) < found.first) continue;
        found.first = *std::prev(after);
        found.operation = {number, stream.forgotten + uint32_t(after - stream.epochs.begin())};
    }
    return found;
}

uint32_t first_unordered(uint32_t none) {
    Guard guard(lock);
    return first_outside(table().latest, none);
}

uint32_t first_unwaited() {
    Guard guard(lock);
    const uint32_t first = first_outside(table().host, UINT32_MAX);
    return first == UINT32_MAX ? 0 : first;
}

}  // namespace grader::streams
