#include "counters.h"

#if GRADER_CHECKED

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "report.h"
#include "worker.h"

namespace grader::counters {

namespace {

constexpr size_t kFewRecords = 64, kMostRecords = size_t(1) << 17;  // of one thread in one interval
constexpr uint64_t kAlwaysLogged = uint64_t(1) << 16, kLoggedShare = 16;

struct Request {
    uint64_t address[kWarpSize];  // of the lanes that take part, in their order
    unsigned lanes;
    Request(unsigned lanes = 0) : lanes(lanes) {}
    unsigned size() const { return unsigned(__builtin_popcount(lanes)); }
};

struct Totals {
    uint64_t requests = 0, lanes = 0, bytes = 0;
    uint64_t sectors = 0, ideal_sectors = 0;
    uint64_t wavefronts = 0, ideal_wavefronts = 0;
};

// A transaction is a sector or a wavefront.
struct Cost {
    uint64_t transactions = 0, ideal = 0;
    uint64_t excess() const { return transactions > ideal ? transactions - ideal : 0; }
};

// The request with the most excess transactions; of equals one with the most lanes, of these the
// first of the first block, in any order of blocks.
struct Worst {
    Request request;
    Cost cost;
    uintptr_t base = 0;  // of the addresses: the first sector's, or the shared memory's
    uint64_t block = 0;
};

// One row of the report: a program counter in a kernel, by kind of access.
struct Row {
    AccessKey key;
    Totals totals = {};
    Worst worst = {};
};

struct KernelTotals {
    uint64_t launches = 0;
    LaunchTotals sum = {};
    bool truncated = false;
    dim3 grid, block;
    uint64_t dynamic_shared = 0;  // of the launch that asks for most
};

// Never destroyed: the report is written at program exit.
Log* const logs = new Log[kMaxThreads];
std::vector<Row>& rows = *new std::vector<Row>;                                  // of the running launch
std::map<std::string, KernelTotals>& kernels = *new std::map<std::string, KernelTotals>;
using RowKey = std::pair<std::string, uint64_t>;  // kernel and AccessKey
std::map<RowKey, Row>& report_rows = *new std::map<RowKey, Row>;
bool launch_truncated = false;
uint64_t logged = 0;  // records of the running launch
uint64_t running_block = 0;

// The values that were put in since the last clear().
class SmallSet {
public:
    void clear() { ++generation_; }
    bool insert(uint64_t value) {
        for (unsigned i = unsigned(value * 0x9e3779b97f4a7c15 >> 56);; i = (i + 1) % kSlots) {
            Slot& slot = slots_[i];
            if (slot.generation != generation_) {
                slot = {value, generation_};
                return true;
            }
            if (slot.value == value) return false;
        }
    }

private:
    static constexpr unsigned kSlots = 256;  // twice the words of a warp's largest request
    struct Slot {
        uint64_t value, generation;
    };
    Slot slots_[kSlots] = {};
    uint64_t generation_ = 0;
};
SmallSet seen;

unsigned distinct(const uint64_t* values, unsigned count) {
    unsigned found = 0;
    seen.clear();
    for (unsigned i = 0; i < count; ++i) found += seen.insert(values[i]);
    return found;
}

// The rows of `rows`, by their keys: open addressing.
class RowIndex {
public:
    void clear() { std::fill(slots_.begin(), slots_.end(), Slot{kFree, 0}); }
    unsigned find(AccessKey key) {
        for (size_t i = start(key.number);; i = (i + 1) & mask_) {
            if (slots_[i].key == key.number) return slots_[i].row;
            if (slots_[i].key == kFree) {
                slots_[i] = {key.number, unsigned(rows.size())};
                rows.push_back({key});
                if (rows.size() * 2 > mask_) grow();
                return unsigned(rows.size()) - 1;
            }
        }
    }

private:
    struct Slot {
        uint64_t key;
        unsigned row;
    };
    static constexpr uint64_t kFree = ~uint64_t(0);
    size_t start(uint64_t key) const { return size_t(key * 0x9e3779b97f4a7c15 >> 32) & mask_; }
    void grow() {
        mask_ = mask_ * 2 + 1;
        slots_.assign(mask_ + 1, {kFree, 0});
        for (unsigned row = 0; row < rows.size(); ++row) {
            const uint64_t key = rows[row].key.number;
            size_t i = start(key);
            while (slots_[i].key != kFree) i = (i + 1) & mask_;
            slots_[i] = {key, row};
        }
    }
    size_t mask_ = 255;
    std::vector<Slot> slots_ = std::vector<Slot>(mask_ + 1, Slot{kFree, 0});
};
RowIndex& row_index = *new RowIndex;
std::vector<size_t>& first_of = *new std::vector<size_t>;  // of each row, the first record of each of 32 lanes

Cost cost_global(const Request& r, unsigned bytes) {
    const unsigned lanes = r.size();
    Cost ascending = {};  // if no lane's address is below the one before: needs no table
    uint64_t ideal_bytes = 0, previous = 0, counted = 0;  // the sectors below `counted` are counted
    bool is_ascending = true;
    for (unsigned i = 0; i < lanes; ++i) {
        const uint64_t a = r.address[i], first = a >> 5, last = (a + bytes - 1) >> 5;
        is_ascending = is_ascending && a >= previous;
        if (a != previous) ideal_bytes += bytes;
        if (last >= counted) ascending.transactions += last + 1 - std::max(first, counted);
        counted = last + 1;
        previous = a;
    }
    if (is_ascending) {
        ascending.ideal = (ideal_bytes + 31) / 32;
        return ascending;
    }
    uint64_t sectors[2 * kWarpSize];
    unsigned n = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        sectors[n++] = r.address[i] >> 5;
        if ((r.address[i] + bytes - 1) >> 5 != r.address[i] >> 5) sectors[n++] = (r.address[i] + bytes - 1) >> 5;
    }
    const unsigned fetched = distinct(sectors, n);
    return {fetched, (uint64_t(distinct(r.address, lanes)) * bytes + 31) / 32};
}

Cost cost_shared(const Request& r, unsigned bytes, uintptr_t base) {
    Cost cost;
    unsigned group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, i = 0;
    for (unsigned first = 0; first < kWarpSize; first += group) {
        uint8_t in_bank[32] = {};
        unsigned n = 0, most = 0;
        seen.clear();
        for (unsigned lane = first; lane < first + group; ++lane) {
            if (!(r.lanes >> lane & 1)) continue;
            const uint64_t offset = r.address[i++] - base, last = (offset + bytes - 1) >> 2;
            uint64_t word = offset >> 2;
            for (; word <= last; ++word) {
                if (!seen.insert(word)) continue;
                ++n;
                most = std::max<unsigned>(most, ++in_bank[word & 31]);
            }
        }
        cost.transactions += most;
        cost.ideal += (n + 31) / 32;
    }
    return cost;
}

bool worse(const Cost& cost, unsigned lanes, uint64_t block, const Worst& known) {
    if (known.request.lanes == 0) return true;
    if (cost.excess() != known.cost.excess()) return cost.excess() > known.cost.excess();
    const unsigned known_lanes = known.request.size();
    return lanes != known_lanes ? lanes > known_lanes : block < known.block;
}

void count(Row& row, const Request& r, uintptr_t shared_base) {
    Totals& t = row.totals;
    const unsigned lanes = r.size(), bytes = row.key.bytes();
    const bool shared = row.key.shared();
    ++t.requests;
    t.lanes += lanes;
    t.bytes += uint64_t(lanes) * bytes;
    const Cost cost = shared ? cost_shared(r, bytes, shared_base) : cost_global(r, bytes);
    (shared ? t.wavefronts : t.sectors) += cost.transactions;
    (shared ? t.ideal_wavefronts : t.ideal_sectors) += cost.ideal;
    if (worse(cost, lanes, running_block, row.worst)) row.worst = {r, cost, shared ? shared_base : 0, running_block};
}

// Counts the records that all active lanes have in step, from the first on: the i-th records of all
// are one request. Returns how many each lane has of them.
size_t count_in_step(const Log* lanes, unsigned n, uintptr_t shared_base) {
    const AccessRecord* records[kWarpSize];  // of the active lanes
    unsigned active = 0, count_of = 0;
    size_t length = ~size_t(0);
    for (unsigned lane = 0; lane < n; ++lane) {
        if (lanes[lane].size() == 0) continue;
        active |= 1u << lane;
        records[count_of++] = lanes[lane].begin;
        length = std::min(length, lanes[lane].size());
    }
    if (!active) return 0;
    Request request(active);
    for (size_t i = 0; i < length; ++i) {
        const AccessKey key = records[0][i].key;
        uint64_t differs = 0;
        for (unsigned lane = 0; lane < count_of; ++lane) {
            // Long logs begin at the same place of a page, so they push each other out of the cache.
            __builtin_prefetch(&records[lane][i + 16]);
            differs |= records[lane][i].key.number ^ key.number;
            request.address[lane] = records[lane][i].address;
        }
        if (differs) return i;
        count(rows[row_index.find(key)], request, shared_base);
    }
    return length;
}

// From each lane's record `from` on, the k-th executions of an access by the lanes are one request.
// A record that has found its row holds the lane's next record of that row in the place of its key:
// memory for lists of them would cost more than the rest.
void match_by_execution(Log* lanes, unsigned n, size_t from, uintptr_t shared_base) {
    constexpr size_t kNone = ~size_t(0);
    first_of.clear();
    for (unsigned lane = 0; lane < n; ++lane)
        for (size_t i = lanes[lane].size(); i-- > from;) {
            AccessKey& key = lanes[lane].begin[i].key;
            const size_t at = row_index.find(key) * kWarpSize + lane;
            if (first_of.size() <= at) first_of.resize(rows.size() * kWarpSize, kNone);
            key.number = std::exchange(first_of[at], i);
        }
    for (size_t row = 0; row < first_of.size() / kWarpSize; ++row) {
        size_t* next = &first_of[row * kWarpSize];
        unsigned left = 0;
        for (unsigned lane = 0; lane < n; ++lane) left |= unsigned(next[lane] != kNone) << lane;
        while (left) {
            Request request(left);
            uint64_t* address = request.address;
            for (unsigned on = left; on; on &= on - 1) {
                const unsigned lane = unsigned(__builtin_ctz(on));
                const AccessRecord& a = lanes[lane].begin[next[lane]];
                *address++ = a.address;
                next[lane] = a.key.number;
                if (next[lane] == kNone) left ^= 1u << lane;
                else __builtin_prefetch(&lanes[lane].begin[next[lane]]);
            }
            count(rows[row], request, shared_base);
        }
    }
}

// "0 4 - 12": of each lane the byte that it accesses first, from the base on.
std::string lanes_of(const Worst& worst) {
    const Request& r = worst.request;
    uint64_t base = worst.base;
    if (!base) base = *std::min_element(r.address, r.address + r.size()) & ~uint64_t(31);
    std::string text;
    for (unsigned lane = 0, i = 0; lane < kWarpSize; ++lane) {
        if (lane) text += ' ';
        text += r.lanes >> lane & 1 ? std::to_string(r.address[i++] - base) : "-";
    }
    return text;
}

void write_row(const std::string& kernel, const Row& row) {
    const Totals& t = row.totals;
    ReportLine line("access");
    line.text("kernel", kernel.c_str()).number("pc", row.key.pc());
    line.text("space", row.key.shared() ? "shared" : "global");
    line.text("operation", row.key.atomic() ? "atomic" : row.key.write() ? "store" : "load");
    line.number("access_bytes", row.key.bytes()).number("requests", t.requests).number("lanes", t.lanes).number("bytes", t.bytes);
    if (row.key.shared()) line.number("wavefronts", t.wavefronts).number("ideal_wavefronts", t.ideal_wavefronts);
    else line.number("sectors", t.sectors).number("ideal_sectors", t.ideal_sectors);
    line.text("worst_lanes", lanes_of(row.worst).c_str());
    line.number("worst_transactions", row.worst.cost.transactions).number("worst_ideal", row.worst.cost.ideal);
    line.write();
}

}  // namespace

