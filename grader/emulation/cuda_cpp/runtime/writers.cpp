#include "writers.h"

#if GRADER_CHECKED

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "arena.h"
#include "report.h"
#include "shadow.h"
#include "worker.h"

namespace grader::writers {

namespace {

constexpr size_t kMostBlocks = 1 << 16, kMostLaunches = 64;  // of a call; others are not drawn
constexpr uint64_t kWordsOfRecord = 256;                      // their text fits into a record

struct Block {
    uint32_t epoch;
    uint64_t number;
};
struct Launch {
    uint32_t epoch;
    std::string kernel;
    dim3 grid, block;
};

// Never destroyed: the report is written at program exit.
std::vector<Block>& blocks = *new std::vector<Block>;
std::vector<Launch>& launches = *new std::vector<Launch>;
uint32_t call_first = 0;

// The writer of a word so far, and whether a launch had several.
struct Word {
    uint64_t stamp = 0;
    bool shared = false;
};
std::map<const Allocation*, std::vector<Word>>& words_of = *new std::map<const Allocation*, std::vector<Word>>;

bool drawn(const Allocation& a) {
    const uint64_t words = a.bytes() / 4;
    return a.live && a.origin == Allocation::Origin::attached && a.zone == Zone::device && a.shadow && words != 0 &&
           words <= kMostWords && a.bytes() % 4 == 0;
}

// The last of the entries that began at this epoch or before; null if there is none.
template <class Entry> const Entry* at(const std::vector<Entry>& entries, uint32_t epoch) {
    auto after = std::upper_bound(entries.begin(), entries.end(), epoch,
                                  [](uint32_t e, const Entry& entry) { return e < entry.epoch; });
    return after == entries.begin() ? nullptr : &*(after - 1);
}

// Null if no kernel of this call wrote it.
const Block* writer_of(uint64_t stamp) {
    return stamp::epoch(stamp) > call_first ? at(blocks, stamp::epoch(stamp)) : nullptr;
}

// The last launch that wrote a word; null if none did.
const Launch* launch_of(const Allocation& a, uint64_t words) {
    uint32_t latest = 0;
    for (uint64_t word = 0; word < words; ++word) {
        const uint64_t stamp = a.shadow[cell_index(word)].write;
        if (writer_of(stamp)) latest = std::max(latest, stamp::epoch(stamp));
    }
    return latest ? at(launches, latest) : nullptr;
}

// "3.0+32": 32 words in order were written by block 3, threads 0 to 31; "-+2": nothing wrote 2 words.
std::string text_of(const Allocation& a, uint64_t from, uint64_t to) {
    std::string text;
    uint64_t length = 0, block = 0;
    unsigned first = 0;
    bool written = false;
    auto flush = [&] {
        if (!length) return;
        if (!text.empty()) text += ' ';
        text += written ? std::to_string(block) + '.' + std::to_string(first) : "-";
        text += '+' + std::to_string(length);
        length = 0;
    };
    for (uint64_t word = from; word < to; ++word) {
        const uint64_t stamp = a.shadow[cell_index(word)].write;
        const Block* writer = writer_of(stamp);
        const unsigned thread = stamp::thread(stamp);
        const bool more = length && written == (writer != nullptr) &&
                          (!writer || (block == writer->number && thread == first + length));
        if (!more) {
            flush();
            written = writer != nullptr;
            block = writer ? writer->number : 0;
            first = thread;
        }
        ++length;
    }
    flush();
    return text;
}

// "3 4": these words, counted from `from`, were written by several threads of a launch.
std::string doubles_of(const Allocation& a, uint64_t from, uint64_t to) {
    std::string text;
    const auto known = words_of.find(&a);
    for (uint64_t word = from; known != words_of.end() && word < to; ++word) {
        if (!known->second[word].shared) continue;
        if (!text.empty()) text += ' ';
        text += std::to_string(word - from);
    }
    return text;
}

}  // namespace

void interval_ends(uint32_t epoch) {
    if (blocks.size() > kMostBlocks || launches.size() > kMostLaunches) return;
    for (uint32_t i = 0; i < arena::count(); ++i) {
        const Allocation& a = arena::allocations[i];
        if (!drawn(a)) continue;
        std::vector<Word>& known = words_of[&a];
        known.resize(a.bytes() / 4);
        for (uint64_t word = 0; word < known.size(); ++word) {
            const uint64_t stamp = a.shadow[cell_index(word)].write;
            if (stamp::epoch(stamp) != epoch) continue;
            Word& before = known[word];
            const Block *earlier = writer_of(before.stamp), *now = writer_of(stamp);
            const bool same_launch = earlier && at(launches, stamp::epoch(before.stamp)) == at(launches, epoch);
            if (same_launch && (earlier != now || stamp::thread(before.stamp) != stamp::thread(stamp))) before.shared = true;
            before.stamp = stamp;
        }
    }
}

void call_begins(uint32_t epoch) {
    call_first = epoch;
    words_of.clear();
    blocks.clear();
    launches.clear();
}

void launch_begins(uint32_t epoch) {
    if (launches.size() <= kMostLaunches) launches.push_back({epoch, launch_state.name, launch_state.grid, launch_state.block});
}

void block_begins(uint32_t epoch, uint64_t number) {
    if (blocks.size() <= kMostBlocks) blocks.push_back({epoch, number});
}

void write() {
    if (blocks.size() > kMostBlocks || launches.size() > kMostLaunches) return;
    for (uint32_t i = 0; i < arena::count(); ++i) {
        const Allocation& a = arena::allocations[i];
        if (!drawn(a)) continue;
        const uint64_t words = a.bytes() / 4;
        const Launch* launch = launch_of(a, words);
        for (uint64_t from = 0; launch && from < words; from += kWordsOfRecord) {
            ReportLine line("writers");
            line.text("buffer", a.name).number("words", words).number("first", from).text("kernel", launch->kernel.c_str());
            line.triple("grid", launch->grid.x, launch->grid.y, launch->grid.z);
            line.triple("block", launch->block.x, launch->block.y, launch->block.z);
            const uint64_t to = std::min(words, from + kWordsOfRecord);
            line.text("writers", text_of(a, from, to).c_str()).text("doubles", doubles_of(a, from, to).c_str()).write();
        }
    }
}

}  // namespace grader::writers

#endif
