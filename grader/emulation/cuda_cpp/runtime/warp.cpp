// Warp functions: each is a rendezvous of the live lanes in a mask.
//
// A lane stores its operand and waits; the last lane to arrive computes every
// lane's result and wakes the others. Lanes that have returned are not waited
// for. If the block is stuck, a rendezvous with missing lanes (which wait
// elsewhere) is reported and completed with the lanes that arrived.
// __activemask() has no mask to wait for and completes only then.
#include <initializer_list>

#include "checker.h"
#include "worker.h"

namespace grader {

namespace {

using Op = WarpOperation;

struct Rendezvous {
    Thread* lanes;  // the warp's first thread
    unsigned present;
    bool has(unsigned lane) const { return present >> lane & 1; }
};

// The lane whose value a shuffle returns; as in CUDA, a lane whose source is
// outside its segment keeps its own value.
int source_lane(const Thread& self) {
    int lane = static_cast<int>(self.lane()), width = self.width;
    int first = lane & ~(width - 1), last = first + width - 1;
    int source = lane;
    switch (static_cast<Op>(self.operation)) {
        case Op::shuffle: source = first + (self.operand & (width - 1)); break;
        case Op::shuffle_up: source = lane - self.operand; if (source < first) source = lane; break;
        case Op::shuffle_down: source = lane + self.operand; if (source > last) source = lane; break;
        case Op::shuffle_xor: source = lane ^ self.operand; if (source > last) source = lane; break;
        default: break;
    }
    return source;
}

uint64_t combine(Op operation, uint64_t a, uint64_t b) {
    switch (operation) {
        case Op::add: return a + b;
        case Op::min: return a < b ? a : b;
        case Op::max: return a > b ? a : b;
        case Op::min_signed: return static_cast<int64_t>(a) < static_cast<int64_t>(b) ? a : b;
        case Op::max_signed: return static_cast<int64_t>(a) > static_cast<int64_t>(b) ? a : b;
        case Op::bit_and: return a & b;
        case Op::bit_or: case Op::ballot: return a | b;
        case Op::bit_xor: return a ^ b;
        default: return b;
    }
}

void answer(const Rendezvous& m, Op operation) {
    uint64_t all = 0;
    bool first = true;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if (!m.has(lane)) continue;
        uint64_t value = m.lanes[lane].value;
        if (operation == Op::ballot || operation == Op::any || operation == Op::all) value = uint64_t(value != 0) << lane;
        all = first ? value : combine(operation >= Op::add ? operation : Op::ballot, all, value);
        first = false;
    }
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if (!m.has(lane)) continue;
        Thread& self = m.lanes[lane];
        switch (operation) {
            case Op::sync: self.result = 0; break;
            case Op::active: self.result = m.present; break;
            case Op::shuffle: case Op::shuffle_up: case Op::shuffle_down: case Op::shuffle_xor: {
                unsigned source = static_cast<unsigned>(source_lane(self)) % kWarpSize;
                if (m.has(source)) {
                    self.result = m.lanes[source].value;
                } else {
                    checker::broken_rendezvous("a shuffle reads a lane that does not take part", self, 0, true);
                    // Undefined: 0 on an H200. The checked build gives another value, which shows
                    // whether the result depends on it.
                    self.result = GRADER_CHECKED ? self.value : 0;
                }
                break;
            }
            case Op::any: self.result = all != 0; break;
            case Op::all: self.result = all == m.present; break;
            case Op::match_any: case Op::match_all: {
                unsigned same = 0;
                for (unsigned other = 0; other < kWarpSize; ++other)
                    if (m.has(other) && m.lanes[other].value == self.value) same |= 1u << other;
                bool everyone = same == m.present;
                self.predicate = everyone;
                self.result = operation == Op::match_any || everyone ? same : 0;
                break;
            }
            default: self.result = all; break;
        }
    }
}

}  // namespace

