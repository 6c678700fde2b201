// CUB's collectives of a warp and of a block, written for the emulation.
//
// As in CUB, only thread 0 gets a reduction's result, and a block that uses its TempStorage again needs
// a barrier in between.
#pragma once

#include "library.h"

namespace cub {

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE };
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE };

struct Sum { template <class T> GRADER_INLINE T operator()(const T& a, const T& b) const { return a + b; } };
struct Max { template <class T> GRADER_INLINE T operator()(const T& a, const T& b) const { return a < b ? b : a; } };
struct Min { template <class T> GRADER_INLINE T operator()(const T& a, const T& b) const { return b < a ? b : a; } };

GRADER_INLINE unsigned RowMajorTid(int x, int y, int) { return threadIdx.x + x * (threadIdx.y + y * threadIdx.z); }
GRADER_INLINE unsigned LaneId() { return RowMajorTid(int(blockDim.x), int(blockDim.y), int(blockDim.z)) % 32; }
GRADER_INLINE unsigned WarpId() { return RowMajorTid(int(blockDim.x), int(blockDim.y), int(blockDim.z)) / 32; }

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0> class BlockReduce {
public:
    struct TempStorage { T values[X * Y * Z]; };
    GRADER_INLINE BlockReduce(TempStorage& storage) : storage_(storage) {}

    template <class Operation> GRADER_INLINE T Reduce(T input, Operation operation, int valid) {
        const int thread = int(RowMajorTid(X, Y, Z));
        if (thread < valid) storage_.values[thread] = input;
        __syncthreads();
        if (thread == 0)
            for (int i = 1; i < valid; ++i) input = operation(input, storage_.values[i]);
        return input;
    }
    template <class Operation> GRADER_INLINE T Reduce(T input, Operation operation) { return Reduce(input, operation, X * Y * Z); }
    template <int N, class Operation> GRADER_INLINE T Reduce(T (&inputs)[N], Operation operation) {
        T own = inputs[0];
        for (int i = 1; i < N; ++i) own = operation(own, inputs[i]);
        return Reduce(own, operation, X * Y * Z);
    }
    GRADER_INLINE T Sum(T input) { return Reduce(input, ::cub::Sum()); }
    GRADER_INLINE T Sum(T input, int valid) { return Reduce(input, ::cub::Sum(), valid); }
    template <int N> GRADER_INLINE T Sum(T (&inputs)[N]) { return Reduce(inputs, ::cub::Sum()); }

private:
    TempStorage& storage_;
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0> class BlockScan {
public:
    struct TempStorage { T values[X * Y * Z]; };
    GRADER_INLINE BlockScan(TempStorage& storage) : storage_(storage) {}

    template <class Operation> GRADER_INLINE void InclusiveScan(T input, T& output, Operation operation, T& aggregate) {
        scan(input, operation);
        output = storage_.values[RowMajorTid(X, Y, Z)];
        aggregate = storage_.values[X * Y * Z - 1];
    }
    // Without an initial value the first thread's output is what it was.
    template <class Operation> GRADER_INLINE void ExclusiveScan(T input, T& output, Operation operation, T& aggregate) {
        scan(input, operation);
        const unsigned thread = RowMajorTid(X, Y, Z);
        if (thread > 0) output = storage_.values[thread - 1];
        aggregate = storage_.values[X * Y * Z - 1];
    }
    template <class Operation> GRADER_INLINE void ExclusiveScan(T input, T& output, T initial, Operation operation, T& aggregate) {
        T before = initial;
        ExclusiveScan(input, before, operation, aggregate);
        output = RowMajorTid(X, Y, Z) > 0 ? operation(initial, before) : initial;
    }
    template <class Operation> GRADER_INLINE void InclusiveScan(T input, T& output, Operation operation) {
        T aggregate = input;
        InclusiveScan(input, output, operation, aggregate);
    }
    template <class Operation> GRADER_INLINE void ExclusiveScan(T input, T& output, Operation operation) {
        T aggregate = input;
        ExclusiveScan(input, output, operation, aggregate);
    }
    template <class Operation> GRADER_INLINE void ExclusiveScan(T input, T& output, T initial, Operation operation) {
        T aggregate = input;
        ExclusiveScan(input, output, initial, operation, aggregate);
    }
    GRADER_INLINE void InclusiveSum(T input, T& output) { InclusiveScan(input, output, Sum()); }
    GRADER_INLINE void InclusiveSum(T input, T& output, T& aggregate) { InclusiveScan(input, output, Sum(), aggregate); }
    GRADER_INLINE void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(), Sum()); }
    GRADER_INLINE void ExclusiveSum(T input, T& output, T& aggregate) { ExclusiveScan(input, output, T(), Sum(), aggregate); }

    template <int N> GRADER_INLINE void InclusiveSum(T (&inputs)[N], T (&outputs)[N]) {
        T aggregate;
        InclusiveSum(inputs, outputs, aggregate);
    }
    template <int N> GRADER_INLINE void InclusiveSum(T (&inputs)[N], T (&outputs)[N], T& aggregate) { items(inputs, outputs, aggregate, true); }
    template <int N> GRADER_INLINE void ExclusiveSum(T (&inputs)[N], T (&outputs)[N]) {
        T aggregate;
        ExclusiveSum(inputs, outputs, aggregate);
    }
    template <int N> GRADER_INLINE void ExclusiveSum(T (&inputs)[N], T (&outputs)[N], T& aggregate) { items(inputs, outputs, aggregate, false); }

