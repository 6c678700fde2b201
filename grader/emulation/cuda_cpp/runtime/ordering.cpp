#include "ordering.h"

#if GRADER_CHECKED

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "worker.h"

namespace grader::ordering {

namespace {

struct Range {
    uint32_t first, last;
};

// For each thread, its last known segment plus one; empty until first used.
using Clock = std::vector<uint16_t>;

struct Word {
    Clock threads;              // valid in `epoch` only
    uint32_t epoch = 0;
    std::vector<Range> blocks;  // released by blocks of this launch
    uint32_t visitor = 0;       // the block that acquired it last
};

bool fenced_in_launch = false;
bool clocks_in_epoch = false;
uint32_t block_first = 0, current_epoch = 0, last_fence_epoch = 0;
uint16_t segments[kMaxThreads];       // fences of each thread in this epoch
uint16_t released[kMaxThreads];       // segments before its last fence
bool has_fenced[kMaxThreads];         // in this block
Clock clocks[kMaxThreads];
std::vector<Range> acquired;          // by the running block
std::unordered_map<uintptr_t, Word> words;

void join(Clock& into, const Clock& from) {
    if (from.empty()) return;
    if (into.empty()) into.assign(kMaxThreads, 0);
    for (unsigned i = 0; i < kMaxThreads; ++i)
        if (from[i] > into[i]) into[i] = from[i];
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

}  // namespace

void launch_begins() {
    fenced_in_launch = false;
    words.clear();
}

void block_begins(uint32_t first_epoch) {
    block_first = first_epoch;
    acquired.clear();
    last_fence_epoch = 0;
    memset(has_fenced, 0, sizeof has_fenced);
    epoch_ends(first_epoch);
}

void epoch_ends(uint32_t next_epoch) {
    current_epoch = next_epoch;
    if (!clocks_in_epoch) return;
    clocks_in_epoch = false;
    memset(segments, 0, sizeof segments);
    memset(released, 0, sizeof released);
    for (Clock& clock : clocks) clock.clear();
}

bool any_fence() { return fenced_in_launch; }

void fence(unsigned thread, uint32_t epoch, bool wide) {
    fenced_in_launch = clocks_in_epoch = true;
    if (wide) {
        has_fenced[thread] = true;
        last_fence_epoch = epoch;
    }
    // A clock holds the last known segment plus one.
    released[thread] = ++segments[thread];
}

unsigned segment(unsigned thread) { return clocks_in_epoch ? segments[thread] : 0; }

void strong_access(unsigned thread, uintptr_t address) {
    if (!fenced_in_launch) return;
    clocks_in_epoch = true;
    Word& word = words[address];
    // Acquire.
    if (word.epoch == current_epoch) join(clocks[thread], word.threads);
    bool first_visit = word.visitor != block_first;
    if (first_visit) {
        join(acquired, word.blocks);
        word.visitor = block_first;
    }
    // Release everything before the last fence, and everything acquired.
    if (word.epoch != current_epoch) {
        word.epoch = current_epoch;
        word.threads.clear();
    }
    if (released[thread]) {
        if (clocks[thread].empty()) clocks[thread].assign(kMaxThreads, 0);
        clocks[thread][thread] = released[thread];
    }
    join(word.threads, clocks[thread]);
    if (has_fenced[thread]) {
        if (first_visit) join(word.blocks, acquired);
        join(word.blocks, {{block_first, last_fence_epoch}});
    }
}

bool ordered(unsigned reader, unsigned writer, unsigned segment) {
    const Clock& clock = clocks[reader];
    return !clock.empty() && clock[writer] > segment;
}

bool ordered_between_blocks(uint32_t epoch) { return inside(acquired, epoch); }

}  // namespace grader::ordering

#endif