Log& log_of(unsigned thread) { return logs[thread]; }

void Log::add_to_full(uint64_t address, AccessKey key) {
    const size_t size = this->size(), wanted = std::max(kFewRecords, 2 * size);
    if (wanted > kMostRecords) {
        launch_truncated = true;
        return;
    }
    void* memory = std::realloc(begin, wanted * sizeof(AccessRecord));
    if (!memory) std::abort();
    begin = static_cast<AccessRecord*>(memory);
    next = begin + size;
    end = begin + wanted;
    add(address, key);
}

// The counted blocks are spread evenly over the grid, the first among them. Of long blocks fewer are
// counted, for counting takes time, too.
bool wants_block(uint64_t number, uint64_t accesses) {
    running_block = number;
    uint64_t blocks = launch_state.blocks, wanted = settings.counted_blocks;
    if (!settings.count) return false;
    if (wanted == 0) return true;
    if (logged > kAlwaysLogged && logged > accesses / kLoggedShare) return false;
    if (blocks <= wanted) return true;
    uint64_t i = (number * wanted + blocks - 1) / blocks;  // is number == floor(i * blocks / wanted) for some i?
    return i < wanted && i * blocks / wanted == number;
}

void interval_ends(unsigned threads, uintptr_t shared_base) {
    for (unsigned first = 0; first < threads; first += kWarpSize) {
        Log* lanes = &logs[first];
        const unsigned n = std::min(kWarpSize, threads - first);
        size_t most = 0;
        for (unsigned lane = 0; lane < n; ++lane) {
            logged += lanes[lane].size();
            most = std::max(most, lanes[lane].size());
        }
        const size_t in_step = count_in_step(lanes, n, shared_base);
        if (in_step < most) match_by_execution(lanes, n, in_step, shared_base);
        for (unsigned lane = 0; lane < n; ++lane) lanes[lane].clear();
    }
}