// True if every live lane of the mask has arrived with the same operation.
bool Worker::warp_ready(const Thread& self, unsigned& present) const {
    const Thread* lanes = &threads[self.index - self.lane()];
    unsigned in_warp = count_ - (self.index - self.lane());
    present = 0;
    for (unsigned lane = 0; lane < kWarpSize && lane < in_warp; ++lane) {
        if (!(self.mask >> lane & 1)) continue;
        const Thread& other = lanes[lane];
        if (other.state == ThreadState::done) continue;
        if (other.state != ThreadState::in_warp || other.operation != self.operation || other.mask != self.mask)
            return false;
        present |= 1u << lane;
    }
    return true;
}

void Worker::complete_warp(unsigned warp, unsigned present) {
    Rendezvous rendezvous{&threads[warp * kWarpSize], present};
    unsigned first = static_cast<unsigned>(__builtin_ctz(present));
    answer(rendezvous, static_cast<Op>(rendezvous.lanes[first].operation));
    ++warp_syncs[warp];
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
        if (rendezvous.has(lane)) wake(rendezvous.lanes[lane]);
}

uint64_t Worker::meet_warp(int operation, unsigned mask, uint64_t value, int operand, int width, int* predicate,
                           uintptr_t pc) {
    Thread& self = running();
    self.pc = pc;
    self.spins = 0;
    self.operation = operation;
    self.value = value;
    self.operand = operand;
    self.width = width > 0 && width <= 32 && (width & (width - 1)) == 0 ? width : 32;
    if (static_cast<Op>(operation) == Op::active) {
        self.mask = 0;  // waits for no lane: complete when the block is stuck
        self.state = ThreadState::in_warp;
    } else {
        if (!(mask >> self.lane() & 1)) {
            checker::broken_rendezvous("the calling lane is not in the mask of a warp function", self, 0, false);
            mask |= 1u << self.lane();
        }
        self.mask = mask;
        self.state = ThreadState::in_warp;
        unsigned present;
        if (warp_ready(self, present)) complete_warp(self.warp(), present);
    }
    leave_for(choose());
    if (predicate) *predicate = self.predicate;
    return self.result;
}

// No thread can run. Completes one rendezvous and returns true; false if no
// rendezvous can be completed.
bool Worker::complete_broken_rendezvous() {
    // The return of a lane may have completed a rendezvous: no error then.
    for (unsigned i = 0; i < count_; ++i) {
        Thread& thread = threads[i];
        unsigned present;
        if (thread.state != ThreadState::in_warp || static_cast<Op>(thread.operation) == Op::active) continue;
        if (warp_ready(thread, present)) {
            complete_warp(thread.warp(), present);
            return true;
        }
    }
    for (bool active_only : {true, false}) {
        for (unsigned i = 0; i < count_; ++i) {
            Thread& thread = threads[i];
            if (thread.state != ThreadState::in_warp) continue;
            bool active = static_cast<Op>(thread.operation) == Op::active;
            if (active != active_only) continue;
            unsigned present = 0, base = thread.index - thread.lane();
            uintptr_t elsewhere = 0;
            for (unsigned lane = 0; lane < kWarpSize && base + lane < count_; ++lane) {
                const Thread& other = threads[base + lane];
                bool same = other.state == ThreadState::in_warp && other.operation == thread.operation &&
                            other.mask == thread.mask && (!active || other.pc == thread.pc);
                if (same) present |= 1u << lane;
                else if (other.state != ThreadState::done && (thread.mask >> lane & 1) && !elsewhere) elsewhere = other.pc;
            }
            if (!active) checker::broken_rendezvous("lanes named by the mask of a warp function wait elsewhere", thread, elsewhere, false);
            complete_warp(thread.warp(), present);
            return true;
        }
    }
    return false;
}

}  // namespace grader

extern "C" unsigned long long grader_warp(int operation, unsigned mask, unsigned long long value, int operand,
                                          int width, int* predicate) {
    if (!grader::in_kernel()) return value;
    return grader::worker->meet_warp(operation, mask, value, operand, width, predicate,
                                     reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
