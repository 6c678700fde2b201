#include "ordering.h"

#if GRADER_CHECKED

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "checker_state.h"
#include "shadow.h"
#include "worker.h"

namespace grader::ordering {

namespace {

struct Range {
    uint32_t first, last;
};

// A thread's accesses in an epoch from a segment on, which it did not release.
struct Rest {
    uint32_t epoch;
    uint16_t thread, segment;
    bool same(const Rest& other) const { return epoch == other.epoch && thread == other.thread; }
};
constexpr size_t kRests = 64;  // the latest; older ones count as released

// What one block knows of others.
struct Known {
    std::vector<Range> ranges;
    std::vector<Rest> rests;
};

// For each thread of the block, its last known segment plus one; empty until first used.
using Clock = std::vector<uint16_t>;

struct Word {
    Clock threads;              // valid in `epoch` only
    uint32_t epoch = 0;
    // Whose clock it has, as far as `version` of it: nothing is new to the thread.
    uint16_t from = 0;
    uint32_t version = 0;
    Known blocks;               // released by blocks of this launch
    uint32_t visitor = 0;       // the block that acquired it last
};

bool clocks_in_epoch = false;
uint32_t block_first = 0, current_epoch = 0, last_fence_epoch = 0;
uint16_t segments[kMaxThreads];       // fences of each thread in this epoch
uint16_t released[kMaxThreads];       // segments before its last fence
bool has_fenced[kMaxThreads];         // in this block, for all blocks
Rest after_fence[kMaxThreads];        // of a thread that has
Clock clocks[kMaxThreads];
uint32_t versions[kMaxThreads];       // changes when the clock learns of another thread
Clock unfenced[kMaxThreads];          // acquired, without a fence since
Known acquired;                       // by the running block
Known unfenced_blocks;
std::unordered_map<uintptr_t, Word> words;
// Where the latest words are: threads come back to a few.
struct Recent {
    uintptr_t address;
    Word* word;
};
constexpr size_t kRecent = 64;
Recent recent[kRecent];

Word& word_at(uintptr_t address) {
    Recent& slot = recent[address / 4 % kRecent];
    if (!slot.word || slot.address != address) slot = {address, &words[address]};
    return *slot.word;
}

// Optimised for vector instructions: every atomic after a fence joins two clocks.
__attribute__((optimize("O3"))) void join(Clock& into, const Clock& from) {
    if (from.empty()) return;
    if (into.empty()) {
        into = from;
        return;
    }
    uint16_t* const to = into.data();
    const uint16_t* const other = from.data();
    const size_t threads = from.size();
    for (size_t i = 0; i < threads; ++i) to[i] = std::max(to[i], other[i]);
}

bool inside(const std::vector<Range>& ranges, uint32_t epoch) {
    auto after = std::upper_bound(ranges.begin(), ranges.end(), epoch,
                                  [](uint32_t e, const Range& r) { return e < r.first; });
    return after != ranges.begin() && epoch <= std::prev(after)->last;
}

// Both are sorted, since epochs grow and blocks run one after another.
void join(std::vector<Range>& into, const std::vector<Range>& from) {
    std::vector<Range> both;
    both.reserve(into.size() + from.size());
    std::merge(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(both),
               [](const Range& a, const Range& b) { return a.first < b.first; });
    into.clear();
    for (const Range& r : both) {
        if (!into.empty() && r.first <= into.back().last + 1) into.back().last = std::max(into.back().last, r.last);
        else into.push_back(r);
    }
}

const Rest* find(const Known& known, const Rest& wanted) {
    for (const Rest& rest : known.rests)
        if (rest.same(wanted)) return &rest;
    return nullptr;
}

void join(Known& into, const Known& from) {
    std::vector<Rest> rests;
    for (const Rest& rest : into.rests) {
        const Rest* other = find(from, rest);
        if (other) rests.push_back({rest.epoch, rest.thread, std::max(rest.segment, other->segment)});
        else if (!inside(from.ranges, rest.epoch)) rests.push_back(rest);
    }
    for (const Rest& rest : from.rests)
        if (!find(into, rest) && !inside(into.ranges, rest.epoch)) rests.push_back(rest);
    if (rests.size() > kRests) rests.erase(rests.begin(), rests.end() - kRests);
    into.rests = std::move(rests);
    join(into.ranges, from.ranges);
}

// The same for what one thread of the running block releases: `range` is its own, the latest there is.
void add(Known& into, const Range& range, const Rest& rest) {
    bool known = inside(into.ranges, rest.epoch);
    const auto released_now = [&](const Rest& old) {
        return old.epoch >= range.first && old.epoch <= range.last && !old.same(rest);
    };
    into.rests.erase(std::remove_if(into.rests.begin(), into.rests.end(), released_now), into.rests.end());
    for (Rest& old : into.rests) {
        if (!old.same(rest)) continue;
        old.segment = std::max(old.segment, rest.segment);
        known = true;
    }
    if (!known) into.rests.push_back(rest);
    if (into.rests.size() > kRests) into.rests.erase(into.rests.begin());
    if (!into.ranges.empty() && range.first <= into.ranges.back().last + 1)
        into.ranges.back().last = std::max(into.ranges.back().last, range.last);
    else into.ranges.push_back(range);
}

bool covers(const Known& known, uint32_t epoch, unsigned thread, unsigned segment) {
    if (!inside(known.ranges, epoch)) return false;
    const Rest* rest = find(known, {epoch, uint16_t(thread), 0});
    return !rest || segment < rest->segment || segment == stamp::kSegmentMax;
}

// A fence or barrier follows what was read.
void acquire_blocks() {
    if (unfenced_blocks.ranges.empty()) return;
    join(acquired, unfenced_blocks);
    unfenced_blocks = {};
}

}  // namespace

void launch_begins() {
    state.fenced = false;
    words.clear();
    memset(recent, 0, sizeof recent);
}

void block_begins(uint32_t first_epoch) {
    block_first = first_epoch;
    acquired = {};
    unfenced_blocks = {};
    last_fence_epoch = 0;
    memset(has_fenced, 0, sizeof has_fenced);
    epoch_ends(first_epoch);
}

void epoch_ends(uint32_t next_epoch) {
    current_epoch = next_epoch;
    acquire_blocks();
    if (!clocks_in_epoch) return;
    clocks_in_epoch = false;
    memset(segments, 0, sizeof segments);
    memset(released, 0, sizeof released);
    for (Clock& clock : clocks) clock.clear();
    for (Clock& clock : unfenced) clock.clear();
}

bool any_fence() { return state.fenced; }

void fence(unsigned thread, uint32_t epoch, bool wide) {
    state.fenced = clocks_in_epoch = true;
    if (!unfenced[thread].empty()) {
        join(clocks[thread], unfenced[thread]);
        ++versions[thread];
    }
    // A clock holds the last known segment plus one.
    released[thread] = ++segments[thread];
    if (wide) {
        acquire_blocks();
        has_fenced[thread] = true;
        after_fence[thread] = {epoch, uint16_t(thread), segments[thread]};
        last_fence_epoch = epoch;
    }
}

unsigned segment(unsigned thread) { return clocks_in_epoch ? segments[thread] : 0; }

void strong_access(unsigned thread, uintptr_t address, bool may_lock) {
    if (!state.fenced) return;
    clocks_in_epoch = true;
    Word& word = word_at(address);
    // Acquire.
    const bool current = word.epoch == current_epoch;
    const bool own = current && word.from == thread && word.version == versions[thread] && !word.threads.empty();
    const bool acquires = current && !own && !word.threads.empty();
    if (acquires) {
        join(may_lock ? unfenced[thread] : clocks[thread], word.threads);
        ++versions[thread];
    }
    bool first_visit = word.visitor != block_first;
    if (first_visit) {
        join(may_lock ? unfenced_blocks : acquired, word.blocks);
        word.visitor = block_first;
    }
    // Release everything before the last fence, and everything acquired.
    if (!current) {
        word.epoch = current_epoch;
        word.threads.clear();
    }
    if (released[thread]) {
        if (clocks[thread].empty()) clocks[thread].assign(launch_state.threads, 0);
        clocks[thread][thread] = released[thread];
    }
    if (own) {
        word.threads[thread] = std::max(word.threads[thread], released[thread]);
    } else {
        if (acquires && !may_lock) word.threads = clocks[thread];  // which has learnt all of the word's
        else join(word.threads, clocks[thread]);
        word.from = uint16_t(thread);
        word.version = versions[thread];
    }
    if (has_fenced[thread]) {
        if (first_visit) join(word.blocks, acquired);
        add(word.blocks, {block_first, last_fence_epoch}, after_fence[thread]);
    }
}

Order between_threads(unsigned reader, unsigned writer, unsigned segment) {
    const auto knows = [=](const Clock& clock) { return !clock.empty() && clock[writer] > segment; };
    return knows(clocks[reader]) ? Order::acquired : knows(unfenced[reader]) ? Order::unfenced : Order::none;
}

Order between_blocks(uint32_t epoch, unsigned thread, unsigned segment) {
    return covers(acquired, epoch, thread, segment) ? Order::acquired
           : covers(unfenced_blocks, epoch, thread, segment) ? Order::unfenced : Order::none;
}

}  // namespace grader::ordering

#endif