private:
    template <class Operation> GRADER_INLINE void scan(T input, Operation operation) {
        const unsigned thread = RowMajorTid(X, Y, Z);
        storage_.values[thread] = input;
        __syncthreads();
        if (thread == 0)
            for (int i = 1; i < X * Y * Z; ++i) storage_.values[i] = operation(storage_.values[i - 1], storage_.values[i]);
        __syncthreads();
    }
    template <int N> GRADER_INLINE void items(T (&inputs)[N], T (&outputs)[N], T& aggregate, bool inclusive) {
        T own = T(), running;
        for (int i = 0; i < N; ++i) own = own + inputs[i];
        ExclusiveSum(own, running, aggregate);
        for (int i = 0; i < N; ++i) {
            const T input = inputs[i];
            outputs[i] = inclusive ? running + input : running;
            running = running + input;
        }
    }
    TempStorage& storage_;
};

// The lanes of a logical warp of W threads.
template <int W> struct GraderLanes {
    unsigned lane, mask;
    int live;  // in a block that ends within the warp
    GRADER_INLINE GraderLanes() {
        const unsigned thread = RowMajorTid(int(blockDim.x), int(blockDim.y), int(blockDim.z));
        const unsigned first = thread - thread % W, threads = blockDim.x * blockDim.y * blockDim.z;
        lane = thread % W;
        mask = W == 32 ? 0xffffffffu : ((1u << (W % 32)) - 1) << first % 32;
        live = int(threads - first < unsigned(W) ? threads - first : unsigned(W));
    }
};

template <class T, int W = 32, int = 0> class WarpReduce {
public:
    struct TempStorage { T values[W]; };
    GRADER_INLINE WarpReduce(TempStorage& storage) : storage_(storage) {}
    template <class Operation> GRADER_INLINE T Reduce(T input, Operation operation, int valid) {
        const GraderLanes<W> own;
        storage_.values[own.lane] = input;
        __syncwarp(own.mask);
        if (own.lane == 0)
            for (int i = 1; i < valid && i < own.live; ++i) input = operation(input, storage_.values[i]);
        __syncwarp(own.mask);
        return input;
    }
    template <class Operation> GRADER_INLINE T Reduce(T input, Operation operation) { return Reduce(input, operation, W); }
    GRADER_INLINE T Sum(T input) { return Reduce(input, ::cub::Sum()); }
    GRADER_INLINE T Sum(T input, int valid) { return Reduce(input, ::cub::Sum(), valid); }

private:
    TempStorage& storage_;
};

template <class T, int W = 32, int = 0> class WarpScan {
public:
    struct TempStorage { T values[W]; };
    GRADER_INLINE WarpScan(TempStorage& storage) : storage_(storage) {}
    template <class Operation> GRADER_INLINE void InclusiveScan(T input, T& output, Operation operation, T& aggregate) {
        const GraderLanes<W> own;
        storage_.values[own.lane] = input;
        __syncwarp(own.mask);
        T sum = storage_.values[0], mine = sum;
        for (int i = 1; i < own.live; ++i) {
            sum = operation(sum, storage_.values[i]);
            if (i == int(own.lane)) mine = sum;
        }
        __syncwarp(own.mask);
        output = mine;
        aggregate = sum;
    }
    template <class Operation> GRADER_INLINE void InclusiveScan(T input, T& output, Operation operation) {
        T aggregate;
        InclusiveScan(input, output, operation, aggregate);
    }
    template <class Operation> GRADER_INLINE void ExclusiveScan(T input, T& output, T initial, Operation operation) {
        const GraderLanes<W> own;
        storage_.values[own.lane] = input;
        __syncwarp(own.mask);
        T sum = initial;
        for (int i = 0; i < int(own.lane); ++i) sum = operation(sum, storage_.values[i]);
        __syncwarp(own.mask);
        output = sum;
    }
    GRADER_INLINE void InclusiveSum(T input, T& output) { InclusiveScan(input, output, Sum()); }
    GRADER_INLINE void InclusiveSum(T input, T& output, T& aggregate) { InclusiveScan(input, output, Sum(), aggregate); }
    GRADER_INLINE void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(), Sum()); }

private:
    TempStorage& storage_;
};

// Items in a blocked arrangement; the striped one for the algorithms of that name.
template <class T, int X, int N, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0> class BlockLoad {
public:
    struct TempStorage { char unused; };
    GRADER_INLINE BlockLoad() {}
    GRADER_INLINE BlockLoad(TempStorage&) {}
    template <class I> GRADER_INLINE void Load(I from, T (&items)[N]) { Load(from, items, X * Y * Z * N); }
    template <class I> GRADER_INLINE void Load(I from, T (&items)[N], int valid) {
        for (int i = 0; i < N; ++i)
            if (place(i) < valid) items[i] = from[place(i)];
    }
    template <class I> GRADER_INLINE void Load(I from, T (&items)[N], int valid, T other) {
        for (int i = 0; i < N; ++i) items[i] = place(i) < valid ? T(from[place(i)]) : other;
    }

private:
    GRADER_INLINE int place(int i) const {
        const int thread = int(RowMajorTid(X, Y, Z));
        return A == BLOCK_LOAD_STRIPED ? i * X * Y * Z + thread : thread * N + i;
    }
};
template <class T, int X, int N, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0> class BlockStore {
public:
    struct TempStorage { char unused; };
    GRADER_INLINE BlockStore() {}
    GRADER_INLINE BlockStore(TempStorage&) {}
    template <class I> GRADER_INLINE void Store(I to, T (&items)[N]) { Store(to, items, X * Y * Z * N); }
    template <class I> GRADER_INLINE void Store(I to, T (&items)[N], int valid) {
        const int thread = int(RowMajorTid(X, Y, Z));
        for (int i = 0; i < N; ++i) {
            const int place = A == BLOCK_STORE_STRIPED ? i * X * Y * Z + thread : thread * N + i;
            if (place < valid) to[place] = items[i];
        }
    }
};

}  // namespace cub
