// Cooperative groups: the grid, the block, tiles of a warp, and the active lanes.
//
// A tile is a run of threads whose size is a power of two; up to 32, its operations are
// warp functions whose mask names its lanes. Clusters are not supported.
#pragma once
#include "cuda_runtime.h"

namespace cooperative_groups {

// Of a barrier in two halves.
struct arrival_token {};

class thread_block {
public:
    typedef cooperative_groups::arrival_token arrival_token;
    GRADER_INLINE static void sync() { __syncthreads(); }
    GRADER_INLINE static arrival_token barrier_arrive() {
        grader_named_barrier(0, 0, 0);
        return {};
    }
    GRADER_INLINE static void barrier_wait(arrival_token&&) { grader_named_barrier_await(0); }
    GRADER_INLINE static unsigned thread_rank() {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    GRADER_INLINE static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    GRADER_INLINE static unsigned num_threads() { return size(); }
    GRADER_INLINE static dim3 group_index() { return dim3(blockIdx); }
    GRADER_INLINE static dim3 thread_index() { return dim3(threadIdx); }
    GRADER_INLINE static dim3 group_dim() { return dim3(blockDim); }
    GRADER_INLINE static dim3 dim_threads() { return dim3(blockDim); }
    GRADER_INLINE static unsigned long long get_type() { return 4; }
};

GRADER_INLINE thread_block this_thread_block() { return thread_block(); }
// Memory for tiles of several warps, which need none here.
template <unsigned Threads = 1024> struct block_tile_memory { char grader_unused[Threads]; };
template <unsigned Threads> GRADER_INLINE thread_block this_thread_block(block_tile_memory<Threads>&) { return thread_block(); }
namespace experimental {
using cooperative_groups::block_tile_memory;
using cooperative_groups::this_thread_block;
}  // namespace experimental

class grid_group {
public:
    GRADER_INLINE unsigned long long thread_rank() const {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    GRADER_INLINE unsigned long long size() const { return num_blocks() * thread_block::size(); }
    GRADER_INLINE unsigned long long num_threads() const { return size(); }
    GRADER_INLINE unsigned long long block_rank() const {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    GRADER_INLINE unsigned long long num_blocks() const { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    GRADER_INLINE dim3 block_index() const { return dim3(blockIdx); }
    GRADER_INLINE dim3 dim_blocks() const { return dim3(gridDim); }
    GRADER_INLINE dim3 group_dim() const { return dim3(gridDim); }
    GRADER_INLINE dim3 dim_threads() const { return dim3(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z); }
    GRADER_INLINE dim3 thread_index() const { return dim3(threadIdx); }
    // Needs a cooperative launch; elsewhere a GPU traps, too.
    GRADER_INLINE bool is_valid() const { return grader_grid_is_valid(); }
    GRADER_INLINE void sync() const { grader_grid_sync(); }
};

GRADER_INLINE grid_group this_grid() { return grid_group(); }

// Lanes of one warp, named by a mask: the base of tiles and coalesced groups.
class lanes_of_a_warp {
public:
    GRADER_INLINE void sync() const { __syncwarp(mask_); }
    GRADER_INLINE unsigned thread_rank() const { return rank_; }
    GRADER_INLINE unsigned size() const { return size_; }
    GRADER_INLINE unsigned num_threads() const { return size_; }
    GRADER_INLINE unsigned meta_group_rank() const { return meta_rank_; }
    GRADER_INLINE unsigned meta_group_size() const { return meta_size_; }

    template <class T> GRADER_INLINE T shfl(T value, int rank) const { return from_lane(value, lane_of(rank)); }
    template <class T> GRADER_INLINE T shfl_down(T value, unsigned delta) const {
        return from_lane(value, rank_ + delta < size_ ? lane_of((int)(rank_ + delta)) : lane_of((int)rank_));
    }
    template <class T> GRADER_INLINE T shfl_up(T value, unsigned delta) const {
        return from_lane(value, rank_ >= delta ? lane_of((int)(rank_ - delta)) : lane_of((int)rank_));
    }
    template <class T> GRADER_INLINE T shfl_xor(T value, unsigned change) const {
        unsigned other = rank_ ^ change;
        return from_lane(value, other < size_ ? lane_of((int)other) : lane_of((int)rank_));
    }
    GRADER_INLINE int any(int predicate) const { return __any_sync(mask_, predicate); }
    GRADER_INLINE int all(int predicate) const { return __all_sync(mask_, predicate); }
    GRADER_INLINE unsigned ballot(int predicate) const { return packed(__ballot_sync(mask_, predicate)); }
    template <class T> GRADER_INLINE unsigned match_any(T value) const { return packed(__match_any_sync(mask_, value)); }
    template <class T> GRADER_INLINE unsigned match_all(T value, int& same) const {
        return packed(__match_all_sync(mask_, value, &same));
    }

    GRADER_INLINE unsigned grader_mask() const { return mask_; }

protected:
    // A value of any size, in pieces of 8 bytes.
    template <class T> GRADER_INLINE T from_lane(const T& value, int lane) const {
        if constexpr (sizeof(T) <= 8) {
            return __shfl_sync(mask_, value, lane);
        } else {
            unsigned long long pieces[(sizeof(T) + 7) / 8] = {};
            memcpy(pieces, &value, sizeof(T));
            for (unsigned long long& piece : pieces) piece = __shfl_sync(mask_, piece, lane);
            T result;
            memcpy(&result, pieces, sizeof(T));
            return result;
        }
    }
    // The lane of a rank: the rank-th set bit of the mask.
    GRADER_INLINE int lane_of(int rank) const {
        unsigned rest = mask_;
        for (int i = 0; i < rank % (int)size_; ++i) rest &= rest - 1;
        return __ffs((int)rest) - 1;
    }
    // Bits by lane become bits by rank.
    GRADER_INLINE unsigned packed(unsigned lanes) const {
        unsigned result = 0, bit = 1;
        for (unsigned rest = mask_; rest; rest &= rest - 1, bit <<= 1)
            if (lanes & rest & (0u - rest)) result |= bit;
        return result;
    }
    unsigned mask_, rank_, size_, meta_rank_, meta_size_;
};

// Any group, for functions that take one.
class thread_group {
public:
    GRADER_INLINE unsigned num_threads() const { return size_; }
    GRADER_INLINE thread_group(const thread_block& block) : mask_(0), rank_(block.thread_rank()), size_(block.size()) {}
    GRADER_INLINE thread_group(const lanes_of_a_warp& lanes)
        : mask_(lanes.grader_mask()), rank_(lanes.thread_rank()), size_(lanes.size()) {}
    GRADER_INLINE thread_group(unsigned mask, unsigned rank)
        : mask_(mask), rank_(rank), size_((unsigned)__popc(mask)) {}
    GRADER_INLINE void sync() const {
        if (mask_)
            __syncwarp(mask_);
        else
            __syncthreads();
    }
    GRADER_INLINE unsigned thread_rank() const { return rank_; }
    GRADER_INLINE unsigned size() const { return size_; }

    // The group's lanes in this warp.
    GRADER_INLINE unsigned grader_mask() const {
        if (mask_) return mask_;
        unsigned first = rank_ / 32 * 32, lanes = size_ - first;
        return lanes >= 32 ? 0xffffffffu : (1u << lanes) - 1;
    }

private:
    unsigned mask_, rank_, size_;  // a mask of 0 is the block
};

// A tile of several warps: its barrier is a named one, and its values travel through the runtime.
class warps_of_a_block {
public:
    GRADER_INLINE explicit warps_of_a_block(unsigned tile_size) : size_(tile_size) {}
    GRADER_INLINE void sync() const { grader_named_barrier(16 + meta_group_rank(), size_, 1); }
    GRADER_INLINE unsigned thread_rank() const { return thread_block::thread_rank() % size_; }
    GRADER_INLINE unsigned meta_group_rank() const { return thread_block::thread_rank() / size_; }
    GRADER_INLINE unsigned meta_group_size() const { return (thread_block::size() + size_ - 1) / size_; }
    template <class T> GRADER_INLINE T shfl(T value, int rank) const { return from_rank(value, (unsigned)rank % size_); }
    template <class T> GRADER_INLINE T shfl_up(T value, unsigned delta) const {
        return from_rank(value, thread_rank() >= delta ? thread_rank() - delta : thread_rank());
    }
    template <class T> GRADER_INLINE T shfl_down(T value, unsigned delta) const {
        return from_rank(value, thread_rank() + delta < size_ ? thread_rank() + delta : thread_rank());
    }
    template <class T> GRADER_INLINE T shfl_xor(T value, unsigned change) const { return from_rank(value, thread_rank() ^ change); }
    GRADER_INLINE int any(int predicate) const { return count(predicate) > 0; }
    GRADER_INLINE int all(int predicate) const { return count(predicate) == size_; }

private:
    template <class T> GRADER_INLINE T from_rank(const T& value, unsigned rank) const {
        T result;
        grader_publish(&value);
        sync();
        grader_read_published(meta_group_rank() * size_ + rank, &result, sizeof(T));
        sync();
        return result;
    }
    GRADER_INLINE unsigned count(int predicate) const {
        unsigned set = predicate != 0;
        for (unsigned d = 1; d < size_; d *= 2) set += shfl_xor(set, d);
        return set;
    }
    unsigned size_;
};

namespace grader_tile {
template <unsigned Size> class lanes : public lanes_of_a_warp {
public:
    GRADER_INLINE lanes() {
        unsigned rank = thread_block::thread_rank(), lane = rank % 32;
        mask_ = Size == 32 ? 0xffffffffu : ((1u << (Size % 32)) - 1) << (lane / Size * Size);
        rank_ = lane % Size;
        size_ = Size;
        meta_rank_ = rank / Size;
        meta_size_ = (thread_block::size() + Size - 1) / Size;
    }
};
template <unsigned Size> class warps : public warps_of_a_block {
public:
    GRADER_INLINE warps() : warps_of_a_block(Size) {}
};
template <unsigned Size, bool InWarp> struct base { typedef lanes<Size> type; };
template <unsigned Size> struct base<Size, false> { typedef warps<Size> type; };
}  // namespace grader_tile

template <unsigned Size, class Parent = void>
class thread_block_tile : public grader_tile::base<Size, (Size <= 32)>::type {
    static_assert(Size > 0 && Size <= 1024 && (Size & (Size - 1)) == 0, "a tile's size is a power of two up to 1024");

public:
    typedef typename grader_tile::base<Size, (Size <= 32)>::type grader_base;
    GRADER_INLINE thread_block_tile() {}
    // One type for all parent groups, so that `thread_block_tile<32> t = …` compiles.
    template <class Other> GRADER_INLINE thread_block_tile(const thread_block_tile<Size, Other>& other) : grader_base(other) {}
    GRADER_INLINE static constexpr unsigned size() { return Size; }
    GRADER_INLINE static constexpr unsigned num_threads() { return Size; }
};

template <unsigned Size> GRADER_INLINE thread_block_tile<Size> tiled_partition(const thread_block&) {
    return thread_block_tile<Size>();
}
template <unsigned Size, unsigned Larger, class Parent>
GRADER_INLINE thread_block_tile<Size> tiled_partition(const thread_block_tile<Larger, Parent>&) {
    static_assert(Size <= Larger, "a tile is cut from a larger one");
    return thread_block_tile<Size>();
}

// The size is known at run time: runs of `size` ranks, the last one possibly shorter.
GRADER_INLINE thread_group tiled_partition(const thread_group& parent, unsigned size) {
    if (size == 0 || size > 32 || (size & (size - 1)) != 0) __trap();  // as a GPU does
    unsigned lanes = parent.grader_mask(), own = 1u << (thread_block::thread_rank() % 32);
    unsigned rank = (unsigned)__popc(lanes & (own - 1)), tile = 0;
    for (unsigned other = 0; lanes; lanes &= lanes - 1, ++other)
        if (other / size == rank / size) tile |= lanes & (0u - lanes);
    return thread_group(tile, rank % size);
}

class coalesced_group : public lanes_of_a_warp {
public:
    GRADER_INLINE explicit coalesced_group(unsigned mask) {
        unsigned lane = thread_block::thread_rank() % 32;
        mask_ = mask;
        rank_ = (unsigned)__popc(mask & ((1u << lane) - 1));
        size_ = (unsigned)__popc(mask);
        meta_rank_ = 0;
        meta_size_ = 1;
    }
};
GRADER_INLINE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// Partitions of a group by a value of each lane.
template <class Group, class Label> GRADER_INLINE coalesced_group labeled_partition(const Group& group, Label label) {
    return coalesced_group(__match_any_sync(group.grader_mask(), label));
}
template <class Group> GRADER_INLINE coalesced_group binary_partition(const Group& group, bool predicate) {
    return labeled_partition(group, (int)predicate);
}

// The free functions for any group.
template <class Group> GRADER_INLINE void sync(const Group& group) { group.sync(); }
template <class Group> GRADER_INLINE void synchronize(const Group& group) { group.sync(); }
template <class Group> GRADER_INLINE auto thread_rank(const Group& group) { return group.thread_rank(); }
template <class Group> GRADER_INLINE auto group_size(const Group& group) { return group.size(); }
template <class Group, class Function, class... Arguments>
GRADER_INLINE void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) function(arguments...);
}
template <class Group, class Function, class... Arguments>
GRADER_INLINE auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments) {
    decltype(function(arguments...)) result{};
    if (group.thread_rank() == 0) result = function(arguments...);
    return group.shfl(result, 0);
}

}  // namespace cooperative_groups