void launch_ends(const LaunchTotals& totals) {
    KernelTotals& k = kernels[launch_state.name];
    ++k.launches;
    k.grid = launch_state.grid;
    k.block = launch_state.block;
    k.dynamic_shared = std::max<uint64_t>(k.dynamic_shared, launch_state.dynamic_shared);
    k.truncated = k.truncated || launch_truncated;
    k.sum.accesses += totals.accesses;
    k.sum.read_bytes += totals.read_bytes;
    k.sum.written_bytes += totals.written_bytes;
    k.sum.blocks += totals.blocks;
    k.sum.counted_blocks += totals.counted_blocks;
    k.sum.barriers = std::max(k.sum.barriers, totals.barriers);
    k.sum.shared_bytes = std::max(k.sum.shared_bytes, totals.shared_bytes);
    for (const Row& row : rows) {
        auto [place, fresh] = report_rows.try_emplace({launch_state.name, row.key.number}, row);
        if (fresh) continue;
        Totals& sum = place->second.totals;
        sum.requests += row.totals.requests;
        sum.lanes += row.totals.lanes;
        sum.bytes += row.totals.bytes;
        sum.sectors += row.totals.sectors;
        sum.ideal_sectors += row.totals.ideal_sectors;
        sum.wavefronts += row.totals.wavefronts;
        sum.ideal_wavefronts += row.totals.ideal_wavefronts;
        const Worst& worst = row.worst;
        if (worse(worst.cost, worst.request.size(), worst.block, place->second.worst)) place->second.worst = worst;
    }
    rows.clear();
    row_index.clear();
    launch_truncated = false;
    logged = 0;
    for (unsigned i = 0; i < kMaxThreads; ++i) logs[i].clear();
}

void write() {
    for (const auto& [name, k] : kernels) {
        ReportLine line("kernel");
        line.text("kernel", name.c_str()).number("launches", k.launches);
        line.triple("grid", k.grid.x, k.grid.y, k.grid.z).triple("block", k.block.x, k.block.y, k.block.z);
        line.number("dynamic_shared", k.dynamic_shared);
        line.number("accesses", k.sum.accesses).number("read_bytes", k.sum.read_bytes);
        line.number("written_bytes", k.sum.written_bytes);
        line.number("blocks", k.sum.blocks).number("counted_blocks", k.sum.counted_blocks);
        line.number("barriers", k.sum.barriers).number("shared_bytes", k.sum.shared_bytes);
        line.truth("truncated", k.truncated).write();
    }
    for (const auto& [key, row] : report_rows) write_row(key.first, row);
    kernels.clear();
    report_rows.clear();
}

}  // namespace grader::counters

#endif
